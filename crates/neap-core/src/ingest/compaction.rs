//! A history put in short here, because its client asks for that: what the client keeps in its place, and knows nothing of.
//!
//! It says what a cut would say ([`checkpoint`]), and after that the newest part word for word: the client may keep
//! nothing of what was said last.

use super::checkpoint::checkpoint;
use super::heard::{Api, Block, Endpoint, Heard, Item, Speaker};
use super::layout::Frozen;
use crate::excerpt::{EXCERPT_TOKENS_MIN, excerpt};
use crate::handle::Handle;
use crate::ids::TurnNo;
use crate::prompt;
use crate::render::{one_line, quoted};
use crate::state::SessionState;
use crate::tokens::{TokenCounter, Tokens};

/// What a client calls the item that stands for its history.
const COMPACTION: &str = "compaction";
/// The last item where a client asks for one.
const TRIGGER: &str = "compaction_trigger";

/// Most of a budget for the record, and for what is kept word for word, in per cent of it.
const PART_PERCENT: u64 = 12;
/// The same in tokens.
const PART_TOKENS_MAX: Tokens = Tokens(8_000);
/// One text has at most so much of what is kept word for word, in per cent of it.
const TEXT_PERCENT: u64 = 40;

impl Heard {
    /// Whether the client asks for its history in short, in a way that we can answer ourselves.
    pub fn wants_compaction(&self) -> bool {
        self.api == Api::Responses && (self.endpoint == Endpoint::Compact || self.has_trigger())
    }

    /// The same without the item that only asks for it.
    pub fn without_trigger(&self) -> Heard {
        let mut heard = self.clone();
        if self.has_trigger() {
            heard.items.pop();
        }
        heard
    }

    pub(super) fn has_trigger(&self) -> bool {
        self.items.last().is_some_and(|item| item.has_kind(TRIGGER))
    }
}

impl Item {
    /// Whether it stands for a history that was put in short, by us or by a provider.
    pub fn is_compaction(&self) -> bool {
        self.has_kind(COMPACTION)
    }

    fn has_kind(&self, wanted: &str) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Other { kind, .. } if kind == wanted))
    }
}

/// What the record may cost; as much again may be kept word for word.
pub fn compaction_room(budget: Tokens) -> Tokens {
    budget.percent(PART_PERCENT).min(PART_TOKENS_MAX)
}

/// A history in short: the record of all that has a summary, and the newest items word for word, each part within the room.
pub fn in_short(state: &SessionState, heard: &Heard, room: Tokens, counter: &dyn TokenCounter) -> String {
    let record = checkpoint(state, state.turn().next(), room, counter);
    let latest = latest(state, &heard.items, room, counter);
    [record, latest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The newest of what was said; empty if nothing fits.
fn latest(state: &SessionState, items: &[Item], room: Tokens, counter: &dyn TokenCounter) -> String {
    let (head, end) = (prompt::fill(prompt::TOLD_LATEST, &[]), prompt::fill(prompt::TOLD_END, &[]));
    let mut left = room.saturating_sub(Frozen::cost(counter, &format!("{head}\n{end}")));
    let mut lines: Vec<String> = Vec::new();
    let said = items.iter().rev().filter(|item| item.speaker != Speaker::System && !item.is_compaction());
    // The newest is of the latest turn; behind what begins a turn is the one before.
    let mut turn = state.turn().0;
    let of_turn = said.map(|item| {
        let of = turn;
        turn = turn.saturating_sub(u64::from(item.begins_turn()));
        (item, of)
    });
    let blocks = of_turn.flat_map(|(item, turn)| {
        item.blocks
            .iter()
            .rev()
            .filter_map(move |block| told(item, block).map(|(name, words)| (name, words, turn)))
    });
    for (name, words, turn) in blocks {
        let whole = counter.count(&words);
        let most = room.percent(TEXT_PERCENT).min(left);
        if whole > most && most < EXCERPT_TOKENS_MIN {
            break;
        }
        let words = match whole <= most {
            true => words,
            false => excerpt(counter, &words, whole, &Handle::Turn(TurnNo(turn)), most).0,
        };
        let line = format!("[{name}] {}", quoted(words.trim()));
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

/// Who says a block, and what.
fn told(item: &Item, block: &Block) -> Option<(String, String)> {
    let (name, words) = match block {
        Block::Call(call) => {
            (format!("calls {}", one_line(&call.name).replace(['[', ']'], " ")), call.arguments.clone())
        }
        Block::Answer { .. } => ("result".to_owned(), block.words().into_owned()),
        Block::Text(_) | Block::Other { .. } => (item.speaker.as_str().to_owned(), block.words().into_owned()),
        Block::Thinking => return None,
    };
    (!words.trim().is_empty()).then_some((name, words))
}
