//! Logs in the context: summaries of older spans, the newest whole exchanges that fit, and a line about the rest.

use std::sync::Arc;

use super::Placed;
use super::select::Selection;
use super::shares::level;
use crate::effort::{Effort, LogSize};
use crate::excerpt::{Cut, EXCERPT_TOKENS_MIN, cut_message, in_part, in_part_room};
use crate::handle::Handle;
use crate::ledger::{Layer, LayerTokens, Ledger, LogShown};
use crate::log::{Log, Logs};
use crate::message::{Counted, Exchange, Message, Role, Scope, message_tokens};
use crate::prompt;
use crate::render;
use crate::state::SessionState;
use crate::tokens::{TokenCounter, Tokens};
use crate::window::fit::{Fit, Framed, fit};
use crate::window::{Span, Wish};

/// One log that belongs in the context.
pub(super) struct Section<'a> {
    pub(super) layer: Layer,
    pub(super) scope: Scope,
    held: Option<&'a Log>,
    framed: Framed<'a>,
    /// What the line before it costs at most.
    marker_tokens: Tokens,
    /// What showing it in the best way would cost, that line included.
    /// What is said about replies in it, beyond what was said.
    notes: Tokens,
    pub(super) demand: Tokens,
}

impl Section<'_> {
    /// Whether only summaries of it are shown: an open effort that has been idle for long.
    fn is_in_short(&self) -> bool {
        self.layer == Layer::Open && self.framed.raw_max == 0
    }

    fn marker(&self, left_out: u64, has_spans: bool) -> Option<String> {
        let template = match self.layer {
            Layer::Expanded => prompt::LOG_EXPANDED,
            Layer::Open if self.is_in_short() => prompt::LOG_IDLE,
            Layer::Open => prompt::LOG_OPEN,
            Layer::Active => prompt::LOG_ACTIVE,
            Layer::Ambient if left_out > 0 || has_spans => prompt::LOG_AMBIENT,
            Layer::Ambient
            | Layer::Protocol
            | Layer::Tools
            | Layer::Identity
            | Layer::Profile
            | Layer::Censors
            | Layer::Frame
            | Layer::Focus
            | Layer::Decisions
            | Layer::Facts
            | Layer::Procedures
            | Layer::Episodes
            | Layer::Calibration
            | Layer::Summaries
            | Layer::Note
            | Layer::Tail
            | Layer::Message => {
                return None;
            }
        };
        let older = match left_out {
            0 => String::new(),
            n => prompt::fill(prompt::LOG_OLDER, &[("count", &n.to_string())]),
        };
        let id = self.scope.effort().map_or("", |id| id.as_str());
        Some(prompt::fill(template, &[("id", id), ("older", &older)]))
    }

    /// The line before the log, with the summaries under it.
    fn preface(&self, left_out: u64, spans: &[Span]) -> Option<Message> {
        let marker = self.marker(left_out, !spans.is_empty())?;
        let lines: String = spans.iter().map(|span| span.line(&self.scope)).collect();
        Some(Message::user(if lines.is_empty() { marker } else { format!("{marker}\n{lines}") }))
    }
}

