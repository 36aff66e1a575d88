//! RELIABILITY, upstream faults: a stream cut or split at any byte gives the same text or an error, never a false
//! end.

use neap_core::base::message::ToolCall;
use neap_core::base::tokens::Tokens;
use neap_core::client::WireApi;
use proptest::prelude::*;

use super::super::api::stream_decoder;
use super::super::decoder::{DecodedReply, StreamReader};
use crate::ModelError;

const CHAT: &str = concat!(
    ": comment\n\n",
    "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"hm\"},\"finish_reason\":null}],\"novel\":{}}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grüße, \"}}]}\n\n",
    "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"not asked for\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"✓ 🌊\\n\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"two\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"one\",\"arguments\":\"{\\\"x\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"{}\"}},{\"index\":0,\"function\":{\"arguments\":\"\\\":1}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":64}}}\n\n",
    "data: [DONE]\n\n",
);

const RESPONSES: &str = concat!(
    "event: response.created\r\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"},\"sequence_number\":0}\r\n\r\n",
    "event: response.output_item.done\r\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs\",\"summary\":[],\"encrypted_content\":\"ZW5j\"}}\r\n\r\n",
    "event: response.output_text.delta\r\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Grüße, \"}\r\n\r\n",
    "event: response.novel.delta\r\ndata: {\"type\":\"response.novel.delta\",\"delta\":{\"x\":1}}\r\n\r\n",
    "event: response.output_text.delta\r\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"✓ \"}\r\n\r\n",
    "event: response.output_item.done\r\ndata: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"message\",\"id\":\"m\",\"content\":[{\"type\":\"output_text\",\"text\":\"Grüße, ✓ 🌊\\n\"}]}}\r\n\r\n",
    "event: response.output_item.done\r\ndata: {\"type\":\"response.output_item.done\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"one\",\"arguments\":\"{\\\"x\\\":1}\"}}\r\n\r\n",
    "event: response.completed\r\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"usage\":{\"input_tokens\":100,\"output_tokens\":7,\"input_tokens_details\":{\"cached_tokens\":64}}}}\r\n\r\n",
);

const MESSAGES: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":30,\"cache_read_input_tokens\":64,\"cache_creation_input_tokens\":6,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\",\"novel\":7}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"h\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"m\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Grüße, \"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"✓ 🌊\\n\"}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"one\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"x\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\":1}\"}}\n\n",
    "event: novelty\ndata: {\"type\":\"novelty\",\"index\":\"none\",\"delta\":[1]}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":7}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

const STREAMS: [(WireApi, &str); 3] =
    [(WireApi::Chat, CHAT), (WireApi::Responses, RESPONSES), (WireApi::Messages, MESSAGES)];

const TEXT: &str = "Grüße, ✓ 🌊\n";

/// Feeds the chunks; returns the streamed text and the reply.
fn read<'a>(
    api: WireApi,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (String, Result<DecodedReply, ModelError>) {
    let mut streamed = String::new();
    let mut reader = StreamReader::new(stream_decoder(api));
    for piece in pieces {
        match reader.feed(piece, &mut |text| streamed.push_str(text)) {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => return (streamed, Err(error)),
        }
    }
    let reply = reader.finish();
    (streamed, reply)
}

fn whole(api: WireApi, stream: &str) -> DecodedReply {
    let (streamed, reply) = read(api, [stream.as_bytes()]);
    let reply = reply.expect("an answer");
    assert_eq!(streamed, reply.text, "what was heard is what was said");
    reply
}

