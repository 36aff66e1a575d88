//! From a log to what stands for it: what a summariser is given, and what is accepted from it.
//!
//! A summary is counted after it was made and held against what was said; one that is empty, an error, or beyond
//! repair is never stored (I12).

mod chunk;

use crate::ids::EffortId;
use crate::message::{Message, Role};
use crate::policy::Policy;
use crate::receipt::{Change, EXAMPLES_MAX, Original, Receipt};
use crate::tokens::{TokenCounter, Tokens};

pub use chunk::chunks;

/// A summary is mended this often before it is refused.
const MENDED_MAX: usize = 4;

/// Who makes a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryBy {
    /// Whoever is configured: a model, perhaps, that takes seconds and may fail.
    Configured,
    /// The extractive one, which is at hand and cannot fail.
    BuiltIn,
}

/// A wish for a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRequest {
    /// What it is about, in a few words.
    pub about: String,
    /// Who is to make it.
    pub by: SummaryBy,
    /// What was said, oldest first.
    pub messages: Vec<Message>,
    /// Its length at most.
    pub tokens_max: Tokens,
}

/// A summary that was checked: within its length, with nothing changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// One paragraph.
    pub text: String,
    /// What it costs.
    pub tokens: Tokens,
    /// What it kept of what was said.
    pub receipt: Box<Receipt>,
}

/// What a summariser is given of what was said: no instructions, nothing empty.
pub fn spoken(said: impl IntoIterator<Item = Message>) -> Vec<Message> {
    let is_spoken = |message: &Message| message.role != Role::System && !message.content.trim().is_empty();
    said.into_iter().filter(is_spoken).collect()
}

/// The fixed text that stands for a log too short to be worth a summary; none if it is long enough.
pub fn brief(policy: &Policy, id: &EffortId, said: &[Message]) -> Option<String> {
    let chars: usize = said.iter().map(|message| message.content.chars().count()).sum();
    let is_brief = (chars as u64) < policy.brief_effort_chars;
    is_brief.then(|| format!("Brief effort: {id} (too short to summarize)"))
}

/// A text in one paragraph of at most this length, cut at a sentence if it must be; empty if nothing is left.
pub fn cut(counter: &dyn TokenCounter, tokens_max: Tokens, text: &str) -> String {
    // No encoding makes fewer tokens than this of so many bytes of prose; the rest would only be cut again.
    let bytes_max = usize::try_from(tokens_max.0.saturating_mul(16)).unwrap_or(usize::MAX);
    let text = &text[..text.floor_char_boundary(bytes_max.max(64))];
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    while counter.count(&text) > tokens_max {
        text = shorten(&text).to_owned();
    }
    text
}

/// A summary as it may be stored: within its length, and with nothing that was never said. An error says why not.
pub fn accept(
    counter: &dyn TokenCounter,
    original: &Original<'_>,
    tokens_max: Tokens,
    text: &str,
) -> Result<(String, Vec<Change>), String> {
    let mut repaired = Vec::new();
    let mut text = cut(counter, tokens_max, text);
    for _ in 0..MENDED_MAX {
        if text.is_empty() {
            return Err("it was empty".to_owned());
        }
        let mended = original.repair(&text).map_err(|unrepairable| unrepairable.to_string())?;
        let done = mended.changes.is_empty();
        repaired.extend(mended.changes);
        // What was put back may be longer; what is cut again may end inside a value.
        text = cut(counter, tokens_max, &mended.text);
        if done {
            repaired.truncate(EXAMPLES_MAX);
            return Ok((text, repaired));
        }
    }
    Err("it could not be mended".to_owned())
}

/// Without its last sentence, or its last word where there is only one, or its second half.
fn shorten(text: &str) -> &str {
    let body = text.trim_end_matches(['.', '!', '?', '…', ' ']);
    let sentence = [". ", "! ", "? "].iter().filter_map(|end| body.rfind(end)).max().map(|at| at + 1);
    let cut = sentence.or_else(|| body.rfind(' ')).unwrap_or(body.len() / 2);
    text[..text.floor_char_boundary(cut)].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::WordCounter;

    #[test]
    fn an_over_long_summary_is_cut_at_sentences() {
        let cut = |max, text| cut(&WordCounter, Tokens(max), text);
        assert_eq!(cut(100, "One two.\n\n Three."), "One two. Three.");
        assert_eq!(cut(4, "One two. Three four five."), "One two.");
        assert_eq!(cut(2, "one two three four"), "one two");
        assert_eq!(cut(0, "one two"), "");
    }

    /// I12: a failed summary is never stored as a summary.
    #[test]
    fn what_is_empty_or_made_up_is_not_a_summary() {
        let said = [Message::user("The port is 8080, said Ana.")];
        let accept = |max, text| accept(&WordCounter, &Original::new(&said), Tokens(max), text).map(|made| made.0);
        assert_eq!(accept(100, " \n "), Err("it was empty".into()));
        assert_eq!(accept(0, "one two"), Err("it was empty".into()));
        assert_eq!(accept(100, "Ana: the port is 8081."), Ok("Ana: the port is 8080.".into()));
        assert!(accept(100, "It took 99 hours.").is_err());
    }

    #[test]
    fn ten_megabytes_without_a_space_come_to_an_end() {
        let text = "é".repeat(100_000);
        let _ = cut(&WordCounter, Tokens(0), &text);
    }

    /// SOURCES: a raw log under 50 characters gets a fixed summary without a model call.
    #[test]
    fn a_brief_effort_gets_the_fixed_summary() {
        let id = EffortId::parse("tiny").expect("a slug");
        let brief = |text: &str| brief(&Policy::default(), &id, &[Message::user(text)]);
        assert_eq!(brief("fix it").as_deref(), Some("Brief effort: tiny (too short to summarize)"));
        assert_eq!(brief(&"fix it ".repeat(10)), None);
    }
}
