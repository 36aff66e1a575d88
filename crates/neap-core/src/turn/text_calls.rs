//! Tool calls that a model writes as text: small models do so, and models behind servers whose prompt template drops
//! the tools.

use serde_json::{Map, Value};

use super::bare_calls::is_bare_call;
use super::step::{Input, ModelReply, ModelRequest};
use crate::base::message::ToolCall;
use crate::context::tools::{ToolSpec, is_own_tool};

/// What models write around a call, as their templates have it; without a second mark it lasts to the end.
pub(super) const MARKS: &[(&str, &str)] = &[
    ("<tool_call>", "</tool_call>"),
    ("<tools>", "</tools>"),
    ("<function_call>", "</function_call>"),
    ("```json", "```"),
    ("```tool_call", "```"),
    ("```", "```"),
    ("<|python_tag|>", ""),
    ("[TOOL_CALLS]", ""),
];
/// Members that hold a call's arguments.
pub(super) const ARGUMENTS: [&str; 3] = ["arguments", "parameters", "args"];

/// Reads a reply: calls that it contains as text become calls, and one that is nothing but calls of tools that do not
/// exist is no reply.
pub fn read_reply(request: &ModelRequest, mut reply: ModelReply) -> Input {
    reply.take_calls_from_text(&request.tools);
    if reply.calls.is_empty() && is_bare_call(request, &reply.text) {
        Input::WroteCalls(reply)
    } else {
        Input::Replied(reply)
    }
}

impl ModelReply {
    /// Takes the calls that end its text, if these are calls of Neap's own tools that were offered, and nothing but
    /// calls. Another program's tools run only where the model's protocol names them.
    fn take_calls_from_text(&mut self, offered: &[ToolSpec]) {
        if !self.calls.is_empty() {
            return;
        }
        let is_offered = |name: &str| is_own_tool(name) && offered.iter().any(|tool| tool.name == name);
        let found = call_starts(&self.text)
            .find_map(|start| Some((start, parse_calls(&self.text[start..], &is_offered)?)));
        if let Some((start, calls)) = found {
            self.text.truncate(self.text[..start].trim_end().len());
            self.calls = calls;
        }
    }
}

/// Where calls may begin: at the text's own beginning, or at a mark.
fn call_starts(text: &str) -> impl Iterator<Item = usize> {
    let begins = text.trim_start().starts_with(['{', '[']).then_some(0);
    let mark = MARKS.iter().filter_map(|(open, _)| text.find(open)).min();
    begins.into_iter().chain(mark)
}

fn parse_calls(text: &str, is_offered: &impl Fn(&str) -> bool) -> Option<Vec<ToolCall>> {
    let mut calls = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let marked = MARKS.iter().find_map(|(open, close)| Some((rest.strip_prefix(open)?, *close)));
        let (body, after) = match marked {
            // A model may stop before it closes the mark.
            Some((inner, close)) if !close.is_empty() => inner.split_once(close).unwrap_or((inner, "")),
            Some((inner, _)) => (inner, ""),
            None => (rest, ""),
        };
        for value in serde_json::Deserializer::from_str(body).into_iter::<Value>() {
            let value = match value {
                Ok(value) => value,
                // The reply's limit cut the last of several.
                Err(error) if error.is_eof() && !calls.is_empty() => break,
                Err(_) => return None,
            };
            let list = match value {
                Value::Array(list) => list,
                one @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
                    vec![one]
                }
            };
            for call in list {
                let call = parse_call(call, is_offered)?;
                // A small model may write one call over and over.
                if !calls.contains(&call) {
                    calls.push(call);
                }
            }
        }
        rest = after.trim_start();
    }
    Some(calls).filter(|calls| !calls.is_empty())
}

fn parse_call(value: Value, is_offered: &impl Fn(&str) -> bool) -> Option<ToolCall> {
    let Value::Object(mut call) = value else { return None };
    // OpenAI's form.
    if let Some(Value::Object(function)) = call.remove("function") {
        call = function;
    }
    let name = call.get("name")?.as_str().filter(|name| is_offered(name))?.to_owned();
    let arguments = match ARGUMENTS.iter().find_map(|key| call.remove(*key)) {
        Some(Value::String(text)) => serde_json::from_str(&text).ok()?,
        Some(arguments) => arguments,
        None => Value::Object(Map::new()),
    };
    let arguments = without_schema(arguments);
    // The id is given where all replies are checked.
    arguments.is_object().then(|| ToolCall { id: String::new(), name, arguments: arguments.to_string() })
}

/// The values, where a model wrote them in the form of the tool's schema.
fn without_schema(arguments: Value) -> Value {
    match arguments {
        Value::Object(mut members) if members.len() == 1 => match members.remove("properties") {
            Some(Value::Object(values)) => Value::Object(values),
            Some(other) => Value::Object([("properties".to_owned(), other)].into_iter().collect()),
            None => Value::Object(members),
        },
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => other,
    }
}

/// Holds a reply back while it may be nothing but calls.
#[derive(Debug, Default)]
pub struct StreamedText {
    text: String,
    shown: usize,
}

impl StreamedText {
    /// Adds what arrived, and returns what may be shown.
    pub fn push(&mut self, words: &str) -> &str {
        self.text.push_str(words);
        if self.shown == 0 && may_begin_calls(&self.text) {
            return "";
        }
        let from = std::mem::replace(&mut self.shown, self.text.len());
        &self.text[from..]
    }

    /// All that arrived.
    pub fn into_text(self) -> String {
        self.text
    }

    /// What was held back of a reply that is over.
    pub fn rest_of<'r>(&self, reply: &'r ModelReply) -> &'r str {
        if self.shown == 0 { &reply.text } else { "" }
    }
}

