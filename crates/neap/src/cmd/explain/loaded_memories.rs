//! Explains which memories were in a turn's context, their scores, and why they were chosen.

use std::collections::BTreeMap;

use neap_core::base::ids::TurnNo;
use neap_core::base::ledger::Ledger;
use neap_core::memory::knowledge::{LoadCause, MemoryLoad};
use neap_core::memory::{CensorAction, CensorSide, MemoryId, MemoryKind};
use neap_engine::{Agent, SelectedMemories, TurnExplanation};

use crate::memory_output;
use crate::out::{self, BOLD, DIM, Failure, thousands};

pub(crate) type MemoryTexts = BTreeMap<MemoryId, String>;

pub(crate) async fn load_texts(agent: &Agent, explained: &TurnExplanation) -> Result<MemoryTexts, Failure> {
    let mut texts = MemoryTexts::new();
    for item in explained.chosen.iter().flat_map(|selected| &selected.loaded.items) {
        if let Some(memory) = agent.get(item.id).await? {
            texts.insert(item.id, memory_output::memory_line(&memory));
        }
    }
    Ok(texts)
}

pub(super) fn render(turn: TurnNo, selected: &SelectedMemories, ledger: &Ledger, texts: &MemoryTexts) -> String {
    // Where this turn chose them, the list of events says so.
    let origin = if selected.turn == turn {
        "chosen for this turn".to_owned()
    } else {
        format!("chosen for turn {}: {}", selected.turn, describe_load(&selected.loaded))
    };
    let mut text = format!("{BOLD}memories{BOLD:#} {origin}\n");
    let rows: Vec<Vec<String>> = selected
        .loaded
        .items
        .iter()
        .map(|item| {
            let used = if ledger.memories_used.contains(&item.id) { "used" } else { "" };
            vec![
                format!("  {}", item.id),
                out::two_decimals(item.score),
                out::two_decimals(item.similarity),
                thousands(item.tokens.0),
                if item.micro { "one line".to_owned() } else { "summary".to_owned() },
                used.to_owned(),
                texts.get(&item.id).cloned().unwrap_or_else(|| format!("{DIM}erased since{DIM:#}")),
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

pub(super) fn describe_load(loaded: &MemoryLoad) -> String {
    if loaded.cause == LoadCause::Pressure {
        let (remaining, tokens) = (loaded.items.len() as u64, thousands(loaded.tokens.0));
        return format!(
            "some memories were dropped to make room; {} stayed, in {tokens} tokens",
            thousands(remaining)
        );
    }
    format!(
        "chose {} of {} in the frame {} ({}), because {}: {} of {} tokens",
        loaded.items.len(),
        out::count(loaded.considered, "candidate"),
        out::escape_control(&loaded.frame),
        loaded.frame_confidence,
        cause_text(loaded.cause),
        thousands(loaded.tokens.0),
        thousands(loaded.budget.0)
    )
}

pub(super) fn describe_trigger(id: MemoryId, side: CensorSide, action: CensorAction) -> String {
    let side = match side {
        CensorSide::Input => "the message",
        CensorSide::Output => "the answer",
        CensorSide::ToolCall => "a tool call",
    };
    let effect = match action {
        CensorAction::Steer => "gave guidance",
        CensorAction::Refuse => "refused it",
        CensorAction::Abort => "ended the turn",
    };
    format!("rule {id} matched {side} and {effect}")
}

pub(super) fn ids_of_kind(ids: &[MemoryId], kind: MemoryKind) -> String {
    ids.iter().filter(|id| id.kind() == kind).map(MemoryId::to_string).collect::<Vec<_>>().join(", ")
}

fn cause_text(cause: LoadCause) -> &'static str {
    match cause {
        LoadCause::First => "none were loaded yet",
        LoadCause::FrameChanged => "the frame changed",
        LoadCause::NewTopic => "the message began a new topic",
        LoadCause::BeforeAction => "the message announced a decision or an action",
        LoadCause::Pressure => "there was less room",
        LoadCause::Changed => "the agent's memories changed",
    }
}
