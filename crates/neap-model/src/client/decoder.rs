//! Decodes streamed bytes into a reply, without I/O. The same bytes give the same reply however they are split,
//! and only a stream with its end gives one.

use neap_core::base::message::ToolCall;

use super::sse::{SseEvent, SseParser};
use crate::usage::Usage;
use crate::wire::json::Json;
use crate::{ModelError, OnText};

const STREAM_BYTES_MAX: usize = 64 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DecodedReply {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) usage: Option<Usage>,
    /// The provider's id, which a later request may name in place of the history.
    pub(crate) id: Option<String>,
    /// The items to send back as they are, if the reply holds more than text and calls.
    pub(crate) replay_items: Vec<Json>,
    /// Whether the reply ended at its length limit.
    pub(crate) is_cut: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodedEvent {
    Text(String),
    Ignored,
    /// The protocol's end marker.
    End,
}

pub(crate) trait StreamDecoder: Send {
    fn decode(&mut self, event: &SseEvent) -> Result<DecodedEvent, ModelError>;

    /// Called only after the end.
    fn into_reply(self: Box<Self>) -> Result<DecodedReply, ModelError>;
}

pub(crate) struct StreamReader {
    sse: SseParser,
    decoder: Box<dyn StreamDecoder>,
    bytes: usize,
    is_finished: bool,
}

impl StreamReader {
    pub(crate) fn new(decoder: Box<dyn StreamDecoder>) -> Self {
        Self { sse: SseParser::default(), decoder, bytes: 0, is_finished: false }
    }

    /// Returns whether the stream has ended; ignores everything after its end.
    pub(crate) fn feed(&mut self, bytes: &[u8], on_text: OnText<'_>) -> Result<bool, ModelError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > STREAM_BYTES_MAX {
            return Err(ModelError::Protocol(format!("a stream of more than {STREAM_BYTES_MAX} bytes")));
        }
        for event in self.sse.feed(bytes)? {
            if self.is_finished {
                break;
            }
            match self.decoder.decode(&event)? {
                DecodedEvent::Text(text) => {
                    if !text.is_empty() {
                        on_text(&text);
                    }
                }
                DecodedEvent::Ignored => {}
                DecodedEvent::End => self.is_finished = true,
            }
        }
        Ok(self.is_finished)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Fails if the stream has not ended. A reply that reached its length limit keeps only its text.
    pub(crate) fn finish(self) -> Result<DecodedReply, ModelError> {
        let mut reply = self.into_reply()?;
        if reply.is_cut {
            // The last item may be half a call.
            reply.calls.clear();
            reply.replay_items.clear();
        }
        Ok(reply)
    }

    /// As [`finish`](Self::finish), but keeps the calls of a truncated reply.
    pub(crate) fn into_reply(self) -> Result<DecodedReply, ModelError> {
        if !self.is_finished {
            return Err(ModelError::Protocol("the stream ended before the answer did".to_owned()));
        }
        self.decoder.into_reply()
    }
}

pub(crate) fn parse_event<'a, T: serde::Deserialize<'a>>(data: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(data)
        .map_err(|error| ModelError::Protocol(format!("an event that cannot be read: {error}")))
}

pub(crate) fn event_kind(data: &str) -> Result<String, ModelError> {
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(rename = "type", default)]
        kind: String,
    }
    parse_event::<Kind>(data).map(|event| event.kind)
}
