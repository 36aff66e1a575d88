//! What became of the history since the last time.

use serde::{Deserialize, Serialize};

use super::chain::{Chain, Line};
use super::heard::{Item, Speaker};

/// What a request is to what was heard before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing of it was heard before.
    NewSession,
    /// It goes on where it ended.
    Turn,
    /// The same again, before there was an answer.
    Retry,
    /// The same again, after there was one: another answer beside it.
    Regeneration,
    /// It goes on from an earlier place.
    Edit,
    /// The same session with another history: the client has put its own in short, or cleared it.
    ClientCompaction,
    /// A new session that begins as another went.
    Fork,
}

impl Verdict {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::NewSession => "new_session",
            Verdict::Turn => "turn",
            Verdict::Retry => "retry",
            Verdict::Regeneration => "regeneration",
            Verdict::Edit => "edit",
            Verdict::ClientCompaction => "client_compaction",
            Verdict::Fork => "fork",
        }
    }
}

/// Judges a request.
///
/// `line` is where the session's history ends, if there is such a session; `own` how many of the items are in that history,
/// from the first on, and `others` the same of any other session's.
pub fn judge(line: Option<&Line>, own: usize, others: usize, chain: &Chain, items: &[Item]) -> Verdict {
    let Some(line) = line else {
        return if others > 0 { Verdict::Fork } else { Verdict::NewSession };
    };
    if own == 0 {
        // An answer that is named in place of the history is all the history there is.
        let goes_on = line.answered.contains(&chain.start()) && chain.stem() > 0;
        return if goes_on { Verdict::Turn } else { Verdict::ClientCompaction };
    }
    if items[own.min(items.len())..].iter().any(Item::is_compaction) {
        return Verdict::ClientCompaction;
    }
    let end = chain.upto(own);
    let is_answered = !line.answered.is_empty();
    if own >= chain.stem() {
        return match (chain.asked() == line.asked, is_answered) {
            (true, true) => Verdict::Regeneration,
            (true, false) => Verdict::Retry,
            (false, _) if line.answered.contains(&end) => Verdict::Retry,
            (false, _) => Verdict::Edit,
        };
    }
    if line.answered.contains(&end) {
        return Verdict::Turn;
    }
    // The answer may come back in other words, or was never heard.
    let next = items[own..].iter().find(|item| item.speaker != Speaker::System && !item.is_hollow());
    let brings_answer = next.is_some_and(|item| item.speaker == Speaker::Assistant);
    // Instructions that came last may have stayed where they were.
    let spoken = items[..own].iter().rposition(|item| item.speaker != Speaker::System).map_or(0, |at| at + 1);
    let is_asked = end == line.asked || chain.upto(spoken) == line.asked;
    if is_asked && (brings_answer || !is_answered) { Verdict::Turn } else { Verdict::Edit }
}
