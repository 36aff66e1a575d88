//! What a person may want remembered.

use neap_core::memory::learn::{Amendment, MemoryCommand, MemoryResponse};
use neap_core::memory::{
    Author, Body, Censor, CensorAction, CensorPattern, CensorSide, Confidence, Decision, Episode, Fact,
    MemoryDraft, MemoryId, Outcome, Procedure, Provenance, Reason, ReasonKind,
};
use neap_engine::Agent;

use super::Stage;

fn person(body: Body) -> MemoryDraft {
    MemoryDraft::new(body, Provenance::from_author(Author::Person))
}

fn sure(value: f64) -> Confidence {
    Confidence::try_from(value).unwrap()
}

pub(crate) fn fact(subject: &str, content: &str) -> MemoryDraft {
    person(Body::Fact(Fact::new(subject, content, sure(0.9))))
}

pub(crate) fn decision(description: &str, reasons: &[&str]) -> MemoryDraft {
    let reason = |text: &&str| Reason { kind: ReasonKind::Evidence, text: (*text).into() };
    person(Body::Decision(Decision {
        reasons: reasons.iter().map(reason).collect(),
        category: "architecture".into(),
        ..Decision::new(description, sure(0.8))
    }))
}

pub(crate) fn procedure(name: &str, patterns: &[&str]) -> MemoryDraft {
    let core_patterns = patterns.iter().map(|pattern| (*pattern).into()).collect();
    person(Body::Procedure(Procedure { core_patterns, ..Procedure::new(name) }))
}

pub(crate) fn episode(summary: &str, detail: &str) -> MemoryDraft {
    person(Body::Episode(Episode { detail: detail.into(), minutes: Some(45), ..Episode::new(summary) }))
}

/// A rule that refuses.
pub(crate) fn censor(pattern: &str, side: CensorSide, reason: &str) -> MemoryDraft {
    rule(pattern, side, CensorAction::Refuse, reason)
}

/// A rule.
pub(crate) fn rule(pattern: &str, side: CensorSide, action: CensorAction, reason: &str) -> MemoryDraft {
    person(Body::Censor(Censor::new(CensorPattern::Words(pattern.into()), side, action, reason)))
}

impl Stage {
    pub(crate) async fn agent(&self) -> Agent {
        self.engine.agent().await.unwrap().unwrap()
    }

    /// A person has something remembered, outside the conversation.
    pub(crate) async fn teach(&self, draft: MemoryDraft) -> MemoryId {
        let answer = self.agent().await.run_command(MemoryCommand::Remember(Box::new(draft))).await.unwrap();
        let MemoryResponse::Remembered { id, .. } = answer else { panic!("{answer:?}") };
        id
    }

    /// Decisions that all came out well.
    pub(crate) async fn came_out_well(&self, descriptions: &[&str]) {
        for description in descriptions {
            let id = self.teach(decision(description, &[])).await;
            let how = Amendment::Review { outcome: Outcome::Success, notes: String::new() };
            self.agent()
                .await
                .run_command(MemoryCommand::Amend { id, how, by: Provenance::from_author(Author::Person) })
                .await
                .unwrap();
        }
    }
}
