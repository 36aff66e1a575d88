//! Cuts the messages of an exchange to a common length.

use super::fair_share;
use crate::base::handle::Handle;
use crate::base::message::{CountedMessage, Role, total_tokens};
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::text::excerpt::{CutMessage, cut_message, left_out_note, left_out_note_tokens};

/// The lines that say what was cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CutTemplates {
    /// Replaces the middle of a message.
    marker: &'static str,
    /// Follows an assistant's messages, which get no marker.
    note: &'static str,
}

impl CutTemplates {
    pub(crate) const PROMPT: Self = Self { marker: prompt::EXCERPT, note: prompt::REPLY_IN_PART };
    pub(crate) const HOST_LOG: Self = Self { marker: prompt::HOST_LOG_EXCERPT, note: prompt::HOST_LOG_IN_PART };

    pub(crate) fn cut(
        self,
        counter: &dyn TokenCounter,
        counted: &CountedMessage,
        handle: &Handle,
        max: Tokens,
    ) -> CutMessage {
        cut_message(counter, counted, handle, max, self.marker)
    }

    /// Room to reserve for the note about messages of this many assistants.
    pub(crate) fn note_tokens(self, counter: &dyn TokenCounter, handle: &Handle, replies: usize) -> Tokens {
        left_out_note_tokens(counter, self.note, handle, replies)
    }

    pub(crate) fn annotate(
        self,
        counter: &dyn TokenCounter,
        cut: impl IntoIterator<Item = CutMessage>,
    ) -> CutExchange {
        let (mut messages, mut left_out) = (Vec::new(), Vec::new());
        for cut in cut {
            messages.push(cut.counted);
            left_out.extend(cut.left_out);
        }
        CutExchange { messages, note: left_out_note(counter, self.note, &left_out) }
    }
}

#[derive(Debug)]
pub(crate) struct CutExchange {
    pub(crate) messages: Vec<CountedMessage>,
    /// What was left out of an assistant's messages.
    pub(crate) note: Option<CountedMessage>,
}

impl CutExchange {
    pub(crate) fn into_messages(self) -> Vec<CountedMessage> {
        self.messages.into_iter().chain(self.note).collect()
    }
}

/// Cuts the messages that are longer than a fair share of the room. `None` if that share is below `share_min` or the
/// result does not fit. `handle` names the message with an index.
pub(crate) fn cut_exchange(
    counter: &dyn TokenCounter,
    messages: &[&CountedMessage],
    handle: impl Fn(usize) -> Handle,
    templates: CutTemplates,
    (room, share_min): (Tokens, Tokens),
) -> Option<CutExchange> {
    let costs: Vec<Tokens> = messages.iter().map(|counted| counted.tokens).collect();
    let replies = messages.iter().filter(|counted| counted.message.role == Role::Assistant).count();
    let note_tokens = templates.note_tokens(counter, &handle(messages.len()), replies);
    let share = fair_share(room.saturating_sub(note_tokens), &costs);
    if share < share_min {
        return None;
    }
    let cut = messages.iter().enumerate();
    let cut = cut.map(|(index, counted)| templates.cut(counter, counted, &handle(index), share));
    let cut = templates.annotate(counter, cut);
    (total_tokens(cut.messages.iter().chain(&cut.note)) <= room).then_some(cut)
}
