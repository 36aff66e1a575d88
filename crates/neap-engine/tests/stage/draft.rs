//! What a person may want remembered.

use neap_core::learn::{Amendment, Answer, Wish};
use neap_core::memory::{
    Action, Author, Body, Censor, Confidence, Decision, Episode, Fact, MemoryDraft, MemoryId, Outcome, Pattern,
    Procedure, Provenance, Reason, ReasonKind, Side, Stakes,
};
use neap_engine::Agent;

use super::Stage;

fn person(body: Body) -> MemoryDraft {
    MemoryDraft::new(body, Provenance::of(Author::Person))
}

pub(crate) fn fact(subject: &str, content: &str) -> MemoryDraft {
    person(Body::Fact(Fact {
        subject: subject.into(),
        content: content.into(),
        confidence: Confidence::try_from(0.9).unwrap(),
        confirmations: 0,
        last_confirmed: None,
        last_confirmed_by: None,
        superseded_by: None,
    }))
}

pub(crate) fn decision(description: &str, reasons: &[&str]) -> MemoryDraft {
    let reason = |text: &&str| Reason { kind: ReasonKind::Evidence, text: (*text).into() };
    person(Body::Decision(Decision {
        description: description.into(),
        context: String::new(),
        reasons: reasons.iter().map(reason).collect(),
        confidence: Confidence::try_from(0.8).unwrap(),
        category: "architecture".into(),
        stakes: Stakes::Medium,
        alternatives: Vec::new(),
        outcome: Outcome::Pending,
        outcome_notes: String::new(),
        reviewed_by: None,
        rests_on: Vec::new(),
    }))
}

pub(crate) fn procedure(name: &str, patterns: &[&str]) -> MemoryDraft {
    person(Body::Procedure(Procedure {
        name: name.into(),
        core_patterns: patterns.iter().map(|pattern| (*pattern).into()).collect(),
        steps: Vec::new(),
        activations: 0,
        successes: 0,
        failures: 0,
    }))
}

pub(crate) fn episode(summary: &str, detail: &str) -> MemoryDraft {
    person(Body::Episode(Episode {
        summary: summary.into(),
        detail: detail.into(),
        detail_at: None,
        participants: Vec::new(),
        minutes: Some(45),
        outcome: String::new(),
        lessons: Vec::new(),
        session: None,
        effort: None,
    }))
}

/// A rule that refuses.
pub(crate) fn censor(pattern: &str, side: Side, reason: &str) -> MemoryDraft {
    person(Body::Censor(Censor {
        pattern: Pattern::Words(pattern.into()),
        side,
        action: Action::Refuse,
        reason: reason.into(),
        triggers: 0,
        false_positives: 0,
    }))
}

impl Stage {
    pub(crate) async fn agent(&self) -> Agent {
        self.engine.memory().await.unwrap().unwrap()
    }

    /// A person has something remembered, outside the conversation.
    pub(crate) async fn teach(&self, draft: MemoryDraft) -> MemoryId {
        let answer = self.agent().await.ask(Wish::Remember(Box::new(draft))).await.unwrap();
        let Answer::Learnt { id, .. } = answer else { panic!("{answer:?}") };
        id
    }

    /// Decisions that all came out well.
    pub(crate) async fn came_out_well(&self, descriptions: &[&str]) {
        for description in descriptions {
            let id = self.teach(decision(description, &[])).await;
            let how = Amendment::Review { outcome: Outcome::Success, notes: String::new() };
            self.agent().await.ask(Wish::Amend { id, how, by: Provenance::of(Author::Person) }).await.unwrap();
        }
    }
}
