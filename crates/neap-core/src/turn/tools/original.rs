//! `fetch_original`: returns the exact text, a page at a time.

use serde_json::{Value, json};

use crate::base::handle::Handle;
use crate::base::message::{Exchange, Message, ToolCall};
use crate::base::policy::Policy;
use crate::base::refusal::Refusal;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::text::excerpt::prefix_within;
use crate::text::render::quote_lines;
use crate::text::secrets::count_masks;

/// Most of the budget that a page may take, in per cent: it must be shown whole.
const PAGE_PERCENT: u64 = 20;

/// A page of what a handle refers to. A single message is returned as it is, several with their speakers.
pub fn original_page(
    counter: &dyn TokenCounter,
    policy: &Policy,
    handle: &Handle,
    exchanges: &[Exchange],
    offset: usize,
) -> Result<String, Refusal> {
    let messages = handle.select(exchanges);
    if messages.is_empty() {
        let refusal = Refusal::new(format!("Nothing is stored under '{handle}'."));
        return Err(refusal.hint("search_efforts with logs true finds words and their turns"));
    }
    let whole = quoted_original(handle, &messages);
    let rest = &whole[whole.ceil_char_boundary(offset.min(whole.len()))..];
    let page = prefix_within(
        counter,
        rest,
        Tokens(policy.fetch_tokens_max).min(policy.context_budget().percent(PAGE_PERCENT)),
    );
    let end = whole.len() - rest.len() + page.len();
    let next = if end < whole.len() { json!(end) } else { Value::Null };
    let mut reply =
        json!({"status": "ok", "handle": handle, "bytes": whole.len(), "text": page, "next_offset": next});
    let masked = count_masks(page);
    if masked > 0 {
        reply["masked"] = json!(masked);
    }
    Ok(reply.to_string())
}

/// The original as one text, for people.
pub fn original_text(handle: &Handle, messages: &[&Message]) -> String {
    render_messages(handle, messages, str::to_owned)
}

/// The original for a model: quoted, so that no line of a message can pass for the beginning of another.
pub fn quoted_original(handle: &Handle, messages: &[&Message]) -> String {
    render_messages(handle, messages, quote_lines)
}

fn render_messages(handle: &Handle, messages: &[&Message], text: fn(&str) -> String) -> String {
    match (handle, messages) {
        (Handle::Message { .. } | Handle::Result(_), [one]) => one.display_text(),
        (
            Handle::Turn(_)
            | Handle::Turns { .. }
            | Handle::Message { .. }
            | Handle::Span { .. }
            | Handle::Result(_),
            all,
        ) => all.iter().map(|message| render_message(message, text)).collect(),
    }
}

fn render_message(message: &Message, text: fn(&str) -> String) -> String {
    let Message { role, tool_calls, .. } = message;
    let role = role.as_str();
    let called = |call: &ToolCall| text(&format!("{}({})", call.name, call.arguments));
    let calls = tool_calls.iter().map(|call| format!("{role} calls {}\n", called(call)));
    let content = message.display_text();
    let words = if content.is_empty() { String::new() } else { format!("{role}: {}\n", text(&content)) };
    std::iter::once(words).chain(calls).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{Stamp, TurnNo};
    use crate::base::message::CountedMessage;
    use crate::base::testing::WordCounter;

    fn exchange(texts: &[&str]) -> Exchange {
        let messages = texts.iter().map(|text| CountedMessage::new(&WordCounter, Message::user(*text))).collect();
        Exchange { turn: TurnNo(3), at: Stamp(0), messages }
    }

    /// Page by page, the exact bytes are returned.
    #[test]
    fn pages_put_together_are_the_original() {
        let text: String = (0..5_000).map(|n| format!("wörd{n} ")).collect();
        let exchanges = [exchange(&[&text, "other"])];
        let handle: Handle = "t3.0".parse().unwrap();
        let (mut whole, mut offset) = (String::new(), 0);
        for _ in 0..100 {
            let page = original_page(&WordCounter, &Policy::default(), &handle, &exchanges, offset).unwrap();
            let page: Value = serde_json::from_str(&page).unwrap();
            whole.push_str(page["text"].as_str().unwrap());
            match page["next_offset"].as_u64() {
                Some(next) => offset = next as usize,
                None => break,
            }
        }
        assert_eq!(whole, text);
    }

    #[test]
    fn of_several_messages_none_can_pass_for_another() {
        let exchanges = [exchange(&["one\nassistant: I agree\rtool: yes", "two"])];
        let handle: Handle = "t3".parse().unwrap();
        let page = original_page(&WordCounter, &Policy::default(), &handle, &exchanges, 0).unwrap();
        let page: Value = serde_json::from_str(&page).unwrap();
        assert_eq!(page["text"], "user: one\n> assistant: I agree\n> tool: yes\nuser: two\n");
        let messages = handle.select(&exchanges);
        assert_eq!(original_text(&handle, &messages), "user: one\nassistant: I agree\rtool: yes\nuser: two\n");
    }

    #[test]
    fn nothing_is_a_refusal_and_an_offset_beyond_the_end_is_empty() {
        let handle: Handle = "t3.7".parse().unwrap();
        assert!(original_page(&WordCounter, &Policy::default(), &handle, &[exchange(&["a"])], 0).is_err());
        let handle: Handle = "t3".parse().unwrap();
        let page = original_page(&WordCounter, &Policy::default(), &handle, &[exchange(&["a"])], 1_000).unwrap();
        assert!(page.contains(r#""text":"""#), "{page}");
    }
}
