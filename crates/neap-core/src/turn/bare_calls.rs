//! Replies that are nothing but calls of tools that do not exist, or calls that were cut off: weak models write them where
//! they have nothing to say. Shown, they would be read as an answer; kept, the model would repeat them.

use serde_json::Value;

use super::step::ModelRequest;
use super::text_calls::{ARGUMENTS, MARKS};
use crate::base::message::Role;
use crate::text::phrases::{Phrases, normalize};

/// A person who speaks of these may want an answer that looks like a call.
const ASKS_FOR_DATA: Phrases = Phrases(
    "json|jsonl|yaml|object|objects|array|dict|dictionary|payload|schema|request body|body|config|configuration|\
     function call|function calls|tool call|tool calls|tool|tools|api|endpoint|data structure|record|serialize|serialise|\
     serialized|serialised|format",
);
/// Members that a call has beside its name and arguments.
const OTHER_MEMBERS: [&str; 4] = ["type", "id", "index", "description"];
/// In a name without arguments: what makes it a tool's.
const TOOL_WORDS: [&str; 5] = ["tool", "function", "call", "effort", "none"];

/// Whether a reply to this request is nothing but such calls. In doubt it is an answer.
pub(super) fn is_bare_call(request: &ModelRequest, text: &str) -> bool {
    let text = text.trim();
    if !request.offers_tools || text.is_empty() || !is_nothing_but_calls(text) {
        return false;
    }
    let asked = request.messages.iter().rev().find(|message| message.role == Role::User);
    !asked.is_some_and(|message| ASKS_FOR_DATA.occurs_in(&normalize(&message.content)))
}

fn is_nothing_but_calls(text: &str) -> bool {
    let (mut rest, mut calls) = (text, 0);
    while !rest.is_empty() {
        let marked = MARKS.iter().find_map(|(open, close)| Some((rest.strip_prefix(open)?, *close)));
        let is_marked = marked.is_some();
        let (body, after) = match marked {
            Some((inner, close)) if !close.is_empty() => inner.split_once(close).unwrap_or((inner, "")),
            Some((inner, _)) => (inner, ""),
            None => {
                rest.split_at(MARKS.iter().filter_map(|(open, _)| rest.find(open)).min().unwrap_or(rest.len()))
            }
        };
        match calls_in(body, is_marked) {
            Some(found) => calls += found,
            None => return false,
        }
        rest = after.trim_start();
    }
    calls > 0
}

/// How many calls a text is; `None` if it is anything else.
fn calls_in(body: &str, is_marked: bool) -> Option<usize> {
    let mut calls = 0;
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    loop {
        let from = values.byte_offset();
        match values.next() {
            None => return Some(calls),
            Some(Ok(Value::Array(list))) if !list.is_empty() => {
                calls += list.iter().all(is_call).then_some(list.len())?;
            }
            Some(Ok(value)) => calls += is_call(&value).then_some(1)?,
            Some(Err(error)) => {
                let is_cut = error.is_eof() && begins_call(body[from..].trim_start(), is_marked);
                return is_cut.then_some(calls + 1);
            }
        }
    }
}

/// An object with a name and arguments and nothing else; one with a name alone, if that is a tool's.
fn is_call(value: &Value) -> bool {
    let Value::Object(call) = value else { return false };
    if let Some(function) = call.get("function").filter(|function| function.is_object()) {
        let is_rest = |key: &str| key == "function" || OTHER_MEMBERS.contains(&key);
        return call.keys().all(|key| is_rest(key)) && is_call(function);
    }
    let Some(name) = call.get("name").and_then(Value::as_str) else { return false };
    let has_arguments = ARGUMENTS.iter().any(|key| call.contains_key(*key));
    let is_known = |key: &str| key == "name" || ARGUMENTS.contains(&key) || OTHER_MEMBERS.contains(&key);
    call.keys().all(|key| is_known(key)) && (has_arguments || names_tool(name))
}

/// `no tool`, `open_effort`, `function_name`.
fn names_tool(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains('_') || name.split(|c: char| !c.is_alphanumeric()).any(|word| TOOL_WORDS.contains(&word))
}

