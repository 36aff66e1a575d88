//! Fits an exchange into a budget that may be too small for it.

use crate::base::handle::Handle;
use crate::base::ids::TurnNo;
use crate::base::message::{CountedMessage, Message, Role, total_tokens};
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::context::budget::{CutTemplates, cut_exchange};
use crate::text::excerpt::{CutMessage, EXCERPT_TOKENS_MIN};

/// The messages within a budget: all of them whole; or each over-long one as head and tail; or the first and the
/// newest, with a line for the gap. Below [`EXCERPT_TOKENS_MIN`] there may be none.
pub(super) fn fit_exchange(
    counter: &dyn TokenCounter,
    turn: TurnNo,
    messages: &[CountedMessage],
    budget: Tokens,
) -> Vec<CountedMessage> {
    if total_tokens(messages) <= budget {
        return messages.to_vec();
    }
    let templates = CutTemplates::HOST_LOG;
    let handle = |index| Handle::Message { turn, index };
    let whole: Vec<&CountedMessage> = messages.iter().collect();
    if let Some(all) = cut_exchange(counter, &whole, handle, templates, (budget, EXCERPT_TOKENS_MIN)) {
        return all.into_messages();
    }
    let cut = |index: usize, max: Tokens| templates.cut(counter, &messages[index], &handle(index), max);
    // Show less of the messages to make room for the note.
    let replies = messages.iter().filter(|counted| counted.message.role == Role::Assistant).count();
    let note_tokens = templates.note_tokens(counter, &handle(messages.len()), replies);
    let shown = first_and_newest(counter, turn, messages, budget.saturating_sub(note_tokens), cut);
    let shown = templates.annotate(counter, shown).into_messages();
    if total_tokens(&shown) <= budget && shown.len() > 1 {
        return shown;
    }
    first_and_newest(counter, turn, messages, budget, cut).into_iter().map(|cut| cut.counted).collect()
}

/// The first message and the newest ones, with a line for the gap.
fn first_and_newest(
    counter: &dyn TokenCounter,
    turn: TurnNo,
    messages: &[CountedMessage],
    budget: Tokens,
    cut: impl Fn(usize, Tokens) -> CutMessage,
) -> Vec<CutMessage> {
    let gap_line = |count: usize| {
        let values = [("count", &*count.to_string()), ("handle", &*Handle::Turn(turn).to_string())];
        let counted = CountedMessage::new(counter, Message::user(prompt::fill(prompt::HOST_LOG_GAP, &values)));
        CutMessage { counted, left_out: None }
    };
    let share = Tokens(budget.0 / 4).max(EXCERPT_TOKENS_MIN);
    // No gap line has a larger count than this.
    let first = cut(0, share);
    let head_tokens = first.counted.tokens + gap_line(messages.len()).counted.tokens;
    let with_head = messages.len() > 1 && head_tokens + EXCERPT_TOKENS_MIN <= budget;
    let mut left = if with_head { budget - head_tokens } else { budget };
    let mut newest: Vec<CutMessage> = Vec::new();
    for index in (usize::from(with_head)..messages.len()).rev() {
        let shown = cut(index, share.min(left));
        let is_lost = shown.counted.message.content.is_empty() && !messages[index].message.content.is_empty();
        if shown.counted.tokens > left || is_lost {
            break;
        }
        left -= shown.counted.tokens;
        newest.push(shown);
    }
    // A result stays with its call.
    while newest.len() > 1 && newest.last().is_some_and(|cut| cut.counted.message.role == Role::Tool) {
        newest.pop();
    }
    newest.reverse();
    if !with_head {
        return newest;
    }
    let gap = messages.len() - 1 - newest.len();
    std::iter::once(first).chain((gap > 0).then(|| gap_line(gap))).chain(newest).collect()
}