/// Whether a reply that begins like this may be nothing but calls.
fn may_begin_calls(text: &str) -> bool {
    let begin = text.trim_start();
    let body = MARKS.iter().find_map(|(open, _)| begin.strip_prefix(open)).unwrap_or(begin);
    MARKS.iter().any(|(open, _)| open.starts_with(begin))
        || body.trim_start().chars().next().is_none_or(|c| c == '{' || c == '[')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::WordCounter;
    use crate::context::tools::ToolSet;

    #[test]
    fn calls_over_and_over_in_the_form_of_the_schema_and_cut_off_are_one_call() {
        let call = r#"{"name": "fetch_original", "arguments": {"properties": {"handle": "t1"}}}"#;
        for cut in ["", r#"{"name": "fetch"#, r#"{"name": "fetch_original", "arguments": {"properties": {"ha"#] {
            let (text, calls) = taken(&format!("{call}\n{call}\n{call}\n{cut}"));
            assert_eq!(text, "", "{cut}");
            assert_eq!(calls, [("fetch_original".to_owned(), r#"{"handle":"t1"}"#.to_owned())], "{cut}");
        }
        let other = r#"{"name": "fetch_original", "arguments": {"properties": 7}}"#;
        assert_eq!(taken(other).1[0].1, r#"{"properties":7}"#);
    }

    fn taken(text: &str) -> (String, Vec<(String, String)>) {
        let mut reply = ModelReply { text: text.to_owned(), ..ModelReply::default() };
        let mut offered = ToolSet::with_efforts(&WordCounter, Vec::new()).specs().to_vec();
        offered.push(ToolSpec { name: "delete_file".to_owned(), ..offered[0].clone() });
        reply.take_calls_from_text(&offered);
        (reply.text, reply.calls.into_iter().map(|call| (call.name, call.arguments)).collect())
    }

    #[test]
    fn calls_are_taken_in_every_form_that_models_write() {
        let call = r#"{"name": "open_effort", "arguments": {"name": "auth-bug"}}"#;
        for text in [
            call.to_owned(),
            format!("\n {call}\n"),
            format!("```json\n{call}\n```"),
            format!("```\n{call}\n```\n"),
            format!("<tool_call>\n{call}\n</tool_call>"),
            format!("<tool_call>{call}"),
            format!("<tools>{call}</tools>"),
            format!("[TOOL_CALLS][{call}]"),
            format!("<|python_tag|>{}", call.replace("arguments", "parameters")),
            format!("[{call}]"),
            r#"{"type": "function", "function": {"name": "open_effort", "arguments": "{\"name\":\"auth-bug\"}"}}"#
                .to_owned(),
        ] {
            let (rest, calls) = taken(&text);
            assert_eq!((rest.as_str(), calls.len()), ("", 1), "{text}");
            assert_eq!(calls[0], ("open_effort".to_owned(), r#"{"name":"auth-bug"}"#.to_owned()), "{text}");
        }
    }

    #[test]
    fn several_calls_and_words_before_them_are_taken_apart() {
        let status = r#"{"name": "effort_status"}"#;
        let search = r#"{"name": "search_efforts", "arguments": {"query": "login"}}"#;
        let (rest, calls) = taken(&format!("{status}\n{search}"));
        assert_eq!((rest.as_str(), calls.len(), calls[0].1.as_str()), ("", 2, "{}"));
        let (rest, calls) =
            taken(&format!("Let me look.\n\n<tool_call>{status}</tool_call>\n<tool_call>{search}</tool_call>"));
        assert_eq!((rest.as_str(), calls.len()), ("Let me look.", 2));
    }

    #[test]
    fn all_else_stays_text() {
        for text in [
            "",
            "Hello.",
            "{",
            "{}",
            "[]",
            "```",
            "<tool_call></tool_call>",
            "```rust\nfn main() {}\n```",
            r#"{"name": "Ann", "age": 3}"#,
            r#"{"name": "rm", "arguments": {}}"#,
            r#"{"name": "delete_file", "arguments": {}}"#,
            r#"{"name": "open_effort", "arguments": "auth"}"#,
            r#"{"name": "open_effort", "arguments": {"name": "a"}} Is that right?"#,
            "A call looks like this:\n```json\n{\"name\": \"effort_status\"}\n```\nand does nothing here.",
        ] {
            assert_eq!(taken(text), (text.to_owned(), Vec::new()), "{text}");
        }
    }

    /// What is shown, wherever the stream is divided, is the reply without its calls.
    #[test]
    fn what_may_be_a_call_is_shown_only_when_it_is_none() {
        let call = r#"{"name":"effort_status"}"#;
        let replies = [
            "Hello, {name}.",
            "{\"a\": 1}",
            "```rust\nfn main() {}\n```",
            "`x` is fine",
            "<b>bold</b>",
            "< 3",
            call,
            "<tool_call>{\"name\":\"effort_status\"}</tool_call>",
        ];
        for text in replies {
            for size in [1, 2, 5, 100] {
                let mut streamed = StreamedText::default();
                let mut shown = String::new();
                for words in text.as_bytes().chunks(size) {
                    shown.push_str(streamed.push(std::str::from_utf8(words).expect("ASCII")));
                }
                let is_call = text.contains("effort_status");
                let kept = if is_call { "" } else { text };
                let reply = ModelReply { text: kept.to_owned(), ..ModelReply::default() };
                shown.push_str(streamed.rest_of(&reply));
                assert_eq!((shown.as_str(), streamed.into_text().as_str()), (kept, text), "{size}");
            }
        }
        let mut code = StreamedText::default();
        assert_eq!(code.push("```rust"), "```rust", "code is shown as it arrives");
        assert_eq!(code.push("\nfn"), "\nfn");
    }
}
