//! What each layer of memory may cost (003, Context Budget and Step 2).
//!
//! Fixed layers have the seed's caps, flexible ones those of the frame. How much is asked changes the flexible
//! ones: a short question needs less, a long or many-sided decision more of decisions and procedures. What all layers
//! may cost together is the least of the frame's total, the sum of the caps, and the room there is; in a small room
//! all caps shrink by the same share, but each fixed layer keeps its least.
//!
//! Fixed layers are paid first, the most important of them before the others, so that in a tiny room the flexible ones
//! go first, then the least important fixed ones (`always`). What they and the flexible ones leave unused flows to the flexible ones (`fill`).

use crate::frame::Frame;
use crate::ledger::{Layer, LayerTokens};
use crate::reference::words;
use crate::tokens::Tokens;

/// Longest question that counts as short, in words.
const SHORT_WORDS_MAX: usize = 6;
/// From so many words on, a decision is complex.
const LONG_WORDS_MIN: usize = 25;
/// From so many words on, it is if it names alternatives.
const COMPARING_WORDS_MIN: usize = 12;
/// Words that set alternatives against each other.
const COMPARING: [&str; 6] = ["or", "versus", "vs", "between", "compare", "alternatives"];

/// Fixed layers with their caps and the least that a small room leaves them.
const FIXED: [(Layer, Tokens, Tokens); 6] = [
    (Layer::Censors, Tokens(300), Tokens(150)),
    (Layer::Frame, Tokens(500), Tokens(120)),
    (Layer::Identity, Tokens(500), Tokens(120)),
    (Layer::Profile, Tokens(200), Tokens(60)),
    (Layer::Focus, Tokens(700), Tokens(60)),
    (Layer::Calibration, Tokens(100), Tokens(0)),
];

/// Layers that are filled by relevance.
pub(super) const FLEXIBLE: [Layer; 4] = [Layer::Decisions, Layer::Facts, Layer::Procedures, Layer::Episodes];

/// What each layer of memory may cost, and all of them together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KnowledgeBudget {
    /// Each layer's cap.
    pub caps: LayerTokens,
    /// All layers together.
    pub total: Tokens,
}

/// How much is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Complexity {
    /// A question of a few words: flexible layers get 60 %.
    Short,
    /// As it comes.
    Plain,
    /// A long decision, or one between alternatives: decisions and procedures get 150 %.
    Complex,
}

/// How much a message asks.
///
/// Short is a question of at most 6 words. Complex is a message in a frame for deciding that has at least 25
/// words, or at least 12 and names alternatives.
pub fn complexity(frame: &Frame, input: &str) -> Complexity {
    let said = words(input);
    let asks = input.trim_end().ends_with('?')
        || matches!(
            said.first().map(String::as_str),
            Some("what" | "who" | "when" | "where" | "which" | "why" | "how")
        );
    if said.len() <= SHORT_WORDS_MAX && asks {
        return Complexity::Short;
    }
    let compares = said.len() >= COMPARING_WORDS_MIN && said.iter().any(|word| COMPARING.contains(&word.as_str()));
    if frame.is_for_deciding() && (said.len() >= LONG_WORDS_MIN || compares) {
        return Complexity::Complex;
    }
    Complexity::Plain
}

/// What each layer may cost for this message in this room.
pub fn allot(frame: &Frame, input: &str, room: Tokens) -> KnowledgeBudget {
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
    let asked: Vec<(Layer, Tokens)> = adjusted.collect();
    let all: Tokens = FIXED.iter().map(|(_, cap, _)| *cap).chain(asked.iter().map(|(_, tokens)| *tokens)).sum();
    let whole = frame.total.min(all);
    let total = whole.min(room);
    let scaled = |tokens: Tokens| Tokens(tokens.0 * total.0 / whole.0.max(1));

    let mut budget = KnowledgeBudget { total, ..KnowledgeBudget::default() };
    for (layer, cap, least) in FIXED {
        budget.caps.add(layer, scaled(cap).max(least).min(cap).min(total));
    }
    for (layer, tokens) in asked {
        budget.caps.add(layer, scaled(tokens));
    }
    budget
}
