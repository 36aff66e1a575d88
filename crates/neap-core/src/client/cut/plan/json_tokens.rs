//! Counts texts as they are written to the wire: as JSON strings.

use crate::base::tokens::{TokenCounter, Tokens};

/// Cost of a text as a JSON string, quotes included.
pub(super) fn json_tokens(counter: &dyn TokenCounter, text: &str) -> Tokens {
    counter.count(&to_json_string(text))
}

fn to_json_string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Counts texts as JSON strings, without the quotes. Counts of lines that start with a bracket still add up.
pub struct JsonTokenCounter<'a>(pub &'a dyn TokenCounter);

impl TokenCounter for JsonTokenCounter<'_> {
    fn encoding(&self) -> &str {
        self.0.encoding()
    }

    fn count(&self, text: &str) -> Tokens {
        let quoted = to_json_string(text);
        let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        self.0.count(inside.unwrap_or(&quoted))
    }
}
