//! An exchange in a room that may be too small for it.

use crate::assemble::level;
use crate::excerpt::{EXCERPT_TOKENS_MIN, cut_message_as};
use crate::handle::Handle;
use crate::ids::TurnNo;
use crate::message::{Counted, Message, Role};
use crate::prompt;
use crate::tokens::{TokenCounter, Tokens};

/// What these messages cost.
pub(super) fn sum(said: &[Counted]) -> Tokens {
    said.iter().map(|counted| counted.tokens).sum()
}

/// The messages within the room: whole, or each over-long one head and tail, or the first and the newest of them
/// with a line for those between. In a room below [`EXCERPT_TOKENS_MIN`] there may be none.
pub(super) fn fit_exchange(
    counter: &dyn TokenCounter,
    turn: TurnNo,
    messages: &[Counted],
    room: Tokens,
) -> Vec<Counted> {
    if sum(messages) <= room {
        return messages.to_vec();
    }
    let cut = |index: usize, max: Tokens| {
        let handle = Handle::Message { turn, index };
        cut_message_as(counter, &messages[index], &handle, max, prompt::TOLD_EXCERPT)
    };
    let costs: Vec<Tokens> = messages.iter().map(|said| said.tokens).collect();
    let each = level(room, &costs);
    if each >= EXCERPT_TOKENS_MIN {
        let all: Vec<Counted> = (0..messages.len()).map(|index| cut(index, each)).collect();
        if sum(&all) <= room {
            return all;
        }
    }
    ends(counter, turn, messages, room, cut)
}

/// The first message and the newest ones.
fn ends(
    counter: &dyn TokenCounter,
    turn: TurnNo,
    messages: &[Counted],
    room: Tokens,
    cut: impl Fn(usize, Tokens) -> Counted,
) -> Vec<Counted> {
    let line = |count: usize| {
        let values = [("count", &*count.to_string()), ("handle", &*Handle::Turn(turn).to_string())];
        Counted::new(counter, Message::user(prompt::fill(prompt::TOLD_GAP, &values)))
    };
    let each = Tokens(room.0 / 4).max(EXCERPT_TOKENS_MIN);
    // The count in it is never larger than this one.
    let first = cut(0, each);
    let head = first.tokens + line(messages.len()).tokens;
    let with_head = messages.len() > 1 && head + EXCERPT_TOKENS_MIN <= room;
    let mut left = if with_head { room - head } else { room };
    let mut newest: Vec<Counted> = Vec::new();
    for index in (usize::from(with_head)..messages.len()).rev() {
        let shown = cut(index, each.min(left));
        let is_lost = shown.message.content.is_empty() && !messages[index].message.content.is_empty();
        if shown.tokens > left || is_lost {
            break;
        }
        left -= shown.tokens;
        newest.push(shown);
    }
    // Results stay with what called for them.
    while newest.len() > 1 && newest.last().is_some_and(|said| said.message.role == Role::Tool) {
        newest.pop();
    }
    newest.reverse();
    if !with_head {
        return newest;
    }
    let gap = messages.len() - 1 - newest.len();
    std::iter::once(first).chain((gap > 0).then(|| line(gap))).chain(newest).collect()
}
