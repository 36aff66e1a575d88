//! Selects the texts that serve a question within a token budget.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::page::{ShownText, empty_page_tokens, heading, needs_heading, render_line, render_page};
use super::passage::passage;
use super::restatements::outdated;
use super::{Candidate, ParsedQuestion, Ranked, TextId, TextKind};
use crate::base::ids::StreamId;
use crate::base::tokens::{TokenCounter, Tokens};

/// Texts that did not fit before packing stops: then hardly anything else will.
const MISSES_MAX: usize = 100;
/// Packing stops below this.
const REMAINING_MIN: Tokens = Tokens(8);
/// No text up to this is long, unless the budget is small.
const LONG_MIN: u64 = 400;
const FILL_ROUNDS: usize = 2;
/// A gap between two shown texts is filled if it has at most this many texts, with at most this many tokens in
/// all.
const GAP_TEXTS_MAX: u64 = 3;
const GAP_TOKENS_MAX: Tokens = Tokens(32);
/// Share of the budget, in per cent, that is read: not everything read will fit.
const READ_PERCENT: u64 = 150;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecalledContext {
    pub text: String,
    /// Counted, not estimated.
    pub tokens: Tokens,
    pub shown: Vec<ShownText>,
    /// The best text, whether or not it is on the page.
    pub best: Option<Arc<str>>,
    /// All candidates, best first.
    pub ranked: Vec<Ranked>,
}

/// The best texts, up to clearly more tokens than the budget.
pub(super) fn shortlist(ranked: &[Ranked], budget: Tokens) -> Vec<TextId> {
    let (mut left, long) = (budget.percent(READ_PERCENT), long_text_tokens(budget));
    let mut ids = Vec::new();
    for Ranked { candidate, .. } in ranked {
        if left == Tokens::ZERO {
            break;
        }
        left = left.saturating_sub(if candidate.tokens > long { Tokens(long.0 / 2) } else { candidate.tokens });
        ids.push(candidate.id.clone());
    }
    ids
}

/// A longer text is shown by a passage of half this length: an eighth of the budget, but at least [`LONG_MIN`] or
/// two fifths of the budget, whichever is less.
fn long_text_tokens(budget: Tokens) -> Tokens {
    Tokens((budget.0 / 8).max(LONG_MIN.min(budget.0 * 2 / 5)))
}

#[derive(Clone, Copy)]
pub struct PageCounting<'a> {
    pub counter: &'a dyn TokenCounter,
    /// Whether [`Candidate::tokens`] approximates what `counter` counts.
    pub has_candidate_counts: bool,
}

/// Fills the budget with the best texts that fit, whole except for the longest, which are shown by a passage.
/// Short gaps between two shown texts are filled too.
pub fn pack(
    counting: PageCounting<'_>,
    question: &ParsedQuestion,
    ranked: Vec<Ranked>,
    texts: &BTreeMap<TextId, Arc<str>>,
    budget: Tokens,
) -> RecalledContext {
    let outdated = outdated(&ranked, texts);
    let ranked = promote_current(ranked, &outdated);
    let mut packer = PagePacker::new(counting, budget);
    // The first round packs by estimates; the second fills what an exact count shows to be left.
    for _ in 0..FILL_ROUNDS {
        let before = packer.shown.len();
        packer.fill(question, &ranked, texts, &outdated, long_text_tokens(budget));
        packer.close_gaps(&ranked, texts);
        if packer.shown.len() == before {
            break;
        }
        packer.shown.sort_by(|a, b| {
            let key = |s: &ShownText| (s.candidate.at, s.candidate.position);
            key(a).cmp(&key(b)).then_with(|| a.candidate.id.cmp(&b.candidate.id))
        });
        packer.remaining = budget.saturating_sub(packer.count_tokens());
    }
    let tokens = packer.trim_to_budget(&ranked, budget);
    let best = best_text(&ranked, &outdated).and_then(|id| texts.get(id)).cloned();
    let shown = packer.shown;
    RecalledContext { text: render_page(&shown), tokens, shown, best, ranked }
}

