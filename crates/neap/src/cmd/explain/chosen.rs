//! What of an agent's memory was in a context: which records, how well they fitted, and why they were chosen then.

use std::collections::BTreeMap;

use neap_core::ids::TurnNo;
use neap_core::knowledge::{LoadCause, Loaded};
use neap_core::ledger::Ledger;
use neap_core::memory::{Action, MemoryId, MemoryKind, Side};
use neap_engine::{Agent, ChosenAt, Explained};

use crate::out::{self, BOLD, DIM, Failure, thousands};
use crate::told;

/// What records say.
pub(crate) type Says = BTreeMap<MemoryId, String>;

/// Looks up what the memories that were chosen for a turn say now.
pub(crate) async fn says(agent: &Agent, explained: &Explained) -> Result<Says, Failure> {
    let mut says = Says::new();
    for item in explained.chosen.iter().flat_map(|at| &at.loaded.items) {
        if let Some(memory) = agent.get(item.id).await? {
            says.insert(item.id, told::in_short(&memory));
        }
    }
    Ok(says)
}

/// Each memory with its score, and whether the reply made use of it.
pub(super) fn render(turn: TurnNo, at: &ChosenAt, ledger: &Ledger, says: &Says) -> String {
    // A choice of this turn is among what happened in it.
    let when = if at.turn == turn {
        "chosen for this turn".to_owned()
    } else {
        format!("chosen for turn {}: {}", at.turn, describe(&at.loaded))
    };
    let mut text = format!("{BOLD}memories{BOLD:#} {when}\n");
    let rows: Vec<Vec<String>> = at
        .loaded
        .items
        .iter()
        .map(|item| {
            let used = if ledger.memories_used.contains(&item.id) { "used" } else { "" };
            vec![
                format!("  {}", item.id),
                out::share(item.score),
                out::share(item.similarity),
                thousands(item.tokens.0),
                if item.micro { "one line".to_owned() } else { "summary".to_owned() },
                used.to_owned(),
                says.get(&item.id).cloned().unwrap_or_else(|| format!("{DIM}erased since{DIM:#}")),
            ]
        })
        .collect();
    if !rows.is_empty() {
        text.push_str(&out::table(
            &["  id", "score", "likeness", "tokens", "shown as", "", "what it says"],
            &rows,
        ));
    }
    text
}

/// A choice, in one line.
pub(super) fn describe(loaded: &Loaded) -> String {
    if loaded.cause == LoadCause::Pressure {
        let (left, tokens) = (loaded.items.len() as u64, thousands(loaded.tokens.0));
        return format!("some memories left for lack of room; {} stayed, in {tokens} tokens", thousands(left));
    }
    format!(
        "chose {} of {} in the frame {} ({}), because {}: {} of {} tokens",
        loaded.items.len(),
        out::count(loaded.considered, "candidate"),
        out::clean(&loaded.frame),
        loaded.frame_confidence,
        because(loaded.cause),
        thousands(loaded.tokens.0),
        thousands(loaded.budget.0)
    )
}

/// A rule that found something, in one line.
pub(super) fn triggered(id: MemoryId, side: Side, action: Action) -> String {
    let side = match side {
        Side::Input => "what was said",
        Side::Output => "the answer",
        Side::ToolCall => "a tool call",
    };
    let did = match action {
        Action::Steer => "gave guidance",
        Action::Refuse => "refused it",
        Action::Abort => "ended the turn",
    };
    format!("rule {id} found something in {side} and {did}")
}

/// Ids of a kind.
pub(super) fn ids(of: &[MemoryId], kind: MemoryKind) -> String {
    of.iter().filter(|id| id.kind() == kind).map(MemoryId::to_string).collect::<Vec<_>>().join(", ")
}

fn because(cause: LoadCause) -> &'static str {
    match cause {
        LoadCause::First => "there were none yet",
        LoadCause::FrameChanged => "the frame changed",
        LoadCause::NewTopic => "something new was said",
        LoadCause::BeforeAction => "a decision or an action was near",
        LoadCause::Pressure => "there was less room",
        LoadCause::Changed => "what the agent knows changed",
    }
}
