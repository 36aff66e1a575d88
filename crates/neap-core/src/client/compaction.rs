//! Compacts a history when its client asks for it. The client keeps the result in place of its history, possibly
//! nothing else: so it holds a checkpoint ([`render_checkpoint`]) and the newest items verbatim.

use super::checkpoint::render_checkpoint;
use super::cut::CutPlan;
use super::request::{ClientRequest, ContentBlock, Endpoint, HistoryItem, Speaker, WireApi};
use crate::base::handle::Handle;
use crate::base::ids::TurnNo;
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::session::state::SessionState;
use crate::text::excerpt::{EXCERPT_TOKENS_MIN, excerpt};
use crate::text::render::{one_line, quote_lines};

/// The kind of the item that replaces a compacted history.
const COMPACTION: &str = "compaction";
/// The kind of the last item of a request that asks for compaction.
const TRIGGER: &str = "compaction_trigger";

/// Share of the budget for the checkpoint, and again for the verbatim part.
const PART_PERCENT: u64 = 12;
/// Limit of each of these two parts.
const PART_TOKENS_MAX: Tokens = Tokens(8_000);
/// Share of the verbatim part that one text may take.
const TEXT_PERCENT: u64 = 40;

impl ClientRequest {
    /// Whether the client asks for a compaction that we can answer ourselves.
    pub fn wants_compaction(&self) -> bool {
        self.api == WireApi::Responses && (self.endpoint == Endpoint::Compact || self.has_trigger())
    }

    pub fn without_trigger(&self) -> ClientRequest {
        let mut request = self.clone();
        if self.has_trigger() {
            request.items.pop();
        }
        request
    }

    pub(super) fn has_trigger(&self) -> bool {
        self.items.last().is_some_and(|item| item.has_kind(TRIGGER))
    }
}

impl HistoryItem {
    /// Whether it replaces a compacted history, ours or a provider's.
    pub fn is_compaction(&self) -> bool {
        self.has_kind(COMPACTION)
    }

    fn has_kind(&self, wanted: &str) -> bool {
        self.blocks.iter().any(|block| matches!(block, ContentBlock::Other { kind, .. } if kind == wanted))
    }
}

/// Budget of the checkpoint; the verbatim part gets as much again.
pub fn compaction_budget(budget: Tokens) -> Tokens {
    budget.percent(PART_PERCENT).min(PART_TOKENS_MAX)
}

pub fn compact_history(
    state: &SessionState,
    request: &ClientRequest,
    budget: Tokens,
    counter: &dyn TokenCounter,
) -> String {
    let checkpoint = render_checkpoint(state, state.turn().next(), budget, counter);
    let latest = render_latest(state, &request.items, budget, counter);
    [checkpoint, latest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn render_latest(
    state: &SessionState,
    items: &[HistoryItem],
    budget: Tokens,
    counter: &dyn TokenCounter,
) -> String {
    let (head, end) = (prompt::fill(prompt::HOST_LOG_LATEST, &[]), prompt::fill(prompt::HOST_LOG_END, &[]));
    let mut left = budget.saturating_sub(CutPlan::text_tokens(counter, &format!("{head}\n{end}")));
    let mut lines: Vec<String> = Vec::new();
    let dialogue = items.iter().rev().filter(|item| item.speaker != Speaker::System && !item.is_compaction());
    // Walking backwards, an item that starts a turn is the last of that turn.
    let mut turn = state.turn().0;
    let with_turns = dialogue.map(|item| {
        let item_turn = turn;
        turn = turn.saturating_sub(u64::from(item.is_turn_start()));
        (item, item_turn)
    });
    let blocks = with_turns.flat_map(|(item, turn)| {
        item.blocks
            .iter()
            .rev()
            .filter_map(move |block| labeled_text(item, block).map(|(name, text)| (name, text, turn)))
    });
    for (name, text, turn) in blocks {
        let tokens = counter.count(&text);
        let max = budget.percent(TEXT_PERCENT).min(left);
        if tokens > max && max < EXCERPT_TOKENS_MIN {
            break;
        }
        let text = match tokens <= max {
            true => text,
            false => excerpt(counter, &text, tokens, &Handle::Turn(TurnNo(turn)), max).0,
        };
        let line = format!("[{name}] {}", quote_lines(text.trim()));
        let cost = counter.count(&line) + Tokens(2);
        if cost > left {
            break;
        }
        left = left.saturating_sub(cost);
        lines.push(line);
    }
    if lines.is_empty() {
        return String::new();
    }
    lines.reverse();
    format!("{head}\n{}\n{end}", lines.join("\n"))
}

fn labeled_text(item: &HistoryItem, block: &ContentBlock) -> Option<(String, String)> {
    let (name, text) = match block {
        ContentBlock::ToolCall(call) => {
            (format!("calls {}", one_line(&call.name).replace(['[', ']'], " ")), call.arguments.clone())
        }
        ContentBlock::ToolResult { .. } => ("result".to_owned(), block.text().into_owned()),
        ContentBlock::Text(_) | ContentBlock::Other { .. } => {
            (item.speaker.as_str().to_owned(), block.text().into_owned())
        }
        ContentBlock::Thinking => return None,
    };
    (!text.trim().is_empty()).then_some((name, text))
}
