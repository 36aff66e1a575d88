//! Scores every candidate and records why it is loaded or not (003, Step 4).

use std::collections::BTreeMap;

use super::KnowledgeInputs;
use super::fill::{Detail, LineVariants};
use super::page::CountedText;
use super::score::{QuestionScorer, ScoreBreakdown, relevance_floor, score};
use super::time_range::question_time_range;
use crate::base::tokens::TokenCounter;
use crate::memory::asked_kinds::AskedKinds;
use crate::memory::frame::Frame;
use crate::memory::{Confidence, Memory, MemoryId, MemoryKind, RenderedMemory};
use crate::text::sanitize::is_line_break;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoredMemory {
    pub id: MemoryId,
    pub breakdown: ScoreBreakdown,
    pub outcome: SelectionOutcome,
}

impl ScoredMemory {
    pub fn kind(&self) -> MemoryKind {
        self.id.kind()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionOutcome {
    Loaded(Detail),
    /// Not even its one-line form fit.
    NoRoom,
    BelowFloor(Confidence),
    /// Pinned, or a censor: always loaded anyway.
    AlwaysLoaded,
    /// Not valid now, wrong, or out of use.
    NotValid,
    /// The question asks for another kind.
    NotAsked,
    /// Of another project, and does not bear strongly.
    OtherProject,
    /// Loaded, then dropped to save tokens.
    DroppedForRoom,
}

impl SelectionOutcome {
    /// The reason, for people.
    pub fn explain(self) -> String {
        match self {
            SelectionOutcome::Loaded(Detail::Summary) => "in".to_owned(),
            SelectionOutcome::Loaded(Detail::Micro) => "in, as one line".to_owned(),
            SelectionOutcome::NoRoom => "out: no room".to_owned(),
            SelectionOutcome::BelowFloor(floor) => format!("out: likeness below {floor}"),
            SelectionOutcome::AlwaysLoaded => "always loaded".to_owned(),
            SelectionOutcome::NotValid => "out: not valid now".to_owned(),
            SelectionOutcome::NotAsked => "out: another kind is asked for".to_owned(),
            SelectionOutcome::OtherProject => "out: of another project".to_owned(),
            SelectionOutcome::DroppedForRoom => "out: dropped to make room".to_owned(),
        }
    }
}

pub(super) struct MemoryCandidate<'a> {
    pub(super) memory: &'a Memory,
    pub(super) scored: ScoredMemory,
}

/// Scores every candidate, best first; independent of their input order.
pub(super) fn score_candidates<'a>(inputs: &KnowledgeInputs<'a>) -> Vec<MemoryCandidate<'a>> {
    let mut memories: BTreeMap<MemoryId, &Memory> = BTreeMap::new();
    for memory in &inputs.recalled.memories {
        let newest = memories.entry(memory.id).or_insert(memory);
        if memory.updated > newest.updated {
            *newest = memory;
        }
    }
    let asked = AskedKinds::of(inputs.question);
    // A question about a time, or for all of a kind, is a list: the newest come first.
    let is_list =
        inputs.terms.is_empty() && (asked.is_some() || question_time_range(inputs.question, inputs.now).is_some());
    let question = QuestionScorer::new(inputs.question, inputs.terms, inputs.recalled);
    let similarity = |memory: &Memory| if is_list { Confidence::FULL } else { question.similarity(memory) };
    let frame = inputs.frame_choice.frame;
    let mut candidates: Vec<MemoryCandidate<'a>> = memories
        .into_values()
        .map(|memory| {
            let breakdown = score(memory, similarity(memory), frame, inputs.now);
            let outcome = if is_always_loaded(inputs, memory) {
                SelectionOutcome::AlwaysLoaded
            } else if !is_valid_now(inputs, memory) {
                SelectionOutcome::NotValid
            } else if asked.as_ref().is_some_and(|asked| !asked.admits(memory)) {
                SelectionOutcome::NotAsked
            } else if !memory.serves(inputs.project, inputs.terms, inputs.recalled) {
                SelectionOutcome::OtherProject
            } else {
                SelectionOutcome::NoRoom
            };
            MemoryCandidate { memory, scored: ScoredMemory { id: memory.id, breakdown, outcome } }
        })
        .collect();
    if is_list {
        candidates.sort_by_key(|c| (std::cmp::Reverse(c.memory.created), c.memory.id));
    } else {
        for kind in MemoryKind::ALL {
            drop_below_floor(&mut candidates, kind, frame);
        }
        candidates.sort_by_key(|c| {
            let newest = std::cmp::Reverse(c.memory.created);
            (std::cmp::Reverse(c.scored.breakdown.score), newest, c.memory.id)
        });
    }
    candidates
}

