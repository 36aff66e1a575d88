//! Carrying out one tool call, over as many steps as it takes.

use serde_json::json;

use super::desk::Desk;
use super::step::{Input, Step};
use super::summing::{self, Summing};
use crate::assemble::Selection;
use crate::effort::Effort;
use crate::event::{CollapseCause, Event};
use crate::ids::{EffortId, TurnNo};
use crate::log::LogRequest;
use crate::message::{Message, Scope, ToolCall};
use crate::project::effort_text;
use crate::rank::{Candidate, Found, SearchRequest, quote, rank};
use crate::state::SessionState;
use crate::terms::query_terms;
use crate::tokens::Tokens;
use crate::tools::{Banner, Call, Plan, Refusal, SearchMatch, plan, status, success};

/// Longest quotation in a search result, in characters.
const QUOTE_CHARS_MAX: usize = 240;

/// A call that waits for something.
#[derive(Debug)]
pub(super) struct Performing {
    /// The turn that called; others may have begun since.
    turn: TurnNo,
    waiting: Waiting,
}

/// What a search is for.
#[derive(Debug)]
struct Wanted {
    terms: Vec<String>,
    logs: bool,
    /// The effort that the query names, whatever its words.
    named: Option<EffortId>,
}

#[derive(Debug)]
enum Waiting {
    ForHost,
    ToConclude { summing: Summing },
    ForLog { id: EffortId },
    ForCandidates { wanted: Wanted },
    ForNothing,
}

/// How a call came out.
#[derive(Debug, Clone)]
pub(super) struct Performed {
    /// What the model reads.
    pub(super) text: String,
    /// What happened, if anything did.
    pub(super) event: Option<Event>,
    pub(super) banner: Option<Banner>,
    /// Set if it was refused.
    pub(super) refusal: Option<String>,
    /// The effort it was about: a reference (DESIGN, decision 2).
    pub(super) touched: Option<EffortId>,
    pub(super) by_host: bool,
}

impl Performed {
    /// The answer of a host's tool.
    pub(super) fn by_host(text: String) -> Self {
        Self { by_host: true, ..Self::answer(text) }
    }

    fn answer(text: String) -> Self {
        Self { text, event: None, banner: None, refusal: None, touched: None, by_host: false }
    }

    fn refused(refusal: &Refusal) -> Self {
        Self { refusal: Some(refusal.error.clone()), ..Self::answer(refusal.to_json()) }
    }

    fn happened(id: EffortId, event: Event, banner: Banner, text: String) -> Self {
        Self { event: Some(event), banner: Some(banner), touched: Some(id), ..Self::answer(text) }
    }
}

pub(super) enum Progress {
    Ask(Step),
    Finished(Performed),
}

impl Performing {
    /// Reads and checks a call, and carries it out if nothing is needed for it. `said` is what this turn
    /// said until now: the summary of an effort that it closes covers that, too.
    pub(super) fn start(desk: &Desk<'_>, turn: TurnNo, said: Vec<Message>, call: ToolCall) -> (Self, Progress) {
        if desk.tools.is_host_tool(&call.name) {
            return (Self { turn, waiting: Waiting::ForHost }, Progress::Ask(Step::CallTool(call)));
        }
        let planned = Call::parse(&call).and_then(|call| plan(desk.state, turn, call));
        let (waiting, progress) = match planned {
            Ok(plan) => begin(desk, turn, said, plan),
            Err(refusal) => (Waiting::ForNothing, Progress::Finished(Performed::refused(&refusal))),
        };
        (Self { turn, waiting }, progress)
    }

    /// Goes on with what came.
    pub(super) fn step(&mut self, desk: &mut Desk<'_>, input: Input) -> Progress {
        match (std::mem::replace(&mut self.waiting, Waiting::ForNothing), input) {
            (Waiting::ForHost, Input::ToolAnswered(text)) => Progress::Finished(Performed::by_host(text)),
            (Waiting::ToConclude { summing }, input) => self.conclude(desk, summing, input),
            (Waiting::ForLog { id }, Input::Loaded(loaded)) => {
                desk.hold(loaded);
                Progress::Finished(expand(desk, self.turn, &id))
            }
            (Waiting::ForCandidates { wanted }, Input::Found(found)) => {
                Progress::Finished(answer_search(desk.state, &wanted, &found))
            }
            (waiting, input) => panic!("the driver answered {waiting:?} with {input:?}"),
        }
    }

    fn conclude(&mut self, desk: &Desk<'_>, mut summing: Summing, input: Input) -> Progress {
        let id = summing.id().clone();
        match summing.step(desk, input) {
            summing::Progress::Ask(step) => {
                self.waiting = Waiting::ToConclude { summing };
                Progress::Ask(step)
            }
            summing::Progress::Ready(Ok(summary)) => {
                let text = success("concluded", &id, &[("summary", json!(summary.text))]);
                let banner = Banner::Concluded { id: id.clone(), summary: summary.text.clone() };
                let next_active = next_active(desk.state, &id);
                let event = Event::EffortConcluded { id: id.clone(), summary, turn: self.turn, next_active };
                Progress::Finished(Performed::happened(id, event, banner, text))
            }
            summing::Progress::Ready(Err(why)) => {
                let refusal = Refusal::new(format!("Could not summarize '{id}': {why}."))
                    .hint("the effort stays open with its whole log; try again later");
                Progress::Finished(Performed::refused(&refusal))
            }
        }
    }
}

