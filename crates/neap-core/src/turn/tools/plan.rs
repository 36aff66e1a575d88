//! Checks calls against the state and plans what running them takes.

use super::banner::Banner;
use super::call::{OwnToolCall, TextToSummarize};
use super::memory::MemoryCall;
use crate::base::handle::Handle;
use crate::base::ids::{EffortId, TurnNo};
use crate::base::refusal::Refusal;
use crate::session::effort::{Effort, EffortStatus};
use crate::session::event::EffortEvent;
use crate::session::state::SessionState;

#[derive(Debug, Clone, PartialEq)]
pub enum CallPlan {
    Apply {
        event: EffortEvent,
        /// The word in the result.
        status: &'static str,
        id: EffortId,
        banner: Banner,
    },
    /// The log must be summarised first.
    Conclude {
        id: EffortId,
    },
    /// The log must be loaded, to measure its cost.
    Expand {
        id: EffortId,
    },
    /// Its cost must be measured before it leaves the context.
    Collapse {
        id: EffortId,
    },
    /// Only reads the state.
    Status {
        /// One effort, or all that fit.
        id: Option<EffortId>,
    },
    Fetch {
        handle: Handle,
        /// Where to continue, in bytes.
        offset: usize,
    },
    Search {
        query: String,
        /// Whether to search messages as well.
        logs: bool,
    },
    Summarize(TextToSummarize),
    Memory(MemoryCall),
}

pub fn plan_call(state: &SessionState, turn: TurnNo, call: OwnToolCall) -> Result<CallPlan, Refusal> {
    match call {
        OwnToolCall::Open { name } => {
            let id =
                EffortId::from_name(&name).map_err(|e| Refusal::new(format!("Cannot open an effort: {e}.")))?;
            if let Some(effort) = state.effort(&id) {
                return Err(duplicate_refusal(effort));
            }
            let name = name.trim().chars().take(200).collect();
            let event = EffortEvent::Opened { id: id.clone(), name, turn };
            Ok(CallPlan::Apply { event, status: "opened", banner: Banner::Started { id: id.clone() }, id })
        }
        OwnToolCall::Close { id: None } => match state.active_effort() {
            Some(effort) => Ok(CallPlan::Conclude { id: effort.id.clone() }),
            None => Err(Refusal::new("No active effort to close.")),
        },
        OwnToolCall::Close { id: Some(given) } => match find_effort(state, &given) {
            Some(effort) if effort.is_open() => Ok(CallPlan::Conclude { id: effort.id.clone() }),
            Some(_) | None => Err(Refusal::new(format!("No open effort with id '{}'.", quote_input(&given)))),
        },
        OwnToolCall::Status { id: None } => Ok(CallPlan::Status { id: None }),
        OwnToolCall::Status { id: Some(given) } => {
            Ok(CallPlan::Status { id: Some(require_effort(state, &given)?.id.clone()) })
        }
        OwnToolCall::Expand { id: given } => {
            let effort = require_status(state, &given, EffortStatus::Concluded, "expand")?;
            if effort.expanded.is_some() {
                return Err(Refusal::new(format!("Effort '{}' is already expanded.", effort.id)));
            }
            Ok(CallPlan::Expand { id: effort.id.clone() })
        }
        OwnToolCall::Collapse { id: given } => {
            let effort = require_effort(state, &given)?;
            if effort.expanded.is_none() {
                return Err(Refusal::new(format!("Effort '{}' is not currently expanded.", effort.id)));
            }
            Ok(CallPlan::Collapse { id: effort.id.clone() })
        }
        OwnToolCall::Switch { id: given } => {
            let id = require_status(state, &given, EffortStatus::Open, "switch to")?.id.clone();
            let event = EffortEvent::Switched { id: id.clone(), turn };
            Ok(CallPlan::Apply { event, status: "switched", banner: Banner::Switched { id: id.clone() }, id })
        }
        OwnToolCall::Reopen { id: given } => {
            let id = require_status(state, &given, EffortStatus::Concluded, "reopen")?.id.clone();
            let event = EffortEvent::Reopened { id: id.clone(), turn };
            Ok(CallPlan::Apply { event, status: "reopened", banner: Banner::Reopened { id: id.clone() }, id })
        }
        OwnToolCall::Search { query, logs } => Ok(CallPlan::Search { query, logs }),
        OwnToolCall::Fetch { handle, offset } => match handle.parse() {
            Ok(handle) => Ok(CallPlan::Fetch { handle, offset }),
            Err(error) => Err(Refusal::new(format!("Cannot fetch: {error}."))),
        },
        OwnToolCall::SummarizeText(text) => Ok(CallPlan::Summarize(text)),
        OwnToolCall::Memory(memory_call) => Ok(CallPlan::Memory(memory_call)),
    }
}

/// Names are folded as when the effort was opened, so `Auth Bug` finds `auth-bug`.
fn find_effort<'a>(state: &'a SessionState, given: &str) -> Option<&'a Effort> {
    state.effort(&EffortId::from_name(given).ok()?)
}

fn require_effort<'a>(state: &'a SessionState, given: &str) -> Result<&'a Effort, Refusal> {
    find_effort(state, given).ok_or_else(|| {
        Refusal::new(format!("No effort with id '{}'.", quote_input(given)))
            .hint("search_efforts finds efforts by topic")
    })
}

fn require_status<'a>(
    state: &'a SessionState,
    given: &str,
    required: EffortStatus,
    verb: &str,
) -> Result<&'a Effort, Refusal> {
    let effort = require_effort(state, given)?;
    if effort.status == required {
        return Ok(effort);
    }
    let (id, is, must) = (&effort.id, effort.status.as_str(), required.as_str());
    Err(Refusal::new(format!("Cannot {verb} '{id}': status is '{is}', must be '{must}'.")))
}

fn duplicate_refusal(effort: &Effort) -> Refusal {
    let id = &effort.id;
    match effort.status {
        EffortStatus::Open => Refusal::new(format!("An effort '{id}' is already open."))
            .hint(format!("call switch_effort with id '{id}' to work on it, or choose another name")),
        EffortStatus::Concluded => Refusal::new(format!("An effort '{id}' exists and is concluded."))
            .hint(format!("call reopen_effort with id '{id}' to continue it, or choose another name")),
    }
}

/// At most 80 characters of the model's input, to quote back to it.
fn quote_input(given: &str) -> String {
    given.chars().filter(|c| !c.is_control()).take(80).collect()
}
