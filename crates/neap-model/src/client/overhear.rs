//! Listening in on an answer that is passed on to somebody else: what it said and what it used, without holding it up.
//!
//! Nothing that is heard here changes what is passed on, and what cannot be understood is simply not heard.

use neap_core::message::ToolCall;

use super::api::Api;
use super::hearing::{Answer, Reading};
use crate::usage::Usage;
use crate::wire::anthropic::MessageUsage;
use crate::wire::json::{Json, Object};
use crate::wire::openai::{ChatMessage, ChatUsage};
use crate::wire::responses::{InputItem, ResponseUsage};

/// Longest answer that is listened to, in bytes, where it comes in one piece.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// What was answered, as far as it was heard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overheard {
    /// Its words.
    pub text: String,
    /// The calls it makes; none of an answer that broke off.
    pub calls: Vec<ToolCall>,
    /// What the provider calls it, where a later request may name it in place of the history.
    pub id: Option<String>,
    /// What it used, if the provider says so.
    pub usage: Option<Usage>,
    /// Whether its end was heard.
    pub is_whole: bool,
}

/// An answer that is being listened to.
pub struct Overhearing(Kind);

enum Kind {
    /// One that comes piece by piece.
    Stream { reading: Box<Reading>, words: String },
    /// One that comes at once.
    Whole { api: Api, body: Vec<u8> },
    /// One that is not understood.
    Deaf,
}

impl Overhearing {
    /// Of a stream of events.
    pub fn stream(api: Api) -> Self {
        Self(Kind::Stream { reading: Box::new(Reading::new(api.hearing())), words: String::new() })
    }

    /// Of an answer in one piece.
    pub fn whole(api: Api) -> Self {
        Self(Kind::Whole { api, body: Vec::new() })
    }

    /// Takes bytes that were passed on.
    pub fn feed(&mut self, bytes: &[u8]) {
        let is_heard = match &mut self.0 {
            Kind::Stream { reading, words } => reading.feed(bytes, &mut |piece| words.push_str(piece)).is_ok(),
            Kind::Whole { body, .. } if body.len() + bytes.len() <= ANSWER_BYTES_MAX => {
                body.extend_from_slice(bytes);
                true
            }
            Kind::Whole { .. } => false,
            Kind::Deaf => true,
        };
        if !is_heard {
            self.0 = Kind::Deaf;
        }
    }

    /// Whether its end has come, as its protocol says it. What comes in one piece does not say where it ends.
    pub fn is_over(&self) -> bool {
        match &self.0 {
            Kind::Stream { reading, .. } => reading.is_over(),
            Kind::Whole { .. } | Kind::Deaf => false,
        }
    }

    /// No more comes.
    pub fn end(self) -> Overheard {
        match self.0 {
            Kind::Stream { reading, words } => match reading.answer() {
                Ok(Answer { text, calls, usage, id, kept: _, is_cut: _ }) => {
                    Overheard { text, calls, id, usage, is_whole: true }
                }
                Err(_) => Overheard { text: words, ..Overheard::default() },
            },
            Kind::Whole { api, body } => of_body(api, &body).unwrap_or_default(),
            // It may be whole, and what was heard of it may be anything.
            Kind::Deaf => Overheard::default(),
        }
    }
}

fn of_body(api: Api, body: &[u8]) -> Option<Overheard> {
    let body = Object::parse(std::str::from_utf8(body).ok()?).ok()?;
    let mut heard = match api {
        Api::OpenAi => of_chat(&body)?,
        Api::Responses => of_response(&body)?,
        Api::Anthropic => of_message(&body)?,
    };
    heard.is_whole = true;
    Some(heard)
}

fn of_chat(body: &Object) -> Option<Overheard> {
    let choice = body.array("choices")?.objects().next()?;
    let message = ChatMessage::from(choice.object("message")?);
    let usage = body.read::<ChatUsage>("usage").map(|usage| usage.to_usage());
    Some(Overheard { text: message.text(), calls: message.tool_calls(), usage, ..Overheard::default() })
}

