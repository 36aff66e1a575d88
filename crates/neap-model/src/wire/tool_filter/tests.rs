//! The client sees the same however the response is split.

use super::*;

fn own_tools() -> BTreeSet<String> {
    BTreeSet::from(["open_effort".to_owned()])
}

const MESSAGES: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n\
: a comment\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"open_effort\",\"input\":{}}}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"name\\\":\\\"é\\\"}\"}}\n\n\
event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"hé\"}}\n\n\
event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n\
event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

const CHAT: &str = "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hé\"}}]}\r\n\r\n\
data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"open_effort\",\"arguments\":\"{\\\"name\\\":\\\"é\\\"}\"}}]}}]}\n\n\
data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n\
data: [DONE]\n\n";

const RESPONSES: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\"}}\n\n\
event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"open_effort\",\"arguments\":\"\"}}\n\n\
event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"sequence_number\":2,\"output_index\":0,\"delta\":\"{}\"}\n\n\
event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":3,\"output_index\":0,\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"open_effort\",\"arguments\":\"{\\\"name\\\":\\\"é\\\"}\"}}\n\n\
event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":4,\"output_index\":1,\"delta\":\"hé\"}\n\n\
event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":5,\"output_index\":1,\"item\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"hé\"}]}}\n\n\
event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":6,\"response\":{\"id\":\"r\",\"output\":[]}}\n\n";

const ALL: [(WireApi, &str); 3] =
    [(WireApi::Messages, MESSAGES), (WireApi::Chat, CHAT), (WireApi::Responses, RESPONSES)];

fn fed(api: WireApi, pieces: &[&[u8]]) -> (String, FilterOutcome) {
    let mut filter = ToolFilter::new(api, own_tools());
    let shown: Vec<u8> = pieces.iter().flat_map(|piece| filter.feed(piece)).collect();
    (String::from_utf8(shown).expect("whole events"), filter.finish())
}

#[test]
fn what_is_seen_is_the_same_in_whatever_pieces_it_comes() {
    for (api, stream) in ALL {
        let bytes = stream.as_bytes();
        let (shown, outcome) = fed(api, &[bytes]);
        let FilterOutcome::Calls { calls, output } = &outcome else { panic!("{outcome:?}") };
        assert_eq!((calls.len(), calls[0].arguments.as_str()), (1, r#"{"name":"é"}"#), "{api:?}");
        assert!(output.text().contains("open_effort") && output.text().contains("hé"), "{output:?}");
        assert!(shown.contains("hé") && !shown.contains("open_effort"), "{shown}");
        for cut in 0..=bytes.len() {
            assert_eq!(
                fed(api, &[&bytes[..cut], &bytes[cut..]]),
                (shown.clone(), outcome.clone()),
                "{api:?} at {cut}"
            );
            let (partial, broken) = fed(api, &[&bytes[..cut]]);
            assert!(shown.starts_with(&partial), "{api:?} cut at {cut}");
            assert_eq!(matches!(broken, FilterOutcome::Broken { .. }), cut < bytes.len(), "{api:?} cut at {cut}");
        }
    }
    let (shown, _) = fed(WireApi::Messages, &[MESSAGES.as_bytes()]);
    assert!(
        fed(WireApi::Responses, &[RESPONSES.as_bytes()]).0.contains(r#""sequence_number":1,"output_index":0"#)
    );
    assert!(shown.contains(": a comment\n\n") && shown.contains("\"index\":0") && !shown.contains("\"index\":1"));
}

/// A response without Neap's calls is forwarded byte for byte, its end included.
#[test]
fn what_is_not_ours_is_as_it_came() {
    for (api, stream) in ALL {
        let renamed = stream.replace("open_effort", "theirs");
        let (shown, outcome) = fed(api, &[renamed.as_bytes()]);
        let FilterOutcome::Finished { rest, held_calls, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!((shown + &String::from_utf8(rest).expect("text"), held_calls.len()), (renamed, 0), "{api:?}");
        for garbage in ["data: ???\n\n", "data: {}\n\n", "data: []\n\n", "data: {\"choices\":{}}\n\n", "\n\n"] {
            assert_eq!(fed(api, &[garbage.as_bytes()]).0, garbage, "{api:?}");
        }
    }
}
