//! A whole record as text, for whoever asks for it by id. Its history is not part of it.

use super::tame::{is_break, is_unseen, tame};
use super::{Body, Censor, Decision, Episode, Fact, Memory, MemoryId, Pattern, Procedure};
use crate::ids::Stamp;

impl Memory {
    /// All that it says, a field a line; further lines of a text are indented, so that none passes for a field.
    pub fn full(&self) -> String {
        let mut page = Page(format!("{} {}, {}\n", self.kind(), self.id, self.status.as_str()));
        match &self.body {
            Body::Decision(decision) => page.decision(decision),
            Body::Fact(fact) => page.fact(fact),
            Body::Procedure(procedure) => page.procedure(procedure),
            Body::Episode(episode) => page.episode(episode),
            Body::Censor(censor) => page.censor(censor),
        }
        page.ids("Contested by", &self.contested_with);
        page.ids("Rests on what holds no longer", &self.shaken_by);
        page.list("Tag", &self.tags);
        page.text("Domain", self.domain.as_deref().unwrap_or_default());
        page.ours("Always loaded", self.pinned.then(|| "yes".to_owned()));
        page.ours("Waits for a person", self.is_proposal().then(|| format!("neap memory confirm {}", self.id)));
        page.ours("Holds from", self.valid_from.map(Stamp::iso));
        page.ours("Holds until", self.valid_until.map(Stamp::iso));
        page.ours("Written", Some(self.created.iso()));
        page.ours("Changed", (self.updated != self.created).then(|| self.updated.iso()));
        page.ours("Written by", Some(self.provenance.short()));
        page.text("Source", self.provenance.source.as_deref().unwrap_or_default());
        page.ours("Trust", Some(self.provenance.trust.as_str().to_owned()));
        page.ours("Secrets masked", (self.masked > 0).then(|| self.masked.to_string()));
        page.ours("Asked to be forgotten", self.forget_asked.then(|| "yes, a person decides".to_owned()));
        page.0
    }
}

struct Page(String);

impl Page {
    fn decision(&mut self, decision: &Decision) {
        self.text("Decision", &decision.description);
        self.text("Context", &decision.context);
        for reason in &decision.reasons {
            self.text(&format!("Reason ({})", reason.kind.as_str()), &reason.text);
        }
        self.list("Alternative", &decision.alternatives);
        self.ours("Confidence", Some(decision.confidence.to_string()));
        self.text("Category", &decision.category);
        self.ours("Stakes", Some(decision.stakes.as_str().to_owned()));
        self.ours("Outcome", Some(decision.outcome.as_str().to_owned()));
        self.text("Outcome notes", &decision.outcome_notes);
        self.ids("Rests on", &decision.rests_on);
    }

    fn fact(&mut self, fact: &Fact) {
        self.text("Subject", &fact.subject);
        self.text("Fact", &fact.content);
        self.ours("Confidence", Some(fact.confidence.to_string()));
        self.ours("Confirmed", (fact.confirmations > 0).then(|| format!("{} times", fact.confirmations)));
        self.ours("Last confirmed", fact.last_confirmed.map(Stamp::iso));
        self.ours("Superseded by", fact.superseded_by.map(|by| by.to_string()));
    }

    fn procedure(&mut self, procedure: &Procedure) {
        self.text("Procedure", &procedure.name);
        self.list("Core pattern", &procedure.core_patterns);
        self.list("Step", &procedure.steps);
        let Procedure { activations, successes, failures, .. } = procedure;
        self.ours("Used", Some(format!("{activations} times, {successes} well, {failures} not")));
    }

    fn episode(&mut self, episode: &Episode) {
        self.text("Episode", &episode.summary);
        self.text("Detail", &episode.detail);
        self.ours("Detail is in the history", episode.detail_at.map(|seq| format!("event {seq}")));
        self.list("Participant", &episode.participants);
        self.ours("Minutes", episode.minutes.map(|minutes| minutes.to_string()));
        self.text("Outcome", &episode.outcome);
        self.list("Learnt", &episode.lessons);
        self.ours("Session", episode.session.as_ref().map(ToString::to_string));
        self.ours("Effort", episode.effort.as_ref().map(ToString::to_string));
    }

    fn censor(&mut self, censor: &Censor) {
        let (how, of) = match &censor.pattern {
            Pattern::Words(of) => ("Words", of),
            Pattern::Regex(of) => ("Regular expression", of),
            Pattern::Like(of) => ("Text like", of),
        };
        self.text(how, of);
        self.ours("Looks at", Some(censor.side.as_str().to_owned()));
        self.ours("Action", Some(censor.action.as_str().to_owned()));
        self.text("Reason", &censor.reason);
        self.ours("Found", Some(format!("{} times, {} wrongly", censor.triggers, censor.false_positives)));
    }

    /// What someone wrote: every line break of it is followed by an indent.
    fn text(&mut self, name: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.0.push_str(name);
        self.0.push_str(": ");
        let seen = text.replace("\r\n", "\n");
        for (at, line) in seen.trim().split(is_break).enumerate() {
            if at > 0 {
                self.0.push_str("\n  ");
            }
            let shown = line.chars().filter(|c| !is_unseen(*c)).map(|c| if c.is_control() { ' ' } else { c });
            self.0.extend(shown);
        }
        self.0.push('\n');
    }

    fn list(&mut self, name: &str, texts: &[String]) {
        for text in texts {
            self.text(name, text);
        }
    }

    fn ids(&mut self, name: &str, ids: &[MemoryId]) {
        let all: Vec<String> = ids.iter().map(MemoryId::to_string).collect();
        self.ours(name, (!all.is_empty()).then(|| all.join(", ")));
    }

    fn ours(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.0.push_str(&format!("{name}: {}\n", tame(&value)));
        }
    }
}
