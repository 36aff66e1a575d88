//! Tests of what an agent knows, and the world they share.

mod always;
mod budget;
mod golden;
mod properties;
mod refresh;
mod score;
mod time;

use super::*;
use crate::frame::{Frames, select};
use crate::memory::{
    Action, Author, Body, Censor, Decision, Episode, Fact, Lines, Memory, Outcome, Pattern, Procedure, Provenance,
    Reason, ReasonKind, Side, Stakes, Status,
};
use crate::testing::WordCounter;

/// 2026-03-18, a Wednesday, 10:00 UTC.
const NOW: Stamp = Stamp(1_773_828_000_000);
const DAY: i64 = 86_400_000;

fn sure(value: f64) -> Confidence {
    Confidence::try_from(value).unwrap()
}

/// A record written so many days ago, with its lines.
fn memory(id: &str, days: i64, tags: &[&str], body: Body) -> Memory {
    let id: MemoryId = id.parse().unwrap();
    let created = Stamp(NOW.0 - days * DAY);
    let mut memory = Memory {
        id,
        status: Status::first(body.kind()),
        body,
        provenance: Provenance::of(Author::Person),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
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
        lines: Lines::default(),
    };
    assert_eq!(memory.kind(), memory.body.kind());
    memory.lines = Lines::of(&WordCounter, &memory);
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

fn censor(action: Action, pattern: &str, reason: &str) -> Body {
    Body::Censor(Censor {
        pattern: Pattern::Words(pattern.to_owned()),
        side: Side::Output,
        action,
        reason: reason.to_owned(),
        triggers: 0,
        false_positives: 0,
    })
}

/// Everything that a page is made from, owned.
#[derive(Debug)]
struct World {
    question: String,
    identity: String,
    agent: AgentHead,
    focus: Focus,
    recalled: Recalled,
    terms: Vec<String>,
    room: Tokens,
    placement: Placement,
}

impl World {
    /// A question to memories among which each of its terms is about as rare.
    fn asking(question: &str, memories: Vec<Memory>) -> Self {
        let frames = Frames::built_in();
        let terms = request(question, select(&frames, question).frame, NOW).terms;
        let texts_with = terms.iter().map(|_| 20).collect();
        Self {
            question: question.to_owned(),
            identity: String::new(),
            agent: AgentHead::default(),
            focus: Focus::default(),
            recalled: Recalled { memories, texts: 1_000, texts_with, ..Recalled::default() },
            terms,
            room: Tokens(20_000),
            placement: Placement::System,
        }
    }

    fn build(&self) -> Knowledge {
        self.build_with(&Frames::built_in())
    }

    fn build_with(&self, frames: &Frames) -> Knowledge {
        let chosen = select(frames, &self.question);
        let known = build(&Inputs {
            question: &self.question,
            chosen: &chosen,
            identity: &self.identity,
            agent: &self.agent,
            focus: &self.focus,
            recalled: &self.recalled,
            terms: &self.terms,
            room: self.room,
            counter: &WordCounter,
            lines_are_counted: true,
            placement: self.placement,
            now: NOW,
        });
        assert!(known.tokens.total() <= self.room, "I1: {} in {}", known.tokens.total(), self.room);
        assert_eq!(WordCounter.count(&joined(&known.sections)), known.tokens.total(), "counts add up");
        known
    }
}

fn ids(known: &Knowledge) -> Vec<String> {
    known.items.iter().map(|item| item.id.to_string()).collect()
}
