//! Searches messages and efforts, in one session or in all.

use neap_core::base::ids::{EffortId, Stamp, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::base::project_id::ProjectId;
use neap_core::recall::{
    Filter, FoundText, ParsedQuestion, RankFactors, RankWeights, TextKey, TextKind, TextSearch, snippet,
};
use neap_core::session::effort::Effort;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieval::find_texts;

const QUOTE_CHARS_MAX: usize = 200;
/// Fewest texts to rank, so that an effort of the query's name is among them.
const TEXTS_MIN: usize = 32;

/// One search result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// The session of the match.
    pub session: StreamId,
    /// The session's project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// The effort; `None` for ambient chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortId>,
    /// The turn, for messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnNo>,
    /// The kind of text: who wrote it, or what it summarises.
    pub kind: TextKind,
    /// The speaker's name, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// When the message was written, or the effort began.
    pub at: Stamp,
    /// The effort's summary, or a snippet around the match.
    pub text: String,
    /// How well it matches; only the order is meaningful.
    pub score: f64,
    /// The terms of the score.
    pub why: RankFactors,
}

impl Engine {
    /// Efforts and messages that match a query, best first, at most `max`. An effort with that name comes first.
    pub async fn search(&self, query: &str, filter: Filter, max: usize) -> Result<Vec<Hit>, EngineError> {
        let filter = self.restrict_to_visible(filter).await?;
        let question = ParsedQuestion::parse(query, self.parts.clock.now());
        let name = EffortId::from_name(query).ok();
        if question.terms.is_empty() {
            // The name has only words that are too common to search for.
            return self.efforts_by_name(name, &filter, max).await;
        }
        let search = TextSearch { question, filter, weights: RankWeights::for_topics(), max: max.max(TEXTS_MIN) };
        let mut hits = Vec::new();
        for found in find_texts(&self.parts, &search).await? {
            hits.push(self.to_hit(found, &search.question.terms).await?);
        }
        let is_named = |hit: &Hit| hit.kind == TextKind::Effort && hit.effort == name;
        // The sort is stable: the rest keeps its order.
        hits.sort_by_key(|hit| !is_named(hit));
        hits.truncate(max);
        Ok(hits)
    }

    async fn to_hit(&self, found: FoundText, terms: &[String]) -> Result<Hit, EngineError> {
        let FoundText { ranked, scope, text } = found;
        let candidate = ranked.candidate;
        let (effort, text) = match &candidate.id.key {
            TextKey::Effort(id) => {
                let state = self.parts.store.load(&candidate.id.stream).await?;
                let effort = state.as_ref().and_then(|state| state.effort(id));
                (Some(id.clone()), effort.map_or_else(String::new, summary_text))
            }
            TextKey::Message(_) | TextKey::Memory(_) => {
                (scope.as_ref().and_then(Scope::effort).cloned(), snippet(&text, terms, QUOTE_CHARS_MAX))
            }
        };
        let turn = candidate.kind.is_message().then_some(candidate.turn);
        let (session, kind, who, at) = (candidate.id.stream, candidate.kind, candidate.speaker, candidate.at);
        let project = candidate.project;
        Ok(Hit { session, project, effort, turn, kind, who, at, text, score: ranked.score, why: ranked.factors })
    }

    async fn efforts_by_name(
        &self,
        name: Option<EffortId>,
        filter: &Filter,
        max: usize,
    ) -> Result<Vec<Hit>, EngineError> {
        let Some(id) = name else { return Ok(Vec::new()) };
        let store = &self.parts.store;
        let sessions: Vec<StreamId> = match &filter.streams {
            Some(streams) => streams.iter().cloned().collect(),
            None => store.sessions().await?.into_iter().map(|info| info.session.into()).collect(),
        };
        let mut hits = Vec::new();
        for session in sessions {
            let Some(state) = store.load(&session).await? else { continue };
            let is_searched = |effort: &&Effort| {
                filter.matches(TextKind::Effort, effort.created)
                    && filter.matches_speaker(None)
                    && filter.matches_effort(Some(&id))
            };
            let project = state.head().project.clone();
            if !filter.matches_stream(&session, project.as_ref()) {
                continue;
            }
            let Some(effort) = state.effort(&id).filter(is_searched) else { continue };
            let (text, at) = (summary_text(effort), effort.created);
            let (effort, turn, who, kind) = (Some(id.clone()), None, None, TextKind::Effort);
            hits.push(Hit {
                session,
                project,
                effort,
                turn,
                kind,
                who,
                at,
                text,
                score: 1.0,
                why: RankFactors::default(),
            });
        }
        hits.truncate(max);
        Ok(hits)
    }
}

fn summary_text(effort: &Effort) -> String {
    effort.summary.as_ref().map_or_else(|| "(open)".to_owned(), |summary| summary.text.clone())
}
