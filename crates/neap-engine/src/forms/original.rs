//! The original text behind a handle, whole or in part.

use neap_core::base::handle::Handle;
use neap_core::base::message::{Message, Role};
use neap_core::turn::tools::original_text;
use serde::Serialize;

/// An original, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Original {
    /// What it is stored under.
    pub handle: String,
    /// Characters of the whole.
    pub chars: usize,
    /// The first character of this part.
    pub offset: usize,
    /// This part.
    pub text: String,
    /// Where the next part begins.
    pub next: Option<usize>,
    /// The messages that it is made of.
    pub messages: Vec<OriginalMessage>,
}

/// A message of an original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OriginalMessage {
    /// Who wrote it.
    pub role: Role,
    /// Its characters.
    pub chars: usize,
}

impl Original {
    /// At most `limit` characters from `offset`.
    pub fn new(handle: &Handle, messages: &[Message], offset: usize, limit: usize) -> Self {
        let whole = original_text(handle, &messages.iter().collect::<Vec<&Message>>());
        let (text, chars, next) = text_part(&whole, offset, limit);
        let entry =
            |message: &Message| OriginalMessage { role: message.role, chars: message.content.chars().count() };
        let messages = messages.iter().map(entry).collect();
        Self { handle: handle.to_string(), chars, offset, text, next, messages }
    }
}

/// A part of a text by characters: the part, the characters of the whole, and where the next part begins.
pub fn text_part(text: &str, offset: usize, limit: usize) -> (String, usize, Option<usize>) {
    let chars = text.chars().count();
    let part: String = text.chars().skip(offset).take(limit).collect();
    let end = offset.saturating_add(limit);
    (part, chars, (end < chars).then_some(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_characters() {
        assert_eq!(text_part("äöü", 1, 1), ("ö".to_owned(), 3, Some(2)));
        assert_eq!(text_part("äöü", 2, 9), ("ü".to_owned(), 3, None));
        assert_eq!(text_part("äöü", usize::MAX, usize::MAX), (String::new(), 3, None));
    }
}
