//! Shortens texts, tool results and call arguments. The model's own messages are cut at the end of a sentence and
//! carry no marker: models repeat what they find in their own messages.

use serde_json::Value;

use super::plan::JsonTokenCounter;
use super::stale::StaleReason;
use crate::base::handle::Handle;
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::client::request::{ContentBlock, Speaker};
use crate::text::excerpt::{EXCERPT_TOKENS_MIN, excerpt, excerpt_plain, prefix_within};

/// Marks missing text where there is no room to say more.
const ELLIPSIS: &str = "…";
/// Longest string in characters and most entries of a list or object, in steps from mild to harsh.
const ARGUMENT_LIMITS: [(usize, usize); 7] =
    [(4_000, 400), (1_000, 200), (300, 80), (100, 40), (40, 20), (12, 8), (4, 3)];
/// Longest string that stays in the arguments of a call whose content is stale.
const STALE_CHARS: usize = 120;
/// Containers nested deeper than this are left out of shortened arguments.
const DEPTH_MAX: usize = 8;

pub(super) fn shortenable_text(block: &ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Text(text) => Some(text.clone()),
        ContentBlock::ToolResult { .. } => Some(block.text().into_owned()),
        ContentBlock::ToolCall(call) => Some(call.arguments.clone()),
        ContentBlock::Thinking | ContentBlock::Other { .. } => None,
    }
}

/// Shortens a block's text to about `max` tokens, counted as on the wire.
pub(super) fn shorten(
    counter: &dyn TokenCounter,
    (speaker, block): (Speaker, &ContentBlock),
    (text, whole): (&str, Tokens),
    handle: &Handle,
    max: Tokens,
) -> String {
    let wire = JsonTokenCounter(counter);
    match block {
        ContentBlock::ToolCall(_) => shorten_arguments(&wire, text, max),
        ContentBlock::Text(_) if speaker == Speaker::Assistant => {
            let short = excerpt_plain(&wire, text, whole, max).text;
            if short.trim().is_empty() { ELLIPSIS.to_owned() } else { short }
        }
        ContentBlock::Text(_)
        | ContentBlock::ToolResult { .. }
        | ContentBlock::Thinking
        | ContentBlock::Other { .. } => match max >= EXCERPT_TOKENS_MIN {
            true => excerpt(&wire, text, whole, handle, max).0,
            false => format!("{}{ELLIPSIS}", prefix_within(&wire, text, max)),
        },
    }
}

/// The line in place of a stale result or image; without a handle, if the whole is not stored. The content of a file in the arguments of a call, which are the
/// model's own words, is cut without a marker.
pub(super) fn stale_text(
    counter: &dyn TokenCounter,
    block: &ContentBlock,
    reason: StaleReason,
    handle: Option<&Handle>,
) -> String {
    let whole = handle
        .map_or_else(String::new, |handle| prompt::fill(prompt::STALE_WHOLE, &[("handle", &handle.to_string())]));
    let whole = whole.trim_end();
    match (block, reason) {
        (ContentBlock::ToolCall(call), _) => match serde_json::from_str::<Value>(&call.arguments) {
            Ok(arguments) => clamp_value(&arguments, STALE_CHARS, usize::MAX, 0).to_string(),
            Err(_) => call.arguments.clone(),
        },
        (_, StaleReason::OldImage) => {
            let came_in = handle.map_or_else(String::new, |handle| format!("; it came in {handle}"));
            let line = prompt::fill(prompt::STALE_IMAGE, &[("came_in", &came_in)]);
            let ContentBlock::ToolResult { content, .. } = block else { return line };
            let texts = content.iter().filter(|part| !part.is_image()).map(|part| part.text().into_owned());
            texts.chain([line]).collect::<Vec<_>>().join("\n")
        }
        (_, StaleReason::Repeated | StaleReason::Changed) => {
            let count = JsonTokenCounter(counter).count(&block.text()).to_string();
            let values = [("count", count.as_str()), ("reason", reason.as_str()), ("whole", whole)];
            prompt::fill(prompt::STALE, &values)
        }
    }
}

/// Cuts long strings, lists and objects field by field, so that the arguments keep their shape.
fn shorten_arguments(counter: &dyn TokenCounter, text: &str, max: Tokens) -> String {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        // Free text, or JSON nested too deeply to parse: there only an empty object is safe.
        let is_object = text.trim_start().starts_with('{');
        return if is_object { "{}".to_owned() } else { prefix_within(counter, text, max).to_owned() };
    };
    ARGUMENT_LIMITS
        .iter()
        .map(|(chars, entries)| clamp_value(&value, *chars, *entries, 0).to_string())
        .find(|short| counter.count(short) <= max)
        .unwrap_or_else(|| match value {
            Value::Object(_) => "{}".to_owned(),
            Value::Array(_) => "[]".to_owned(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => "null".to_owned(),
        })
}

fn clamp_value(value: &Value, chars: usize, entries: usize, depth: usize) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(chars) {
            Some((at, _)) => Value::String(format!("{}{ELLIPSIS}", &text[..at])),
            None => value.clone(),
        },
        Value::Array(_) | Value::Object(_) if depth >= DEPTH_MAX => Value::String(ELLIPSIS.to_owned()),
        Value::Array(items) => Value::Array(
            items.iter().take(entries).map(|item| clamp_value(item, chars, entries, depth + 1)).collect(),
        ),
        Value::Object(fields) => {
            let kept = fields.iter().take(entries);
            Value::Object(
                kept.map(|(key, value)| (key.clone(), clamp_value(value, chars, entries, depth + 1))).collect(),
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::testing::WordCounter;

    #[test]
    fn arguments_keep_their_shape_and_lose_what_is_long() {
        let long = "word ".repeat(2_000);
        let given = json!({"path": "src/a.rs", "content": long, "lines": [1, 2, 3]}).to_string();
        let short: Value =
            serde_json::from_str(&shorten_arguments(&WordCounter, &given, Tokens(200))).expect("JSON");
        assert_eq!((&short["path"], &short["lines"]), (&json!("src/a.rs"), &json!([1, 2, 3])));
        assert!(short["content"].as_str().is_some_and(|text| text.starts_with("word word") && text.len() < 700));
    }

    /// The result fits or is the smallest of its kind, and stays JSON.
    #[test]
    fn any_arguments_can_be_shortened() {
        let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
        let wide = json!((0..5_000).collect::<Vec<_>>()).to_string();
        let keys: Value =
            (0..500).map(|n| (format!("key {n}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
        for given in [deep.as_str(), &wide, &keys.to_string(), "{}", "null", "\"a b c\"", "7"] {
            for max in [1, 8, 40, 400] {
                let short = shorten_arguments(&WordCounter, given, Tokens(max));
                assert!(serde_json::from_str::<Value>(&short).is_ok(), "{short}");
                assert!(WordCounter.count(&short) <= Tokens(max.max(4)), "{max}: {short}");
            }
        }
        assert_eq!(shorten_arguments(&WordCounter, &format!("{{\"a\":{}", "[".repeat(200)), Tokens(5)), "{}");
        assert_eq!(shorten_arguments(&WordCounter, "*** Begin Patch of much", Tokens(3)), "***");
    }
}
