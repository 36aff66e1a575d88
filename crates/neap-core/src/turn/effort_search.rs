//! Answers `search_efforts`.

use serde_json::json;

use crate::base::ids::{EffortId, Stamp};
use crate::base::refusal::Refusal;
use crate::base::tenant::Tenant;
use crate::recall::{self, Filter, FoundText, ProjectFilter, RankWeights, TextKey, TextSearch, snippet};
use crate::session::effort::Effort;
use crate::session::state::SessionState;
use crate::text::terms::query_terms;
use crate::turn::tools::SearchMatch;

/// Longest quote in a result, in characters.
const QUOTE_CHARS_MAX: usize = 240;
/// Texts examined: several may belong to one effort, and some to none that is listed.
const TEXTS_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct EffortQuery {
    query: String,
    terms: Vec<String>,
    /// Whether messages are searched as well.
    in_logs: bool,
    /// The effort that the query names exactly, if any.
    named_effort: Option<EffortId>,
}

impl EffortQuery {
    /// Parses a query; refuses one without a search term unless it names an effort.
    pub(super) fn parse(state: &SessionState, query: &str, in_logs: bool) -> Result<Self, Refusal> {
        let terms = query_terms(query);
        let named_effort = EffortId::from_name(query).ok().filter(|id| state.effort(id).is_some());
        if terms.is_empty() && named_effort.is_none() {
            return Err(Refusal::new("The query has no word to search for.")
                .hint("name the topic, e.g. search_efforts(\"auth fix\")"));
        }
        Ok(Self { query: query.to_owned(), terms, in_logs, named_effort })
    }

    pub(super) fn to_search(&self, state: &SessionState, now: Stamp) -> TextSearch {
        TextSearch {
            question: recall::ParsedQuestion::parse(&self.query, now),
            filter: search_filter(state),
            weights: if self.in_logs { RankWeights::for_search() } else { RankWeights::for_topics() },
            max: TEXTS_MAX,
        }
    }

    /// A match in another session of the project, which it names: its text is fetched from there.
    fn match_elsewhere(&self, found: &FoundText) -> Option<SearchMatch> {
        let FoundText { ranked, scope, text } = found;
        let candidate = &ranked.candidate;
        let (id, summary, quote) = match &candidate.id.key {
            TextKey::Effort(id) => (Some(id.clone()), Some(snippet(text, &self.terms, QUOTE_CHARS_MAX)), None),
            TextKey::Message(_) if self.in_logs => {
                let (turn, who) = (candidate.turn, candidate.kind.as_str());
                let quote = format!("turn {turn}, {who}: {}", snippet(text, &self.terms, QUOTE_CHARS_MAX));
                (scope.as_ref()?.effort().cloned(), None, Some(quote))
            }
            TextKey::Message(_) | TextKey::Memory(_) => return None,
        };
        let (session, score) = (Some(candidate.id.stream.clone()), round_score(ranked.score));
        Some(SearchMatch { id, session, status: None, summary, quote, score })
    }

