//! Summarises an effort from its log and the current turn's messages.

use super::context::TurnContext;
use super::step::{Input, Step};
use super::summarization::{Summarization, SummaryJob, SummaryProgress};
use crate::base::handle::Handle;
use crate::base::ids::EffortId;
use crate::base::message::{Message, Scope, message_tokens};
use crate::base::tokens::Tokens;
use crate::session::effort::Summary;
use crate::session::log::LogRequest;
use crate::session::summary::{CheckedSummary, SummarizerKind, brief_effort_text};
use crate::text::receipt::{Receipt, receipt};

#[derive(Debug)]
pub(super) struct EffortSummarization {
    id: EffortId,
    /// Messages of the current turn, which are not in the log yet.
    extra_messages: Vec<Message>,
    summarizer: SummarizerKind,
    summarization: Option<Summarization>,
}

#[derive(Debug, Clone)]
pub(super) struct EffortSummary {
    pub(super) id: EffortId,
    pub(super) summary: Summary,
    pub(super) receipt: Box<Receipt>,
}

impl EffortSummarization {
    /// Starts by loading the log: its newest part, up to `summary_input_tokens_max`.
    pub(super) fn start(
        cx: &TurnContext<'_>,
        id: EffortId,
        extra_messages: Vec<Message>,
        summarizer: SummarizerKind,
    ) -> (Self, Step) {
        let tokens_max = Tokens(cx.state.policy().summary_input_tokens_max);
        let request = LogRequest::newest(Scope::Effort(id.clone()), tokens_max);
        (Self { id, extra_messages, summarizer, summarization: None }, Step::LoadLogs(vec![request]))
    }

    pub(super) fn id(&self) -> &EffortId {
        &self.id
    }

    /// Whether it is made while its turn is in progress, and must be made again afterwards.
    pub(super) fn is_provisional(&self) -> bool {
        self.summarizer == SummarizerKind::BuiltIn
    }

    pub(super) fn step(&mut self, cx: &TurnContext<'_>, input: Input) -> SummaryProgress<EffortSummary> {
        let (counter, policy) = (cx.counter, cx.state.policy());
        let progress = match (&mut self.summarization, input) {
            (None, Input::LogsLoaded(loaded)) => {
                let mut messages = Vec::new();
                let (mut first, last) = (cx.state.turn(), cx.state.turn());
                for exchange in loaded.iter().flat_map(|(_, log)| log.exchanges()) {
                    first = first.min(exchange.turn);
                    messages.extend(exchange.messages.iter().map(|counted| counted.message.clone()));
                }
                messages.append(&mut self.extra_messages);
                let handle = Handle::Span { first, last, scope: Scope::Effort(self.id.clone()) }.to_string();
                if let Some(text) = brief_effort_text(policy, &self.id, &messages) {
                    return self.brief_summary(cx, &messages, &text, &handle);
                }
                let tokens = messages.iter().map(|message| message_tokens(counter, message)).sum();
                let (topic, handle) = (self.id.to_string(), Some(handle));
                let job = SummaryJob {
                    messages,
                    originals: Vec::new(),
                    topic,
                    handle,
                    tokens_max: policy.summary_target(tokens),
                    summarizer: self.summarizer,
                };
                let (summarization, progress) = Summarization::start(counter, policy, job);
                self.summarization = Some(summarization);
                progress
            }
            (Some(summarization), input) => summarization.step(counter, policy, input),
            (None, input) => panic!("the driver answered a log's request with {input:?}"),
        };
        match progress {
            SummaryProgress::Ask(step) => SummaryProgress::Ask(step),
            SummaryProgress::Ready(Err(why)) => SummaryProgress::Ready(Err(why)),
            SummaryProgress::Ready(Ok(CheckedSummary { text, receipt, .. })) => {
                SummaryProgress::Ready(Ok(self.effort_summary(cx, &text, receipt)))
            }
        }
    }

    /// The fixed text states nothing, so it can change no value.
    fn brief_summary(
        &self,
        cx: &TurnContext<'_>,
        messages: &[Message],
        text: &str,
        handle: &str,
    ) -> SummaryProgress<EffortSummary> {
        let receipt = Receipt { changed: Vec::new(), ..receipt(messages, text, Some(handle)) };
        SummaryProgress::Ready(Ok(self.effort_summary(cx, text, Box::new(receipt))))
    }

    fn effort_summary(&self, cx: &TurnContext<'_>, text: &str, receipt: Box<Receipt>) -> EffortSummary {
        let summary = Summary::new(cx.counter, &self.id, text, Some(cx.now));
        EffortSummary { id: self.id.clone(), summary, receipt }
    }
}
