//! `summarize_text`: summarises a text that belongs to no session.

use serde_json::{Map, Value};

use super::context::TurnContext;
use super::summarization::SummaryJob;
use crate::base::message::Message;
use crate::base::tokens::Tokens;
use crate::session::summary::{CheckedSummary, SummarizerKind};
use crate::turn::tools::TextToSummarize;

#[derive(Debug)]
pub(super) struct TextSummary {
    source_tokens: Tokens,
    /// The requested length and the limit, if the request exceeded it.
    clamped: Option<(u64, u64)>,
}

impl TextSummary {
    pub(super) fn start(cx: &TurnContext<'_>, request: TextToSummarize) -> (Self, SummaryJob) {
        let TextToSummarize { text, max_tokens } = request;
        let limit = cx.state.policy().summary_tokens_max;
        let clamped = (max_tokens > limit).then_some((max_tokens, limit));
        let source_tokens = cx.counter.count(&text);
        let job = SummaryJob {
            originals: Vec::new(),
            messages: vec![Message::user(text)],
            topic: "a text".to_owned(),
            handle: None,
            tokens_max: Tokens(max_tokens.min(limit)),
            summarizer: SummarizerKind::Configured,
        };
        (Self { source_tokens, clamped }, job)
    }

    pub(super) fn render_result(&self, summary: &CheckedSummary) -> String {
        let mut object = Map::new();
        object.insert("status".into(), "ok".into());
        object.insert("summary".into(), summary.text.as_str().into());
        object.insert("tokens".into(), summary.tokens.0.into());
        object.insert("source_tokens".into(), self.source_tokens.0.into());
        if let Some((requested, limit)) = self.clamped {
            object.insert(
                "note".into(),
                format!("max_tokens {requested} is over the limit of {limit}, which was used").into(),
            );
        }
        Value::Object(object).to_string()
    }
}