    /// Of this session: concluded efforts, best first, each once, found by id, summary or messages. With `in_logs`, also messages
    /// of open efforts and ambient chat. A named effort comes first, open or not.
    pub(super) fn render_results(&self, state: &SessionState, found: &[FoundText]) -> String {
        let Self { terms, in_logs, named_effort, .. } = self;
        let in_logs = *in_logs;
        let max = usize::try_from(state.policy().search_results_max).unwrap_or(usize::MAX);
        let best = found.first().map_or(0.0, |found| found.ranked.score);
        let mut matches: Vec<SearchMatch> = Vec::new();
        matches.extend(named_effort.as_ref().and_then(|id| state.effort(id)).map(|effort| SearchMatch {
            id: Some(effort.id.clone()),
            session: None,
            status: Some(effort.status.as_str()),
            summary: effort.summary.as_ref().map(|summary| summary.text.clone()),
            quote: None,
            score: round_score(best + 1.0),
        }));
        for found in found {
            let FoundText { ranked, scope, text } = found;
            if state.head().stream.as_ref() != Some(&ranked.candidate.id.stream) {
                matches.extend(self.match_elsewhere(found));
                if matches.len() > max {
                    matches.truncate(max);
                    break;
                }
                continue;
            }
            let (id, quote) = match (&ranked.candidate.id.key, scope) {
                (TextKey::Effort(id), _) => (Some(id.clone()), None),
                (TextKey::Message(_), Some(scope)) => {
                    let (turn, who) = (ranked.candidate.turn, ranked.candidate.kind.as_str());
                    let quote = format!("turn {turn}, {who}: {}", snippet(text, terms, QUOTE_CHARS_MAX));
                    (scope.effort().cloned(), Some(quote))
                }
                (TextKey::Message(_), None) | (TextKey::Memory(_), _) => continue,
            };
            let effort = id.as_ref().and_then(|id| state.effort(id));
            let concluded = effort.is_some_and(Effort::is_concluded);
            if !in_logs && !concluded {
                continue;
            }
            let existing = matches.iter_mut().find(|m| m.session.is_none() && m.id.is_some() && m.id == id);
            match existing {
                Some(earlier) if !in_logs || quote.is_none() => {
                    // Keep the first, best match of an effort and add a quote to it.
                    earlier.quote = earlier.quote.take().or(quote);
                }
                Some(_) | None => matches.push(SearchMatch {
                    id,
                    session: None,
                    status: effort.map(|e| e.status.as_str()),
                    summary: effort.and_then(|e| e.summary.as_ref()).map(|s| s.text.clone()),
                    quote,
                    score: round_score(ranked.score),
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

/// All sessions of the project. A caller of the proxy searches its own conversation only (I11).
fn search_filter(state: &SessionState) -> Filter {
    let head = state.head();
    let is_own = head.tenant.is_none_or(|tenant| tenant == Tenant::local());
    match &head.project {
        Some(project) if is_own => {
            Filter { project: Some(ProjectFilter::Only(project.clone())), ..Filter::default() }
        }
        Some(_) | None => Filter { streams: Some(head.stream.iter().cloned().collect()), ..Filter::default() },
    }
}

fn round_score(score: f64) -> f64 {
    (score * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::digest::Digest;
    use crate::base::ids::{SessionId, StreamId, TurnNo};
    use crate::base::policy::Policy;
    use crate::base::project_id::ProjectId;
    use crate::base::tokens::Tokens;
    use crate::client::{HistoryHead, HistoryLink};
    use crate::recall::{Candidate, RankFactors, Ranked, TextId, TextKind};
    use crate::session::event::{ClientEvent, SessionEvent};
    use crate::session::state::NewSession;

    fn session(project: Option<&str>) -> SessionState {
        let id: StreamId = SessionId::parse("own").expect("an id").into();
        let (policy, project) = (Policy::default(), project.and_then(|name| ProjectId::from_name(name).ok()));
        let mut state = SessionState::default();
        state.create_if_new(Stamp(1), NewSession { id: &id, encoding: "words", policy, imported_from: None });
        state.record(Stamp(1), SessionEvent::ProjectSet { project });
        state
    }

    fn found(stream: &str, key: TextKey, kind: TextKind, text: &str) -> FoundText {
        let candidate = Candidate {
            id: TextId { stream: StreamId::parse(stream).expect("an id"), key },
            kind,
            turn: TurnNo(7),
            position: 1,
            at: Stamp(1),
            project: None,
            speaker: None,
            tokens: Tokens(1),
            term_count: 1,
            hits: vec![1],
            similarity: None,
        };
        let ranked = Ranked { candidate, score: 1.0, factors: RankFactors::default(), matched_idf: 1.0 };
        FoundText { ranked, scope: Some(crate::base::message::Scope::Ambient), text: text.into() }
    }

    /// I11: a caller of the proxy reaches no session but its own, whatever project it names.
    #[test]
    fn a_project_is_searched_whole_but_not_by_callers() {
        assert_eq!(search_filter(&session(None)), Filter::for_stream(&StreamId::parse("own").expect("an id")));
        let mut state = session(Some("shop"));
        assert_eq!(search_filter(&state).streams, None);
        let digest = Digest::of("test", &[b"x"]);
        let (turn, links) = (TurnNo(0), vec![HistoryLink { digest, turn: TurnNo(0) }]);
        let history = HistoryHead { asked: digest, answered: Vec::new() };
        let tenant = Tenant::from_key(Some("k"));
        state.record(Stamp(2), ClientEvent::HistoryLinked { turn, links, history, tenant: Some(tenant) });
        assert_eq!(search_filter(&state), Filter::for_stream(&StreamId::parse("own").expect("an id")));
    }

    #[test]
    fn a_match_in_another_session_names_it() {
        let state = session(Some("shop"));
        let effort = TextKey::Effort(EffortId::parse("auth-fix").expect("an id"));
        let message = TextKey::Message(crate::base::ids::Seq(9));
        let all = [
            found("other", effort, TextKind::Effort, "auth-fix auth fix The clock was late."),
            found("other", message, TextKind::User, "the auth clock is late"),
        ];
        for (in_logs, want) in [(false, 1), (true, 2)] {
            let query = EffortQuery::parse(&state, "auth clock", in_logs).expect("it has words");
            let answer: serde_json::Value =
                serde_json::from_str(&query.render_results(&state, &all)).expect("JSON");
            let results = answer["results"].as_array().expect("a list");
            assert_eq!(results.len(), want, "{answer}");
            assert!(results.iter().all(|found| found["session"] == "other"), "{answer}");
            assert_eq!(results[0]["id"], "auth-fix");
            if in_logs {
                assert!(results[1]["quote"].as_str().is_some_and(|quote| quote.starts_with("turn 7")), "{answer}");
            }
        }
    }
}