/// The logs of a selection, in the order of the context.
pub(super) fn sections<'a>(
    counter: &dyn TokenCounter,
    selection: &Selection<'_>,
    state: &'a SessionState,
    logs: &'a Logs,
) -> Vec<Section<'a>> {
    let spans_percent = state.policy().window_summaries_percent;
    let section = |layer: Layer, scope: Scope, raw_max: u64| {
        let (held, window) = (logs.get(&scope), state.window(&scope));
        // Another process may have added exchanges that the state does not know of yet.
        let size = state.log_size(&scope).max(held.map(Log::size).unwrap_or_default());
        let framed = Framed { window, size, raw_max, spans_percent };
        let raw = held.into_iter().flat_map(Log::exchanges).filter(|exchange| exchange.turn > window.covered());
        let notes = raw.map(|exchange| render::added(counter, exchange)).sum();
        let (marker_tokens, demand) = (Tokens::ZERO, Tokens::ZERO);
        let mut section = Section { layer, scope, held, framed, marker_tokens, notes, demand };
        // The count in it is never larger than this one, and it is at its longest with a summary below.
        let longest = section.marker(size.exchanges, true).map(|marker| Message::user(format!("{marker}\n")));
        section.marker_tokens = longest.map(|message| message_tokens(counter, &message)).unwrap_or_default();
        let wants = framed.demand();
        section.demand = if wants == Tokens::ZERO { wants } else { wants + section.marker_tokens + notes };
        section
    };
    let of =
        |layer: Layer, effort: &Effort, raw_max: u64| section(layer, Scope::Effort(effort.id.clone()), raw_max);
    std::iter::once(section(Layer::Ambient, Scope::Ambient, state.policy().ambient_window))
        .chain(selection.expanded.iter().map(|e| of(Layer::Expanded, e, u64::MAX)))
        .chain(selection.idle.iter().map(|e| of(Layer::Open, e, 0)))
        .chain(selection.open.iter().map(|e| of(Layer::Open, e, u64::MAX)))
        .chain(selection.active.iter().map(|e| of(Layer::Active, e, u64::MAX)))
        .collect()
}

/// Sections rendered, and the summaries that would have served them better.
#[derive(Default)]
pub(super) struct Rendered {
    pub(super) messages: Vec<Placed>,
    pub(super) wishes: Vec<Wish>,
}

