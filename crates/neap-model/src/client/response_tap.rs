//! Reads a response while it is forwarded to a client: text, calls and usage.
//!
//! The tap never changes or delays the forwarded bytes. A response that it cannot parse yields nothing.

use neap_core::base::message::ToolCall;
use neap_core::client::WireApi;

use super::api::stream_decoder;
use super::decoder::{DecodedReply, StreamReader};
use crate::usage::Usage;
use crate::wire::anthropic::MessageUsage;
use crate::wire::json::{Json, Object};
use crate::wire::openai::{ChatUsage, content_text, tool_calls};
use crate::wire::responses::ResponseUsage;

const ANSWER_BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TappedResponse {
    pub text: String,
    /// Empty if the response broke off.
    pub calls: Vec<ToolCall>,
    /// The provider's id, which a later request may name in place of the history.
    pub id: Option<String>,
    pub usage: Option<Usage>,
    pub is_complete: bool,
}

pub struct ResponseTap(TapState);

enum TapState {
    Stream { reading: Box<StreamReader>, words: String },
    Whole { api: WireApi, body: Vec<u8> },
    Unreadable,
}

impl ResponseTap {
    /// For a server-sent event stream.
    pub fn stream(api: WireApi) -> Self {
        Self(TapState::Stream { reading: Box::new(StreamReader::new(stream_decoder(api))), words: String::new() })
    }

    /// For an unstreamed JSON response.
    pub fn whole(api: WireApi) -> Self {
        Self(TapState::Whole { api, body: Vec::new() })
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        let is_readable = match &mut self.0 {
            TapState::Stream { reading, words } => reading.feed(bytes, &mut |piece| words.push_str(piece)).is_ok(),
            TapState::Whole { body, .. } if body.len() + bytes.len() <= ANSWER_BYTES_MAX => {
                body.extend_from_slice(bytes);
                true
            }
            TapState::Whole { .. } => false,
            TapState::Unreadable => true,
        };
        if !is_readable {
            self.0 = TapState::Unreadable;
        }
    }

    /// Whether the protocol's end marker was read; an unstreamed response has none.
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            TapState::Stream { reading, .. } => reading.is_finished(),
            TapState::Whole { .. } | TapState::Unreadable => false,
        }
    }

    pub fn finish(self) -> TappedResponse {
        match self.0 {
            TapState::Stream { reading, words } => match reading.into_reply() {
                Ok(DecodedReply { text, calls, usage, id, replay_items: _, is_cut: _ }) => {
                    TappedResponse { text, calls, id, usage, is_complete: true }
                }
                Err(_) => TappedResponse { text: words, ..TappedResponse::default() },
            },
            TapState::Whole { api, body } => parse_body(api, &body).unwrap_or_default(),
            // It may be complete, but no part of it can be trusted.
            TapState::Unreadable => TappedResponse::default(),
        }
    }
}

fn parse_body(api: WireApi, body: &[u8]) -> Option<TappedResponse> {
    let body = Object::parse(std::str::from_utf8(body).ok()?).ok()?;
    let mut response = match api {
        WireApi::Chat => parse_chat(&body)?,
        WireApi::Responses => parse_response(&body)?,
        WireApi::Messages => parse_message(&body)?,
    };
    response.is_complete = true;
    Some(response)
}

fn parse_chat(body: &Object) -> Option<TappedResponse> {
    let choice = body.array("choices")?.objects().next()?;
    let message = choice.object("message")?;
    let usage = body.read::<ChatUsage>("usage").map(|usage| usage.to_usage());
    let text = content_text(message.get("content"));
    Some(TappedResponse { text, calls: tool_calls(&message), usage, ..TappedResponse::default() })
}

fn parse_response(body: &Object) -> Option<TappedResponse> {
    let mut response = TappedResponse { id: body.text_of("id"), ..TappedResponse::default() };
    for object in body.array("output")?.objects() {
        let text_of = |key: &str| object.text_of(key).unwrap_or_default();
        match text_of("type").as_str() {
            "message" => response.text.push_str(&content_text(object.get("content"))),
            "function_call" => {
                let (id, name, arguments) = (text_of("call_id"), text_of("name"), text_of("arguments"));
                response.calls.push(ToolCall { id, name, arguments });
            }
            _ => {}
        }
    }
    response.usage = body.read::<ResponseUsage>("usage").map(|usage| usage.to_usage());
    Some(response)
}

