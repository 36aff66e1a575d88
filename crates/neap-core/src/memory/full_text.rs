//! The full text of a record, for lookups by id. Excludes its history.

use super::{Body, Censor, CensorPattern, Decision, Episode, Fact, Memory, MemoryId, Procedure, Status};
use crate::base::ids::Stamp;
use crate::text::sanitize::{is_invisible, is_line_break, sanitize_inline};

impl Memory {
    /// The fact that took this one's place.
    pub fn superseded_by(&self) -> Option<MemoryId> {
        match &self.body {
            Body::Fact(fact) if self.status == Status::Superseded => fact.superseded_by,
            Body::Fact(_) | Body::Decision(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => None,
        }
    }

    /// One field per line. Further lines of a text are indented, so that none looks like a field.
    pub fn full_text(&self) -> String {
        let mut writer = FieldWriter(format!("{} {}, {}\n", self.kind(), self.id, self.status.as_str()));
        match &self.body {
            Body::Decision(decision) => writer.write_decision(decision),
            Body::Fact(fact) => writer.write_fact(fact),
            Body::Procedure(procedure) => writer.write_procedure(procedure),
            Body::Episode(episode) => writer.write_episode(episode),
            Body::Censor(censor) => writer.write_censor(censor),
        }
        writer.write_field("Superseded by", self.superseded_by().map(|by| by.to_string()));
        writer
            .write_field("Brought back by", self.superseded_by().map(|_| format!("neap memory undo {}", self.id)));
        writer.write_ids("Contested by", &self.contested_with);
        writer.write_ids("Rests on what holds no longer", &self.shaken_by);
        writer.write_list("Tag", &self.tags);
        writer.write_text("Domain", self.domain.as_deref().unwrap_or_default());
        writer.write_field("Always loaded", self.pinned.then(|| "yes".to_owned()));
        writer.write_field(
            "Waits for a person",
            self.is_proposal().then(|| format!("neap memory confirm {}", self.id)),
        );
        writer.write_field("Holds from", self.valid_from.map(Stamp::iso));
        writer.write_field("Holds until", self.valid_until.map(Stamp::iso));
        writer.write_field("Written", Some(self.created.iso()));
        writer.write_field("Changed", (self.updated != self.created).then(|| self.updated.iso()));
        writer.write_field("Written by", Some(self.provenance.label()));
        writer.write_text("Source", self.provenance.source.as_deref().unwrap_or_default());
        writer.write_field("Trust", Some(self.provenance.trust.as_str().to_owned()));
        writer.write_field("Secrets masked", (self.masked > 0).then(|| self.masked.to_string()));
        writer.write_field("Asked to be forgotten", self.forget_asked.then(|| "yes, a person decides".to_owned()));
        writer.0
    }
}

struct FieldWriter(String);

impl FieldWriter {
    fn write_decision(&mut self, decision: &Decision) {
        self.write_text("Decision", &decision.description);
        self.write_text("Context", &decision.context);
        for reason in &decision.reasons {
            self.write_text(&format!("Reason ({})", reason.kind.as_str()), &reason.text);
        }
        self.write_list("Alternative", &decision.alternatives);
        self.write_field("Confidence", Some(decision.confidence.to_string()));
        self.write_text("Category", &decision.category);
        self.write_field("Stakes", Some(decision.stakes.as_str().to_owned()));
        self.write_field("Outcome", Some(decision.outcome.as_str().to_owned()));
        self.write_text("Outcome notes", &decision.outcome_notes);
        self.write_ids("Rests on", &decision.rests_on);
    }

    fn write_fact(&mut self, fact: &Fact) {
        self.write_text("Subject", &fact.subject);
        self.write_text("Fact", &fact.content);
        self.write_field("Confidence", Some(fact.confidence.to_string()));
        self.write_field("Confirmed", (fact.confirmations > 0).then(|| format!("{} times", fact.confirmations)));
        self.write_field("Last confirmed", fact.last_confirmed.map(Stamp::iso));
    }

    fn write_procedure(&mut self, procedure: &Procedure) {
        self.write_text("Procedure", &procedure.name);
        self.write_list("Core pattern", &procedure.core_patterns);
        self.write_list("Step", &procedure.steps);
        let Procedure { activations, successes, failures, .. } = procedure;
        self.write_field("Used", Some(format!("{activations} times, {successes} well, {failures} not")));
    }

    fn write_episode(&mut self, episode: &Episode) {
        self.write_text("Episode", &episode.summary);
        self.write_text("Detail", &episode.detail);
        self.write_field("Detail is in the history", episode.detail_at.map(|seq| format!("event {seq}")));
        self.write_list("Participant", &episode.participants);
        self.write_field("Minutes", episode.minutes.map(|minutes| minutes.to_string()));
        self.write_text("Outcome", &episode.outcome);
        self.write_list("Learnt", &episode.lessons);
        self.write_field("Session", episode.session.as_ref().map(ToString::to_string));
        self.write_field("Effort", episode.effort.as_ref().map(ToString::to_string));
    }

    fn write_censor(&mut self, censor: &Censor) {
        let (label, pattern) = match &censor.pattern {
            CensorPattern::Words(pattern) => ("Words", pattern),
            CensorPattern::Regex(pattern) => ("Regular expression", pattern),
            CensorPattern::Like(pattern) => ("Text like", pattern),
        };
        self.write_text(label, pattern);
        self.write_field("Looks at", Some(censor.side.as_str().to_owned()));
        self.write_field("Action", Some(censor.action.as_str().to_owned()));
        self.write_text("Reason", &censor.reason);
        self.write_field("Found", Some(format!("{} times, {} wrongly", censor.triggers, censor.false_positives)));
    }

    /// Writes stored text; every line break in it is followed by an indent.
    fn write_text(&mut self, name: &str, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.0.push_str(name);
        self.0.push_str(": ");
        let normalized = text.replace("\r\n", "\n");
        for (at, line) in normalized.trim().split(is_line_break).enumerate() {
            if at > 0 {
                self.0.push_str("\n  ");
            }
            let shown = line.chars().filter(|c| !is_invisible(*c)).map(|c| if c.is_control() { ' ' } else { c });
            self.0.extend(shown);
        }
        self.0.push('\n');
    }

    fn write_list(&mut self, name: &str, texts: &[String]) {
        for text in texts {
            self.write_text(name, text);
        }
    }

    fn write_ids(&mut self, name: &str, ids: &[MemoryId]) {
        let all: Vec<String> = ids.iter().map(MemoryId::to_string).collect();
        self.write_field(name, (!all.is_empty()).then(|| all.join(", ")));
    }

    fn write_field(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.0.push_str(&format!("{name}: {}\n", sanitize_inline(&value)));
        }
    }
}