struct PagePacker<'a> {
    counter: &'a dyn TokenCounter,
    has_candidate_counts: bool,
    frame: Tokens,
    remaining: Tokens,
    heading_tokens: BTreeMap<(StreamId, String), Tokens>,
    /// Tokens of each rendered line; filled when first counted.
    line_tokens: BTreeMap<TextId, Tokens>,
    seen_texts: BTreeSet<String>,
    shown: Vec<ShownText>,
}

impl<'a> PagePacker<'a> {
    fn new(PageCounting { counter, has_candidate_counts }: PageCounting<'a>, budget: Tokens) -> Self {
        let frame = empty_page_tokens(counter);
        let (heading_tokens, line_tokens, seen_texts, shown) =
            (BTreeMap::new(), BTreeMap::new(), BTreeSet::new(), Vec::new());
        Self {
            counter,
            has_candidate_counts,
            frame,
            remaining: budget.saturating_sub(frame),
            heading_tokens,
            line_tokens,
            seen_texts,
            shown,
        }
    }

    fn fill(
        &mut self,
        question: &ParsedQuestion,
        ranked: &[Ranked],
        texts: &BTreeMap<TextId, Arc<str>>,
        outdated: &BTreeMap<TextId, TextId>,
        long: Tokens,
    ) {
        let taken: BTreeSet<TextId> = self.shown.iter().map(|item| item.candidate.id.clone()).collect();
        let mut misses = 0;
        for Ranked { candidate, .. } in ranked.iter().filter(|ranked| !taken.contains(&ranked.candidate.id)) {
            if self.remaining < REMAINING_MIN || misses > MISSES_MAX {
                break;
            }
            let Some(text) = texts.get(&candidate.id) else { continue };
            let is_whole = candidate.tokens <= long;
            let passage = (!is_whole).then(|| passage(self.counter, &question.terms, text, Tokens(long.0 / 2)));
            let text = passage.as_deref().unwrap_or(text);
            misses += usize::from(!self.try_add(candidate, text, is_whole, outdated.contains_key(&candidate.id)));
        }
    }

    /// Adds a text; returns whether it fits. A repeated text is skipped and counts as fitting.
    fn try_add(&mut self, candidate: &Candidate, text: &str, is_whole: bool, is_stale: bool) -> bool {
        let words = text.trim();
        if words.is_empty() || self.seen_texts.contains(words) {
            return true;
        }
        // An estimate; the page is counted at the end. Messages were counted, with their speaker, when they were
        // recorded.
        let is_counted =
            self.has_candidate_counts && matches!(candidate.kind, TextKind::User | TextKind::Assistant);
        let is_count_known = is_counted && is_whole && !is_stale;
        let line_cost = if is_count_known {
            candidate.tokens
        } else {
            self.counter.count(&render_line(candidate, text, is_stale))
        };
        if line_cost > self.remaining {
            return false;
        }
        let key = (candidate.id.stream.clone(), candidate.at.date());
        let is_headed = self.heading_tokens.contains_key(&key);
        let heading_cost = if is_headed { Tokens::ZERO } else { self.counter.count(&heading(candidate)) };
        let cost = heading_cost + line_cost;
        if cost > self.remaining {
            return false;
        }
        self.remaining = self.remaining.saturating_sub(cost);
        self.heading_tokens.entry(key).or_insert(heading_cost);
        self.seen_texts.insert(words.to_owned());
        self.shown.push(ShownText { candidate: candidate.clone(), text: text.to_owned(), is_whole, is_stale });
        true
    }

