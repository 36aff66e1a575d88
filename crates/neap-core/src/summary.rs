//! From a log to what stands for it: what a summariser is given, and what is accepted from it.
//!
//! A summary is counted after it was made; one that is empty, or an error, is never stored (I12).

use crate::effort::Summary;
use crate::ids::EffortId;
use crate::message::{Counted, Message, Role};
use crate::policy::Policy;
use crate::tokens::{TokenCounter, Tokens};

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

/// Which summary to get for a log.
#[derive(Debug, Clone, PartialEq)]
pub enum Need {
    /// Too short to be worth one.
    Fixed(Summary),
    /// To be made.
    Made(SummaryRequest),
}

/// Decides how a log is summarised.
pub fn need(counter: &dyn TokenCounter, policy: &Policy, id: &EffortId, said: &[Counted]) -> Need {
    let chars: usize = said.iter().map(|s| s.message.content.chars().count()).sum();
    if (chars as u64) < policy.brief_effort_chars {
        let text = format!("Brief effort: {id} (too short to summarize)");
        return Need::Fixed(Summary::new(counter, id, &text));
    }
    let tokens: Tokens = said.iter().map(|s| s.tokens).sum();
    let spoken = |s: &&Counted| s.message.role != Role::System && !s.message.content.is_empty();
    Need::Made(SummaryRequest {
        about: id.to_string(),
        by: SummaryBy::Configured,
        messages: said.iter().filter(spoken).map(|s| s.message.clone()).collect(),
        tokens_max: policy.summary_target(tokens),
    })
}

/// Accepts a summary of at most the length asked for: cut at a sentence if it must be, refused if empty.
pub fn accept(counter: &dyn TokenCounter, id: &EffortId, request: &SummaryRequest, text: &str) -> Option<Summary> {
    cut(counter, request.tokens_max, text).map(|text| Summary::new(counter, id, &text))
}
pub(crate) fn cut(counter: &dyn TokenCounter, tokens_max: Tokens, text: &str) -> Option<String> {
    // No encoding makes fewer tokens than this of so many bytes of prose; the rest would only be cut again.
    let bytes_max = usize::try_from(tokens_max.0 * 16).unwrap_or(usize::MAX);
    let text = &text[..text.floor_char_boundary(bytes_max.max(64))];
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    while counter.count(&text) > tokens_max {
        text = shorten(&text).to_owned();
    }
    (!text.is_empty()).then_some(text)
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

    fn request(tokens_max: u64) -> SummaryRequest {
        let (about, by) = ("x".to_owned(), SummaryBy::BuiltIn);
        SummaryRequest { about, by, messages: Vec::new(), tokens_max: Tokens(tokens_max) }
    }

    fn x() -> EffortId {
        EffortId::parse("x").expect("a slug")
    }

    #[test]
    fn an_over_long_summary_is_cut_at_sentences() {
        let accepted = |max, text| accept(&WordCounter, &x(), &request(max), text).map(|s| s.text);
        assert_eq!(accepted(100, "One two.\n\n Three."), Some("One two. Three.".into()));
        assert_eq!(accepted(4, "One two. Three four five."), Some("One two.".into()));
        assert_eq!(accepted(2, "one two three four"), Some("one two".into()));
    }

    /// I12: a failed summary is never stored as a summary.
    #[test]
    fn nothing_is_not_a_summary() {
        assert_eq!(accept(&WordCounter, &x(), &request(100), " \n "), None);
        assert_eq!(accept(&WordCounter, &x(), &request(0), "one two"), None);
    }

    #[test]
    fn ten_megabytes_without_a_space_come_to_an_end() {
        let text = "é".repeat(100_000);
        let _ = accept(&WordCounter, &x(), &request(0), &text);
    }

    /// SOURCES: a raw log under 50 characters gets a fixed summary without a model call.
    #[test]
    fn a_brief_effort_gets_the_fixed_summary() {
        let said = [Counted::new(&WordCounter, Message::user("fix it"))];
        let id = EffortId::parse("tiny").expect("a slug");
        let Need::Fixed(summary) = need(&WordCounter, &Policy::default(), &id, &said) else { panic!("made one") };
        assert_eq!(summary.text, "Brief effort: tiny (too short to summarize)");
    }
}
