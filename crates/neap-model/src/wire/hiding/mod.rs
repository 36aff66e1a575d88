//! Answers in which a model calls tools of ours: the client is given all but those calls.
//!
//! Where a model calls only ours, it is asked again with what they answered, and the client sees one answer: words that were said
//! on the way, then the rest. Where it calls the client's as well, the client is given those, and what ours answered waits for what
//! it answers. An end is given only where there was one.

mod chat;
mod frames;
mod messages;
mod responses;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use neap_core::ingest::Api;
use neap_core::message::ToolCall;

use super::json::{Json, Object};
use frames::{Frame, Frames};

/// Longest answer that is taken in one piece, in bytes.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;

/// What becomes of an event.
enum Told {
    /// It is passed on as it came.
    AsItCame,
    /// It is for us alone, or waits for the end.
    Nothing,
    /// This goes on in its place.
    Instead(String),
}

/// How an answer to one request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Only tools of ours were called: the model is to be asked again.
    Calls {
        /// Which, in order.
        calls: Vec<ToolCall>,
        /// What it said, calls included, as it goes back to the model.
        said: Json,
    },
    /// It is over for the client.
    Over {
        /// What the client is given last: the rest of a stream, or all of what comes in one piece.
        rest: Vec<u8>,
        /// What was said, calls included.
        said: Json,
        /// Calls of ours beside the client's: what they answer goes with what the client answers.
        held: Vec<ToolCall>,
    },
    /// Its end did not come: no more than this.
    Broken {
        /// What was kept back of it.
        rest: Vec<u8>,
    },
}

/// What one protocol knows.
trait Talk: Send {
    /// Takes an event.
    fn event(&mut self, frame: &Frame) -> Told;
    /// Takes an answer in one piece; says whether it is understood.
    fn whole(&mut self, body: &Object) -> bool;
    /// How it ended, with what was kept back.
    fn ended(&mut self) -> TalkEnd;
    /// An answer in one piece, with all that the client is to see.
    fn shown(&self, body: Object) -> Object;
    /// Another answer follows.
    fn again(&mut self);
    /// A text and calls that the client was given: those of all answers so far.
    fn given(&self) -> (String, Vec<String>);
}

/// How one protocol's answer ended.
struct TalkEnd {
    is_over: bool,
    /// Whether it ended in order to call.
    wants_calls: bool,
    ours: Vec<ToolCall>,
    theirs: usize,
    said: Json,
    /// Without calls of ours, which were not carried out.
    said_without: Json,
    kept_back: Vec<u8>,
}

/// The calls of ours are kept from a client.
pub struct Hiding {
    talk: Box<dyn Talk>,
    frames: Frames,
}

impl Hiding {
    /// Of answers in a protocol, in which calls of these tools are ours.
    pub fn new(api: Api, ours: BTreeSet<String>) -> Self {
        let talk: Box<dyn Talk> = match api {
            Api::Chat => Box::new(chat::Chat::new(ours)),
            Api::Messages => Box::new(messages::Messages::new(ours)),
            Api::Responses => Box::new(responses::Responses::new(ours)),
        };
        Self { talk, frames: Frames::default() }
    }

    /// Takes bytes of a stream, gives what the client may see of them.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for frame in self.frames.feed(bytes) {
            match self.talk.event(&frame) {
                Told::AsItCame => out.extend_from_slice(&frame.raw),
                Told::Nothing => {}
                Told::Instead(data) => out.extend_from_slice(&frames::written(&frame.name, &data)),
            }
        }
        out
    }

    /// A stream has ended.
    pub fn end(&mut self) -> Ended {
        let unfinished = self.frames.take();
        let TalkEnd { is_over, wants_calls, ours, theirs, said, said_without, mut kept_back } = self.talk.ended();
        if !is_over {
            kept_back.extend_from_slice(&unfinished);
            return Ended::Broken { rest: if ours.is_empty() { kept_back } else { Vec::new() } };
        }
        self.ended((wants_calls, ours, theirs), (said, said_without), kept_back)
    }

    /// Takes an answer in one piece. What is not understood is the client's as it is.
    pub fn whole(&mut self, bytes: &[u8]) -> Ended {
        let body = std::str::from_utf8(bytes).ok().and_then(|text| Object::parse(text).ok());
        let Some(body) = body.filter(|body| self.talk.whole(body)) else {
            return Ended::Broken { rest: bytes.to_vec() };
        };
        let TalkEnd { wants_calls, ours, theirs, said, said_without, .. } = self.talk.ended();
        let shown = self.talk.shown(body).to_json().text().as_bytes().to_vec();
        self.ended((wants_calls, ours, theirs), (said, said_without), shown)
    }

    fn ended(
        &mut self,
        (wants_calls, ours, theirs): (bool, Vec<ToolCall>, usize),
        (said, said_without): (Json, Json),
        rest: Vec<u8>,
    ) -> Ended {
        match (wants_calls && !ours.is_empty(), theirs) {
            (true, 0) => Ended::Calls { calls: ours, said },
            (true, _) => Ended::Over { rest, said, held: ours },
            (false, _) => Ended::Over { rest, said: said_without, held: Vec::new() },
        }
    }

    /// The model is asked again: what comes now goes on from what was given.
    pub fn again(&mut self) {
        self.frames = Frames::default();
        self.talk.again();
    }

    /// The words and the calls, by their ids, that the client was given.
    pub fn given(&self) -> (String, Vec<String>) {
        self.talk.given()
    }
}
