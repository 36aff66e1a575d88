//! Logs in the context: the newest whole exchanges that fit, and a line about the rest.

use std::sync::Arc;

use super::Placed;
use super::select::Selection;
use super::shares::level;
use crate::effort::{Effort, LogSize};
use crate::excerpt::{EXCERPT_TOKENS_MIN, cut_message};
use crate::ledger::{Layer, LayerTokens, Ledger, LogShown};
use crate::log::{Log, Logs};
use crate::message::{Counted, Exchange, Message, Scope, message_tokens};
use crate::prompt;
use crate::state::SessionState;
use crate::tokens::{TokenCounter, Tokens};

/// One log that belongs in the context.
pub(super) struct Section<'a> {
    pub(super) layer: Layer,
    scope: Scope,
    size: LogSize,
    held: Option<&'a Log>,
    /// Exchanges at most, whatever the budget.
    window: usize,
    /// What the line before it costs at most.
    marker_tokens: Tokens,
    /// What showing all of it would cost, that line included.
    pub(super) demand: Tokens,
}

impl Section<'_> {
    fn newest_first(&self) -> impl Iterator<Item = &Arc<Exchange>> {
        self.held.into_iter().flat_map(|log| log.exchanges().rev()).take(self.window)
    }

    /// Exchanges that the window, not the budget, leaves out are not spoken of.
    fn due(&self) -> u64 {
        self.size.exchanges.min(self.window as u64)
    }

    fn marker(&self, left_out: u64) -> Option<Message> {
        let template = match self.layer {
            Layer::Expanded => prompt::LOG_EXPANDED,
            Layer::Open => prompt::LOG_OPEN,
            Layer::Active => prompt::LOG_ACTIVE,
            Layer::Ambient if left_out > 0 => prompt::LOG_AMBIENT,
            Layer::Ambient | Layer::Protocol | Layer::Tools | Layer::Summaries | Layer::Note | Layer::Message => {
                return None;
            }
        };
        let older = match left_out {
            0 => String::new(),
            n => prompt::fill(prompt::LOG_OLDER, &[("count", &n.to_string())]),
        };
        let id = self.scope.effort().map_or("", |id| id.as_str());
        Some(Message::user(prompt::fill(template, &[("id", id), ("older", &older)])))
    }
}

/// The logs of a selection, in the order of the context.
pub(super) fn sections<'a>(
    counter: &dyn TokenCounter,
    selection: &Selection<'_>,
    state: &SessionState,
    logs: &'a Logs,
) -> Vec<Section<'a>> {
    let section = |layer: Layer, scope: Scope, window: usize| {
        let (size, held) = (state.log_size(&scope), logs.get(&scope));
        let zero = Tokens::ZERO;
        let mut section = Section { layer, scope, size, held, window, marker_tokens: zero, demand: zero };
        // The count in it is never larger than this one.
        let marker = section.marker(section.due()).map(|message| message_tokens(counter, &message));
        section.marker_tokens = marker.unwrap_or_default();
        let newest: Tokens = section.newest_first().map(|exchange| exchange.tokens()).sum();
        section.demand = if newest == zero { zero } else { newest + section.marker_tokens };
        section
    };
    let ambient_window = usize::try_from(state.policy().ambient_window).unwrap_or(usize::MAX);
    let of = |layer: Layer, effort: &Effort| section(layer, Scope::Effort(effort.id.clone()), usize::MAX);
    std::iter::once(section(Layer::Ambient, Scope::Ambient, ambient_window))
        .chain(selection.expanded.iter().map(|e| of(Layer::Expanded, e)))
        .chain(selection.open.iter().map(|e| of(Layer::Open, e)))
        .chain(selection.active.iter().map(|e| of(Layer::Active, e)))
        .collect()
}

/// Renders every section within what its layer was granted; sections of one layer share it evenly.
pub(super) fn render(
    counter: &dyn TokenCounter,
    sections: &[Section<'_>],
    granted: &LayerTokens,
    ledger: &mut Ledger,
) -> Vec<Placed> {
    let mut out = Vec::new();
    for section in sections {
        if section.due() == 0 {
            continue;
        }
        let peers: Vec<Tokens> = sections.iter().filter(|s| s.layer == section.layer).map(|s| s.demand).collect();
        let room = section.demand.min(level(granted.get(section.layer), &peers));
        render_one(counter, section, room, ledger, &mut out);
    }
    out
}

fn render_one(
    counter: &dyn TokenCounter,
    section: &Section<'_>,
    room: Tokens,
    ledger: &mut Ledger,
    out: &mut Vec<Placed>,
) {
    let mut room_left = room.saturating_sub(section.marker_tokens);
    let mut shown: Vec<(Arc<Exchange>, bool)> = Vec::new();
    for exchange in section.newest_first() {
        if exchange.tokens() <= room_left {
            room_left -= exchange.tokens();
            shown.push((exchange.clone(), false));
            continue;
        }
        if shown.is_empty()
            && let Some(cut) = excerpt_exchange(counter, exchange, room_left)
        {
            shown.push((Arc::new(cut), true));
        }
        break;
    }
    // Another process may have added exchanges that the state does not know of yet.
    let left_out = section.due().saturating_sub(shown.len() as u64);
    let marker = section.marker(left_out).map(|message| Counted::new(counter, message));
    let marker = marker.filter(|said| said.tokens <= room);
    let messages = shown.iter().rev().flat_map(|(exchange, _)| exchange.messages.iter().cloned());
    let placed: Vec<Placed> =
        marker.into_iter().chain(messages).map(|said| Placed { layer: section.layer, said }).collect();
    let tokens = placed.iter().map(|placed| placed.said.tokens).sum();
    ledger.tokens.add(section.layer, tokens);
    ledger.logs.push(LogShown {
        scope: section.scope.clone(),
        layer: section.layer,
        from: shown.last().map(|(exchange, _)| exchange.turn),
        exchanges: shown.len() as u64,
        left_out,
        excerpted: shown.iter().any(|(_, cut)| *cut),
        tokens,
    });
    out.extend(placed);
}

/// An exchange too long for the room, each over-long message shown head and tail; its tool pairs stay whole.
fn excerpt_exchange(counter: &dyn TokenCounter, exchange: &Exchange, room: Tokens) -> Option<Exchange> {
    let costs: Vec<Tokens> = exchange.messages.iter().map(|said| said.tokens).collect();
    let level = level(room, &costs);
    if level < EXCERPT_TOKENS_MIN {
        return None;
    }
    let messages = exchange.messages.iter().map(|said| cut_message(counter, said, exchange.turn, level));
    let cut = Exchange { turn: exchange.turn, at: exchange.at, messages: messages.collect() };
    (cut.tokens() <= room).then_some(cut)
}
