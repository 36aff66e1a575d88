//! What is embedded of a text.

use std::sync::Arc;

use super::TextId;

/// Bytes of a text that are embedded, from its beginning.
const TEXT_BYTES_MAX: usize = 1_200;
/// Words and bytes of the message before it, from its end.
const BEFORE_WORDS_MAX: usize = 40;
const BEFORE_BYTES_MAX: usize = 320;

/// A text that has no embedding yet, with what its embedding depends on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnembeddedText {
    pub id: TextId,
    pub text: Arc<str>,
    /// The name of who said it; only messages have one.
    pub speaker: Option<String>,
    /// Of a message whose speaker has a name: the [end](message_end) of the message before it in its session; empty
    /// if there is none, or if it must not be shown. What is said later never changes it.
    pub before: String,
}

impl UnembeddedText {
    /// The text to embed. People answer each other in short messages ("yes, that one"), which mean something only
    /// with who says them, and after what they reply to. What is said to a model or by one stands for itself: it was
    /// found less often with more than its text. A message's own words come first, so that an encoder which reads
    /// only the beginning of a long one reads nothing else.
    pub fn to_embed(&self) -> String {
        let text = &self.text[..self.text.floor_char_boundary(TEXT_BYTES_MAX)];
        let Some(speaker) = &self.speaker else { return text.to_owned() };
        let separator = if self.before.is_empty() { "" } else { "\n" };
        format!("{speaker}: {text}{separator}{}", self.before)
    }

    /// The name under which a model's embeddings of these texts are stored. It changes with what is embedded, so
    /// that embeddings of different forms are never compared.
    pub fn stored_model(model: &str) -> String {
        format!("{model}+before")
    }
}

/// The last words of a message, as far as they are embedded with the next one; nothing of a last word that is longer.
pub fn message_end(text: &str) -> String {
    let (mut words, mut bytes) = (Vec::new(), 0);
    for word in text.split_whitespace().rev().take(BEFORE_WORDS_MAX) {
        bytes += word.len();
        if bytes > BEFORE_BYTES_MAX {
            break;
        }
        words.push(word);
        // The space before it.
        bytes += 1;
    }
    words.reverse();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::ids::{Seq, SessionId};
    use crate::recall::TextKey;

    fn check(speaker: Option<&str>, text: &str, before: &str, expected: &str) {
        let stream = SessionId::from_name("talk").expect("a test's name has letters").into();
        let id = TextId { stream, key: TextKey::Message(Seq(1)) };
        let (speaker, before) = (speaker.map(str::to_owned), before.to_owned());
        assert_eq!(UnembeddedText { id, text: text.into(), speaker, before }.to_embed(), expected);
    }

    #[test]
    fn a_persons_message_is_embedded_after_who_says_it_and_before_what_it_replies_to() {
        check(Some("Ann"), "Yes, that one.", "The red bike?", "Ann: Yes, that one.\nThe red bike?");
        check(Some("Ann"), "Look at it.", "", "Ann: Look at it.");
        check(None, "Ann has a bike.", "", "Ann has a bike.");
        // A letter of two bytes crosses the limit.
        let long = format!("x{}", "é".repeat(TEXT_BYTES_MAX));
        let cut = &long[..TEXT_BYTES_MAX - 1];
        check(None, &long, "", cut);
        check(Some("Ann"), &long, "Read it.", &format!("Ann: {cut}\nRead it."));
    }

    #[test]
    fn a_last_word_that_is_too_long_is_left_out() {
        assert_eq!(message_end(&format!("look {}", "x".repeat(BEFORE_BYTES_MAX + 1))), "");
        assert_eq!(message_end(&format!("{} look", "x".repeat(BEFORE_BYTES_MAX))), "look");
        assert_eq!(message_end("  \n "), "");
    }

    proptest! {
        /// As many last words as fit.
        #[test]
        fn an_end_is_the_longest_that_fits(text in "([a-zé]{1,30}[ \n]{1,3}){0,60}") {
            let fits = |words: &[&str]| words.len() <= BEFORE_WORDS_MAX && words.join(" ").len() <= BEFORE_BYTES_MAX;
            let words: Vec<&str> = text.split_whitespace().collect();
            let longest = (0..=words.len()).map(|from| &words[from..]).find(|words| fits(words));
            prop_assert_eq!(message_end(&text), longest.map(|words| words.join(" ")).unwrap_or_default());
        }
    }
}
