//! Compares two statements in nearly the same words: the words are aligned, and what differs is looked at.

use super::align::{DiffHunk, align};
use super::predicate::{Cardinality, GENERIC_NOUNS, is_exclusive, slot_cardinality};
use super::statement::Statement;
use super::value::Value;
use super::word::{SentenceWord, WordClass};
use super::{Comparison, Contradiction, truncate};
use crate::memory::text_similarity::{term_cosine, text_similarity};
use crate::text::terms::terms;

const SLOT_WORDS_MAX: usize = 8;
/// Words that join the parts of one name.
const NAME_CONNECTIVES: &[&str] = &["of", "and", "'s", "&"];
/// Words between the two ends of a range.
/// Words by which a statement calls itself past.
const PAST_MARKERS: &str = "previous former until last year month week past back then recent";
const RANGE_JOINTS: &str = "to until and x";

pub(super) fn compare(old: &Statement<'_>, new: &Statement<'_>) -> Comparison {
    let pair = SentencePair { old: &old.words, new: &new.words };
    let hunks = pair.merge_name_hunks(align(pair.old, pair.new));
    let differing: Vec<&DiffHunk> = hunks.iter().filter(|hunk| pair.differs(hunk)).collect();
    let slots: Vec<&DiffHunk> = differing.iter().copied().filter(|hunk| pair.is_slot(hunk)).collect();
    let negations = differing.iter().filter(|hunk| pair.is_negation(hunk)).count();
    let moved = pair.has_moved_word(&differing);
    let changes_value = |hunk: &&DiffHunk| {
        let mut words = pair.sides(hunk).into_iter().flatten();
        words.any(|word| word.class == WordClass::Number) || pair.is_particle(hunk) || pair.is_condition(hunk)
    };
    let values_differ = moved
        || negations > 0
        || !slots.is_empty()
        || differing.iter().any(changes_value)
        || !old.has_same_time(new)
        || old.is_past != new.is_past;
    let ends_old = new.is_past && !old.is_past && differing.iter().all(|hunk| pair.is_past_marker(hunk));
    let denial = || Contradiction {
        is_clear: true,
        evidence: format!("{} → {}", truncate(old.text), truncate(new.text)),
    };
    let contradiction = match (negations % 2 == 1, slots.as_slice()) {
        _ if ends_old => Some(denial()),
        _ if new.is_past || moved => None,
        (true, []) => pair.is_denial(&differing, new.is_marked).then(denial),
        (true, _) | (false, []) => None,
        (false, slots) => pair.contradiction(&differing, slots, new.is_marked),
    };
    let is_first = |hunk: &&&DiffHunk| !pair.is_slot(hunk) && !pair.is_negation(hunk);
    let prefix_differs = differing.iter().take_while(is_first).any(|hunk| !pair.is_generic(hunk));
    let is_same = differing.is_empty() && old.has_same_time(new) && old.is_past == new.is_past;
    let context_similarity = pair.context_similarity(&slots, old.text, new.text);
    Comparison { context_similarity, contradiction, prefix_differs, is_same, values_differ }
}

struct SentencePair<'a> {
    old: &'a [SentenceWord],
    new: &'a [SentenceWord],
}

