//! What a summariser is given and which of its summaries are accepted. A summary is counted and compared with its
//! source; one that is empty, an error or beyond repair is never stored (I12).

mod chunk;

use crate::base::ids::EffortId;
use crate::base::message::{Message, Role};
use crate::base::policy::Policy;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::memory::Memory;
use crate::text::fold_whitespace;
use crate::text::receipt::{EXAMPLES_MAX, Original, Receipt, ValueChange};
use crate::text::render::one_line;

pub use chunk::chunks;

/// Repairs of one summary before it is refused.
const REPAIRS_MAX: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummarizerKind {
    /// The configured one: may be a model that takes seconds and can fail.
    Configured,
    /// The extractive one: always available, cannot fail.
    BuiltIn,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRequest {
    /// A few words.
    pub topic: String,
    pub summarizer: SummarizerKind,
    /// Oldest first.
    pub messages: Vec<Message>,
    pub tokens_max: Tokens,
}

impl SummaryRequest {
    /// For a model's wording of a memory.
    pub fn for_memory(memory: &Memory, tokens_max: Tokens) -> Self {
        let (topic, messages) =
            (format!("{} {}", memory.kind(), memory.id), vec![Message::user(memory.full_text())]);
        Self { topic, summarizer: SummarizerKind::Configured, messages, tokens_max }
    }
}

/// A checked summary: within its length and consistent with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedSummary {
    /// One paragraph.
    pub text: String,
    pub tokens: Tokens,
    /// What it retained of its source.
    pub receipt: Box<Receipt>,
}

/// Drops system messages and empty ones.
pub fn summarizable_messages(messages: impl IntoIterator<Item = Message>) -> Vec<Message> {
    let is_spoken = |message: &Message| message.role != Role::System && !message.content.trim().is_empty();
    messages.into_iter().filter(is_spoken).collect()
}

/// The fixed text for a log too short to be worth a summary; `None` if it is long enough.
pub fn brief_effort_text(policy: &Policy, id: &EffortId, messages: &[Message]) -> Option<String> {
    let chars: usize = messages.iter().map(|message| message.content.chars().count()).sum();
    let is_brief = (chars as u64) < policy.brief_effort_chars;
    is_brief.then(|| format!("Brief effort: {id} (too short to summarize)"))
}

/// Folds a text to one paragraph of at most `tokens_max`, cut at a sentence if possible; may be empty.
pub fn truncate_paragraph(counter: &dyn TokenCounter, tokens_max: Tokens, text: &str) -> String {
    // In any encoding a token of prose is under 16 bytes, so anything beyond would only be cut again.
    let bytes_max = usize::try_from(tokens_max.0.saturating_mul(16)).unwrap_or(usize::MAX);
    let text = &text[..text.floor_char_boundary(bytes_max.max(64))];
    let mut text = fold_whitespace(text);
    // As it will be stored: escaped marks cost tokens too.
    while counter.count(&one_line(&text)) > tokens_max {
        text = drop_last_sentence(&text).to_owned();
    }
    text
}

/// Shortens and repairs a summary so that it may be stored: within its length, stating nothing its source does
/// not. The error says why it was refused.
pub fn validate_summary(
    counter: &dyn TokenCounter,
    original: &Original<'_>,
    tokens_max: Tokens,
    text: &str,
) -> Result<(String, Vec<ValueChange>), String> {
    let mut repaired = Vec::new();
    let mut text = truncate_paragraph(counter, tokens_max, text);
    for _ in 0..REPAIRS_MAX {
        if text.is_empty() {
            return Err("it was empty".to_owned());
        }
        let repair = original.repair(&text).map_err(|unrepairable| unrepairable.to_string())?;
        let done = repair.changes.is_empty();
        repaired.extend(repair.changes);
        // A restored value may be longer, and the next cut may end inside a value.
        text = truncate_paragraph(counter, tokens_max, &repair.text);
        if done {
            repaired.truncate(EXAMPLES_MAX);
            return Ok((text, repaired));
        }
    }
    Err("it could not be mended".to_owned())
}

/// Drops the last sentence or part after a semicolon, or the last clause of a single sentence, or its last word, or the
/// second half.
fn drop_last_sentence(text: &str) -> &str {
    let body = text.trim_end_matches(['.', '!', '?', '…', ' ', ',', ';']);
    let last = |ends: &[&str]| ends.iter().filter_map(|end| body.rfind(end)).max();
    let sentence = last(&[". ", "! ", "? "]).map(|at| at + 1).max(last(&["; "]));
    let cut =
        sentence.or_else(|| last(&[", ", ": ", " – "])).or_else(|| body.rfind(' ')).unwrap_or(body.len() / 2);
    text[..text.floor_char_boundary(cut)].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::WordCounter;

    #[test]
    fn an_over_long_summary_is_cut_at_sentences() {
        let cut = |max, text| truncate_paragraph(&WordCounter, Tokens(max), text);
        assert_eq!(cut(100, "One two.\n\n Three."), "One two. Three.");
        assert_eq!(cut(4, "One two. Three four five."), "One two.");
        assert_eq!(cut(2, "one two three four"), "one two");
        assert_eq!(cut(5, "one two; three four of five"), "one two");
        assert_eq!(cut(3, "one two, three four of five"), "one two");
        assert_eq!(cut(0, "one two"), "");
    }

    /// I12: a failed summary is never stored as a summary.
    #[test]
    fn what_is_empty_or_made_up_is_not_a_summary() {
        let messages = [Message::user("The port is 8080, said Ana.")];
        let accept = |max, text| {
            validate_summary(&WordCounter, &Original::new(&messages), Tokens(max), text).map(|made| made.0)
        };
        assert_eq!(accept(100, " \n "), Err("it was empty".into()));
        assert_eq!(accept(0, "one two"), Err("it was empty".into()));
        assert_eq!(accept(100, "Ana: the port is 8081."), Ok("Ana: the port is 8080.".into()));
        assert!(accept(100, "It took 99 hours.").is_err());
    }

    #[test]
    fn ten_megabytes_without_a_space_come_to_an_end() {
        let text = "é".repeat(100_000);
        let _ = truncate_paragraph(&WordCounter, Tokens(0), &text);
    }

    /// SOURCES: a raw log under 50 characters gets a fixed summary without a model call.
    #[test]
    fn a_brief_effort_gets_the_fixed_summary() {
        let id = EffortId::parse("tiny").expect("a slug");
        let brief = |text: &str| brief_effort_text(&Policy::default(), &id, &[Message::user(text)]);
        assert_eq!(brief("fix it").as_deref(), Some("Brief effort: tiny (too short to summarize)"));
        assert_eq!(brief(&"fix it ".repeat(10)), None);
    }
}
