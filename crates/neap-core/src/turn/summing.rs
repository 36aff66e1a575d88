//! Getting a summary of an effort's log: fetch it, ask for one, check what came.

use super::desk::Desk;
use super::intake;
use super::step::{Input, Step};
use crate::effort::Summary;
use crate::ids::EffortId;
use crate::log::LogRequest;
use crate::message::{Counted, Message, Scope};
use crate::summary::{Need, SummaryRequest, accept, need};
use crate::tokens::Tokens;

/// Asked again this often, each time for less, before an over-long summary is cut.
const TRIES_MAX: u32 = 3;

#[derive(Debug)]
pub(super) struct Summing {
    id: EffortId,
    /// Said in this turn, so not in the log yet.
    also: Vec<Message>,
    asked: Option<SummaryRequest>,
    tries: u32,
}

pub(super) enum Progress {
    Ask(Step),
    Ready(Result<Summary, String>),
}

impl Summing {
    /// Starts by fetching the log.
    pub(super) fn start(desk: &Desk<'_>, id: EffortId, also: Vec<Message>) -> (Self, Step) {
        let tokens_max = Tokens(desk.state.policy().summary_input_tokens_max);
        let request = LogRequest::newest(Scope::Effort(id.clone()), tokens_max);
        (Self { id, also, asked: None, tries: 0 }, Step::Load(vec![request]))
    }

    pub(super) fn id(&self) -> &EffortId {
        &self.id
    }

    pub(super) fn step(&mut self, desk: &Desk<'_>, input: Input) -> Progress {
        match (self.asked.take(), input) {
            (None, Input::Loaded(loaded)) => {
                let log = loaded.iter().flat_map(|(_, log)| log.exchanges());
                let mut said: Vec<Counted> = log.flat_map(|e| e.messages.iter().cloned()).collect();
                said.extend(self.also.drain(..).map(|message| desk.count(message)));
                match need(desk.counter, desk.state.policy(), &self.id, &said) {
                    Need::Fixed(summary) => Progress::Ready(Ok(summary)),
                    Need::Made(request) => self.ask(request),
                }
            }
            (Some(request), Input::Summarized(Ok(text))) => {
                let text = intake::limit(text, desk.state.policy());
                self.tries += 1;
                let over = desk.counter.count(&text) > request.tokens_max;
                if over && self.tries < TRIES_MAX {
                    let tokens_max = request.tokens_max.percent(75);
                    return self.ask(SummaryRequest { tokens_max, ..request });
                }
                Progress::Ready(
                    accept(desk.counter, &self.id, &request, &text).ok_or_else(|| "it was empty".to_owned()),
                )
            }
            (Some(_), Input::Summarized(Err(error))) => Progress::Ready(Err(error)),
            (asked, input) => panic!("the driver answered a summary (asked: {asked:?}) with {input:?}"),
        }
    }

    fn ask(&mut self, request: SummaryRequest) -> Progress {
        self.asked = Some(request.clone());
        Progress::Ask(Step::Summarize(request))
    }
}
