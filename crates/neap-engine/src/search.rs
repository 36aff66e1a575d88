//! Finding what was said and done, in one session or in all.

use neap_core::ids::{EffortId, SessionId, TurnNo};
use neap_core::message::{Role, Scope};
use neap_core::project::effort_text;
use neap_core::rank::{Candidate, SearchRequest, quote, rank};
use neap_core::terms::query_terms;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;

/// Longest quotation, in characters.
const QUOTE_CHARS_MAX: usize = 200;

/// Something found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// In which session.
    pub session: SessionId,
    /// In which effort; none for ambient chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortId>,
    /// In which turn, where it is something said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnNo>,
    /// By whom, where it is something said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The effort's summary, or the words around the match.
    pub text: String,
    /// How well it matches; only the order means anything.
    pub score: f64,
}

impl Engine {
    /// Efforts and messages that answer a query, best first, at most `max`.
    pub async fn search(
        &self,
        query: &str,
        session: Option<&SessionId>,
        max: usize,
    ) -> Result<Vec<Hit>, EngineError> {
        let terms = query_terms(query);
        let mut hits: Vec<Hit> = Vec::new();
        if terms.is_empty() {
            return Ok(hits);
        }
        let request = SearchRequest::new(terms.clone());
        for (id, found) in self.parts.store.search(session, &request).await? {
            let Some(state) = self.parts.store.load(&id).await? else { continue };
            let describe = |effort: &EffortId| {
                let effort = state.effort(effort)?;
                Some((effort_text(effort), effort.last_referenced))
            };
            for ranked in rank(&terms, &found, describe) {
                let score = ranked.score;
                hits.push(match ranked.candidate {
                    Candidate::Effort { id: effort } => {
                        let summary = state.effort(&effort).and_then(|e| e.summary.as_ref());
                        let text = summary.map_or_else(|| "(open)".to_owned(), |s| s.text.clone());
                        Hit { session: id.clone(), effort: Some(effort), turn: None, role: None, text, score }
                    }
                    Candidate::Message { scope, turn, role, text } => Hit {
                        session: id.clone(),
                        effort: scope.as_ref().and_then(Scope::effort).cloned(),
                        turn: Some(turn),
                        role: Some(role),
                        text: quote(&text, &terms, QUOTE_CHARS_MAX),
                        score,
                    },
                });
            }
        }
        hits.sort_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| (&a.session, b.turn).cmp(&(&b.session, a.turn)))
        });
        hits.truncate(max);
        Ok(hits)
    }
}