    /// The page's exact tokens. No encoding merges across the start of a line, so lines add up and each is counted
    /// once.
    fn count_tokens(&mut self) -> Tokens {
        let Self { counter, frame, heading_tokens, line_tokens, shown, .. } = self;
        let mut sum = if shown.is_empty() { Tokens::ZERO } else { *frame };
        let mut last: Option<&ShownText> = None;
        for item in shown.iter() {
            let Candidate { id, at, .. } = &item.candidate;
            if last.is_none_or(|last| needs_heading(&last.candidate, &item.candidate)) {
                let known = heading_tokens.get(&(id.stream.clone(), at.date()));
                sum += known.copied().unwrap_or_else(|| counter.count(&heading(&item.candidate)));
            }
            sum += *line_tokens
                .entry(id.clone())
                .or_insert_with(|| counter.count(&render_line(&item.candidate, &item.text, item.is_stale)));
            last = Some(item);
        }
        sum
    }

    /// Removes the lowest-ranked texts until the page fits, and returns its tokens. Interleaved conversations
    /// repeat their headings, which the estimates do not include.
    fn trim_to_budget(&mut self, ranked: &[Ranked], budget: Tokens) -> Tokens {
        let rank = |item: &ShownText| ranked.iter().position(|ranked| ranked.candidate.id == item.candidate.id);
        loop {
            let tokens = self.count_tokens();
            if tokens <= budget {
                return tokens;
            }
            let last = (0..self.shown.len()).max_by_key(|at| rank(&self.shown[*at]));
            last.map(|at| self.shown.remove(at));
        }
    }

    /// Adds the few short texts between two shown ones: "yes, both" completes an exchange.
    fn close_gaps(&mut self, ranked: &[Ranked], texts: &BTreeMap<TextId, Arc<str>>) {
        let mut taken: Vec<(StreamId, u64)> =
            self.shown.iter().map(|item| (item.candidate.id.stream.clone(), item.candidate.position)).collect();
        taken.sort();
        let mut gaps: BTreeMap<(&StreamId, u64), Option<&Candidate>> = BTreeMap::new();
        for pair in taken.windows(2) {
            let [(stream, first), (other, last)] = pair else { continue };
            if stream == other && (2..=GAP_TEXTS_MAX + 1).contains(&(last - first)) {
                gaps.extend((first + 1..*last).map(|nth| ((stream, nth), None)));
            }
        }
        if gaps.is_empty() {
            return;
        }
        for Ranked { candidate, .. } in ranked.iter().filter(|ranked| ranked.candidate.position > 0) {
            gaps.entry((&candidate.id.stream, candidate.position)).and_modify(|known| *known = Some(candidate));
        }
        let gaps: Vec<_> = gaps.into_iter().collect();
        let follow = |a: &(&StreamId, u64), b: &(&StreamId, u64)| a.0 == b.0 && a.1 + 1 == b.1;
        for gap in gaps.chunk_by(|(a, _), (b, _)| follow(a, b)) {
            let between: Option<Vec<&Candidate>> = gap.iter().map(|(_, known)| *known).collect();
            let is_short = |candidates: &Vec<&Candidate>| {
                candidates.iter().map(|candidate| candidate.tokens).sum::<Tokens>() <= GAP_TOKENS_MAX
            };
            for candidate in between.filter(is_short).into_iter().flatten() {
                if let Some(text) = texts.get(&candidate.id) {
                    self.try_add(candidate, text, true, false);
                }
            }
        }
    }
}

fn promote_current(mut ranked: Vec<Ranked>, outdated: &BTreeMap<TextId, TextId>) -> Vec<Ranked> {
    for (earlier, later) in outdated {
        let at = |id: &TextId| ranked.iter().position(|ranked| ranked.candidate.id == *id);
        if let (Some(before), Some(after)) = (at(earlier), at(later))
            && before < after
        {
            let current = ranked.remove(after);
            ranked.insert(before, current);
        }
    }
    ranked
}

/// The text with the highest own score, or the one that outdates it.
fn best_text<'a>(ranked: &'a [Ranked], outdated: &'a BTreeMap<TextId, TextId>) -> Option<&'a TextId> {
    let own = |ranked: &Ranked| ranked.factors.words + ranked.factors.meaning;
    let best = ranked.iter().reduce(|best, next| if own(next) > own(best) { next } else { best })?;
    Some(outdated.get(&best.candidate.id).unwrap_or(&best.candidate.id))
}
