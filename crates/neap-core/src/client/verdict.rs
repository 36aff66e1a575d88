//! Compares a request's history with the recorded one.

use super::chain::Chain;
use super::request::{HistoryItem, Speaker};
use crate::session::request_account::{HistoryHead, HistoryVerdict};

/// `head` is where the session's history ends, if the session exists. `own` is the number of leading items that
/// are in that history, `others` the same for any other session's.
pub fn judge_history(
    head: Option<&HistoryHead>,
    own: usize,
    others: usize,
    chain: &Chain,
    items: &[HistoryItem],
) -> HistoryVerdict {
    let Some(head) = head else {
        return if others > 0 { HistoryVerdict::Fork } else { HistoryVerdict::NewSession };
    };
    if own == 0 {
        // A response named in place of the history is all the history there is.
        let continues = head.answered.contains(&chain.start()) && chain.stable_len() > 0;
        return if continues { HistoryVerdict::Turn } else { HistoryVerdict::ClientCompaction };
    }
    if items[own.min(items.len())..].iter().any(HistoryItem::is_compaction) {
        return HistoryVerdict::ClientCompaction;
    }
    let end = chain.prefix_digest(own);
    let is_answered = !head.answered.is_empty();
    if own >= chain.stable_len() {
        return match (chain.stable_digest() == head.asked, is_answered) {
            (true, true) => HistoryVerdict::Regeneration,
            (true, false) => HistoryVerdict::Retry,
            (false, _) if head.answered.contains(&end) => HistoryVerdict::Retry,
            (false, _) => HistoryVerdict::Edit,
        };
    }
    if head.answered.contains(&end) {
        return HistoryVerdict::Turn;
    }
    // The reply may come back in other words, or was never recorded.
    let next = items[own..].iter().find(|item| item.speaker != Speaker::System && !item.has_no_content());
    let brings_reply = next.is_some_and(|item| item.speaker == Speaker::Assistant);
    // Trailing system items may have stayed where they were.
    let spoken = items[..own].iter().rposition(|item| item.speaker != Speaker::System).map_or(0, |at| at + 1);
    let is_asked = end == head.asked || chain.prefix_digest(spoken) == head.asked;
    if is_asked && (brings_reply || !is_answered) { HistoryVerdict::Turn } else { HistoryVerdict::Edit }
}
