//! Getting the summary that stands for an effort: its log, what was said since, and what is made of both.

use super::desk::Desk;
use super::step::{Input, Step};
use super::summing::{Progress, Summing, Wish};
use crate::effort::Summary;
use crate::handle::Handle;
use crate::ids::EffortId;
use crate::log::LogRequest;
use crate::message::{Message, Scope, message_tokens};
use crate::receipt::{Receipt, receipt};
use crate::summary::{Made, SummaryBy, brief};
use crate::tokens::Tokens;

/// An effort's summary in the making.
#[derive(Debug)]
pub(super) struct Concluding {
    id: EffortId,
    /// Said in this turn, so not in the log yet.
    also: Vec<Message>,
    by: SummaryBy,
    summing: Option<Summing>,
}

/// What stands for an effort.
#[derive(Debug, Clone)]
pub(super) struct Concluded {
    pub(super) id: EffortId,
    pub(super) summary: Summary,
    pub(super) receipt: Box<Receipt>,
}

impl Concluding {
    /// Starts by fetching the log: its newest part, as much as policy hands to a summariser.
    pub(super) fn start(desk: &Desk<'_>, id: EffortId, also: Vec<Message>, by: SummaryBy) -> (Self, Step) {
        let tokens_max = Tokens(desk.state.policy().summary_input_tokens_max);
        let request = LogRequest::newest(Scope::Effort(id.clone()), tokens_max);
        (Self { id, also, by, summing: None }, Step::Load(vec![request]))
    }

    pub(super) fn id(&self) -> &EffortId {
        &self.id
    }

    /// Whether it is made while its turn goes on, and must be made again when that is over.
    pub(super) fn is_provisional(&self) -> bool {
        self.by == SummaryBy::BuiltIn
    }

    /// Goes on with what came.
    pub(super) fn step(&mut self, desk: &Desk<'_>, input: Input) -> Progress<Concluded> {
        let (counter, policy) = (desk.counter, desk.state.policy());
        let progress = match (&mut self.summing, input) {
            (None, Input::Loaded(loaded)) => {
                let mut said = Vec::new();
                let (mut first, last) = (desk.state.turn(), desk.state.turn());
                for exchange in loaded.iter().flat_map(|(_, log)| log.exchanges()) {
                    first = first.min(exchange.turn);
                    said.extend(exchange.messages.iter().map(|said| said.message.clone()));
                }
                said.append(&mut self.also);
                let handle = Handle::Span { first, last, scope: Scope::Effort(self.id.clone()) }.to_string();
                if let Some(text) = brief(policy, &self.id, &said) {
                    return self.fixed(desk, &said, &text, &handle);
                }
                let tokens = said.iter().map(|message| message_tokens(counter, message)).sum();
                let (about, handle) = (self.id.to_string(), Some(handle));
                let wish = Wish { said, about, handle, tokens_max: policy.summary_target(tokens), by: self.by };
                let (summing, progress) = Summing::of(counter, policy, wish);
                self.summing = Some(summing);
                progress
            }
            (Some(summing), input) => summing.step(counter, policy, input),
            (None, input) => panic!("the driver answered a log's request with {input:?}"),
        };
        match progress {
            Progress::Ask(step) => Progress::Ask(step),
            Progress::Ready(Err(why)) => Progress::Ready(Err(why)),
            Progress::Ready(Ok(Made { text, receipt, .. })) => {
                Progress::Ready(Ok(self.concluded(desk, &text, receipt)))
            }
        }
    }

    /// The fixed text says nothing about what was said, so it can change nothing.
    fn fixed(&self, desk: &Desk<'_>, said: &[Message], text: &str, handle: &str) -> Progress<Concluded> {
        let receipt = Receipt { changed: Vec::new(), ..receipt(said, text, Some(handle)) };
        Progress::Ready(Ok(self.concluded(desk, text, Box::new(receipt))))
    }

    fn concluded(&self, desk: &Desk<'_>, text: &str, receipt: Box<Receipt>) -> Concluded {
        let summary = Summary::new(desk.counter, &self.id, text, Some(desk.now));
        Concluded { id: self.id.clone(), summary, receipt }
    }
}
