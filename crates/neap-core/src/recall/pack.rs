//! The set that serves a question within a budget.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::page::{Shown, frame_tokens, heading, line, page};
use super::{Ranked, TextId};
use crate::ids::SessionId;
use crate::tokens::{TokenCounter, Tokens};

/// Texts that did not fit are passed over this often; after that, what is left is too small.
const MISSES_MAX: usize = 100;
/// Less than this is not worth looking for something that fits.
const LEFT_MIN: Tokens = Tokens(8);
/// So many times the budget is read: not all of it will fit.
const READ_TIMES: u64 = 2;

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

/// The texts to read: the best, until their costs exceed the budget a few times.
pub fn shortlist(ranked: &[Ranked], budget: Tokens) -> Vec<TextId> {
    let mut left = Tokens(budget.0.saturating_mul(READ_TIMES));
    let mut ids = Vec::new();
    for Ranked { card, .. } in ranked {
        if card.tokens > budget {
            continue;
        }
        if left == Tokens::ZERO {
            break;
        }
        left = left.saturating_sub(card.tokens);
        ids.push(card.id.clone());
    }
    ids
}

/// Fills the budget with the best texts that fit, whole.
pub fn pack(
    counter: &dyn TokenCounter,
    ranked: Vec<Ranked>,
    texts: &BTreeMap<TextId, Arc<str>>,
    budget: Tokens,
) -> Recollection {
    let mut left = budget.saturating_sub(frame_tokens(counter));
    let mut headed: BTreeSet<(SessionId, String)> = BTreeSet::new();
    let mut said: BTreeSet<&str> = BTreeSet::new();
    let mut shown: Vec<Shown> = Vec::new();
    let mut misses = 0;
    for Ranked { card, .. } in &ranked {
        if left < LEFT_MIN || misses > MISSES_MAX {
            break;
        }
        let Some(text) = texts.get(&card.id) else { continue };
        // The same words again tell nothing more.
        if text.trim().is_empty() || said.contains(text.trim()) {
            continue;
        }
        let item = Shown { card: card.clone(), text: text.to_string(), is_stale: false };
        let place = (card.id.stream.clone(), card.at.date());
        let heading = if headed.contains(&place) { Tokens::ZERO } else { counter.count(&heading(card)) };
        let cost = heading + counter.count(&line(&item));
        if cost > left {
            misses += 1;
            continue;
        }
        left = left.saturating_sub(cost);
        headed.insert(place);
        said.insert(text.trim());
        shown.push(item);
    }
    shown.sort_by(|a, b| {
        let key = |s: &Shown| (s.card.at, s.card.nth);
        key(a).cmp(&key(b)).then_with(|| a.card.id.cmp(&b.card.id))
    });
    let best = ranked.iter().find_map(|ranked| texts.get(&ranked.card.id)).cloned();
    finish(counter, Recollection { text: String::new(), tokens: Tokens::ZERO, shown, best, ranked }, budget)
}

/// Writes the page. Conversations that ran at once alternate under more headings than were counted: then the last that was taken
/// goes, until it fits.
fn finish(counter: &dyn TokenCounter, mut found: Recollection, budget: Tokens) -> Recollection {
    loop {
        found.text = page(&found.shown);
        found.tokens = counter.count(&found.text);
        if found.tokens <= budget {
            return found;
        }
        let rank = |item: &Shown| found.ranked.iter().position(|ranked| ranked.card.id == item.card.id);
        let worst = (0..found.shown.len()).max_by_key(|at| rank(&found.shown[*at]));
        match worst {
            Some(at) => drop(found.shown.remove(at)),
            None => return Recollection { ranked: found.ranked, ..Recollection::default() },
        }
    }
}
