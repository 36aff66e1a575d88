//! Hides calls of Neap's own tools from the client.
//!
//! If a model calls only Neap's tools, it is asked again with their results, and the client sees a single
//! response. If it also calls the client's tools, the client gets those calls, and Neap's results wait for the
//! client's. The client sees an end only if there was one.

mod chat;
mod messages;
mod responses;
mod sse_frames;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use neap_core::base::message::ToolCall;
use neap_core::client::WireApi;

use super::json::{Json, Object};
use sse_frames::{FrameSplitter, SseFrame};

enum EventAction {
    Pass,
    /// Hidden, or held back until the end.
    Drop,
    Replace(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterOutcome {
    /// Only Neap's tools were called: ask the model again.
    Calls {
        calls: Vec<ToolCall>,
        /// The model's output including calls, as it is sent back to the model.
        output: Json,
    },
    /// The response is complete for the client.
    Finished {
        /// The last bytes for the client: the rest of a stream, or the whole unstreamed response.
        rest: Vec<u8>,
        /// Including calls.
        output: Json,
        /// Neap's calls beside the client's: their results are sent with the client's.
        held_calls: Vec<ToolCall>,
    },
    Broken {
        rest: Vec<u8>,
    },
}

trait ProtocolFilter: Send {
    fn event(&mut self, frame: &SseFrame) -> EventAction;
    /// Reads an unstreamed response; returns whether it was understood.
    fn read_whole(&mut self, body: &Object) -> bool;
    /// Ends the current response and returns what was held back.
    fn finish(&mut self) -> ProtocolEnd;
    /// An unstreamed response with everything that the client may see.
    fn with_shown_output(&self, body: Object) -> Object;
    fn start_next_round(&mut self);
    /// Text and call ids that the client received, over all rounds.
    fn delivered(&self) -> (String, Vec<String>);
}

struct ProtocolEnd {
    is_finished: bool,
    /// Whether the model stopped to call tools.
    wants_calls: bool,
    own_calls: Vec<ToolCall>,
    client_calls: usize,
    output: Json,
    /// Without Neap's calls, which were not carried out.
    client_output: Json,
    held_back: Vec<u8>,
}

pub struct ToolFilter {
    protocol: Box<dyn ProtocolFilter>,
    frames: FrameSplitter,
}

impl ToolFilter {
    pub fn new(api: WireApi, own_tools: BTreeSet<String>) -> Self {
        let protocol: Box<dyn ProtocolFilter> = match api {
            WireApi::Chat => Box::new(chat::ChatFilter::new(own_tools)),
            WireApi::Messages => Box::new(messages::MessagesFilter::new(own_tools)),
            WireApi::Responses => Box::new(responses::ResponsesFilter::new(own_tools)),
        };
        Self { protocol, frames: FrameSplitter::default() }
    }

    /// Returns the bytes that the client may see.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for frame in self.frames.feed(bytes) {
            match self.protocol.event(&frame) {
                EventAction::Pass => out.extend_from_slice(&frame.raw),
                EventAction::Drop => {}
                EventAction::Replace(data) => out.extend_from_slice(&sse_frames::encode_frame(&frame.name, &data)),
            }
        }
        out
    }

    pub fn finish(&mut self) -> FilterOutcome {
        let unfinished = self.frames.take_unfinished();
        let ProtocolEnd {
            is_finished,
            wants_calls,
            own_calls,
            client_calls,
            output,
            client_output,
            mut held_back,
        } = self.protocol.finish();
        if !is_finished {
            held_back.extend_from_slice(&unfinished);
            return FilterOutcome::Broken { rest: if own_calls.is_empty() { held_back } else { Vec::new() } };
        }
        self.outcome((wants_calls, own_calls, client_calls), (output, client_output), held_back)
    }

    /// Passes a response that is not understood through unchanged.
    pub fn filter_whole(&mut self, bytes: &[u8]) -> FilterOutcome {
        let body = std::str::from_utf8(bytes).ok().and_then(|text| Object::parse(text).ok());
        let Some(body) = body.filter(|body| self.protocol.read_whole(body)) else {
            return FilterOutcome::Broken { rest: bytes.to_vec() };
        };
        let ProtocolEnd { wants_calls, own_calls, client_calls, output, client_output, .. } =
            self.protocol.finish();
        let shown = self.protocol.with_shown_output(body).to_json().text().as_bytes().to_vec();
        self.outcome((wants_calls, own_calls, client_calls), (output, client_output), shown)
    }

    fn outcome(
        &mut self,
        (wants_calls, own_calls, client_calls): (bool, Vec<ToolCall>, usize),
        (output, client_output): (Json, Json),
        rest: Vec<u8>,
    ) -> FilterOutcome {
        match (wants_calls && !own_calls.is_empty(), client_calls) {
            (true, 0) => FilterOutcome::Calls { calls: own_calls, output },
            (true, _) => FilterOutcome::Finished { rest, output, held_calls: own_calls },
            (false, _) => FilterOutcome::Finished { rest, output: client_output, held_calls: Vec::new() },
        }
    }

    /// Continues the response with the answer to a follow-up request.
    pub fn start_next_round(&mut self) {
        self.frames = FrameSplitter::default();
        self.protocol.start_next_round();
    }

    pub fn delivered(&self) -> (String, Vec<String>) {
        self.protocol.delivered()
    }
}
