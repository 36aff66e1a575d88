//! Shim.
use super::desk::Desk;
use super::step::{Input, Step};
use crate::message::Message;
use crate::receipt::Receipt;
use crate::summary::{SummaryBy, SummaryRequest, cut};
use crate::tokens::Tokens;
#[derive(Debug)]
pub(super) struct Summing {
    request: SummaryRequest,
}
pub(super) struct Made {
    pub(super) text: String,
    pub(super) receipt: Receipt,
}
pub(super) enum Progress {
    Ask(Step),
    Ready(Result<Made, String>),
}
impl Summing {
    pub(super) fn of(
        _d: &Desk<'_>,
        messages: Vec<Message>,
        about: String,
        _h: Option<String>,
        tokens_max: Tokens,
        by: SummaryBy,
    ) -> (Self, Progress) {
        let request = SummaryRequest { about, by, messages, tokens_max };
        (Self { request: request.clone() }, Progress::Ask(Step::Summarize(request)))
    }
    pub(super) fn step(&mut self, d: &Desk<'_>, input: Input) -> Progress {
        match input {
            Input::Summarized(Ok(t)) => Progress::Ready(
                cut(d.counter, self.request.tokens_max, &t)
                    .map(|text| Made { text, receipt: crate::receipt::receipt(&[], "", None) })
                    .ok_or("empty".into()),
            ),
            Input::Summarized(Err(e)) => Progress::Ready(Err(e)),
            other => panic!("{other:?}"),
        }
    }
}