/// Renders every section within what its layer was granted; sections of one layer share it evenly.
pub(super) fn render(
    counter: &dyn TokenCounter,
    sections: &[Section<'_>],
    granted: &LayerTokens,
    ledger: &mut Ledger,
) -> Rendered {
    let mut out = Rendered::default();
    for (section, room) in sections.iter().zip(rooms(sections, granted)) {
        if room > Tokens::ZERO {
            render_one(counter, section, room, ledger, &mut out);
        }
    }
    out
}

/// What each section may cost. Raw logs of a layer share it evenly; what they leave is for those in short, the least
/// idle first, each whole or not at all.
fn rooms(sections: &[Section<'_>], granted: &LayerTokens) -> Vec<Tokens> {
    let mut rooms = vec![Tokens::ZERO; sections.len()];
    for layer in [Layer::Ambient, Layer::Expanded, Layer::Open, Layer::Active] {
        let of_layer = || sections.iter().enumerate().filter(|(_, section)| section.layer == layer);
        let raw: Vec<Tokens> = of_layer().filter(|(_, s)| !s.is_in_short()).map(|(_, s)| s.demand).collect();
        let level = level(granted.get(layer), &raw);
        let mut left = granted.get(layer);
        for (at, section) in of_layer().filter(|(_, s)| !s.is_in_short()) {
            rooms[at] = section.demand.min(level);
            left = left.saturating_sub(rooms[at]);
        }
        for (at, section) in of_layer().collect::<Vec<_>>().into_iter().rev().filter(|(_, s)| s.is_in_short()) {
            if section.demand <= left {
                rooms[at] = section.demand;
                left -= section.demand;
            }
        }
    }
    rooms
}

fn render_one(
    counter: &dyn TokenCounter,
    section: &Section<'_>,
    room: Tokens,
    ledger: &mut Ledger,
    out: &mut Rendered,
) {
    let said_room = room.saturating_sub(section.marker_tokens);
    let notes = section.notes.min(said_room);
    let mut fit = fit(section.framed, said_room - notes);
    fit.raw_room += notes;
    let shown = newest(counter, section, &fit);
    let raw = LogSize {
        exchanges: shown.iter().filter(|(exchange, _)| exchange.turn > fit.after).count() as u64,
        tokens: shown.iter().map(|(exchange, _)| exchange.tokens()).sum(),
    };
    out.wishes.extend(section.framed.wish(&section.scope, &fit, whole_size(section, &fit, shown.len())));

    let spans = &section.framed.window.spans()[fit.spans.clone()];
    let uncovered = section.framed.window.spans()[..fit.spans.start].iter().map(|span| span.size.exchanges);
    let left_out = fit.raw.exchanges.saturating_sub(raw.exchanges) + uncovered.sum::<u64>();
    let preface = section.preface(left_out, spans).map(|message| Counted::new(counter, message));
    let preface = preface.filter(|said| said.tokens + raw.tokens <= room);
    if preface.is_none() && shown.is_empty() {
        return;
    }
    let messages = shown.iter().rev().flat_map(|(exchange, _)| exchange.messages.iter().cloned());
    let placed: Vec<Placed> =
        preface.into_iter().chain(messages).map(|said| Placed { layer: section.layer, said }).collect();
    let tokens = placed.iter().map(|placed| placed.said.tokens).sum();
    ledger.tokens.add(section.layer, tokens);
    ledger.logs.push(LogShown {
        scope: section.scope.clone(),
        layer: section.layer,
        in_short: in_short(section, spans),
        from: shown.last().map(|(exchange, _)| exchange.turn),
        exchanges: shown.len() as u64,
        left_out,
        excerpted: shown.iter().any(|(_, cut)| *cut),
        tokens,
    });
    out.messages.extend(placed);
}

fn in_short(section: &Section<'_>, spans: &[Span]) -> Option<Handle> {
    let (first, last) = (spans.first()?.first, spans.last()?.last);
    Some(Handle::Span { first, last, scope: section.scope.clone() })
}

/// The newest exchanges that fit, newest first, and whether each was cut.
fn newest(counter: &dyn TokenCounter, section: &Section<'_>, fit: &Fit) -> Vec<(Arc<Exchange>, bool)> {
    let raw_max = usize::try_from(section.framed.raw_max).unwrap_or(usize::MAX);
    let mut room = fit.raw_room;
    let mut shown: Vec<(Arc<Exchange>, bool)> = Vec::new();
    let held = section.held.into_iter().flat_map(|log| log.exchanges().rev());
    // Turns of two processes may end out of order.
    for exchange in held.filter(|exchange| exchange.turn > fit.after).take(raw_max) {
        let exchange = render::exchange(counter, exchange);
        if exchange.tokens() <= room {
            room -= exchange.tokens();
            shown.push((exchange.clone(), false));
            continue;
        }
        if shown.is_empty()
            && let Some(cut) = excerpt_exchange(counter, &exchange, room)
        {
            shown.push((Arc::new(cut), true));
        }
        break;
    }
    shown
}

/// How much of the log what is shown stands for: one that was cut counts as it is.
fn whole_size(section: &Section<'_>, fit: &Fit, shown: usize) -> LogSize {
    let held = section.held.into_iter().flat_map(|log| log.exchanges().rev());
    let held = held.filter(|exchange| exchange.turn > fit.after).take(shown);
    LogSize { exchanges: shown as u64, tokens: held.map(|exchange| exchange.tokens()).sum() }
}

/// An exchange too long for the room, each over-long message shown in part; its tool pairs stay whole.
fn excerpt_exchange(counter: &dyn TokenCounter, exchange: &Exchange, room: Tokens) -> Option<Exchange> {
    let costs: Vec<Tokens> = exchange.messages.iter().map(|said| said.tokens).collect();
    let handle = |index| Handle::Message { turn: exchange.turn, index };
    let replies = exchange.messages.iter().filter(|said| said.message.role == Role::Assistant).count();
    let note_room = in_part_room(counter, prompt::REPLY_IN_PART, &handle(costs.len()), replies);
    let level = level(room.saturating_sub(note_room), &costs);
    if level < EXCERPT_TOKENS_MIN {
        return None;
    }
    let cut = exchange.messages.iter().enumerate();
    let cut = cut.map(|(index, said)| cut_message(counter, said, &handle(index), level));
    let (mut messages, mut left_out) = (Vec::new(), Vec::new());
    for Cut { said, left_out: part } in cut {
        messages.push(said);
        left_out.extend(part);
    }
    messages.extend(in_part(counter, prompt::REPLY_IN_PART, &left_out));
    let cut = Exchange { turn: exchange.turn, at: exchange.at, messages };
    (cut.tokens() <= room).then_some(cut)
}
