//! From the bytes of a stream to an answer, without any connection: the same bytes give the same answer, in whatever pieces
//! they come, and an answer only if its end came too.

use neap_core::message::ToolCall;

use super::sse::{Sse, SseEvent};
use crate::usage::Usage;
use crate::wire::json::Json;
use crate::{ModelError, OnText};

/// Most bytes of one stream.
const STREAM_BYTES_MAX: usize = 64 << 20;

/// A whole answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) usage: Option<Usage>,
    /// What the provider calls it, where a later request may name it in place of the history.
    pub(crate) id: Option<String>,
    /// How the provider wants it back, if it holds more than words and calls.
    pub(crate) kept: Vec<Json>,
    /// Whether it ended because it was as long as it may be.
    pub(crate) is_cut: bool,
}

/// What an event brought.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Words of the reply.
    Words(String),
    /// Nothing to show.
    Nothing,
    /// The end, as the protocol says it.
    Over,
}

/// Understands one protocol.
pub(crate) trait Hearing: Send {
    /// Takes an event.
    fn event(&mut self, event: &SseEvent) -> Result<Heard, ModelError>;

    /// What was said. Called only after the end.
    fn answer(self: Box<Self>) -> Result<Answer, ModelError>;
}

/// Reads one stream.
pub(crate) struct Reading {
    sse: Sse,
    hearing: Box<dyn Hearing>,
    bytes: usize,
    is_over: bool,
}

impl Reading {
    pub(crate) fn new(hearing: Box<dyn Hearing>) -> Self {
        Self { sse: Sse::default(), hearing, bytes: 0, is_over: false }
    }

    /// Takes bytes; says whether the end has come. What comes after it is not looked at.
    pub(crate) fn feed(&mut self, bytes: &[u8], on_text: OnText<'_>) -> Result<bool, ModelError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > STREAM_BYTES_MAX {
            return Err(ModelError::Protocol(format!("a stream of more than {STREAM_BYTES_MAX} bytes")));
        }
        for event in self.sse.feed(bytes)? {
            if self.is_over {
                break;
            }
            match self.hearing.event(&event)? {
                Heard::Words(words) => {
                    if !words.is_empty() {
                        on_text(&words);
                    }
                }
                Heard::Nothing => {}
                Heard::Over => self.is_over = true,
            }
        }
        Ok(self.is_over)
    }

    /// Whether the end has come.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// No more bytes come. Without its end, nothing that was heard is an answer; of one that was as long as it may be, only the
    /// words are.
    pub(crate) fn end(self) -> Result<Answer, ModelError> {
        let mut answer = self.answer()?;
        if answer.is_cut {
            // What was begun last may be half a call.
            answer.calls.clear();
            answer.kept.clear();
        }
        Ok(answer)
    }

    /// The same with all that came of it.
    pub(crate) fn answer(self) -> Result<Answer, ModelError> {
        if !self.is_over {
            return Err(ModelError::Protocol("the stream ended before the answer did".to_owned()));
        }
        self.hearing.answer()
    }
}

/// Reads the JSON of an event.
pub(crate) fn read<'a, T: serde::Deserialize<'a>>(data: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(data)
        .map_err(|error| ModelError::Protocol(format!("an event that cannot be read: {error}")))
}

/// The kind of an event, from its data.
pub(crate) fn kind_of(data: &str) -> Result<String, ModelError> {
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(rename = "type", default)]
        kind: String,
    }
    read::<Kind>(data).map(|event| event.kind)
}