fn parse_message(body: &Object) -> Option<TappedResponse> {
    let mut response = TappedResponse::default();
    for block in body.array("content")?.objects() {
        let text_of = |key: &str| block.text_of(key).unwrap_or_default();
        match text_of("type").as_str() {
            "text" => response.text.push_str(&text_of("text")),
            "tool_use" => {
                let arguments = block.get("input").map_or("{}", Json::text).to_owned();
                response.calls.push(ToolCall { id: text_of("id"), name: text_of("name"), arguments });
            }
            _ => {}
        }
    }
    response.usage = body.read::<MessageUsage>("usage").map(MessageUsage::to_usage);
    Some(response)
}

#[cfg(test)]
mod tests {
    use neap_core::base::tokens::Tokens;

    use super::*;

    const USED: Usage =
        Usage { calls: 1, input: Tokens(100), cached: Tokens(80), cache_written: Tokens(0), output: Tokens(5) };

    fn call() -> ToolCall {
        ToolCall { id: "c1".into(), name: "look".into(), arguments: r#"{"at":"x"}"#.into() }
    }

    const BODIES: [(WireApi, &str, Option<&str>); 3] = [
        (
            WireApi::Chat,
            r#"{"id":"chatcmpl-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hm.","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":\"x\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":80}}}"#,
            None,
        ),
        (
            WireApi::Responses,
            r#"{"id":"resp_1","output":[{"type":"reasoning","id":"rs"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hm."}]},{"type":"function_call","call_id":"c1","name":"look","arguments":"{\"at\":\"x\"}"}],"usage":{"input_tokens":100,"output_tokens":5,"input_tokens_details":{"cached_tokens":80}}}"#,
            Some("resp_1"),
        ),
        (
            WireApi::Messages,
            r#"{"id":"msg_1","content":[{"type":"thinking","thinking":"…","signature":"s"},{"type":"text","text":"Hm."},{"type":"tool_use","id":"c1","name":"look","input":{"at":"x"}}],"usage":{"input_tokens":20,"cache_read_input_tokens":80,"output_tokens":5}}"#,
            None,
        ),
    ];

    #[test]
    fn an_answer_in_one_piece_is_heard() {
        for (api, body, id) in BODIES {
            let want = TappedResponse {
                text: "Hm.".into(),
                calls: vec![call()],
                id: id.map(str::to_owned),
                usage: Some(USED),
                is_complete: true,
            };
            let mut tap = ResponseTap::whole(api);
            body.as_bytes().chunks(7).for_each(|piece| tap.feed(piece));
            assert_eq!(tap.finish(), want, "{api:?}");
            for cut in 0..body.len() {
                let mut tap = ResponseTap::whole(api);
                tap.feed(&body.as_bytes()[..cut]);
                assert_eq!(tap.finish(), TappedResponse::default(), "{api:?} cut at {cut}");
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
            let mut tap = ResponseTap::stream(WireApi::Chat);
            tap.feed(&stream.as_bytes()[..cut]);
            let response = tap.finish();
            let is_whole = cut == stream.len();
            assert_eq!((response.is_complete, response.usage.is_some()), (is_whole, is_whole), "cut at {cut}");
            assert!("The port.".starts_with(&response.text), "cut at {cut}: {}", response.text);
        }
    }

    #[test]
    fn what_is_not_understood_is_not_heard() {
        for (bytes, is_stream) in
            [(&b"data: ???\n\n"[..], true), (b"\xff\xfe", true), (b"<html>", false), (b"[]", false)]
        {
            for api in WireApi::ALL {
                let mut tap = if is_stream { ResponseTap::stream(api) } else { ResponseTap::whole(api) };
                tap.feed(bytes);
                tap.feed(b"more");
                assert_eq!(tap.finish(), TappedResponse::default(), "{api:?} {bytes:?}");
            }
        }
    }
}
