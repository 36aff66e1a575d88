//! How a provider's token counts relate to ours, learnt from the usage that it reports.
//!
//! Texts are counted once, in one encoding, and budgets are in the provider's tokens. So what varies is the budget in
//! our tokens: [`RequestBudget::ours`]. Ratios are in per mille: 1,200 means 1.2 of the provider's tokens for one of ours.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::tokens::Tokens;

const ONE: u64 = 1_000;
/// In a smaller request, what a provider adds of its own outweighs the text.
const OURS_MIN: Tokens = Tokens(1_000);
/// A report outside of these is not a count of the request.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 300..=3_000;
/// A lower ratio than before moves the estimate by one part in this many.
const DECAY: u64 = 8;
/// What is added to a ratio without evidence of the same conversation, in per mille; it shrinks with each report.
const MARGIN_FIRST: u64 = 120;
const MARGIN_MIN: u64 = 20;
/// What text that the provider has not counted may cost, unless a profile says more, in per mille.
pub const UNSEEN_PER_MILLE: u64 = 1_600;
/// An assumed ratio that was too low rises by this fraction more than is needed: each change may rewrite the prompt.
const RISE_DIVISOR: u64 = 16;
/// It falls by at least this fraction.
const FALL_DIVISOR: u64 = 8;
/// Models remembered in one place, the least recently used being forgotten.
const MODELS_MAX: usize = 16;

/// What is known of a model's tokenizer before it reports any usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenEstimate {
    pub likely: u64,
    /// No text is assumed to cost more than this before it was reported.
    pub worst: u64,
}

impl TokenEstimate {
    /// We count as the provider does.
    pub const EXACT: TokenEstimate = TokenEstimate { likely: ONE, worst: ONE };
}

/// The ratio that a provider's report on one request shows; `None` if it tells nothing about the ratio.
pub fn reported_ratio(ours: Tokens, theirs: Tokens) -> Option<u64> {
    let ratio = theirs.0.saturating_mul(ONE).div_ceil(ours.0.max(1));
    (ours >= OURS_MIN && PLAUSIBLE.contains(&ratio)).then_some(ratio)
}

/// The ratio that a provider's reports show: a higher one counts at once, a lower one by and by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRatio {
    pub reports: u64,
    pub per_mille: u64,
}

impl TokenRatio {
    /// Ignores a report that tells nothing about the ratio.
    pub fn observe(&mut self, ours: Tokens, theirs: Tokens) {
        let Some(now) = reported_ratio(ours, theirs) else { return };
        self.per_mille = if self.reports == 0 || now >= self.per_mille {
            now
        } else {
            self.per_mille - (self.per_mille - now).div_ceil(DECAY)
        };
        self.reports += 1;
    }

    fn margin(&self) -> u64 {
        (MARGIN_FIRST / (self.reports + 1)).max(MARGIN_MIN)
    }
}

/// Ratios by the digest of a model's name, the most recently used last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenRatios(VecDeque<(Digest, TokenRatio)>);

impl TokenRatios {
    /// A digest, since a client may write anything as a model's name.
    pub fn key(model: &str) -> Digest {
        Digest::of("model", &[model.trim().to_ascii_lowercase().as_bytes()])
    }

    pub fn get(&self, model: &Digest) -> Option<TokenRatio> {
        self.0.iter().find(|(known, _)| known == model).map(|(_, ratio)| *ratio).filter(|ratio| ratio.reports > 0)
    }

