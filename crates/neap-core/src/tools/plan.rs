//! May this call be carried out now, and what will it take?

use super::banner::Banner;
use super::call::{Call, Refusal, TextToSummarize};
use super::memory::MemoryCall;
use crate::effort::{Effort, EffortStatus};
use crate::event::Event;
use crate::handle::Handle;
use crate::ids::{EffortId, TurnNo};
use crate::state::SessionState;

/// An accepted call.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Nothing more is needed.
    Apply {
        /// What happens.
        event: Event,
        /// The word in the result.
        status: &'static str,
        /// Which effort it is about.
        id: EffortId,
        /// What the human is told.
        banner: Banner,
    },
    /// The log must be summarised first.
    Conclude {
        /// Which.
        id: EffortId,
    },
    /// The log must be at hand to say what it costs.
    Expand {
        /// Which.
        id: EffortId,
    },
    /// Its cost must be measured before it goes.
    Collapse {
        /// Which.
        id: EffortId,
    },
    /// Only a look.
    Status {
        /// One effort, or all that fit.
        id: Option<EffortId>,
    },
    /// The words must be fetched.
    Fetch {
        /// Which.
        handle: Handle,
        /// Where to go on, in bytes.
        offset: usize,
    },
    /// The store must be asked.
    Search {
        /// What to look for.
        query: String,
        /// Whether to search what was said, too.
        logs: bool,
    },
    /// A text from outside must be summarised.
    Summarize(TextToSummarize),
    /// The agent's memory must be asked or taught.
    Memory(MemoryCall),
}

/// Checks a call, made in this turn, against the state.
pub fn plan(state: &SessionState, turn: TurnNo, call: Call) -> Result<Plan, Refusal> {
    match call {
        Call::Open { name } => {
            let id =
                EffortId::from_name(&name).map_err(|e| Refusal::new(format!("Cannot open an effort: {e}.")))?;
            if let Some(effort) = state.effort(&id) {
                return Err(duplicate(effort));
            }
            let name = name.trim().chars().take(200).collect();
            let event = Event::EffortOpened { id: id.clone(), name, turn };
            Ok(Plan::Apply { event, status: "opened", banner: Banner::Started { id: id.clone() }, id })
        }
        Call::Close { id: None } => match state.active() {
            Some(effort) => Ok(Plan::Conclude { id: effort.id.clone() }),
            None => Err(Refusal::new("No active effort to close.")),
        },
        Call::Close { id: Some(given) } => match find(state, &given) {
            Some(effort) if effort.is_open() => Ok(Plan::Conclude { id: effort.id.clone() }),
            Some(_) | None => Err(Refusal::new(format!("No open effort with id '{}'.", brief(&given)))),
        },
        Call::Status { id: None } => Ok(Plan::Status { id: None }),
        Call::Status { id: Some(given) } => Ok(Plan::Status { id: Some(existing(state, &given)?.id.clone()) }),
        Call::Expand { id: given } => {
            let effort = in_status(state, &given, EffortStatus::Concluded, "expand")?;
            if effort.expanded.is_some() {
                return Err(Refusal::new(format!("Effort '{}' is already expanded.", effort.id)));
            }
            Ok(Plan::Expand { id: effort.id.clone() })
        }
        Call::Collapse { id: given } => {
            let effort = existing(state, &given)?;
            if effort.expanded.is_none() {
                return Err(Refusal::new(format!("Effort '{}' is not currently expanded.", effort.id)));
            }
            Ok(Plan::Collapse { id: effort.id.clone() })
        }
        Call::Switch { id: given } => {
            let id = in_status(state, &given, EffortStatus::Open, "switch to")?.id.clone();
            let event = Event::EffortSwitched { id: id.clone(), turn };
            Ok(Plan::Apply { event, status: "switched", banner: Banner::Switched { id: id.clone() }, id })
        }
        Call::Reopen { id: given } => {
            let id = in_status(state, &given, EffortStatus::Concluded, "reopen")?.id.clone();
            let event = Event::EffortReopened { id: id.clone(), turn };
            Ok(Plan::Apply { event, status: "reopened", banner: Banner::Reopened { id: id.clone() }, id })
        }
        Call::Search { query, logs } => Ok(Plan::Search { query, logs }),
        Call::Fetch { handle, offset } => match handle.parse() {
            Ok(handle) => Ok(Plan::Fetch { handle, offset }),
            Err(error) => Err(Refusal::new(format!("Cannot fetch: {error}."))),
        },
        Call::SummarizeText(text) => Ok(Plan::Summarize(text)),
        Call::Memory(asked) => Ok(Plan::Memory(asked)),
    }
}

/// Names are folded as they were when the effort was opened, so `Auth Bug` finds `auth-bug`.
fn find<'a>(state: &'a SessionState, given: &str) -> Option<&'a Effort> {
    state.effort(&EffortId::from_name(given).ok()?)
}

fn existing<'a>(state: &'a SessionState, given: &str) -> Result<&'a Effort, Refusal> {
    find(state, given).ok_or_else(|| {
        Refusal::new(format!("No effort with id '{}'.", brief(given)))
            .hint("search_efforts finds efforts by topic")
    })
}

fn in_status<'a>(
    state: &'a SessionState,
    given: &str,
    must: EffortStatus,
    verb: &str,
) -> Result<&'a Effort, Refusal> {
    let effort = existing(state, given)?;
    if effort.status == must {
        return Ok(effort);
    }
    let (id, is, must) = (&effort.id, effort.status.as_str(), must.as_str());
    Err(Refusal::new(format!("Cannot {verb} '{id}': status is '{is}', must be '{must}'.")))
}

fn duplicate(effort: &Effort) -> Refusal {
    let id = &effort.id;
    match effort.status {
        EffortStatus::Open => Refusal::new(format!("An effort '{id}' is already open."))
            .hint(format!("call switch_effort with id '{id}' to work on it, or choose another name")),
        EffortStatus::Concluded => Refusal::new(format!("An effort '{id}' exists and is concluded."))
            .hint(format!("call reopen_effort with id '{id}' to continue it, or choose another name")),
    }
}

/// Quotes at most this much of what a model sent back to it.
fn brief(given: &str) -> String {
    given.chars().filter(|c| !c.is_control()).take(80).collect()
}
