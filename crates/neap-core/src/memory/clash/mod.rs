//! Whether two sentences about one thing contradict each other, told without a model.
//!
//! Words are aligned ([`align()`]); where both sides have something else in the same place, that is a slot. A slot is a
//! contradiction if what stands around it can hold only one value: `lives in`, `the timeout is`, a number, a denial. It
//! is a likely one where the words leave that open, and none where things stand side by side: `likes`, `uses`, another
//! verb, another subject. What no such words tell is not seen: `moved to Bergen` does not contradict `lives in Oslo`.

mod align;
mod predicate;
mod word;

use align::{Gap, align};
use predicate::{Holds, holds, opposed};
use word::{Sort, Word, words};

use super::similar::cosine;
use crate::terms::terms;

/// Longest slot, in words.
const SLOT_WORDS_MAX: usize = 8;
/// Slots that may differ at once, all of them numbers.
const SLOTS_MAX: usize = 3;
/// What joins the words of one name.
const JOINTS: &[&str] = &["of", "and", "'s", "&"];
/// What sets something off against something else, at the end of a sentence.
const CONTRASTS: &[&str] = &[", not ", ", and not ", " instead of ", " rather than "];
/// Longest such end, in words.
const CONTRAST_WORDS_MAX: usize = 4;
/// Longest text in evidence, in characters.
const SHOWN_CHARS_MAX: usize = 60;

/// Two sentences side by side.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compared {
    /// How like each other they are around the differing values, from 0 to 1.
    pub(super) around: f64,
    /// How they contradict each other.
    pub(super) clash: Option<Clash>,
    /// Whether one of them has more words before the contradiction: it may be about something else.
    pub(super) leads_differ: bool,
    /// Whether they have the same words.
    pub(super) is_same: bool,
    /// Whether some value differs: they do not say the same.
    pub(super) differs: bool,
}

/// A contradiction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clash {
    /// Whether the words leave no doubt that only one of the values can hold.
    pub(super) is_clear: bool,
    /// The values: `timeout 30 s → 45 s`.
    pub(super) evidence: String,
}

/// Compares an older sentence with a newer one. What a sentence says that it is not, at its end, is left aside where the
/// rest of them contradict each other: `prefers Celsius, not Fahrenheit` and `prefers Fahrenheit`.
pub(super) fn compare(old: &str, new: &str) -> Compared {
    let whole = compare_words(old, new);
    let (old_core, new_core) = (core(old), core(new));
    if whole.clash.is_some() || (old_core, new_core) == (old, new) {
        return whole;
    }
    let of_cores = compare_words(old_core, new_core);
    if of_cores.clash.is_some() { of_cores } else { whole }
}

/// A sentence without what it sets itself off against.
fn core(text: &str) -> &str {
    let ends = CONTRASTS.iter().filter_map(|contrast| text.rfind(contrast).map(|at| (at, at + contrast.len())));
    let Some((at, end)) = ends.min() else { return text };
    let is_short = words(&text[end..]).len() <= CONTRAST_WORDS_MAX;
    if is_short { &text[..at] } else { text }
}

fn compare_words(old: &str, new: &str) -> Compared {
    let (old_words, new_words) = (words(old), words(new));
    let pair = Pair { old: &old_words, new: &new_words };
    let gaps = pair.joined(align(&old_words, &new_words));
    let telling: Vec<&Gap> = gaps.iter().filter(|gap| pair.tells(gap)).collect();
    let slots: Vec<&Gap> = telling.iter().copied().filter(|gap| pair.is_slot(gap)).collect();
    let denied = telling.iter().any(|gap| pair.is_denial(gap));
    let moved = pair.is_moved(&telling);
    let has_number = |gap: &&&Gap| pair.sides(gap).into_iter().flatten().any(|word| word.sort == Sort::Number);
    let differs = moved || denied || !slots.is_empty() || telling.iter().any(|gap| has_number(&gap));
    let clash = match (denied, slots.as_slice()) {
        (true, []) => Some(Clash { is_clear: true, evidence: format!("{} → {}", shown(old), shown(new)) }),
        (true, _) | (false, []) => None,
        (false, slots) => (!moved).then(|| pair.clash(slots)).flatten(),
    };
    let leads = telling.iter().take_while(|gap| !pair.is_slot(gap) && !pair.is_denial(gap));
    let leads_differ = leads.count() > 0;
    Compared { around: pair.around(&slots, old, new), clash, leads_differ, is_same: telling.is_empty(), differs }
}

/// The same two numbers with other words around them: `times out after 30 s`, `a timeout of 45 s`.
pub(super) fn numbers_differ(old: &str, new: &str) -> Option<String> {
    let (old_words, new_words) = (words(old), words(new));
    let only = |words: &[Word]| {
        let mut numbers = words.iter().enumerate().filter(|(_, word)| word.sort == Sort::Number);
        let (at, number) = numbers.next()?;
        let unit = words.get(at + 1).filter(|word| word.is_unit()).map(|word| word.key.clone());
        numbers.next().is_none().then(|| (number.clone(), unit))
    };
    let ((from, from_unit), (to, to_unit)) = (only(&old_words)?, only(&new_words)?);
    if from.key == to.key || from_unit.is_none() || from_unit != to_unit {
        return None;
    }
    let unit = from_unit.unwrap_or_default();
    Some(format!("{} {unit} → {} {unit}", from.shown, to.shown))
}

struct Pair<'a> {
    old: &'a [Word],
    new: &'a [Word],
}

