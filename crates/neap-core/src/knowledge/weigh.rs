//! Every candidate, weighed: its score, and why it is on the page or not (003, Step 4).

use std::collections::BTreeMap;

use super::Inputs;
use super::fill::{Detail, Forms};
use super::page::Line;
use super::recency::window;
use super::score::{Question, Terms, floor, score, share};
use crate::memory::tame::is_break;
use crate::memory::{Confidence, Lines, Memory, MemoryId, MemoryKind};
use crate::tokens::TokenCounter;

/// A record is not loaded if it is less like the question than this share of the best of its kind, in per cent.
const OF_BEST_PERCENT: u64 = 65;

/// A candidate, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighed {
    /// Which.
    pub id: MemoryId,
    /// What its score is made of.
    pub terms: Terms,
    /// Whether it is in, and why not.
    pub fate: Fate,
}

impl Weighed {
    /// Its kind.
    pub fn kind(&self) -> MemoryKind {
        self.id.kind()
    }
}

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is loaded.
    Loaded(Detail),
    /// There was no room for even its one line.
    NoRoom,
    /// It is less like the question than this.
    BelowFloor(Confidence),
    /// It is among the preferences and rules, or the constraints, which are always loaded.
    AlwaysLoaded,
    /// It does not hold now: not yet or no longer valid, proved wrong, out of use.
    NotValid,
    /// It was loaded, and left when there was less room.
    Pressed,
}

impl Fate {
    /// In words for people.
    pub fn explain(self) -> String {
        match self {
            Fate::Loaded(Detail::Summary) => "in".to_owned(),
            Fate::Loaded(Detail::Micro) => "in, as one line".to_owned(),
            Fate::NoRoom => "out: no room".to_owned(),
            Fate::BelowFloor(floor) => format!("out: less like the question than {floor}"),
            Fate::AlwaysLoaded => "always loaded".to_owned(),
            Fate::NotValid => "out: does not hold now".to_owned(),
            Fate::Pressed => "out: left for lack of room".to_owned(),
        }
    }
}

/// A candidate on its way to the page.
pub(super) struct Candidate<'a> {
    pub(super) memory: &'a Memory,
    pub(super) weighed: Weighed,
}

/// Weighs every candidate, best first; the order in which they came does not matter.
pub(super) fn weigh<'a>(inputs: &Inputs<'a>) -> Vec<Candidate<'a>> {
    let mut memories: BTreeMap<MemoryId, &Memory> = BTreeMap::new();
    for memory in &inputs.recalled.memories {
        let known = memories.entry(memory.id).or_insert(memory);
        if memory.updated > known.updated {
            *known = memory;
        }
    }
    let by_time = inputs.terms.is_empty() && window(inputs.question, inputs.now).is_some();
    let question = Question::new(inputs.terms, inputs.recalled);
    let likeness = |memory: &Memory| if by_time { Confidence::FULL } else { question.similarity(memory) };
    let frame = inputs.chosen.frame;
    let mut candidates: Vec<Candidate<'a>> = memories
        .into_values()
        .map(|memory| {
            let terms = score(memory, likeness(memory), frame, inputs.now);
            let fate = if is_at_hand(inputs, memory) {
                Fate::AlwaysLoaded
            } else if !holds(inputs, memory) {
                Fate::NotValid
            } else {
                Fate::NoRoom
            };
            Candidate { memory, weighed: Weighed { id: memory.id, terms, fate } }
        })
        .collect();
    if by_time {
        candidates.sort_by_key(|c| (std::cmp::Reverse(c.memory.created), c.memory.id));
    } else {
        for kind in MemoryKind::ALL {
            leave_out(&mut candidates, kind);
        }
        candidates.sort_by_key(|c| (std::cmp::Reverse(c.weighed.terms.score), c.memory.id));
    }
    candidates
}

fn leave_out(candidates: &mut [Candidate<'_>], kind: MemoryKind) {
    let of_kind = |c: &&mut Candidate<'_>| c.memory.kind() == kind && c.weighed.fate == Fate::NoRoom;
    let best = candidates.iter_mut().filter(of_kind).map(|c| c.weighed.terms.similarity).max();
    let Some(best) = best else { return };
    let least = floor(kind).max(share(best.value() * OF_BEST_PERCENT as f64 / 100.0));
    for candidate in candidates.iter_mut().filter(of_kind) {
        if candidate.weighed.terms.similarity < least {
            candidate.weighed.fate = Fate::BelowFloor(least);
        }
    }
}

fn is_at_hand(inputs: &Inputs<'_>, memory: &Memory) -> bool {
    memory.kind() == MemoryKind::Censor || (inputs.agent.pinned.contains_key(&memory.id) && memory.is_a_persons())
}

fn holds(inputs: &Inputs<'_>, memory: &Memory) -> bool {
    let (from, until) = (memory.valid_from, memory.valid_until);
    memory.status.is_searched()
        && from.is_none_or(|from| from <= inputs.now)
        && until.is_none_or(|until| inputs.now < until)
}

/// A record's lines as they were stored; lines that are not of our making are made anew.
pub(super) fn forms(inputs: &Inputs<'_>, memory: &Memory) -> Forms {
    let kind = memory.kind();
    let stored = &memory.lines;
    if !(is_ours(kind, &stored.micro) && is_ours(kind, &stored.summary)) {
        return lines(inputs.counter, &Lines::of(inputs.counter, memory), true);
    }
    lines(inputs.counter, stored, inputs.lines_are_counted)
}

fn lines(counter: &dyn TokenCounter, lines: &Lines, are_counted: bool) -> Forms {
    let line = |text: &str, tokens| Line {
        text: text.to_owned(),
        tokens: if are_counted { tokens } else { counter.count(text) },
    };
    Forms {
        summary: Some(line(&lines.summary, lines.summary_tokens)),
        micro: Some(line(&lines.micro, lines.micro_tokens)),
    }
}

/// Whether lines are as our template makes them: list entries, or a procedure's block.
fn is_ours(kind: MemoryKind, text: &str) -> bool {
    let Some(text) = text.strip_suffix('\n') else { return false };
    let entry = |line: &str| line.starts_with("- ") && !line.contains(is_break);
    let mut lines = text.split('\n');
    let (first, second) = (lines.next().unwrap_or_default(), lines.next());
    let is_block = kind == MemoryKind::Procedure
        && first.starts_with("## Procedure: ")
        && !first.contains(is_break)
        && matches!(second, Some("Core patterns:" | "Steps:"));
    if is_block { lines.all(entry) } else { entry(first) && second.is_none() }
}