#[test]
fn streams_are_understood() {
    let call = |id: &str, name: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let one = call("a", "one", "{\"x\":1}");
    for (api, stream) in STREAMS {
        let reply = whole(api, stream);
        assert_eq!(reply.text, TEXT, "{api:?}");
        let usage = reply.usage.expect("usage");
        assert_eq!((usage.input, usage.cached, usage.output), (Tokens(100), Tokens(64), Tokens(7)), "{api:?}");
        assert!(!reply.is_cut);
    }
    assert_eq!(whole(WireApi::Chat, CHAT).calls, [call("b", "two", "{}"), one.clone()]);
    assert_eq!(whole(WireApi::Responses, RESPONSES).calls, std::slice::from_ref(&one));
    assert_eq!(whole(WireApi::Messages, MESSAGES).calls, [one]);
    let replay_items = |api, stream| -> Vec<String> {
        whole(api, stream).replay_items.iter().map(|json| json.text().to_owned()).collect()
    };
    assert_eq!(replay_items(WireApi::Chat, CHAT), [r#"{"reasoning_content":"hm"}"#]);
    let items = replay_items(WireApi::Responses, RESPONSES);
    assert_eq!(items[0], r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"ZW5j"}"#);
    assert_eq!(items.len(), 3);
    let blocks = [
        r#"{"type":"thinking","thinking":"hm","signature":"c2ln","novel":7}"#,
        r#"{"type":"text","text":"Grüße, ✓ 🌊\n"}"#,
        r#"{"type":"tool_use","id":"a","name":"one","input":{"x":1}}"#,
    ];
    assert_eq!(replay_items(WireApi::Messages, MESSAGES), blocks);
    assert_eq!(whole(WireApi::Messages, MESSAGES).usage.expect("usage").cache_written, Tokens(6));
}

#[test]
fn a_stream_cut_at_any_byte_is_no_answer() {
    for (api, stream) in STREAMS {
        let want = whole(api, stream);
        let mut false_ends = 0;
        for cut in 0..stream.len() {
            let (streamed, reply) = read(api, [&stream.as_bytes()[..cut]]);
            assert!(want.text.starts_with(&streamed), "{api:?} cut at {cut}: {streamed}");
            // The last byte ends the empty line after the end event; a carriage return alone is enough.
            let is_whole = cut + 1 == stream.len() && stream.ends_with("\r\n");
            match reply {
                Ok(reply) if is_whole => assert_eq!(reply, want),
                Ok(_) => false_ends += 1,
                Err(error) => assert!(matches!(error, ModelError::Protocol(_)), "{api:?} cut at {cut}: {error:?}"),
            }
        }
        assert_eq!(false_ends, 0, "{api:?}");
    }
}

#[test]
fn a_stream_is_the_same_in_whatever_pieces_it_comes() {
    for (api, stream) in STREAMS {
        let want = whole(api, stream);
        let bytes = stream.as_bytes();
        for cut in 0..=bytes.len() {
            let (streamed, reply) = read(api, [&bytes[..cut], &bytes[cut..]]);
            assert_eq!((streamed.as_str(), reply.as_ref()), (TEXT, Ok(&want)), "{api:?} cut at {cut}");
        }
        for size in [1, 2, 3, 5, 7, 64] {
            let (streamed, reply) = read(api, bytes.chunks(size));
            assert_eq!((streamed.as_str(), reply.as_ref()), (TEXT, Ok(&want)), "{api:?} in pieces of {size}");
        }
    }
}

/// An end without its reason is an error.
#[test]
fn an_end_without_a_reason_is_no_answer() {
    let reasons = [
        (WireApi::Chat, CHAT, "\"finish_reason\":\"tool_calls\""),
        (WireApi::Messages, MESSAGES, "\"stop_reason\":\"tool_use\""),
    ];
    for (api, stream, reason) in reasons {
        let stripped: String = stream.split_inclusive("\n\n").filter(|event| !event.contains(reason)).collect();
        assert_ne!(stripped, stream);
        let (_, reply) = read(api, [stripped.as_bytes()]);
        assert!(matches!(reply, Err(ModelError::Protocol(_))), "{api:?}: {reply:?}");
    }
}

#[test]
fn other_ends_are_told_apart() {
    let chat = |reason: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"So\",\"tool_calls\":[{{\"index\":0,\"id\":\"a\",\"function\":{{\"name\":\"n\",\"arguments\":\"{{\"}}}}]}},\"finish_reason\":\"{reason}\"}}]}}\n\ndata: [DONE]\n\n"
        )
    };
    let cut = whole(WireApi::Chat, &chat("length"));
    assert_eq!((&*cut.text, cut.calls.len(), cut.is_cut), ("So", 0, true), "half a call is none");
    let refused = |api, stream: &str| matches!(read(api, [stream.as_bytes()]).1, Err(ModelError::Refused(_)));
    assert!(refused(WireApi::Chat, &chat("content_filter")));
    let refusal =
        "data: {\"choices\":[{\"delta\":{\"refusal\":\"No.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    assert!(refused(WireApi::Chat, refusal));

    let incomplete = |reason: &str| {
        format!(
            "data: {{\"type\":\"response.output_text.delta\",\"delta\":\"So\"}}\n\ndata: {{\"type\":\"response.incomplete\",\"response\":{{\"incomplete_details\":{{\"reason\":\"{reason}\"}}}}}}\n\n"
        )
    };
    let cut = whole(WireApi::Responses, &incomplete("max_output_tokens"));
    assert_eq!((&*cut.text, cut.is_cut), ("So", true));
    assert!(refused(WireApi::Responses, &incomplete("content_filter")));
    assert!(refused(
        WireApi::Messages,
        &MESSAGES.replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":\"refusal\"")
    ));
    let long = whole(
        WireApi::Messages,
        &MESSAGES.replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":\"max_tokens\""),
    );
    assert_eq!((&*long.text, long.is_cut, long.calls.len(), long.replay_items.len()), (TEXT, true, 0, 0));
}

