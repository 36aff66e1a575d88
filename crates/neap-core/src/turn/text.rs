//! `summarize_text`: a text that belongs to nobody, and what is told about its summary.

use serde_json::{Map, Value};

use super::desk::Desk;
use super::summing::Wish;
use crate::message::Message;
use crate::summary::{Made, SummaryBy};
use crate::tokens::Tokens;
use crate::tools::TextToSummarize;

/// What was asked for, to be told with the answer.
#[derive(Debug)]
pub(super) struct TextAsked {
    source_tokens: Tokens,
    /// Set if more was asked for than is made: how much, and the most that is.
    clamped: Option<(u64, u64)>,
}

impl TextAsked {
    pub(super) fn of(desk: &Desk<'_>, asked: TextToSummarize) -> (Self, Wish) {
        let TextToSummarize { text, max_tokens } = asked;
        let most = desk.state.policy().summary_tokens_max;
        let clamped = (max_tokens > most).then_some((max_tokens, most));
        let source_tokens = desk.counter.count(&text);
        let wish = Wish {
            said: vec![Message::user(text)],
            about: "a text".to_owned(),
            handle: None,
            tokens_max: Tokens(max_tokens.min(most)),
            by: SummaryBy::Configured,
        };
        (Self { source_tokens, clamped }, wish)
    }

    /// The tool's result.
    pub(super) fn answer(&self, made: &Made) -> String {
        let mut object = Map::new();
        object.insert("status".into(), "ok".into());
        object.insert("summary".into(), made.text.as_str().into());
        object.insert("tokens".into(), made.tokens.0.into());
        object.insert("source_tokens".into(), self.source_tokens.0.into());
        if let Some((asked, most)) = self.clamped {
            object.insert(
                "note".into(),
                format!("max_tokens {asked} is over the limit of {most}, which was used").into(),
            );
        }
        Value::Object(object).to_string()
    }
}
