//! Reports what a client's own summary lost, and where to find it.

use crate::base::handle::Handle;
use crate::base::ids::TurnNo;
use crate::base::message::{Exchange, Message, Role};
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::session::event::{ClientEvent, Event};
use crate::session::state::SessionState;
use crate::text::fold_whitespace;
use crate::text::receipt::{Probe, receipt};
use crate::text::render::one_line;

/// Returns the event, with receipt, of a client that replaces its context with a summary. Tool results do not
/// count: they stay where they are. None if nothing was said since the last time.
pub fn compaction_event(
    state: &SessionState,
    counter: &dyn TokenCounter,
    since: &[Exchange],
    summary: &str,
) -> Option<ClientEvent> {
    let (first, turn) = (since.iter().map(|exchange| exchange.turn).min()?, state.turn());
    let all = since.iter().flat_map(|exchange| &exchange.messages).map(|counted| &counted.message);
    let dialogue: Vec<Message> = all.filter(|message| is_dialogue(message)).cloned().collect();
    let handle = Handle::Turns { first, last: turn }.to_string();
    let receipt = Box::new(receipt(&dialogue, summary, Some(&handle)));
    let places = receipt.recoverable.iter().map(|probe| first_turn_with(since, probe).unwrap_or(turn)).collect();
    let source_tokens = since.iter().map(Exchange::tokens).sum();
    let summary_tokens = counter.count(summary);
    Some(ClientEvent::Compacted { turn, first, source_tokens, summary_tokens, receipt, places })
}

fn first_turn_with(since: &[Exchange], probe: &Probe) -> Option<TurnNo> {
    let has = |exchange: &&Exchange| {
        let mut dialogue =
            exchange.messages.iter().map(|counted| &counted.message).filter(|message| is_dialogue(message));
        dialogue.any(|message| fold_whitespace(&message.content).contains(&probe.value))
    };
    since.iter().find(has).map(|exchange| exchange.turn)
}

fn is_dialogue(message: &Message) -> bool {
    matches!(message.role, Role::User | Role::Assistant)
}

/// Renders the receipt for a model; empty if nothing was lost or it does not fit.
pub fn render_loss(counter: &dyn TokenCounter, event: &Event, session: &str, budget: Tokens) -> String {
    let Event::Client(ClientEvent::Compacted { receipt, places, .. }) = event else { return String::new() };
    let total = receipt.total();
    if total.recoverable == 0 {
        return String::new();
    }
    let lines: Vec<String> = (receipt.recoverable.iter().zip(places))
        .map(|(probe, turn)| {
            let value = one_line(&probe.value).replace('[', "(").replace(']', ")");
            format!("- {} `{value}`: {}\n", probe.kind.as_str(), Handle::Turn(*turn))
        })
        .collect();
    let handle = receipt.handle.as_deref().unwrap_or_default();
    let (found, left) = (total.found.to_string(), total.recoverable.to_string());
    let values = [("found", found.as_str()), ("left", &left), ("handle", handle), ("session", session)];
    (0..=lines.len())
        .rev()
        .find_map(|count| {
            let head = prompt::fill(prompt::SUMMARY_LOSSES, &values);
            let text = format!("{head}\n{}{}", lines[..count].concat(), prompt::SUMMARY_LOSSES_END.trim_end());
            (counter.count(&text) <= budget).then_some(text)
        })
        .unwrap_or_default()
}