fn of_response(body: &Object) -> Option<Overheard> {
    let mut heard = Overheard { id: body.text_of("id"), ..Overheard::default() };
    for object in body.array("output")?.objects() {
        let text_of = |key: &str| object.text_of(key).unwrap_or_default();
        match text_of("type").as_str() {
            "message" => heard.text.push_str(&InputItem::from(object).text()),
            "function_call" => {
                let (id, name, arguments) = (text_of("call_id"), text_of("name"), text_of("arguments"));
                heard.calls.push(ToolCall { id, name, arguments });
            }
            _ => {}
        }
    }
    heard.usage = body.read::<ResponseUsage>("usage").map(|usage| usage.to_usage());
    Some(heard)
}

fn of_message(body: &Object) -> Option<Overheard> {
    let mut heard = Overheard::default();
    for block in body.array("content")?.objects() {
        let text_of = |key: &str| block.text_of(key).unwrap_or_default();
        match text_of("type").as_str() {
            "text" => heard.text.push_str(&text_of("text")),
            "tool_use" => {
                let arguments = block.get("input").map_or("{}", Json::text).to_owned();
                heard.calls.push(ToolCall { id: text_of("id"), name: text_of("name"), arguments });
            }
            _ => {}
        }
    }
    heard.usage = body.read::<MessageUsage>("usage").map(MessageUsage::to_usage);
    Some(heard)
}

#[cfg(test)]
mod tests {
    use neap_core::tokens::Tokens;

    use super::*;

    const USED: Usage =
        Usage { calls: 1, input: Tokens(100), cached: Tokens(80), cache_written: Tokens(0), output: Tokens(5) };

    fn call() -> ToolCall {
        ToolCall { id: "c1".into(), name: "look".into(), arguments: r#"{"at":"x"}"#.into() }
    }

    const BODIES: [(Api, &str, Option<&str>); 3] = [
        (
            Api::OpenAi,
            r#"{"id":"chatcmpl-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hm.","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":\"x\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":80}}}"#,
            None,
        ),
        (
            Api::Responses,
            r#"{"id":"resp_1","output":[{"type":"reasoning","id":"rs"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hm."}]},{"type":"function_call","call_id":"c1","name":"look","arguments":"{\"at\":\"x\"}"}],"usage":{"input_tokens":100,"output_tokens":5,"input_tokens_details":{"cached_tokens":80}}}"#,
            Some("resp_1"),
        ),
        (
            Api::Anthropic,
            r#"{"id":"msg_1","content":[{"type":"thinking","thinking":"…","signature":"s"},{"type":"text","text":"Hm."},{"type":"tool_use","id":"c1","name":"look","input":{"at":"x"}}],"usage":{"input_tokens":20,"cache_read_input_tokens":80,"output_tokens":5}}"#,
            None,
        ),
    ];

    #[test]
    fn an_answer_in_one_piece_is_heard() {
        for (api, body, id) in BODIES {
            let want = Overheard {
                text: "Hm.".into(),
                calls: vec![call()],
                id: id.map(str::to_owned),
                usage: Some(USED),
                is_whole: true,
            };
            let mut hearing = Overhearing::whole(api);
            body.as_bytes().chunks(7).for_each(|piece| hearing.feed(piece));
            assert_eq!(hearing.end(), want, "{api}");
            for cut in 0..body.len() {
                let mut hearing = Overhearing::whole(api);
                hearing.feed(&body.as_bytes()[..cut]);
                assert_eq!(hearing.end(), Overheard::default(), "{api} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_stream_is_heard_and_half_of_one_is_no_whole() {
        let events = [
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"The "}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"port."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":80}}}"#,
            "[DONE]",
        ];
        let stream: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
        for cut in 0..=stream.len() {
            let mut hearing = Overhearing::stream(Api::OpenAi);
            hearing.feed(&stream.as_bytes()[..cut]);
            let heard = hearing.end();
            let is_whole = cut == stream.len();
            assert_eq!((heard.is_whole, heard.usage.is_some()), (is_whole, is_whole), "cut at {cut}");
            assert!("The port.".starts_with(&heard.text), "cut at {cut}: {}", heard.text);
        }
    }

    #[test]
    fn what_is_not_understood_is_not_heard() {
        for (bytes, is_stream) in
            [(&b"data: ???\n\n"[..], true), (b"\xff\xfe", true), (b"<html>", false), (b"[]", false)]
        {
            for api in Api::ALL {
                let mut hearing = if is_stream { Overhearing::stream(api) } else { Overhearing::whole(api) };
                hearing.feed(bytes);
                hearing.feed(b"more");
                assert_eq!(hearing.end(), Overheard::default(), "{api} {bytes:?}");
            }
        }
    }
}
