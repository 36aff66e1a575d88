//! Tests of the rules for clients' requests, by what is known of real clients.

mod bounds;
mod canon;
mod classes;
mod coding;
mod costs;
mod drive;
mod hindsight;
mod narrow_room;
mod random;
mod shrinking;
mod staleness;
mod telling;
mod topics;
mod verdicts;

use serde_json::json;

use super::{
    Bounds, Chain, ClientRequest, ContentBlock, CutInputs, CutPlan, Endpoint, HistoryCut, HistoryItem,
    HistoryPart, Signals, Speaker, Tenant, WireApi,
};
use crate::base::ids::TurnNo;
use crate::base::message::ToolCall;
use crate::base::testing::WordCounter;
use crate::base::tokens::{TokenCounter, Tokens};

const AROUND: u64 = 4;

pub(super) fn item(speaker: Speaker, blocks: Vec<ContentBlock>) -> HistoryItem {
    let words: Tokens = blocks.iter().map(|block| WordCounter.count(&format!("{block:?}"))).sum();
    HistoryItem { speaker, blocks: blocks.into(), tokens: words + Tokens(AROUND) }
}

pub(super) fn text(words: &str) -> ContentBlock {
    ContentBlock::Text(words.to_owned())
}

pub(super) fn system(words: &str) -> HistoryItem {
    item(Speaker::System, vec![text(words)])
}

pub(super) fn user(words: &str) -> HistoryItem {
    item(Speaker::User, vec![text(words)])
}

pub(super) fn assistant(words: &str) -> HistoryItem {
    item(Speaker::Assistant, vec![text(words)])
}

pub(super) fn call(id: &str) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "run".to_owned(),
        arguments: r#"{"a": 1}"#.to_owned(),
    })
}

pub(super) fn answer(id: &str, words: &str) -> ContentBlock {
    ContentBlock::ToolResult { id: id.to_owned(), content: vec![text(words)], failed: false }
}

/// An assistant's message with thinking, text and a call.
pub(super) fn calls(id: &str) -> HistoryItem {
    item(Speaker::Assistant, vec![ContentBlock::Thinking, text("let me see"), call(id)])
}

pub(super) fn answers(id: &str, words: &str) -> HistoryItem {
    item(Speaker::User, vec![answer(id, words)])
}

pub(super) fn unknown(kind: &str) -> ContentBlock {
    ContentBlock::Other { kind: kind.to_owned(), json: json!({ "type": kind }) }
}

pub(super) fn request(items: Vec<HistoryItem>) -> ClientRequest {
    ClientRequest {
        api: WireApi::Messages,
        endpoint: Endpoint::Generate,
        signals: Signals::default(),
        system: String::new(),
        tool_count: 1,
        fixed_tokens: Tokens(10),
        output_tokens_max: None,
        is_prewarm: false,
        compaction_at: None,
        trimmed: Default::default(),
        items,
    }
}

pub(super) fn part_tokens(request: &ClientRequest, part: &HistoryPart) -> Tokens {
    match part {
        HistoryPart::Note { text, .. } => WordCounter.count(text),
        HistoryPart::Item { at, omitted, shortened, appended } => {
            let whole = &request.items[*at];
            let mut blocks = whole.blocks.to_vec();
            for (nth, words) in shortened {
                blocks[*nth] = match &blocks[*nth] {
                    ContentBlock::ToolCall(call) => {
                        ContentBlock::ToolCall(ToolCall { arguments: words.to_string(), ..call.clone() })
                    }
                    ContentBlock::ToolResult { id, failed, .. } => {
                        ContentBlock::ToolResult { id: id.clone(), content: vec![text(words)], failed: *failed }
                    }
                    ContentBlock::Text(_) | ContentBlock::Thinking | ContentBlock::Other { .. } => text(words),
                };
            }
            let kept = blocks.into_iter().enumerate().filter(|(nth, _)| !omitted.contains(nth));
            let appended = appended.as_deref().map_or(Tokens::ZERO, |text| WordCounter.count(text));
            item(whole.speaker, kept.map(|(_, block)| block).collect()).tokens + appended
        }
    }
}

pub(super) fn make_plan(
    request: &ClientRequest,
    cut: &HistoryCut,
    note: &str,
    bounds: &Bounds,
) -> Result<CutPlan, Tokens> {
    let chain = Chain::from_request(&tenant(), request);
    let part_tokens = |part: &HistoryPart| part_tokens(request, part);
    let inputs = CutInputs {
        counter: &WordCounter,
        part_tokens: &part_tokens,
        turn_of: &|at| TurnNo(at as u64),
        is_stored: true,
    };
    CutPlan::new(1, (request, &chain), cut, note, inputs, bounds)
}

pub(super) fn tenant() -> Tenant {
    Tenant::from_key(Some("sk-one"))
}
