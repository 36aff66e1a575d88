//! Token budgets of the memory layers (003, Context Budget and Step 2).
//!
//! Fixed layers have constant caps, flexible ones those of the frame, adjusted to the question's complexity. The
//! total is the least of the frame's total, the sum of the caps, and the available tokens; if it shrinks, all caps
//! shrink by the same share, but each fixed layer keeps a minimum.
//!
//! Fixed layers are paid first, the most important first (`fixed_layers`), so under pressure the flexible layers
//! go first. Unused tokens flow to the flexible layers (`fill`).

use crate::base::ledger::{Layer, LayerTokens};
use crate::base::tokens::Tokens;
use crate::memory::frame::Frame;
use crate::text::reference::folded_words;

const SHORT_WORDS_MAX: usize = 6;
/// Words from which a decision is complex.
const LONG_WORDS_MIN: usize = 25;
/// Words from which a decision that names alternatives is complex.
const COMPARING_WORDS_MIN: usize = 12;
const COMPARING: [&str; 6] = ["or", "versus", "vs", "between", "compare", "alternatives"];

/// Fixed layers, their caps, and their minimum when space is short.
const FIXED: [(Layer, Tokens, Tokens); 6] = [
    (Layer::Censors, Tokens(300), Tokens(150)),
    (Layer::Frame, Tokens(500), Tokens(120)),
    (Layer::Identity, Tokens(500), Tokens(120)),
    (Layer::Profile, Tokens(200), Tokens(60)),
    (Layer::Focus, Tokens(700), Tokens(60)),
    (Layer::Calibration, Tokens(100), Tokens(0)),
];

pub(super) const FLEXIBLE: [Layer; 4] = [Layer::Decisions, Layer::Facts, Layer::Procedures, Layer::Episodes];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KnowledgeBudget {
    pub caps: LayerTokens,
    pub total: Tokens,
}

/// Complexity of a question, which scales the flexible budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Complexity {
    /// A question of a few words: flexible layers get 60 %.
    Short,
    /// Unchanged budgets.
    Plain,
    /// A long decision, or one between alternatives: decisions and procedures get 150 %.
    Complex,
}

/// Short is a question of at most 6 words. Complex is a message in a deciding frame with at least 25 words, or at
/// least 12 that name alternatives.
pub fn complexity(frame: &Frame, input: &str) -> Complexity {
    let words = folded_words(input);
    let is_question = input.trim_end().ends_with('?')
        || matches!(
            words.first().map(String::as_str),
            Some("what" | "who" | "when" | "where" | "which" | "why" | "how")
        );
    if words.len() <= SHORT_WORDS_MAX && is_question {
        return Complexity::Short;
    }
    let compares =
        words.len() >= COMPARING_WORDS_MIN && words.iter().any(|word| COMPARING.contains(&word.as_str()));
    if frame.is_for_deciding() && (words.len() >= LONG_WORDS_MIN || compares) {
        return Complexity::Complex;
    }
    Complexity::Plain
}

/// The budget for a message, given the available tokens.
pub fn allocate(frame: &Frame, input: &str, room: Tokens) -> KnowledgeBudget {
    let budgets = frame.budgets;
    let flexible = [budgets.decisions, budgets.facts, budgets.procedures, budgets.episodes];
    let complexity = complexity(frame, input);
    let adjusted = FLEXIBLE.into_iter().zip(flexible).map(|(layer, tokens)| {
        let percent = match (complexity, layer == Layer::Decisions || layer == Layer::Procedures) {
            (Complexity::Short, _) => 60,
            (Complexity::Complex, true) => 150,
            (Complexity::Complex, false) | (Complexity::Plain, _) => 100,
        };
        (layer, tokens.percent(percent))
    });
    let flexible_caps: Vec<(Layer, Tokens)> = adjusted.collect();
    let cap_sum: Tokens =
        FIXED.iter().map(|(_, cap, _)| *cap).chain(flexible_caps.iter().map(|(_, tokens)| *tokens)).sum();
    let full_total = frame.total.min(cap_sum);
    let total = full_total.min(room);
    let scaled = |tokens: Tokens| Tokens(tokens.0 * total.0 / full_total.0.max(1));

    let mut budget = KnowledgeBudget { total, ..KnowledgeBudget::default() };
    for (layer, cap, minimum) in FIXED {
        budget.caps.add(layer, scaled(cap).max(minimum).min(cap).min(total));
    }
    for (layer, tokens) in flexible_caps {
        budget.caps.add(layer, scaled(tokens));
    }
    budget
}
