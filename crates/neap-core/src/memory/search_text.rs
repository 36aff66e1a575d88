//! The text that search indexes for a memory.

use super::{Body, CensorPattern, Memory};
use crate::base::ids::EffortId;

impl Memory {
    /// What it says, in its own words, without the rest of the record.
    pub fn content(&self) -> String {
        match &self.body {
            Body::Decision(decision) => decision.description.clone(),
            Body::Fact(fact) => fact.content.clone(),
            Body::Procedure(procedure) => {
                let first = procedure.core_patterns.iter().chain(&procedure.steps).next();
                first.map_or_else(|| procedure.name.clone(), |first| format!("{}: {first}", procedure.name))
            }
            Body::Episode(episode) => episode.summary.clone(),
            Body::Censor(censor) => format!("{} — {}", censor.pattern.to_text(), censor.reason),
        }
    }

    /// All its words: content, ids it rests on or describes, tags and domain.
    pub fn search_text(&self) -> String {
        let mut parts: Vec<&str> = Vec::new();
        let rests_on;
        match &self.body {
            Body::Decision(decision) => {
                parts.extend([decision.description.as_str(), &decision.context, &decision.category]);
                parts.extend(decision.reasons.iter().map(|reason| reason.text.as_str()));
                parts.extend(decision.alternatives.iter().map(String::as_str));
                parts.push(&decision.outcome_notes);
                rests_on = decision.rests_on.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
                parts.push(&rests_on);
            }
            Body::Fact(fact) => parts.extend([fact.subject.as_str(), &fact.content]),
            Body::Procedure(procedure) => {
                parts.push(&procedure.name);
                parts.extend(procedure.core_patterns.iter().chain(&procedure.steps).map(String::as_str));
            }
            Body::Episode(episode) => {
                parts.extend([episode.summary.as_str(), &episode.detail, &episode.outcome]);
                parts.extend(episode.participants.iter().chain(&episode.lessons).map(String::as_str));
                parts.extend(episode.session.as_ref().map(|session| session.as_str()));
                parts.extend(episode.effort.as_ref().map(EffortId::as_str));
            }
            Body::Censor(censor) => {
                let (CensorPattern::Words(pattern) | CensorPattern::Regex(pattern) | CensorPattern::Like(pattern)) =
                    &censor.pattern;
                parts.extend([pattern.as_str(), &censor.reason]);
            }
        }
        parts.extend(self.tags.iter().chain(&self.domain).map(String::as_str));
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }
}
