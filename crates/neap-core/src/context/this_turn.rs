//! This turn's new message and tool rounds.

use std::borrow::Cow;

use super::budget::{CutExchange, CutTemplates, cut_exchange};
use super::{LayeredMessage, ThisTurn};
use crate::base::handle::Handle;
use crate::base::ledger::Layer;
use crate::base::message::{CountedMessage, ToolRound, total_tokens};
use crate::base::tokens::{TokenCounter, Tokens};
use crate::text::excerpt::{CutMessage, EXCERPT_TOKENS_MIN};
use crate::text::render;

/// Most of the room that this turn's messages may take, in per cent.
const TURN_SHARE_PERCENT: u64 = 75;

pub(crate) struct RenderedTurn<'a> {
    turn: ThisTurn<'a>,
    message: Option<Cow<'a, CountedMessage>>,
    rounds: Cow<'a, [ToolRound]>,
}

impl<'a> RenderedTurn<'a> {
    pub(crate) fn of(counter: &dyn TokenCounter, turn: ThisTurn<'a>) -> Self {
        let message = turn.message.map(|message| render::message(counter, message));
        Self { turn, message, rounds: render::rounds(counter, turn.rounds) }
    }

    pub(crate) fn this_turn(&self) -> ThisTurn<'_> {
        ThisTurn { message: self.message.as_deref(), rounds: &self.rounds, ..self.turn }
    }
}

pub(super) struct TurnPart {
    pub(super) messages: Vec<LayeredMessage>,
    pub(super) tokens: Tokens,
    pub(super) rounds_left_out: u64,
}

/// Room that must be left for a turn's message.
pub(super) fn message_tokens_min() -> Tokens {
    Tokens((EXCERPT_TOKENS_MIN.0 * 100).div_ceil(TURN_SHARE_PERCENT))
}

/// Renders the message, cut if need be, and the newest rounds that fit.
pub(super) fn render(counter: &dyn TokenCounter, this_turn: ThisTurn<'_>, room: Tokens) -> TurnPart {
    let room = room.percent(TURN_SHARE_PERCENT);
    let mut used = Tokens::ZERO;
    let mut messages: Vec<CountedMessage> = Vec::new();
    if let Some(message) = this_turn.message {
        // Rounds need room as well: beside any, the message takes at most half.
        let least = message.tokens.min(EXCERPT_TOKENS_MIN);
        let max = if this_turn.rounds.is_empty() { room } else { room.percent(50).max(least) };
        let CutMessage { counted: shown, .. } =
            CutTemplates::PROMPT.cut(counter, message, &Handle::Message { turn: this_turn.turn, index: 0 }, max);
        used += shown.tokens;
        messages.push(shown);
    }
    if let Some(guidance) = this_turn.guidance.filter(|guidance| used + guidance.tokens <= room) {
        used += guidance.tokens;
        messages.push(guidance.clone());
    }

    let mut rounds: Vec<Vec<CountedMessage>> = Vec::new();
    for round in this_turn.rounds.iter().rev() {
        let Some(shown) = fit_round(counter, this_turn, round, room - used) else { break };
        used += shown.iter().map(|counted| counted.tokens).sum();
        rounds.push(shown);
    }
    let rounds_left_out = (this_turn.rounds.len() - rounds.len()) as u64;
    messages.extend(rounds.into_iter().rev().flatten());
    let messages = messages.into_iter().map(|counted| LayeredMessage { layer: Layer::Message, counted }).collect();
    TurnPart { messages, tokens: used, rounds_left_out }
}

/// A whole round, or one with its texts cut; `None` if even that does not fit. Never a part of a round (I7).
fn fit_round(
    counter: &dyn TokenCounter,
    this_turn: ThisTurn<'_>,
    round: &ToolRound,
    room: Tokens,
) -> Option<Vec<CountedMessage>> {
    if total_tokens(round.messages_with_notes()) <= room {
        return Some(round.messages_with_notes().cloned().collect());
    }
    // Censor notes are short and Neap's own: they are never cut.
    let notes = total_tokens(&round.notes);
    let messages: Vec<&CountedMessage> = round.messages().collect();
    let handle = |_| Handle::Turn(this_turn.turn);
    let room = (room.saturating_sub(notes), Tokens::ZERO);
    let CutExchange { messages, note } = cut_exchange(counter, &messages, handle, CutTemplates::PROMPT, room)?;
    Some(messages.into_iter().chain(round.notes.iter().cloned()).chain(note).collect())
}
