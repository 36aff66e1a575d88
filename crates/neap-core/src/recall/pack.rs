//! The set that serves a question within a budget.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::fresh::outdated;
use super::page::{Shown, frame_tokens, heading, is_apart, line, page};
use super::passage::passage;
use super::{Card, Ranked, TextId, TextKind, Wanted};
use crate::ids::SessionId;
use crate::tokens::{TokenCounter, Tokens};

/// Texts that did not fit are passed over this often; after that, what is left is too small.
const MISSES_MAX: usize = 100;
/// Less than this is not worth looking for something that fits.
const LEFT_MIN: Tokens = Tokens(8);
/// Tokens that are not long, if the budget is not small.
const LONG_MIN: u64 = 400;
/// So often the page is filled.
const ROUNDS: usize = 2;
/// What stands between two texts comes along if it is at most so many, and together at most so long.
const GAP_TEXTS_MAX: u64 = 3;
const GAP_TOKENS_MAX: Tokens = Tokens(32);
/// So much of the budget is read, in per cent: not all of it will fit.
const READ_PERCENT: u64 = 150;

/// What was recalled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recollection {
    /// As a model reads it; empty if there is nothing.
    pub text: String,
    /// What that costs, counted.
    pub tokens: Tokens,
    /// What is on it, oldest first.
    pub shown: Vec<Shown>,
    /// The words of the best text of all.
    pub best: Option<Arc<str>>,
    /// Everything that was put in order, best first.
    pub ranked: Vec<Ranked>,
}

/// The texts to read: the best, until they cost clearly more than the budget.
pub(super) fn shortlist(ranked: &[Ranked], budget: Tokens) -> Vec<TextId> {
    let (mut left, long) = (budget.percent(READ_PERCENT), long(budget));
    let mut ids = Vec::new();
    for Ranked { card, .. } in ranked {
        if left == Tokens::ZERO {
            break;
        }
        left = left.saturating_sub(if card.tokens > long { Tokens(long.0 / 2) } else { card.tokens });
        ids.push(card.id.clone());
    }
    ids
}

/// A text longer than this is shown by a passage of half of it: an eighth of the budget, but no less than [`LONG_MIN`] or two fifths of
/// it.
fn long(budget: Tokens) -> Tokens {
    Tokens((budget.0 / 8).max(LONG_MIN.min(budget.0 * 2 / 5)))
}

/// How a page is counted.
#[derive(Clone, Copy)]
pub struct Counting<'a> {
    /// By whom.
    pub counter: &'a dyn TokenCounter,
    /// Whether what cards say of texts is, about, what they cost by that.
    pub is_of_cards: bool,
}

/// Fills the budget with the best texts that fit: whole, but for the longest, which stand by a passage. What is said between two of them, if it is short, comes along.
pub fn pack(
    counting: Counting<'_>,
    wanted: &Wanted,
    ranked: Vec<Ranked>,
    texts: &BTreeMap<TextId, Arc<str>>,
    budget: Tokens,
) -> Recollection {
    let outdated = outdated(&ranked, texts);
    let ranked = current_first(ranked, &outdated);
    let mut filling = Filling::new(counting, budget);
    // What texts take is known about; once they are on the page, exactly: what is left over is filled as well.
    for _ in 0..ROUNDS {
        let before = filling.shown.len();
        filling.fill(wanted, &ranked, texts, &outdated, long(budget));
        filling.close_gaps(&ranked, texts);
        if filling.shown.len() == before {
            break;
        }
        filling.shown.sort_by(|a, b| {
            let key = |s: &Shown| (s.card.at, s.card.nth);
            key(a).cmp(&key(b)).then_with(|| a.card.id.cmp(&b.card.id))
        });
        filling.left = budget.saturating_sub(filling.tokens());
    }
    let tokens = filling.fitted(&ranked, budget);
    let best = lead(&ranked, &outdated).and_then(|id| texts.get(id)).cloned();
    let shown = filling.shown;
    Recollection { text: page(&shown), tokens, shown, best, ranked }
}

/// A page on the way.
struct Filling<'a> {
    counter: &'a dyn TokenCounter,
    is_of_cards: bool,
    /// What it costs with nothing on it.
    frame: Tokens,
    left: Tokens,
    /// What each heading costs.
    headed: BTreeMap<(SessionId, String), Tokens>,
    /// What each text costs as a line, once that was counted.
    lines: BTreeMap<TextId, Tokens>,
    said: BTreeSet<String>,
    shown: Vec<Shown>,
}