/// Whether a text that was cut off begins like a call.
fn begins_call(text: &str, is_marked: bool) -> bool {
    let Some(mut rest) = text.trim_start_matches('[').trim_start().strip_prefix('{') else { return false };
    let has_arguments = ARGUMENTS.iter().any(|key| text.contains(&format!("\"{key}\"")));
    let typed = ["\"type\"", "\"function\""].iter().any(|key| rest.trim_start().starts_with(key));
    for part in ["\"name\"", ":", "\""] {
        match rest.trim_start().strip_prefix(part) {
            Some(after) => rest = after,
            None => return typed && (has_arguments || is_marked),
        }
    }
    // Of a call that ends before its arguments, the name tells.
    has_arguments || names_tool(rest.split('"').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::message::Message;
    use crate::base::testing::WordCounter;
    use crate::context::tools::ToolSet;

    fn request(asked: &str) -> ModelRequest {
        ModelRequest {
            messages: vec![Message::user(asked)],
            tools: ToolSet::with_efforts(&WordCounter, Vec::new()).specs().clone(),
            may_call_tools: true,
            offers_tools: true,
            buffer_output: false,
        }
    }

    /// Names, arguments and marks in every combination, whole and cut off at every place after the name.
    #[test]
    fn a_reply_of_nothing_but_calls_is_no_reply() {
        let request = request("The login takes 9 seconds.");
        for name in ["no tool", "no_tool", "open_effort", "get_weather", "function_name"] {
            for arguments in
                ["", ", \"arguments\": {}", ", \"parameters\": {\"city\": \"Lima\"}", ", \"args\": \"{}\""]
            {
                let call = format!("{{\"name\": \"{name}\"{arguments}}}");
                let list = format!("[{call}, {call}]");
                let typed = format!("{{\"type\": \"function\", \"function\": {call}}}");
                for body in [&call, &list, &typed, &format!("{call}\n{call}")] {
                    for (open, close) in MARKS.iter().chain(&[("", "")]) {
                        for text in [format!("{open}\n{body}\n{close}"), format!("{open}{body}")] {
                            assert!(is_bare_call(&request, &text), "{text}");
                        }
                    }
                }
                for cut in format!("{{\"name\": \"{name}\",").len()..call.len() {
                    assert!(is_bare_call(&request, &call[..cut]), "{}", &call[..cut]);
                    assert!(is_bare_call(&request, &format!("{call}\n<tool_call>{}", &call[..cut])));
                }
            }
        }
    }

    #[test]
    fn an_answer_is_an_answer() {
        let request = request("Who is on call this week?");
        for text in [
            "",
            "Hello.",
            "{}",
            "[]",
            "{",
            "```",
            "[1, 2]",
            "{\"name\": \"Ann\"}",
            "{\"name\": \"Ann\", \"age\": 3}",
            "{\"name\": \"Ann\", \"arguments\": [], \"age\": 3}",
            "{\"name\": \"An",
            "[{\"name\": \"no tool\"}, {\"city\": \"Lima\"}]",
            "I would call {\"name\": \"no tool\"}",
            "{\"name\": \"no tool\"} is what I would call.",
            "```rust\nfn main() {}\n```",
            "```json\n{\"port\": 8080}\n```",
            "```json\n{\"name\": \"Ann\"}\n```",
        ] {
            assert!(!is_bare_call(&request, text), "{text}");
        }
    }

    /// Who asks for JSON gets it, even if it looks like a call.
    #[test]
    fn what_was_asked_for_is_an_answer() {
        let call = "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lima\"}}";
        for asked in [
            "Write me the JSON of a call of get_weather.",
            "Show me how a tool call looks.",
            "What is the payload?",
            "Give me a config with a name and arguments",
            "Which object would you send to the API?",
        ] {
            assert!(!is_bare_call(&request(asked), call), "{asked}");
        }
        assert!(is_bare_call(&request("How is the weather in Lima?"), call));
        let unoffered = ModelRequest { offers_tools: false, ..request("How is the weather in Lima?") };
        assert!(!is_bare_call(&unoffered, call), "no tools were offered");
    }
}
