//! An exchange in a room that may be too small for it.

use crate::assemble::level;
use crate::excerpt::{Cut, EXCERPT_TOKENS_MIN, cut_message_as, in_part, in_part_room};
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
    let replies = messages.iter().filter(|said| said.message.role == Role::Assistant).count();
    let last = Handle::Message { turn, index: messages.len() };
    let note_room = in_part_room(counter, prompt::TOLD_IN_PART, &last, replies);
    let each = level(room.saturating_sub(note_room), &costs);
    if each >= EXCERPT_TOKENS_MIN {
        let all = with_note(counter, (0..messages.len()).map(|index| cut(index, each)));
        if sum(&all) <= room {
            return all;
        }
    }
    // Where the line about it has no room, less of the messages is shown.
    let shown = ends(counter, turn, messages, room.saturating_sub(note_room), cut);
    let shown = with_note(counter, shown);
    if sum(&shown) <= room && shown.len() > 1 { shown } else { said_of(ends(counter, turn, messages, room, cut)) }
}

/// Messages, and the line about those that are shown in part.
fn with_note(counter: &dyn TokenCounter, cut: impl IntoIterator<Item = Cut>) -> Vec<Counted> {
    let (mut said, mut left_out) = (Vec::new(), Vec::new());
    for cut in cut {
        said.push(cut.said);
        left_out.extend(cut.left_out);
    }
    said.extend(in_part(counter, prompt::TOLD_IN_PART, &left_out));
    said
}

fn said_of(cut: Vec<Cut>) -> Vec<Counted> {
    cut.into_iter().map(|cut| cut.said).collect()
}

/// The first message and the newest ones.
fn ends(
    counter: &dyn TokenCounter,
    turn: TurnNo,
    messages: &[Counted],
    room: Tokens,
    cut: impl Fn(usize, Tokens) -> Cut,
) -> Vec<Cut> {
    let line = |count: usize| {
        let values = [("count", &*count.to_string()), ("handle", &*Handle::Turn(turn).to_string())];
        let said = Counted::new(counter, Message::user(prompt::fill(prompt::TOLD_GAP, &values)));
        Cut { said, left_out: None }
    };
    let each = Tokens(room.0 / 4).max(EXCERPT_TOKENS_MIN);
    // The count in it is never larger than this one.
    let first = cut(0, each);
    let head = first.said.tokens + line(messages.len()).said.tokens;
    let with_head = messages.len() > 1 && head + EXCERPT_TOKENS_MIN <= room;
    let mut left = if with_head { room - head } else { room };
    let mut newest: Vec<Cut> = Vec::new();
    for index in (usize::from(with_head)..messages.len()).rev() {
        let shown = cut(index, each.min(left));
        let is_lost = shown.said.message.content.is_empty() && !messages[index].message.content.is_empty();
        if shown.said.tokens > left || is_lost {
            break;
        }
        left -= shown.said.tokens;
        newest.push(shown);
    }
    // Results stay with what called for them.
    while newest.len() > 1 && newest.last().is_some_and(|cut| cut.said.message.role == Role::Tool) {
        newest.pop();
    }
    newest.reverse();
    if !with_head {
        return newest;
    }
    let gap = messages.len() - 1 - newest.len();
    std::iter::once(first).chain((gap > 0).then(|| line(gap))).chain(newest).collect()
}
