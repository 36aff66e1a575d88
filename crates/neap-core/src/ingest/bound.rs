//! Whether a request goes on as it came, as it was cut before, or is cut anew.

use super::atoms::Pairs;
use super::chain::Chain;
use super::class::Class;
use super::cut::{Cut, choose};
use super::heard::Heard;
use super::layout::Frozen;
use crate::tokens::Tokens;

/// A new cut must save at least this much of what is sent, in per cent: less is not worth what it costs to read it all anew.
const GAIN_PERCENT: u64 = 15;
/// What is left of a budget for what is recalled, in per cent of it.
const RECALL_PERCENT: u64 = 6;
/// Less than this is not worth recalling anything.
const RECALL_MIN: Tokens = Tokens(64);

/// How much may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Never more than this.
    pub budget: Tokens,
    /// At this fullness a history is cut, in per cent.
    pub high_percent: u64,
    /// To this fullness, in per cent.
    pub low_percent: u64,
}

impl Bounds {
    /// With the usual marks: cut at nine tenths, to half.
    pub fn new(budget: Tokens) -> Self {
        Self { budget, high_percent: 90, low_percent: 50 }
    }

    /// The high-water mark.
    pub fn high(&self) -> Tokens {
        self.budget.percent(self.high_percent)
    }

    /// What recalled text may cost beside what is sent already: at most half of what is left. None where that is not worth it.
    pub fn recall_room(&self, sent: Tokens) -> Option<Tokens> {
        let left = self.budget.saturating_sub(sent);
        let room = self.budget.percent(RECALL_PERCENT).min(Tokens(left.0 / 2));
        (room >= RECALL_MIN).then_some(room)
    }

    /// The mark to which it falls.
    pub fn low(&self) -> Tokens {
        self.budget.percent(self.low_percent)
    }
}

/// What to do with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It goes on as it came.
    Unchanged,
    /// It goes on as the history was cut before.
    Grow,
    /// It is cut anew.
    Rewrite(Cut),
    /// Nothing can be left out, and it does not fit.
    TooLarge,
}

/// Decides. While calls are being answered, a history is cut only if it must be: what the model thought in between is
/// bound to what it had read.
pub fn decide(heard: &Heard, chain: &Chain, class: Class, frozen: Option<&Frozen>, bounds: &Bounds) -> Decision {
    let limit = match class {
        Class::MainTurn | Class::Subagent => bounds.high(),
        Class::ToolLoop
        | Class::ClientCompaction
        | Class::Title
        | Class::CountTokens
        | Class::Prewarm
        | Class::Unsure => bounds.budget,
    };
    let frozen = frozen.filter(|frozen| frozen.holds(chain));
    let now = frozen.map_or_else(|| heard.tokens(), |frozen| frozen.lay_out(heard).tokens);
    let as_it_is = if frozen.is_some() { Decision::Grow } else { Decision::Unchanged };
    let is_again = frozen.is_some_and(|frozen| frozen.was_sent(chain));
    if now <= limit || (is_again && now <= bounds.budget) {
        return as_it_is;
    }
    match choose(heard, &Pairs::of(&heard.items), bounds) {
        Some(cut) if now > bounds.budget || saves(&cut, now) => Decision::Rewrite(cut),
        Some(_) | None if now <= bounds.budget => as_it_is,
        Some(_) | None => Decision::TooLarge,
    }
}

fn saves(cut: &Cut, now: Tokens) -> bool {
    cut.kept + cut.room <= now.saturating_sub(now.percent(GAIN_PERCENT))
}
