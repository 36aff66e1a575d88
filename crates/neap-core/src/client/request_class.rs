//! Classifies requests. Programs also send auxiliary requests (titles, token counts, compaction) in the same
//! session; those are not recorded, and are forwarded unchanged as long as they fit the budget.

use std::sync::LazyLock;

use regex::Regex;

use super::request::{ClientRequest, ContentBlock, Endpoint, HistoryItem, Speaker};
use crate::session::request_account::RequestClass;

/// Title requests have few items.
const TITLE_ITEMS_MAX: usize = 6;
/// Bytes scanned from the start of a text.
const SCAN_BYTES: usize = 2_048;

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("the pattern is valid"));
    };
}

pattern!(
    ASKS_FOR_TITLE,
    r"(?i)\b(generate|write|create|give|suggest|come up with|produce|extract|output)\b[^.\n]{0,60}\b(title|topic name|headline|branch name|session name|conversation name)\b|\bnew conversation topic\b|\btitle generator\b"
);
pattern!(
    ASKS_FOR_SUMMARY,
    r"(?i)\bcontext checkpoint compaction\b|\b(create|write|provide|produce|make)\b[^.\n]{0,40}\bsummary of (the|this|our) (conversation|session|chat)( so far)?\b|\bsummari[sz]e (the|this|our) (conversation|session|chat)( so far)?\b|\bhandoff summary\b"
);

pub fn classify(request: &ClientRequest) -> RequestClass {
    match request.endpoint {
        Endpoint::CountTokens => return RequestClass::CountTokens,
        Endpoint::Compact => return RequestClass::ClientCompaction,
        Endpoint::Generate => {}
    }
    if request.has_trigger() {
        return RequestClass::ClientCompaction;
    }
    let Some(last) =
        request.items.iter().rev().find(|item| item.speaker != Speaker::System && !item.has_no_content())
    else {
        return if request.is_prewarm { RequestClass::Prewarm } else { RequestClass::Unsure };
    };
    if request.is_prewarm || request.output_tokens_max.is_some_and(|tokens| tokens <= 1) {
        return RequestClass::Prewarm;
    }
    if last.is_turn_start() && asks_for_summary(last) {
        return RequestClass::ClientCompaction;
    }
    if asks_for_title(request) {
        return RequestClass::Title;
    }
    let is_result = last.speaker == Speaker::Tool || last.answered_call_ids().next().is_some();
    if !is_result && !last.is_turn_start() {
        return RequestClass::Unsure;
    }
    match (&request.signals.subagent, is_result) {
        (Some(_), _) => RequestClass::Subagent,
        (None, true) => RequestClass::ToolLoop,
        (None, false) => RequestClass::MainTurn,
    }
}

/// Programs append their instruction to the person's last message.
fn asks_for_summary(last: &HistoryItem) -> bool {
    let text = last
        .blocks
        .iter()
        .rev()
        .find_map(|block| if let ContentBlock::Text(text) = block { Some(text) } else { None });
    // A person asks for a summary in one line; a program's instruction is longer.
    text.is_some_and(|text| ASKS_FOR_SUMMARY.is_match(scanned_prefix(text)) && text.len() > 200)
}

fn asks_for_title(request: &ClientRequest) -> bool {
    if request.tool_count > 0 || request.items.len() > TITLE_ITEMS_MAX {
        return false;
    }
    let system_items = request.items.iter().filter(|item| item.speaker == Speaker::System).map(HistoryItem::text);
    let systems = system_items.chain([request.system.clone()]);
    let is_title = |text: &str| ASKS_FOR_TITLE.is_match(scanned_prefix(text));
    // A person may ask for a title, too; a program asks before the person's text.
    let first = request.items.iter().find(|item| item.is_turn_start()).map(HistoryItem::text).unwrap_or_default();
    let users = request.items.iter().filter(|item| item.is_turn_start()).count();
    systems.into_iter().any(|text| is_title(&text)) || (users > 1 && is_title(&first))
}

fn scanned_prefix(text: &str) -> &str {
    &text[..text.floor_char_boundary(SCAN_BYTES)]
}
