//! Finding what was said and done, in one session or in all.

use neap_core::effort::Effort;
use neap_core::ids::{EffortId, SessionId, Stamp, TurnNo};
use neap_core::message::Scope;
use neap_core::recall::{Filter, Found, Search, TextKey, TextKind, Wanted, Weights, Why, quote};
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::recollect::find;

/// Longest quotation, in characters.
const QUOTE_CHARS_MAX: usize = 200;
/// So many texts are looked at, however few are wanted: an effort that is named is among them.
const TEXTS_MIN: usize = 32;

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
    /// What it is: who said it, or what stands for what was said.
    pub kind: TextKind,
    /// The speaker's name, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// When it was said or begun.
    pub at: Stamp,
    /// The effort's summary, or the words around the match.
    pub text: String,
    /// How well it matches; only the order means anything.
    pub score: f64,
    /// What the score is the sum of.
    pub why: Why,
}

impl Engine {
    /// Efforts and what was said that answer a query, best first, at most `max`. An effort that it names comes first.
    pub async fn search(&self, query: &str, filter: Filter, max: usize) -> Result<Vec<Hit>, EngineError> {
        let filter = self.shown_in(filter).await?;
        let wanted = Wanted::of(query, self.parts.clock.now());
        let name = EffortId::from_name(query).ok();
        if wanted.terms.is_empty() {
            // A name of words that are too common to be searched for.
            return self.named(name, &filter, max).await;
        }
        let search = Search { wanted, filter, weights: Weights::to_find_topics(), max: max.max(TEXTS_MIN) };
        let mut hits = Vec::new();
        for found in find(&self.parts, &search).await? {
            hits.push(self.hit(found, &search.wanted.terms).await?);
        }
        let is_named = |hit: &Hit| hit.kind == TextKind::Effort && hit.effort == name;
        // A stable order: the rest stays as it is.
        hits.sort_by_key(|hit| !is_named(hit));
        hits.truncate(max);
        Ok(hits)
    }

    async fn hit(&self, found: Found, terms: &[String]) -> Result<Hit, EngineError> {
        let Found { ranked, scope, text } = found;
        let card = ranked.card;
        let (effort, text) = match &card.id.key {
            TextKey::Effort(id) => {
                let state = self.parts.store.load(&card.id.stream).await?;
                let effort = state.as_ref().and_then(|state| state.effort(id));
                (Some(id.clone()), effort.map_or_else(String::new, summary))
            }
            TextKey::Message(_) | TextKey::Memory(_) => {
                (scope.as_ref().and_then(Scope::effort).cloned(), quote(&text, terms, QUOTE_CHARS_MAX))
            }
        };
        let turn = card.kind.is_said().then_some(card.turn);
        let (session, kind, who, at) = (card.id.stream, card.kind, card.who, card.at);
        Ok(Hit { session, effort, turn, kind, who, at, text, score: ranked.score, why: ranked.why })
    }

    /// The efforts of this very name.
    async fn named(&self, name: Option<EffortId>, filter: &Filter, max: usize) -> Result<Vec<Hit>, EngineError> {
        let Some(id) = name else { return Ok(Vec::new()) };
        let store = &self.parts.store;
        let sessions: Vec<SessionId> = match &filter.streams {
            Some(streams) => streams.iter().cloned().collect(),
            None => store.sessions().await?.into_iter().map(|info| info.session).collect(),
        };
        let mut hits = Vec::new();
        for session in sessions {
            let Some(state) = store.load(&session).await? else { continue };
            let is_searched = |effort: &&Effort| {
                filter.admits(TextKind::Effort, effort.created)
                    && filter.admits_speaker(None)
                    && filter.admits_effort(Some(&id))
            };
            let Some(effort) = state.effort(&id).filter(is_searched) else { continue };
            let (text, at) = (summary(effort), effort.created);
            let (effort, turn, who, kind) = (Some(id.clone()), None, None, TextKind::Effort);
            hits.push(Hit { session, effort, turn, kind, who, at, text, score: 1.0, why: Why::default() });
        }
        hits.truncate(max);
        Ok(hits)
    }
}

fn summary(effort: &Effort) -> String {
    effort.summary.as_ref().map_or_else(|| "(open)".to_owned(), |summary| summary.text.clone())
}
