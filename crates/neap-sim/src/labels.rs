//! Numbers that mark texts: each text that a client sends has its own, so that it can be counted wherever it goes.

use neap_core::session::event::{Event, TurnEvent};

pub(crate) fn label(number: u64) -> String {
    format!("<m{number}>")
}

/// The numbers in a text, in order.
pub(crate) fn labels_in(text: &str) -> Vec<u64> {
    let parts = text.split("<m").skip(1);
    parts.filter_map(|part| part.split_once('>')?.0.parse().ok()).collect()
}

/// The numbers in the message that an event stores: in its text, and in its calls.
pub(crate) fn stored_labels(event: &Event) -> [Vec<u64>; 2] {
    let counted =
        if let Event::Turn(TurnEvent::Started { message, .. } | TurnEvent::MessageAdded { message, .. }) = event {
            message
        } else if let Event::Turn(TurnEvent::Completed { reply, .. }) = event {
            reply
        } else {
            return [Vec::new(), Vec::new()];
        };
    let message = &counted.message;
    let calls = message.tool_calls.iter().flat_map(|call| labels_in(&call.arguments));
    [labels_in(&message.content), calls.collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_from_any_text() {
        let text = format!("{} a <m> <mx> {{\"x\": \"{}\"}}", label(7), label(71));
        assert_eq!(labels_in(&text), [7, 71]);
    }
}
