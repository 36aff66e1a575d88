//! What a client's own summary did not keep, and where it is.

use crate::event::Event;
use crate::handle::Handle;
use crate::ids::TurnNo;
use crate::message::{Exchange, Message, Role};
use crate::prompt;
use crate::receipt::{Probe, receipt};
use crate::render::one_line;
use crate::state::SessionState;
use crate::tokens::{TokenCounter, Tokens};

/// What happens when a client puts a summary in the place of all it had: the receipt of that. What tools answered does not count; it
/// stays where it is. None if nothing was said since the last time.
pub fn lost(state: &SessionState, counter: &dyn TokenCounter, since: &[Exchange], summary: &str) -> Option<Event> {
    let (first, turn) = (since.iter().map(|exchange| exchange.turn).min()?, state.turn());
    let all = since.iter().flat_map(|exchange| &exchange.messages).map(|said| &said.message);
    let said: Vec<Message> = all.filter(|message| is_said(message)).cloned().collect();
    let handle = Handle::Turns { first, last: turn }.to_string();
    let receipt = receipt(&said, summary, Some(&handle));
    let places = receipt.recoverable.iter().map(|probe| place(since, probe).unwrap_or(turn)).collect();
    let source_tokens = since.iter().map(Exchange::tokens).sum();
    let summary_tokens = counter.count(summary);
    Some(Event::ClientCompacted { turn, first, source_tokens, summary_tokens, receipt: Box::new(receipt), places })
}

/// The first turn in which it was said.
fn place(since: &[Exchange], probe: &Probe) -> Option<TurnNo> {
    let has = |exchange: &&Exchange| {
        let mut said = exchange.messages.iter().map(|said| &said.message).filter(|message| is_said(message));
        said.any(|message| flat(&message.content).contains(&probe.value))
    };
    since.iter().find(has).map(|exchange| exchange.turn)
}

fn is_said(message: &Message) -> bool {
    matches!(message.role, Role::User | Role::Assistant)
}

/// As probes write what they repeat.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The receipt as a model reads it, within a room; empty if nothing was lost or it does not fit.
pub fn told(counter: &dyn TokenCounter, event: &Event, session: &str, room: Tokens) -> String {
    let Event::ClientCompacted { receipt, places, .. } = event else { return String::new() };
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
            let head = prompt::fill(prompt::LOST, &values);
            let text = format!("{head}\n{}{}", lines[..count].concat(), prompt::LOST_END.trim_end());
            (counter.count(&text) <= room).then_some(text)
        })
        .unwrap_or_default()
}