#[test]
fn errors_in_a_stream_are_errors() {
    let table = [
        (WireApi::Chat, "data: {\"error\":{\"message\":\"upstream\",\"code\":502}}\n\n"),
        (WireApi::Chat, "data: <html>\n\n"),
        (WireApi::Chat, "data: {\"choices\":7}\n\n"),
        (
            WireApi::Responses,
            "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"oops\"}}}\n\n",
        ),
        (
            WireApi::Responses,
            "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"oops\"}\n\n",
        ),
        (
            WireApi::Messages,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n",
        ),
        (WireApi::Messages, "data: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"text\":\"x\"}}\n\n"),
    ];
    for (api, event) in table {
        let (_, stream) = STREAMS.iter().find(|(stream_api, _)| *stream_api == api).expect("a stream");
        let (streamed, reply) = read(api, [event.as_bytes(), stream.as_bytes()]);
        assert!(reply.is_err() && streamed.is_empty(), "{api:?} {event}: {reply:?}");
    }
}

#[test]
fn calls_without_an_index_are_joined_by_their_ids() {
    let piece = |call: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n");
    let stream = [
        piece(r#"{"id":"a","function":{"name":"one","arguments":"{"}}"#),
        piece(r#"{"function":{"arguments":"}"}}"#),
        piece(r#"{"id":"b","function":{"name":"two","arguments":"{}"}}"#),
        "data: {\"choices\":[{\"delta\":null,\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n".to_owned(),
    ];
    let calls = whole(WireApi::Chat, &stream.concat()).calls;
    let got: Vec<(&str, &str, &str)> =
        calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str())).collect();
    assert_eq!(got, [("a", "one", "{}"), ("b", "two", "{}")]);
}

proptest! {
    #[test]
    fn any_pieces_give_the_same(which in 0_usize..3, cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let (api, stream) = STREAMS[which];
        let bytes = stream.as_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let (streamed, reply) = read(api, at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]));
        prop_assert_eq!(streamed.as_str(), TEXT);
        prop_assert_eq!(reply, Ok(whole(api, stream)));
    }

    /// Whatever a damaged byte does, the reply's text is the streamed text.
    #[test]
    fn damage_does_not_part_what_is_heard_from_what_is_answered(which in 0_usize..3, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (api, stream) = STREAMS[which];
        let mut bytes = stream.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let (streamed, reply) = read(api, [bytes.as_slice()]);
        if let Ok(reply) = reply {
            prop_assert_eq!(streamed, reply.text);
        }
    }
}
