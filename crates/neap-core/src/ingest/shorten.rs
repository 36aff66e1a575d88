//! Shorter forms of what a request holds: texts, results of calls, and the arguments of calls.
//!
//! What the model itself said is cut at the end of a sentence and carries no mark of ours: models repeat what they find in
//! their own messages.

use serde_json::Value;

use super::heard::{Block, Speaker};
use super::layout::OnWire;
use crate::excerpt::{EXCERPT_TOKENS_MIN, excerpt, excerpt_plain, prefix_within};
use crate::handle::Handle;
use crate::tokens::{TokenCounter, Tokens};

/// Stands for what is missing where there is no room to say more.
const ELLIPSIS: &str = "…";
/// Longest string in characters and most entries of a list or object, in steps from mild to harsh.
const STEPS: [(usize, usize); 7] = [(4_000, 400), (1_000, 200), (300, 80), (100, 40), (40, 20), (12, 8), (4, 3)];
/// Containers nested deeper than this are left out of shortened arguments.
const DEPTH_MAX: usize = 8;

/// The text of a block that may be shown in part; none if it has none.
pub(super) fn text_of(block: &Block) -> Option<String> {
    match block {
        Block::Text(text) => Some(text.clone()),
        Block::Answer { .. } => Some(block.words().into_owned()),
        Block::Call(call) => Some(call.arguments.clone()),
        Block::Thinking | Block::Other { .. } => None,
    }
}

/// A block's text in at most about `max` tokens, as it is written on the wire.
pub(super) fn shortened(
    counter: &dyn TokenCounter,
    (speaker, block): (Speaker, &Block),
    (text, whole): (&str, Tokens),
    handle: &Handle,
    max: Tokens,
) -> String {
    let wire = OnWire(counter);
    match block {
        Block::Call(_) => arguments(&wire, text, max),
        Block::Text(_) if speaker == Speaker::Assistant => {
            let said = excerpt_plain(&wire, text, whole, max).text;
            if said.trim().is_empty() { ELLIPSIS.to_owned() } else { said }
        }
        Block::Text(_) | Block::Answer { .. } | Block::Thinking | Block::Other { .. } => {
            match max >= EXCERPT_TOKENS_MIN {
                true => excerpt(&wire, text, whole, handle, max).0,
                false => format!("{}{ELLIPSIS}", prefix_within(&wire, text, max)),
            }
        }
    }
}

/// The arguments of a call with long strings, lists and objects cut field by field, so that they stay what they were in shape.
fn arguments(counter: &dyn TokenCounter, text: &str, max: Tokens) -> String {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        // Free text; or nested too deeply to be read, where only an empty object is safe.
        let is_object = text.trim_start().starts_with('{');
        return if is_object { "{}".to_owned() } else { prefix_within(counter, text, max).to_owned() };
    };
    STEPS
        .iter()
        .map(|(chars, entries)| clamped(&value, *chars, *entries, 0).to_string())
        .find(|short| counter.count(short) <= max)
        .unwrap_or_else(|| match value {
            Value::Object(_) => "{}".to_owned(),
            Value::Array(_) => "[]".to_owned(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => "null".to_owned(),
        })
}

fn clamped(value: &Value, chars: usize, entries: usize, depth: usize) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(chars) {
            Some((at, _)) => Value::String(format!("{}{ELLIPSIS}", &text[..at])),
            None => value.clone(),
        },
        Value::Array(_) | Value::Object(_) if depth >= DEPTH_MAX => Value::String(ELLIPSIS.to_owned()),
        Value::Array(items) => {
            Value::Array(items.iter().take(entries).map(|item| clamped(item, chars, entries, depth + 1)).collect())
        }
        Value::Object(fields) => {
            let kept = fields.iter().take(entries);
            Value::Object(
                kept.map(|(key, value)| (key.clone(), clamped(value, chars, entries, depth + 1))).collect(),
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::WordCounter;

    #[test]
    fn arguments_keep_their_shape_and_lose_what_is_long() {
        let long = "word ".repeat(2_000);
        let given = json!({"path": "src/a.rs", "content": long, "lines": [1, 2, 3]}).to_string();
        let short: Value = serde_json::from_str(&arguments(&WordCounter, &given, Tokens(200))).expect("JSON");
        assert_eq!((&short["path"], &short["lines"]), (&json!("src/a.rs"), &json!([1, 2, 3])));
        assert!(short["content"].as_str().is_some_and(|text| text.starts_with("word word") && text.len() < 700));
    }

    /// Whatever comes in, what goes out fits or is the smallest of its kind, and is JSON where it was.
    #[test]
    fn any_arguments_can_be_shortened() {
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        let wide = json!((0..5_000).collect::<Vec<_>>()).to_string();
        let keys: Value =
            (0..500).map(|n| (format!("key {n}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
        for given in [deep.as_str(), &wide, &keys.to_string(), "{}", "null", "\"a b c\"", "7"] {
            for max in [1, 8, 40, 400] {
                let short = arguments(&WordCounter, given, Tokens(max));
                assert!(serde_json::from_str::<Value>(&short).is_ok(), "{short}");
                assert!(WordCounter.count(&short) <= Tokens(max.max(4)), "{max}: {short}");
            }
        }
        assert_eq!(arguments(&WordCounter, &format!("{{\"a\":{}", "[".repeat(200)), Tokens(5)), "{}");
        assert_eq!(arguments(&WordCounter, "*** Begin Patch of much", Tokens(3)), "***");
    }
}