fn begin(desk: &Desk<'_>, turn: TurnNo, said: Vec<Message>, plan: Plan) -> (Waiting, Progress) {
    let finished = |performed| (Waiting::ForNothing, Progress::Finished(performed));
    match plan {
        Plan::Apply { event, status, id, banner } => {
            let text = success(status, &id, &[]);
            finished(Performed::happened(id, event, banner, text))
        }
        Plan::Conclude { id } => {
            // Until now this turn was said to the active effort; a summary of another does not cover it.
            let is_active = desk.state.active().is_some_and(|effort| effort.id == id);
            let (summing, step) = Summing::start(desk, id, if is_active { said } else { Vec::new() });
            (Waiting::ToConclude { summing }, Progress::Ask(step))
        }
        Plan::Expand { id } => {
            let scope = Scope::Effort(id.clone());
            if desk.logs.get(&scope).is_some() {
                return finished(expand(desk, turn, &id));
            }
            let tokens_max = desk.state.policy().context_budget();
            let step = Step::Load(vec![LogRequest { scope, tokens_max }]);
            (Waiting::ForLog { id }, Progress::Ask(step))
        }
        Plan::Collapse { id } => finished(collapse(desk, turn, &id)),
        Plan::Status { id } => {
            let text = status(desk.state, id.as_ref());
            finished(Performed { touched: id, ..Performed::answer(text) })
        }
        Plan::Search { query, logs } => {
            let terms = query_terms(&query);
            let named = EffortId::from_name(&query)
                .ok()
                .filter(|id| desk.state.effort(id).is_some_and(|effort| effort.is_concluded() || logs));
            let wanted = Wanted { terms, logs, named };
            if wanted.terms.is_empty() && wanted.named.is_some() {
                return finished(answer_search(desk.state, &wanted, &Found::default()));
            }
            if wanted.terms.is_empty() {
                let refusal = Refusal::new("The query has no word to search for.")
                    .hint("name the topic, e.g. search_efforts(\"auth fix\")");
                return finished(Performed::refused(&refusal));
            }
            let step = Step::Search(SearchRequest::new(wanted.terms.clone()));
            (Waiting::ForCandidates { wanted }, Progress::Ask(step))
        }
    }
}

/// The open effort that was active most recently takes over; if another was closed, nothing changes.
fn next_active(state: &SessionState, closing: &EffortId) -> Option<EffortId> {
    match state.active() {
        Some(active) if active.id != *closing => Some(active.id.clone()),
        Some(_) | None => state
            .open()
            .filter(|effort| effort.id != *closing)
            .max_by_key(|effort| (effort.last_active, effort.created, effort.id.clone()))
            .map(|effort| effort.id.clone()),
    }
}

fn expand(desk: &Desk<'_>, turn: TurnNo, id: &EffortId) -> Performed {
    let now = Selection::of(desk.state);
    let tokens_loaded = match desk.state.effort(id) {
        Some(effort) => desk.cost(&now.clone().with_expanded(effort)).saturating_sub(desk.cost(&now)),
        None => Tokens::ZERO,
    };
    let text = success("expanded", id, &[("tokens_loaded", json!(tokens_loaded))]);
    let event = Event::EffortExpanded { id: id.clone(), turn, tokens_loaded };
    Performed::happened(id.clone(), event, Banner::Expanded { id: id.clone(), tokens_loaded }, text)
}

fn collapse(desk: &Desk<'_>, turn: TurnNo, id: &EffortId) -> Performed {
    let event = collapsed(desk, turn, id, CollapseCause::Asked);
    let text = success("collapsed", id, &[]);
    Performed::happened(id.clone(), event, Banner::Collapsed { id: id.clone() }, text)
}

/// The event of an expansion that ends, with what that frees.
pub(super) fn collapsed(desk: &Desk<'_>, turn: TurnNo, id: &EffortId, cause: CollapseCause) -> Event {
    let now = Selection::of(desk.state);
    let tokens_freed = match desk.state.effort(id) {
        Some(effort) => desk.cost(&now).saturating_sub(desk.cost(&now.clone().with_collapsed(effort))),
        None => Tokens::ZERO,
    };
    Event::EffortCollapsed { id: id.clone(), turn, cause, tokens_freed }
}

/// Concluded efforts, best first, each once: found by id, summary or what was said in them. With `logs`, what
/// was said in open efforts and ambient chat as well. An effort that is named comes first.
fn answer_search(state: &SessionState, wanted: &Wanted, found: &Found) -> Performed {
    let Wanted { terms, logs, named } = wanted;
    let logs = *logs;
    let max = usize::try_from(state.policy().search_results_max).unwrap_or(usize::MAX);
    let describe = |id: &EffortId| {
        let effort = state.effort(id).filter(|e| e.is_concluded() || logs)?;
        Some((effort_text(effort), effort.last_referenced))
    };
    let ranked = rank(terms, found, describe);
    let best = ranked.first().map_or(0.0, |ranked| ranked.score);
    let mut matches: Vec<SearchMatch> = Vec::new();
    matches.extend(named.as_ref().and_then(|id| state.effort(id)).map(|effort| SearchMatch {
        id: Some(effort.id.clone()),
        status: Some(effort.status.as_str()),
        summary: effort.summary.as_ref().map(|summary| summary.text.clone()),
        quote: None,
        score: ((best + 1.0) * 1000.0).round() / 1000.0,
    }));
    for ranked in ranked {
        let (id, said) = match &ranked.candidate {
            Candidate::Effort { id } => (Some(id.clone()), None),
            Candidate::Message { scope, turn, role, text } => {
                let Some(scope) = scope else { continue };
                let who = role.as_str();
                let said = format!("turn {turn}, {who}: {}", quote(text, terms, QUOTE_CHARS_MAX));
                (scope.effort().cloned(), Some(said))
            }
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
                score: (ranked.score * 1000.0).round() / 1000.0,
            }),
        }
        if matches.len() > max {
            matches.truncate(max);
            break;
        }
    }
    Performed::answer(json!({"status": "ok", "results": matches}).to_string())
}