impl Pair<'_> {
    fn sides(&self, gap: &Gap) -> [&[Word]; 2] {
        [&self.old[gap.old.clone()], &self.new[gap.new.clone()]]
    }

    /// Gaps that only a joint of names parts are one: `College of Music`, `University of Arts`.
    fn joined(&self, gaps: Vec<Gap>) -> Vec<Gap> {
        let mut out: Vec<Gap> = Vec::new();
        for gap in gaps {
            match out.last_mut() {
                Some(last)
                    if last.new.end + 1 == gap.new.start
                        && last.old.end + 1 == gap.old.start
                        && JOINTS.contains(&self.new[last.new.end].key.as_str())
                        && self.is_slot(last)
                        && self.is_slot(&gap) =>
                {
                    (last.old.end, last.new.end) = (gap.old.end, gap.new.end);
                }
                Some(_) | None => out.push(gap),
            }
        }
        out
    }

    /// Whether a gap has more than small words in it.
    fn tells(&self, gap: &Gap) -> bool {
        self.sides(gap).into_iter().flatten().any(|word| word.sort != Sort::Small)
    }

    /// Whether both sides have something of their own.
    fn is_slot(&self, gap: &Gap) -> bool {
        let own = |words: &[Word]| words.iter().any(Word::is_value);
        self.sides(gap).into_iter().all(own)
    }

    /// Whether one side only denies: `does not`, `never`, `no longer`.
    fn is_denial(&self, gap: &Gap) -> bool {
        let [old, new] = self.sides(gap);
        let denials = |words: &[Word]| words.iter().filter(|word| word.sort == Sort::Denial).count();
        let only = !old.iter().chain(new).any(Word::is_value);
        only && denials(old) % 2 != denials(new) % 2
    }

    /// Whether a word left one place and stands in another: `Tim reports to Ann`, `Ann reports to Tim`.
    fn is_moved(&self, telling: &[&Gap]) -> bool {
        let of = |side: usize| {
            let words = telling.iter().flat_map(move |gap| self.sides(gap)[side]);
            words.filter(|word| word.is_value()).map(|word| &word.key).collect::<Vec<_>>()
        };
        let (old, new) = (of(0), of(1));
        old.iter().any(|key| new.contains(key))
    }

    fn clash(&self, slots: &[&Gap]) -> Option<Clash> {
        let all_numbers = slots.iter().all(|gap| self.is_number(gap));
        if slots.len() > if all_numbers { SLOTS_MAX } else { 1 } {
            return None;
        }
        let mut is_clear = true;
        for gap in slots {
            match self.holds_one(gap) {
                Holds::One => {}
                Holds::Unclear => is_clear = false,
                Holds::Many => return None,
            }
        }
        let evidence: Vec<String> = slots.iter().map(|gap| self.evidence(gap)).collect();
        Some(Clash { is_clear, evidence: evidence.join(", ") })
    }

    fn is_number(&self, gap: &Gap) -> bool {
        self.sides(gap).into_iter().all(|words| words.iter().any(|word| word.sort == Sort::Number))
    }

    /// Whether what stands around a slot can hold only one value.
    fn holds_one(&self, gap: &Gap) -> Holds {
        let [old, new] = self.sides(gap);
        if old.len().max(new.len()) > SLOT_WORDS_MAX {
            return Holds::Many;
        }
        let (before, after) = (&self.new[..gap.new.start], &self.new[gap.new.end..]);
        if opposed(old, new) && before.iter().any(Word::is_value) {
            return Holds::One;
        }
        holds(before, old, new, after, self.is_number(gap))
    }

    /// `timeout 30 s → 45 s`.
    fn evidence(&self, gap: &Gap) -> String {
        let is_number = self.is_number(gap);
        let [old, new] = self.sides(gap).map(|words| {
            let value = words.iter().filter(|word| !is_number || word.is_quantity());
            value.map(|word| word.shown.as_str()).collect::<Vec<_>>().join(" ")
        });
        let lead = self.new[..gap.new.start].iter().rev().find(|word| word.is_value());
        let lead = lead.map(|word| format!("{} ", word.shown)).unwrap_or_default();
        let unit = self.new.get(gap.new.end).filter(|word| is_number && word.sort == Sort::Plain);
        let unit = unit.map(|word| format!(" {}", word.shown)).unwrap_or_default();
        format!("{lead}{}{unit} → {}{unit}", shown(&old), shown(&new))
    }

    /// Likeness with each slot as one and the same word.
    fn around(&self, slots: &[&Gap], old: &str, new: &str) -> f64 {
        if slots.is_empty() {
            return super::similarity(old, new);
        }
        let without = |words: &[Word], side: usize| {
            // Of a number's slot, what is more than the number counts as words around it.
            let in_slot = |at: usize, word: &Word| {
                slots.iter().any(|gap| {
                    let range = if side == 0 { &gap.old } else { &gap.new };
                    range.contains(&at) && (!self.is_number(gap) || word.is_quantity())
                })
            };
            let kept = words.iter().enumerate().filter(|(at, word)| !in_slot(*at, word));
            let mut out = terms(&kept.map(|(_, word)| word.key.as_str()).collect::<Vec<_>>().join(" "));
            out.extend((0..slots.len()).map(|slot| format!("\u{0}{slot}")));
            out
        };
        cosine(&without(self.old, 0), &without(self.new, 1))
    }
}

fn shown(text: &str) -> String {
    let mut out: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests;