impl<'a> Filling<'a> {
    fn new(Counting { counter, is_of_cards }: Counting<'a>, budget: Tokens) -> Self {
        let frame = frame_tokens(counter);
        let (headed, lines, said, shown) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new(), Vec::new());
        Self { counter, is_of_cards, frame, left: budget.saturating_sub(frame), headed, lines, said, shown }
    }

    /// Takes the best texts that fit.
    fn fill(
        &mut self,
        wanted: &Wanted,
        ranked: &[Ranked],
        texts: &BTreeMap<TextId, Arc<str>>,
        outdated: &BTreeMap<TextId, TextId>,
        long: Tokens,
    ) {
        let taken: BTreeSet<TextId> = self.shown.iter().map(|item| item.card.id.clone()).collect();
        let mut misses = 0;
        for Ranked { card, .. } in ranked.iter().filter(|ranked| !taken.contains(&ranked.card.id)) {
            if self.left < LEFT_MIN || misses > MISSES_MAX {
                break;
            }
            let Some(text) = texts.get(&card.id) else { continue };
            let is_whole = card.tokens <= long;
            let passage = (!is_whole).then(|| passage(self.counter, &wanted.terms, text, Tokens(long.0 / 2)));
            let text = passage.as_deref().unwrap_or(text);
            misses += usize::from(!self.take(card, text, is_whole, outdated.contains_key(&card.id)));
        }
    }

    /// Puts a text on the page; says whether it fits. The same words again tell nothing more, and take no room.
    fn take(&mut self, card: &Card, text: &str, is_whole: bool, is_stale: bool) -> bool {
        let words = text.trim();
        if words.is_empty() || self.said.contains(words) {
            return true;
        }
        // About: the page is counted in the end. What was said was counted when it was said, with what tells who said it.
        let is_counted = self.is_of_cards && matches!(card.kind, TextKind::User | TextKind::Assistant);
        let is_as_counted = is_counted && is_whole && !is_stale;
        let own = if is_as_counted { card.tokens } else { self.counter.count(&line(card, text, is_stale)) };
        if own > self.left {
            return false;
        }
        let place = (card.id.stream.clone(), card.at.date());
        let is_headed = self.headed.contains_key(&place);
        let head = if is_headed { Tokens::ZERO } else { self.counter.count(&heading(card)) };
        let cost = head + own;
        if cost > self.left {
            return false;
        }
        self.left = self.left.saturating_sub(cost);
        self.headed.entry(place).or_insert(head);
        self.said.insert(words.to_owned());
        self.shown.push(Shown { card: card.clone(), text: text.to_owned(), is_whole, is_stale });
        true
    }

    /// What the page costs as it stands: each line begins where no encoding merges across, so lines add up, and each is counted once.
    fn tokens(&mut self) -> Tokens {
        let Self { counter, frame, headed, lines, shown, .. } = self;
        let mut sum = if shown.is_empty() { Tokens::ZERO } else { *frame };
        let mut last: Option<&Shown> = None;
        for item in shown.iter() {
            let Card { id, at, .. } = &item.card;
            if last.is_none_or(|last| is_apart(&last.card, &item.card)) {
                let known = headed.get(&(id.stream.clone(), at.date()));
                sum += known.copied().unwrap_or_else(|| counter.count(&heading(&item.card)));
            }
            sum += *lines
                .entry(id.clone())
                .or_insert_with(|| counter.count(&line(&item.card, &item.text, item.is_stale)));
            last = Some(item);
        }
        sum
    }

    /// Makes it fit, and gives what it costs. Conversations that ran at once alternate under more headings than were counted: then the last
    /// that was taken goes, until it does.
    fn fitted(&mut self, ranked: &[Ranked], budget: Tokens) -> Tokens {
        let rank = |item: &Shown| ranked.iter().position(|ranked| ranked.card.id == item.card.id);
        loop {
            let tokens = self.tokens();
            if tokens <= budget {
                return tokens;
            }
            let last = (0..self.shown.len()).max_by_key(|at| rank(&self.shown[*at]));
            last.map(|at| self.shown.remove(at));
        }
    }

    /// Takes the few short texts that stand between two that are there: "yes, both" makes an exchange whole.
    fn close_gaps(&mut self, ranked: &[Ranked], texts: &BTreeMap<TextId, Arc<str>>) {
        let mut taken: Vec<(SessionId, u64)> =
            self.shown.iter().map(|item| (item.card.id.stream.clone(), item.card.nth)).collect();
        taken.sort();
        let mut gaps: BTreeMap<(&SessionId, u64), Option<&Card>> = BTreeMap::new();
        for pair in taken.windows(2) {
            let [(stream, first), (other, last)] = pair else { continue };
            if stream == other && (2..=GAP_TEXTS_MAX + 1).contains(&(last - first)) {
                gaps.extend((first + 1..*last).map(|nth| ((stream, nth), None)));
            }
        }
        if gaps.is_empty() {
            return;
        }
        for Ranked { card, .. } in ranked.iter().filter(|ranked| ranked.card.nth > 0) {
            gaps.entry((&card.id.stream, card.nth)).and_modify(|known| *known = Some(card));
        }
        let gaps: Vec<_> = gaps.into_iter().collect();
        let follow = |a: &(&SessionId, u64), b: &(&SessionId, u64)| a.0 == b.0 && a.1 + 1 == b.1;
        for gap in gaps.chunk_by(|(a, _), (b, _)| follow(a, b)) {
            let between: Option<Vec<&Card>> = gap.iter().map(|(_, known)| *known).collect();
            let is_short =
                |cards: &Vec<&Card>| cards.iter().map(|card| card.tokens).sum::<Tokens>() <= GAP_TOKENS_MAX;
            for card in between.filter(is_short).into_iter().flatten() {
                if let Some(text) = texts.get(&card.id) {
                    self.take(card, text, true, false);
                }
            }
        }
    }
}

/// What was put out of date comes after what put it so, which takes its place.
fn current_first(mut ranked: Vec<Ranked>, outdated: &BTreeMap<TextId, TextId>) -> Vec<Ranked> {
    for (earlier, later) in outdated {
        let at = |id: &TextId| ranked.iter().position(|ranked| ranked.card.id == *id);
        if let (Some(before), Some(after)) = (at(earlier), at(later))
            && before < after
        {
            let current = ranked.remove(after);
            ranked.insert(before, current);
        }
    }
    ranked
}

/// The text that answers most by itself, or what put it out of date.
fn lead<'a>(ranked: &'a [Ranked], outdated: &'a BTreeMap<TextId, TextId>) -> Option<&'a TextId> {
    let own = |ranked: &Ranked| ranked.why.words + ranked.why.meaning;
    let best = ranked.iter().reduce(|best, next| if own(next) > own(best) { next } else { best })?;
    Some(outdated.get(&best.card.id).unwrap_or(&best.card.id))
}