    pub fn observe(&mut self, model: Digest, ours: Tokens, theirs: Tokens) {
        let mut ratio = self.get(&model).unwrap_or_default();
        ratio.observe(ours, theirs);
        if ratio.reports == 0 {
            return;
        }
        self.0.retain(|(known, _)| *known != model);
        self.0.push_back((model, ratio));
        if self.0.len() > MODELS_MAX {
            self.0.pop_front();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The ratios to assume for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenScale {
    likely: u64,
    /// For text that the provider has counted before.
    upper: u64,
    /// For text that it has not.
    worst: u64,
}

impl TokenScale {
    pub const EXACT: TokenScale = TokenScale { likely: ONE, upper: ONE, worst: ONE };

    /// `session` is the ratio of the same conversation; `model`, that of others with the same model.
    pub fn new(estimate: TokenEstimate, session: Option<TokenRatio>, model: Option<TokenRatio>) -> Self {
        let TokenEstimate { likely, worst } = estimate;
        let elsewhere = model.map(|ratio| TokenRatio { reports: 0, ..ratio });
        let Some(ratio) = session.or(elsewhere) else { return Self { likely, upper: worst, worst } };
        let with_margin = |margin: u64| ratio.per_mille * (ONE + margin) / ONE;
        let (likely, upper) = if estimate == TokenEstimate::EXACT {
            // Reports below our exact count leave something out, such as hidden reasoning.
            (ratio.per_mille, ratio.per_mille.max(ONE))
        } else {
            (ratio.per_mille, with_margin(ratio.margin()).min(worst.max(with_margin(MARGIN_MIN))))
        };
        Self { likely, upper, worst: worst.max(upper) }
    }

    /// How many of our tokens a request may have so that it is within a budget in the provider's, if `new` of them
    /// were in no request that the provider has counted.
    fn our_budget(&self, budget: Tokens, new: Tokens) -> Tokens {
        let known = budget.0.saturating_mul(ONE).saturating_sub((self.worst - self.upper).saturating_mul(new.0));
        Tokens((known / self.upper).max(budget.0.saturating_mul(ONE) / self.worst))
    }
}

/// A budget in the provider's tokens, for a request counted in ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestBudget {
    pub limit: Tokens,
    pub scale: TokenScale,
    /// Tokens of the request that were in none that the provider has counted.
    pub new: Tokens,
}

impl RequestBudget {
    /// For a provider that counts as we do.
    pub fn exact(limit: Tokens) -> Self {
        Self { limit, scale: TokenScale::EXACT, new: Tokens::ZERO }
    }

    /// In our tokens.
    pub fn ours(&self) -> Tokens {
        self.scale.our_budget(self.limit, self.new)
    }

    /// What the provider will probably count.
    pub fn likely(&self, ours: Tokens) -> Tokens {
        Tokens(ours.0.saturating_mul(self.scale.likely).div_ceil(ONE))
    }

    /// What it may count at most.
    pub fn at_most(&self, ours: Tokens) -> Tokens {
        let new = self.new.min(ours);
        let known = (ours - new).0.saturating_mul(self.scale.upper);
        Tokens(known.saturating_add(new.0.saturating_mul(self.scale.worst)).div_ceil(ONE))
    }
}

/// What a conversation's budget assumes: the worst until its provider reports, and then what it reports.
///
/// Some templates leave tools out of the prompt. Then a report is of the text alone, and a prompt with more text and the
/// same tools has a higher ratio. So it is at least the one that the report of the longest text allows for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssumedRatio {
    estimate: TokenEstimate,
    reported: TokenRatio,
    longest: TextReport,
    per_mille: u64,
}

/// Tokens of the prompts of one turn, in ours and as the provider reported them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptReport {
    pub ours: Tokens,
    /// Of that, schemas of tools.
    pub tools: Tokens,
    pub theirs: Tokens,
}

/// What of a report is of text if nothing is of tools, in our tokens and the provider's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TextReport {
    ours: Tokens,
    theirs: Tokens,
}

impl AssumedRatio {
    pub fn new(estimate: TokenEstimate) -> Self {
        let (reported, longest) = (TokenRatio::default(), TextReport::default());
        Self { estimate, reported, longest, per_mille: estimate.worst }
    }

    pub fn per_mille(&self) -> u64 {
        self.per_mille
    }

    /// Takes a report; returns the new ratio if it changes. `budget` is in the provider's tokens, `tools` what the next
    /// prompt has of them, in ours.
    pub fn observe(&mut self, report: PromptReport, budget: Tokens, tools: Tokens) -> Option<u64> {
        self.reported.observe(report.ours, report.theirs);
        if self.reported.reports == 0 {
            return None;
        }
        let text = report.ours.saturating_sub(report.tools);
        if text >= self.longest.ours {
            self.longest = TextReport { ours: text, theirs: report.theirs };
        }
        let of_all = TokenScale::new(self.estimate, Some(self.reported), None).upper;
        let needed = self.ratio_without_tools(budget, tools).map_or(of_all, |ratio| ratio.max(of_all));
        let rises = needed > self.per_mille;
        let falls = needed + self.per_mille / FALL_DIVISOR <= self.per_mille;
        if !rises && !falls {
            return None;
        }
        self.per_mille = needed + if rises { needed / RISE_DIVISOR } else { 0 };
        Some(self.per_mille)
    }

    /// The ratio of a prompt that fills the budget with text, beside tools that the provider leaves out.
    fn ratio_without_tools(&self, budget: Tokens, tools: Tokens) -> Option<u64> {
        if self.estimate == TokenEstimate::EXACT {
            return None;
        }
        let budget = budget.0.saturating_mul(ONE);
        let TextReport { ours, theirs } = self.longest;
        // What is above the worst cannot be of text alone.
        let per_mille = (theirs.0.saturating_mul(ONE) / ours.0.max(1)).min(self.estimate.worst);
        let of_text = TokenRatio { per_mille, ..self.reported };
        let of_text = TokenScale::new(self.estimate, Some(of_text), None).upper;
        Some(budget / (budget / of_text.max(1) + tools.0).max(1))
    }
}

#[cfg(test)]
#[path = "token_ratio_tests.rs"]
mod tests;
