//! Tests of knowledge selection, and their shared fixtures.

mod always;
mod budget;
mod golden;
mod properties;
mod refresh;
mod score;
mod time;

use super::*;
use crate::base::testing::WordCounter;
use crate::memory::frame::{FrameSet, select};
use crate::memory::{
    Author, Body, Censor, CensorAction, CensorPattern, CensorSide, Decision, Episode, Fact, Memory, Outcome,
    Procedure, Provenance, Reason, ReasonKind, RenderedMemory, Stakes, Status,
};

/// 2026-03-18, a Wednesday, 10:00 UTC.
const NOW: Stamp = Stamp(1_773_828_000_000);
const DAY: i64 = 86_400_000;

fn sure(value: f64) -> Confidence {
    Confidence::try_from(value).unwrap()
}

/// A record written `days` days ago, with rendered lines.
fn memory(id: &str, days: i64, tags: &[&str], body: Body) -> Memory {
    let id: MemoryId = id.parse().unwrap();
    let created = Stamp(NOW.0 - days * DAY);
    let mut memory = Memory {
        id,
        status: Status::initial(body.kind()),
        body,
        provenance: Provenance::from_author(Author::Person),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        project: None,
        domain: None,
        pinned: false,
        created,
        updated: created,
        valid_from: None,
        valid_until: None,
        contested_with: Vec::new(),
        shaken_by: Vec::new(),
        masked: 0,
        pin_asked: false,
        forget_asked: false,
        lines: RenderedMemory::default(),
    };
    assert_eq!(memory.kind(), memory.body.kind());
    memory.lines = RenderedMemory::render(&WordCounter, &memory);
    memory
}

fn fact(content: &str) -> Body {
    Body::Fact(Fact {
        subject: String::new(),
        content: content.to_owned(),
        confidence: Confidence::FULL,
        confirmations: 0,
        last_confirmed: None,
        last_confirmed_by: None,
        superseded_by: None,
    })
}

fn decision(description: &str, outcome: Outcome, confidence: f64, reason: &str) -> Body {
    let reason = Reason { kind: ReasonKind::Experience, text: reason.to_owned() };
    Body::Decision(Decision {
        description: description.to_owned(),
        context: String::new(),
        reasons: if reason.text.is_empty() { Vec::new() } else { vec![reason] },
        confidence: sure(confidence),
        category: String::new(),
        stakes: Stakes::Medium,
        alternatives: Vec::new(),
        outcome,
        outcome_notes: String::new(),
        reviewed_by: None,
        rests_on: Vec::new(),
    })
}

fn procedure(name: &str, patterns: &[&str], activations: u32) -> Body {
    Body::Procedure(Procedure {
        name: name.to_owned(),
        core_patterns: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
        steps: Vec::new(),
        activations,
        successes: 0,
        failures: 0,
    })
}

fn episode(summary: &str, minutes: Option<u32>, with: &[&str], outcome: &str) -> Body {
    Body::Episode(Episode {
        summary: summary.to_owned(),
        detail: String::new(),
        detail_at: None,
        participants: with.iter().map(|name| (*name).to_owned()).collect(),
        minutes,
        outcome: outcome.to_owned(),
        lessons: Vec::new(),
        session: None,
        effort: None,
    })
}

fn censor(action: CensorAction, pattern: &str, reason: &str) -> Body {
    Body::Censor(Censor {
        pattern: CensorPattern::Words(pattern.to_owned()),
        side: CensorSide::Output,
        action,
        reason: reason.to_owned(),
        triggers: 0,
        false_positives: 0,
    })
}

/// All inputs of a page, owned.
#[derive(Debug)]
struct World {
    question: String,
    identity: String,
    agent: AgentHead,
    focus: Focus,
    recalled: RecallResponse,
    terms: Vec<String>,
    room: Tokens,
    placement: Placement,
}

impl World {
    /// A question over memories in which its terms are equally rare.
    fn asking(question: &str, memories: Vec<Memory>) -> Self {
        let frames = FrameSet::built_in();
        let terms = recall_request(question, select(&frames, question).frame, NOW).terms;
        let document_frequencies = terms.iter().map(|_| 20).collect();
        Self {
            question: question.to_owned(),
            identity: String::new(),
            agent: AgentHead::default(),
            focus: Focus::default(),
            recalled: RecallResponse {
                memories,
                text_count: 1_000,
                document_frequencies,
                ..RecallResponse::default()
            },
            terms,
            room: Tokens(20_000),
            placement: Placement::System,
        }
    }

    fn build(&self) -> Knowledge {
        self.build_with(&FrameSet::built_in())
    }

    fn build_with(&self, frames: &FrameSet) -> Knowledge {
        let chosen = select(frames, &self.question);
        let knowledge = build(&KnowledgeInputs {
            question: &self.question,
            frame_choice: &chosen,
            identity: &self.identity,
            agent: &self.agent,
            focus: &self.focus,
            project: None,
            recalled: &self.recalled,
            terms: &self.terms,
            room: self.room,
            counter: &WordCounter,
            lines_are_counted: true,
            placement: self.placement,
            now: NOW,
        });
        assert!(knowledge.tokens.total() <= self.room, "I1: {} in {}", knowledge.tokens.total(), self.room);
        assert_eq!(
            WordCounter.count(&join_sections(&knowledge.sections)),
            knowledge.tokens.total(),
            "counts add up"
        );
        knowledge
    }
}

fn ids(knowledge: &Knowledge) -> Vec<String> {
    knowledge.items.iter().map(|item| item.id.to_string()).collect()
}
