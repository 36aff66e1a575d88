//! The context for a question outside any conversation, with every candidate weighed.

use super::{Focus, Inputs, Knowledge, Outlook, Placement, build, request};
use crate::frame::{Chosen, select};
use crate::ids::Stamp;
use crate::memory::{AgentHead, RecallRequest, Recalled};
use crate::prompt;
use crate::tokens::{TokenCounter, Tokens};

/// A question that waits for what the store finds.
#[derive(Debug)]
pub struct Asking<'a> {
    outlook: &'a Outlook,
    question: &'a str,
    chosen: Chosen<'a>,
    request: RecallRequest,
}

/// What a question calls for.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// Why this frame, in words.
    pub frame_because: String,
    /// What is loaded, and what was weighed.
    pub page: Knowledge,
}

impl<'a> Asking<'a> {
    /// Reads a question; a frame that is named must exist.
    pub fn new(outlook: &'a Outlook, question: &'a str, frame: Option<&str>, now: Stamp) -> Result<Self, String> {
        let chosen = match frame {
            Some(name) => {
                let known =
                    || outlook.frames.iter().map(|frame| frame.name.as_str()).collect::<Vec<_>>().join(", ");
                let frame = outlook.frames.get(name);
                Chosen::asked_for(
                    frame.ok_or_else(|| format!("there is no frame '{name}'; there are: {}", known()))?,
                )
            }
            None => select(&outlook.frames, question),
        };
        let request = request(question, chosen.frame, now);
        Ok(Self { outlook, question, chosen, request })
    }

    /// What the store is asked.
    pub fn request(&self) -> &RecallRequest {
        &self.request
    }

    /// Chooses from what it found.
    pub fn answer(
        &self,
        agent: &AgentHead,
        recalled: &Recalled,
        room: Tokens,
        counter: &dyn TokenCounter,
        now: Stamp,
    ) -> Context {
        // What is told includes the marks around records, which a prompt pays for elsewhere.
        let marks = match self.outlook.placement {
            Placement::System => counter.count(prompt::RECORDS) + counter.count(prompt::RECORDS_END),
            Placement::Tail => Tokens::ZERO,
        };
        let room = room.saturating_sub(marks);
        let page = build(&Inputs {
            question: self.question,
            chosen: &self.chosen,
            identity: &self.outlook.identity,
            agent,
            focus: &Focus::default(),
            recalled,
            terms: &self.request.terms,
            room,
            counter,
            lines_are_counted: true,
            placement: self.outlook.placement,
            now,
        });
        Context { frame_because: self.chosen.explain(), page }
    }
}
