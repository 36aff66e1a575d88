//! The new message and the tool rounds of this turn: what the model answers now.

use std::borrow::Cow;

use super::shares::level;
use super::{Placed, ThisTurn};
use crate::excerpt::{Cut, EXCERPT_TOKENS_MIN, cut_message, in_part, in_part_room};
use crate::handle::Handle;
use crate::ledger::Layer;
use crate::message::{Counted, ToolRound};
use crate::prompt;
use crate::render;
use crate::tokens::{TokenCounter, Tokens};

/// Most of the room that this turn's messages may take from everything else, in per cent.
const TURN_SHARE_PERCENT: u64 = 75;

/// What happens in a turn, as a prompt shows it.
pub(crate) struct ShownTurn<'a> {
    of: ThisTurn<'a>,
    message: Option<Cow<'a, Counted>>,
    rounds: Cow<'a, [ToolRound]>,
}

impl<'a> ShownTurn<'a> {
    pub(crate) fn of(counter: &dyn TokenCounter, of: ThisTurn<'a>) -> Self {
        let message = of.message.map(|said| render::message(counter, said));
        Self { of, message, rounds: render::rounds(counter, of.rounds) }
    }

    pub(crate) fn this_turn(&self) -> ThisTurn<'_> {
        ThisTurn { message: self.message.as_deref(), rounds: &self.rounds, ..self.of }
    }
}

pub(super) struct TurnPart {
    pub(super) messages: Vec<Placed>,
    pub(super) tokens: Tokens,
    pub(super) rounds_left_out: u64,
}

/// Room that must be there for the message of a turn, whatever else is.
pub(super) fn least() -> Tokens {
    Tokens((EXCERPT_TOKENS_MIN.0 * 100).div_ceil(TURN_SHARE_PERCENT))
}

/// Shows the message, cut if it must be, and the newest rounds that fit.
pub(super) fn render(counter: &dyn TokenCounter, this_turn: ThisTurn<'_>, room: Tokens) -> TurnPart {
    let room = room.percent(TURN_SHARE_PERCENT);
    let mut used = Tokens::ZERO;
    let mut said: Vec<Counted> = Vec::new();
    if let Some(message) = this_turn.message {
        // Rounds may need room as well: with some, the message takes at most half.
        let least = message.tokens.min(EXCERPT_TOKENS_MIN);
        let max = if this_turn.rounds.is_empty() { room } else { room.percent(50).max(least) };
        let Cut { said: shown, .. } =
            cut_message(counter, message, &Handle::Message { turn: this_turn.turn, index: 0 }, max);
        used += shown.tokens;
        said.push(shown);
    }
    if let Some(guidance) = this_turn.guidance.filter(|guidance| used + guidance.tokens <= room) {
        used += guidance.tokens;
        said.push(guidance.clone());
    }

    let mut rounds: Vec<Vec<Counted>> = Vec::new();
    for round in this_turn.rounds.iter().rev() {
        let Some(shown) = fit_round(counter, this_turn, round, room - used) else { break };
        used += shown.iter().map(|counted| counted.tokens).sum();
        rounds.push(shown);
    }
    let rounds_left_out = (this_turn.rounds.len() - rounds.len()) as u64;
    said.extend(rounds.into_iter().rev().flatten());
    let messages = said.into_iter().map(|said| Placed { layer: Layer::Message, said }).collect();
    TurnPart { messages, tokens: used, rounds_left_out }
}

/// A round, whole or with its texts cut; none if even that is too much. Never a part of it (I7).
fn fit_round(
    counter: &dyn TokenCounter,
    this_turn: ThisTurn<'_>,
    round: &ToolRound,
    room: Tokens,
) -> Option<Vec<Counted>> {
    let whole: Tokens = round.with_notes().map(|counted| counted.tokens).sum();
    if whole <= room {
        return Some(round.with_notes().cloned().collect());
    }
    // What rules say about it is short, and ours: it is never shown in part.
    let notes: Tokens = round.notes.iter().map(|note| note.tokens).sum();
    let handle = Handle::Turn(this_turn.turn);
    let around = notes + in_part_room(counter, prompt::REPLY_IN_PART, &handle, 1);
    let costs: Vec<Tokens> = round.messages().map(|counted| counted.tokens).collect();
    let level = level(room.saturating_sub(around), &costs);
    let cut: Vec<Cut> = round.messages().map(|said| cut_message(counter, said, &handle, level)).collect();
    let left_out: Vec<_> = cut.iter().filter_map(|cut| cut.left_out.clone()).collect();
    let said = cut.into_iter().map(|cut| cut.said).chain(round.notes.iter().cloned());
    let shown: Vec<Counted> = said.chain(in_part(counter, prompt::REPLY_IN_PART, &left_out)).collect();
    (shown.iter().map(|counted| counted.tokens).sum::<Tokens>() <= room).then_some(shown)
}