fn drop_below_floor(candidates: &mut [MemoryCandidate<'_>], kind: MemoryKind, frame: &Frame) {
    let of_kind =
        |c: &&mut MemoryCandidate<'_>| c.memory.kind() == kind && c.scored.outcome == SelectionOutcome::NoRoom;
    let best = candidates.iter_mut().filter(of_kind).map(|c| c.scored.breakdown.similarity).max();
    let Some(best) = best else { return };
    let floor = relevance_floor(kind, best, frame);
    for candidate in candidates.iter_mut().filter(of_kind) {
        if candidate.scored.breakdown.similarity < floor {
            candidate.scored.outcome = SelectionOutcome::BelowFloor(floor);
        }
    }
}

fn is_always_loaded(inputs: &KnowledgeInputs<'_>, memory: &Memory) -> bool {
    memory.kind() == MemoryKind::Censor
        || (inputs.agent.pinned.contains_key(&memory.id)
            && memory.is_person_approved()
            && !memory.is_from_elsewhere(inputs.project))
}

fn is_valid_now(inputs: &KnowledgeInputs<'_>, memory: &Memory) -> bool {
    let (from, until) = (memory.valid_from, memory.valid_until);
    memory.status.is_searchable()
        && from.is_none_or(|from| from <= inputs.now)
        && until.is_none_or(|until| inputs.now < until)
}

/// A record's stored lines; lines that do not match our template are rendered again.
pub(super) fn line_variants(inputs: &KnowledgeInputs<'_>, memory: &Memory) -> LineVariants {
    let kind = memory.kind();
    let elsewhere = memory.is_from_elsewhere(inputs.project).then(|| memory.lines_from_elsewhere(inputs.counter));
    let stored = elsewhere.as_ref().unwrap_or(&memory.lines);
    if !(is_template_text(kind, &stored.micro) && is_template_text(kind, &stored.summary)) {
        return to_variants(inputs.counter, &RenderedMemory::render(inputs.counter, memory), true);
    }
    to_variants(inputs.counter, stored, inputs.lines_are_counted || elsewhere.is_some())
}

fn to_variants(counter: &dyn TokenCounter, lines: &RenderedMemory, are_counted: bool) -> LineVariants {
    let line = |text: &str, tokens| CountedText {
        text: text.to_owned(),
        tokens: if are_counted { tokens } else { counter.count(text) },
    };
    LineVariants {
        summary: Some(line(&lines.summary, lines.summary_tokens)),
        micro: Some(line(&lines.micro, lines.micro_tokens)),
    }
}

/// Whether lines match our template: one list entry, or a procedure's block.
fn is_template_text(kind: MemoryKind, text: &str) -> bool {
    let Some(text) = text.strip_suffix('\n') else { return false };
    let is_entry = |line: &str| line.starts_with("- ") && !line.contains(is_line_break);
    let mut lines = text.split('\n');
    let (first, second) = (lines.next().unwrap_or_default(), lines.next());
    let is_block = kind == MemoryKind::Procedure
        && first.starts_with("## Procedure: ")
        && !first.contains(is_line_break)
        && matches!(second, Some("Core patterns:" | "Steps:"));
    if is_block { lines.all(is_entry) } else { is_entry(first) && second.is_none() }
}
