//! Answering `search_efforts`: what is wanted, and what of it is told.

use std::collections::BTreeSet;

use serde_json::json;

use crate::effort::Effort;
use crate::ids::{EffortId, Stamp};
use crate::recall::{self, Filter, Found, Search, TextKey, Weights, quote};
use crate::state::SessionState;
use crate::terms::query_terms;
use crate::tools::{Refusal, SearchMatch};

/// Longest quotation in a result, in characters.
const QUOTE_CHARS_MAX: usize = 240;
/// So many texts are looked at: several may be of one effort, and some of none that is told.
const TEXTS_MAX: usize = 64;

/// What a search looks for.
#[derive(Debug)]
pub(super) struct Wanted {
    query: String,
    terms: Vec<String>,
    /// Whether what was said counts as well.
    logs: bool,
    /// The effort that the query names exactly, if it does.
    named: Option<EffortId>,
}

impl Wanted {
    /// Reads a query; one without a word to search for is refused, unless it names an effort.
    pub(super) fn of(state: &SessionState, query: &str, logs: bool) -> Result<Self, Refusal> {
        let terms = query_terms(query);
        let named = EffortId::from_name(query).ok().filter(|id| state.effort(id).is_some());
        if terms.is_empty() && named.is_none() {
            return Err(Refusal::new("The query has no word to search for.")
                .hint("name the topic, e.g. search_efforts(\"auth fix\")"));
        }
        Ok(Self { query: query.to_owned(), terms, logs, named })
    }

    /// What to look for, in this session.
    pub(super) fn search(&self, state: &SessionState, now: Stamp) -> Search {
        let streams = state.head().session.iter().cloned().collect::<BTreeSet<_>>();
        Search {
            wanted: recall::Wanted::of(&self.query, now),
            filter: Filter { streams: Some(streams), ..Filter::default() },
            weights: if self.logs { Weights::to_find() } else { Weights::to_find_topics() },
            max: TEXTS_MAX,
        }
    }

    /// Concluded efforts, best first, each once: found by id, summary or what was said in them. With `logs`, what
    /// was said in open efforts and ambient chat as well. An effort that is named comes first, open or not.
    pub(super) fn answer(&self, state: &SessionState, found: &[Found]) -> String {
        let Self { terms, logs, named, .. } = self;
        let logs = *logs;
        let max = usize::try_from(state.policy().search_results_max).unwrap_or(usize::MAX);
        let best = found.first().map_or(0.0, |found| found.ranked.score);
        let mut matches: Vec<SearchMatch> = Vec::new();
        matches.extend(named.as_ref().and_then(|id| state.effort(id)).map(|effort| SearchMatch {
            id: Some(effort.id.clone()),
            status: Some(effort.status.as_str()),
            summary: effort.summary.as_ref().map(|summary| summary.text.clone()),
            quote: None,
            score: rounded(best + 1.0),
        }));
        for Found { ranked, scope, text } in found {
            let (id, said) = match (&ranked.card.id.key, scope) {
                (TextKey::Effort(id), _) => (Some(id.clone()), None),
                (TextKey::Message(_), Some(scope)) => {
                    let (turn, who) = (ranked.card.turn, ranked.card.kind.as_str());
                    let said = format!("turn {turn}, {who}: {}", quote(text, terms, QUOTE_CHARS_MAX));
                    (scope.effort().cloned(), Some(said))
                }
                (TextKey::Message(_), None) | (TextKey::Memory(_), _) => continue,
            };
            let effort = id.as_ref().and_then(|id| state.effort(id));
            let concluded = effort.is_some_and(Effort::is_concluded);
            if !logs && !concluded {
                continue;
            }
            let twin = matches.iter_mut().find(|m| m.id.is_some() && m.id == id);
            match twin {
                Some(earlier) if !logs || said.is_none() => {
                    // The first, best match of an effort stands; a quotation is added to it.
                    earlier.quote = earlier.quote.take().or(said);
                }
                Some(_) | None => matches.push(SearchMatch {
                    id,
                    status: effort.map(|e| e.status.as_str()),
                    summary: effort.and_then(|e| e.summary.as_ref()).map(|s| s.text.clone()),
                    quote: said,
                    score: rounded(ranked.score),
                }),
            }
            if matches.len() > max {
                matches.truncate(max);
                break;
            }
        }
        json!({"status": "ok", "results": matches}).to_string()
    }
}

fn rounded(score: f64) -> f64 {
    (score * 1000.0).round() / 1000.0
}
