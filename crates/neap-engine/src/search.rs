//! Finding what was said and done, in one session or in all.

use neap_core::ids::{EffortId, SessionId, TurnNo};
use neap_core::message::{Role, Scope};
use neap_core::project::effort_text;
use neap_core::rank::{Candidate, Found, Said, SearchRequest, quote, rank};
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
    /// Efforts and messages that answer a query, best first, at most `max`. An effort that it names comes first.
    pub async fn search(
        &self,
        query: &str,
        session: Option<&SessionId>,
        max: usize,
    ) -> Result<Vec<Hit>, EngineError> {
        let terms = query_terms(query);
        let named = EffortId::from_name(query).ok();
        let mut hits: Vec<Hit> = Vec::new();
        for (id, found) in self.candidates(session, &terms).await? {
            let Some(state) = self.parts.store.load(&id).await? else { continue };
            let describe = |effort: &EffortId| {
                let effort = state.effort(effort)?;
                Some((effort_text(effort), effort.last_referenced))
            };
            let as_hit = |effort: EffortId, score: f64| {
                let summary = state.effort(&effort).and_then(|e| e.summary.as_ref());
                let text = summary.map_or_else(|| "(open)".to_owned(), |s| s.text.clone());
                Hit { session: id.clone(), effort: Some(effort), turn: None, role: None, text, score }
            };
            let named = named.clone().filter(|effort| state.effort(effort).is_some());
            let ranked = rank(&terms, &found, Said::CountsLess, describe);
            let best = ranked.first().map_or(0.0, |ranked| ranked.score);
            hits.extend(named.clone().map(|effort| as_hit(effort, best + 1.0)));
            for ranked in ranked {
                let score = ranked.score;
                hits.push(match ranked.candidate {
                    Candidate::Effort { id: effort } if Some(&effort) == named.as_ref() => continue,
                    Candidate::Effort { id: effort } => as_hit(effort, score),
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

    /// What the store proposes; without a word to look for, every session that could have an effort of that name.
    async fn candidates(
        &self,
        session: Option<&SessionId>,
        terms: &[String],
    ) -> Result<Vec<(SessionId, Found)>, EngineError> {
        let store = &self.parts.store;
        if !terms.is_empty() {
            return Ok(store.search(session, &SearchRequest::new(terms.to_vec())).await?);
        }
        let sessions = match session {
            Some(id) => vec![id.clone()],
            None => store.sessions().await?.into_iter().map(|info| info.session).collect(),
        };
        Ok(sessions.into_iter().map(|id| (id, Found::default())).collect())
    }
}