impl SentencePair<'_> {
    fn sides(&self, hunk: &DiffHunk) -> [&[SentenceWord]; 2] {
        [&self.old[hunk.old.clone()], &self.new[hunk.new.clone()]]
    }

    /// Merges hunks separated only by a word inside a name: `College of Music`, `University of Arts`.
    fn merge_name_hunks(&self, hunks: Vec<DiffHunk>) -> Vec<DiffHunk> {
        let mut out: Vec<DiffHunk> = Vec::new();
        for hunk in hunks {
            match out.last_mut() {
                Some(last)
                    if last.new.end + 1 == hunk.new.start
                        && last.old.end + 1 == hunk.old.start
                        && NAME_CONNECTIVES.contains(&self.new[last.new.end].key.as_str())
                        && self.is_slot(last)
                        && self.is_slot(&hunk) =>
                {
                    (last.old.end, last.new.end) = (hunk.old.end, hunk.new.end);
                }
                Some(_) | None => out.push(hunk),
            }
        }
        out
    }

    /// Whether a hunk changes what is said.
    fn differs(&self, hunk: &DiffHunk) -> bool {
        self.sides(hunk).into_iter().flatten().any(|word| !word.is_empty())
    }

    /// Whether both sides have a value.
    fn is_slot(&self, hunk: &DiffHunk) -> bool {
        let has_value = |words: &[SentenceWord]| words.iter().any(SentenceWord::is_value);
        let [old, new] = self.sides(hunk);
        [old, new].into_iter().all(has_value) || self.is_switch(hunk)
    }

    /// `on` and `off`, and nothing else.
    fn is_switch(&self, hunk: &DiffHunk) -> bool {
        let [old, new] = self.sides(hunk);
        let is_short = |words: &[SentenceWord]| words.iter().filter(|word| !word.is_empty()).count() == 1;
        is_short(old) && is_short(new) && is_exclusive(old, new, false)
    }

    /// Whether one side only negates: `does not`, `never`, `no longer`.
    fn is_negation(&self, hunk: &DiffHunk) -> bool {
        let [old, new] = self.sides(hunk);
        let negations =
            |words: &[SentenceWord]| words.iter().filter(|word| word.class == WordClass::Negation).count();
        let no_values = !old.iter().chain(new).any(SentenceWord::is_value);
        no_values && negations(old) % 2 != negations(new) % 2
    }

    /// Whether only small words differ that change what is said: `my`, `was`, `only`.
    fn is_particle(&self, hunk: &DiffHunk) -> bool {
        let is_particle = |word: &SentenceWord| word.class == WordClass::Particle;
        !self.is_slot(hunk) && self.sides(hunk).into_iter().flatten().any(is_particle)
    }

    /// Whether one side alone has a condition: `on Fridays`.
    fn is_condition(&self, hunk: &DiffHunk) -> bool {
        let is_condition = |words: &[SentenceWord]| {
            let lead = [SentenceWord::plain("x")].into_iter().chain(words.iter().cloned()).collect::<Vec<_>>();
            !Value::of(&lead).condition_keys().is_empty()
        };
        !self.is_slot(hunk) && self.sides(hunk).into_iter().any(is_condition)
    }

    /// Whether only words differ that hardly narrow a name: `billing`, `billing service`.
    fn is_generic(&self, hunk: &DiffHunk) -> bool {
        self.sides(hunk).into_iter().flatten().all(|word| word.is_empty() || word.is_listed(GENERIC_NOUNS))
    }

    /// `formerly`, `until last year`: all that one statement has and the other has not.
    fn is_past_marker(&self, hunk: &DiffHunk) -> bool {
        hunk.old.is_empty()
            && self.new[hunk.new.clone()].iter().all(|word| word.is_empty() || word.is_listed(PAST_MARKERS))
    }

    /// Whether a word moved to another place: `Tim reports to Ann`, `Ann reports to Tim`.
    fn has_moved_word(&self, hunks: &[&DiffHunk]) -> bool {
        let values = |side: usize| {
            let words = hunks.iter().flat_map(move |hunk| self.sides(hunk)[side]);
            words.filter(|word| word.is_value()).map(|word| &word.key).collect::<Vec<_>>()
        };
        let (old, new) = (values(0), values(1));
        old.iter().any(|key| new.contains(key))
    }

    /// Whether one denies the other, and nothing else. Of what has ended, the older may say more: `We no longer use
    /// Jira`, `We use Jira for tickets`.
    fn is_denial(&self, differing: &[&DiffHunk], is_marked: bool) -> bool {
        let only_old = |hunk: &DiffHunk| is_marked && hunk.new.is_empty() && hunk.old.end == self.old.len();
        let is_allowed = |hunk: &&&DiffHunk| self.is_negation(hunk) || self.is_generic(hunk) || only_old(hunk);
        differing.iter().all(|hunk| is_allowed(&hunk))
    }

    /// One slot behind the subject, and nothing else that makes a difference.
    fn contradiction(
        &self,
        differing: &[&DiffHunk],
        slots: &[&DiffHunk],
        is_marked: bool,
    ) -> Option<Contradiction> {
        let (first, last) = (slots.first()?, slots.last()?);
        if slots.len() > 1 && !self.is_range(slots) {
            return None;
        }
        let is_allowed = |hunk: &&&DiffHunk| {
            let is_before = hunk.new.end <= first.new.start && hunk.old.end <= first.old.start;
            self.is_slot(hunk)
                || self.is_generic(hunk)
                || !is_before && !self.is_condition(hunk) && !self.is_particle(hunk) && !self.is_negation(hunk)
        };
        if !differing.iter().all(|hunk| is_allowed(&hunk)) {
            return None;
        }
        let whole = DiffHunk { old: first.old.start..last.old.end, new: first.new.start..last.new.end };
        let is_clear = match self.cardinality(&whole, is_marked) {
            Cardinality::One => true,
            Cardinality::Unclear => false,
            Cardinality::Many => return None,
        };
        let evidence: Vec<String> = slots.iter().map(|hunk| self.evidence(hunk)).collect();
        Some(Contradiction { is_clear, evidence: evidence.join(", ") })
    }

    /// `from 9 to 17`, `from 10 to 18`: numbers with nothing but a joint between them.
    fn is_range(&self, slots: &[&DiffHunk]) -> bool {
        slots.iter().all(|hunk| self.is_number(hunk))
            && slots.windows(2).all(|pair| {
                let between = &self.new[pair[0].new.end..pair[1].new.start];
                between.iter().any(|word| word.is_listed(RANGE_JOINTS))
                    && between.iter().all(|word| word.is_listed(RANGE_JOINTS) || word.is_unit())
            })
    }

    fn is_number(&self, hunk: &DiffHunk) -> bool {
        self.sides(hunk).into_iter().all(|words| words.iter().any(|word| word.class == WordClass::Number))
    }

    fn cardinality(&self, hunk: &DiffHunk, is_marked: bool) -> Cardinality {
        let sides @ [old, new] = self.sides(hunk);
        if old.len().max(new.len()) > SLOT_WORDS_MAX {
            return Cardinality::Many;
        }
        let (old_value, new_value) = (Value::of(old), Value::of(new));
        if old_value.condition_keys() != new_value.condition_keys()
            || old_value.is_equal(&new_value)
            || !old_value.is_of_one_kind(&new_value)
        {
            return Cardinality::Many;
        }
        let (before, after) = (&self.new[..hunk.new.start], &self.new[hunk.new.end..]);
        slot_cardinality(before, sides, after, is_marked)
    }

    /// e.g. `timeout 30 s → 45 s`.
    fn evidence(&self, hunk: &DiffHunk) -> String {
        let is_number = self.is_number(hunk);
        let [old, new] = self.sides(hunk).map(|words| {
            let value = words.iter().filter(|word| !is_number || word.is_quantity());
            value.map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
        });
        let lead = self.new[..hunk.new.start].iter().rev().find(|word| word.is_value());
        let lead = lead.map(|word| format!("{} ", word.text)).unwrap_or_default();
        let unit = self.new.get(hunk.new.end).filter(|word| is_number && word.class == WordClass::Plain);
        let unit = unit.map(|word| format!(" {}", word.text)).unwrap_or_default();
        format!("{lead}{}{unit} → {}{unit}", truncate(&old), truncate(&new))
    }

    /// Similarity with each slot replaced by the same placeholder.
    fn context_similarity(&self, slots: &[&DiffHunk], old: &str, new: &str) -> f64 {
        if slots.is_empty() {
            return text_similarity(old, new);
        }
        let without = |words: &[SentenceWord], side: usize| {
            // In a number's slot, words other than the quantity count as context.
            let in_slot = |at: usize, word: &SentenceWord| {
                slots.iter().any(|hunk| {
                    let range = if side == 0 { &hunk.old } else { &hunk.new };
                    range.contains(&at) && (!self.is_number(hunk) || word.is_quantity())
                })
            };
            let context = words.iter().enumerate().filter(|(at, word)| !in_slot(*at, word));
            let mut out = terms(&context.map(|(_, word)| word.key.as_str()).collect::<Vec<_>>().join(" "));
            out.extend((0..slots.len()).map(|slot| format!("\u{0}{slot}")));
            out
        };
        term_cosine(&without(self.old, 0), &without(self.new, 1))
    }
}
