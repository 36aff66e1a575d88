//! Logs in the context: summaries of older spans, the newest whole exchanges that fit, and a line about the rest.

use std::sync::Arc;

use super::LayeredMessage;
use super::budget::{CutExchange, CutTemplates, cut_exchange, fair_share, newest_within};
use super::select::Selection;
use crate::base::handle::Handle;
use crate::base::ledger::{Layer, LayerTokens, Ledger, LogShown};
use crate::base::message::{CountedMessage, Exchange, Message, Scope, message_tokens};
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::session::effort::{Effort, LogSize};
use crate::session::log::{Log, LogCache};
use crate::session::state::SessionState;
use crate::session::window::fit::{Fit, WindowedLog, fit};
use crate::session::window::{CompactionRequest, Span};
use crate::text::excerpt::EXCERPT_TOKENS_MIN;
use crate::text::render;

pub(super) struct LogSection<'a> {
    pub(super) layer: Layer,
    pub(super) scope: Scope,
    cached: Option<&'a Log>,
    windowed: WindowedLog<'a>,
    /// Most that the line before it costs.
    marker_tokens: Tokens,
    /// Extra cost of the notes about its replies.
    note_tokens: Tokens,
    /// The cost of showing it in the best way, that line included.
    pub(super) demand: Tokens,
}

impl LogSection<'_> {
    /// Whether only its summaries are shown: an open effort that has long been idle.
    fn is_summary_only(&self) -> bool {
        self.layer == Layer::Open && self.windowed.raw_max == 0
    }

    fn marker(&self, left_out: u64, has_spans: bool) -> Option<String> {
        let template = match self.layer {
            Layer::Expanded => prompt::LOG_EXPANDED,
            Layer::Open if self.is_summary_only() => prompt::LOG_IDLE,
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

    /// The line before the log, followed by the summaries.
    fn preface(&self, left_out: u64, spans: &[Span]) -> Option<Message> {
        let marker = self.marker(left_out, !spans.is_empty())?;
        let lines: String = spans.iter().map(|span| span.line(&self.scope)).collect();
        Some(Message::user(if lines.is_empty() { marker } else { format!("{marker}\n{lines}") }))
    }
}

/// In the order of the context.
pub(super) fn sections<'a>(
    counter: &dyn TokenCounter,
    selection: &Selection<'_>,
    state: &'a SessionState,
    logs: &'a LogCache,
) -> Vec<LogSection<'a>> {
    let spans_percent = state.policy().window_summaries_percent;
    let section = |layer: Layer, scope: Scope, raw_max: u64| {
        let (cached, window) = (logs.get(&scope), state.window(&scope));
        // Another process may have added exchanges that this state does not include yet.
        let size = state.log_size(&scope).max(cached.map(Log::size).unwrap_or_default());
        let windowed = WindowedLog { window, size, raw_max, spans_percent };
        let raw = newest(cached, raw_max).filter(|exchange| exchange.turn > window.last_covered_turn());
        let note_tokens = raw.map(|exchange| render::added_tokens(counter, exchange)).sum();
        let (marker_tokens, demand) = (Tokens::ZERO, Tokens::ZERO);
        let mut section = LogSection { layer, scope, cached, windowed, marker_tokens, note_tokens, demand };
        // The count in the marker is never larger than this, and the marker is longest with a summary below it.
        let longest = section.marker(size.exchanges, true).map(|marker| Message::user(format!("{marker}\n")));
        section.marker_tokens = longest.map(|message| message_tokens(counter, &message)).unwrap_or_default();
        let wants = windowed.demand();
        section.demand = if wants == Tokens::ZERO { wants } else { wants + section.marker_tokens + note_tokens };
        section
    };
    let effort_section =
        |layer: Layer, effort: &Effort, raw_max: u64| section(layer, Scope::Effort(effort.id.clone()), raw_max);
    std::iter::once(section(Layer::Ambient, Scope::Ambient, state.policy().ambient_window))
        .chain(selection.expanded.iter().map(|e| effort_section(Layer::Expanded, e, u64::MAX)))
        .chain(selection.idle.iter().map(|e| effort_section(Layer::Open, e, 0)))
        .chain(selection.open.iter().map(|e| effort_section(Layer::Open, e, u64::MAX)))
        .chain(selection.active.iter().map(|e| effort_section(Layer::Active, e, u64::MAX)))
        .collect()
}

/// Rendered sections, and the summaries that would improve them.
#[derive(Default)]
pub(super) struct RenderedLogs {
    pub(super) messages: Vec<LayeredMessage>,
    pub(super) compactions: Vec<CompactionRequest>,
}

/// Renders every section within its layer's grant; sections of one layer share it evenly.
pub(super) fn render(
    counter: &dyn TokenCounter,
    sections: &[LogSection<'_>],
    granted: &LayerTokens,
    ledger: &mut Ledger,
) -> RenderedLogs {
    let mut out = RenderedLogs::default();
    for (section, room) in sections.iter().zip(section_budgets(sections, granted)) {
        if room > Tokens::ZERO {
            render_section(counter, section, room, ledger, &mut out);
        }
    }
    out
}

/// The budget of each section. Raw logs of a layer share its grant evenly; what they leave goes to logs shown as
/// summaries, least idle first, each whole or not at all.
fn section_budgets(sections: &[LogSection<'_>], granted: &LayerTokens) -> Vec<Tokens> {
    let mut rooms = vec![Tokens::ZERO; sections.len()];
    for layer in [Layer::Ambient, Layer::Expanded, Layer::Open, Layer::Active] {
        let of_layer = || sections.iter().enumerate().filter(|(_, section)| section.layer == layer);
        let raw: Vec<Tokens> = of_layer().filter(|(_, s)| !s.is_summary_only()).map(|(_, s)| s.demand).collect();
        let level = fair_share(granted.get(layer), &raw);
        let mut left = granted.get(layer);
        for (at, section) in of_layer().filter(|(_, s)| !s.is_summary_only()) {
            rooms[at] = section.demand.min(level);
            left = left.saturating_sub(rooms[at]);
        }
        for (at, section) in of_layer().collect::<Vec<_>>().into_iter().rev().filter(|(_, s)| s.is_summary_only())
        {
            if section.demand <= left {
                rooms[at] = section.demand;
                left -= section.demand;
            }
        }
    }
    rooms
}

fn render_section(
    counter: &dyn TokenCounter,
    section: &LogSection<'_>,
    room: Tokens,
    ledger: &mut Ledger,
    out: &mut RenderedLogs,
) {
    let body_room = room.saturating_sub(section.marker_tokens);
    let note_room = section.note_tokens.min(body_room);
    let mut fit = fit(section.windowed, body_room - note_room);
    fit.raw_room += note_room;
    let shown = newest_exchanges(counter, section, &fit);
    let raw = LogSize {
        exchanges: shown.iter().filter(|(exchange, _)| exchange.turn > fit.after).count() as u64,
        tokens: shown.iter().map(|(exchange, _)| exchange.tokens()).sum(),
    };
    out.compactions.extend(section.windowed.compaction_request(
        &section.scope,
        &fit,
        uncut_size(section, &fit, shown.len()),
    ));

    let spans = &section.windowed.window.spans()[fit.spans.clone()];
    let uncovered = section.windowed.window.spans()[..fit.spans.start].iter().map(|span| span.size.exchanges);
    let left_out = fit.raw.exchanges.saturating_sub(raw.exchanges) + uncovered.sum::<u64>();
    let preface = section.preface(left_out, spans).map(|message| CountedMessage::new(counter, message));
    let preface = preface.filter(|counted| counted.tokens + raw.tokens <= room);
    if preface.is_none() && shown.is_empty() {
        return;
    }
    let messages = shown.iter().rev().flat_map(|(exchange, _)| exchange.messages.iter().cloned());
    let placed: Vec<LayeredMessage> = preface
        .into_iter()
        .chain(messages)
        .map(|counted| LayeredMessage { layer: section.layer, counted })
        .collect();
    let tokens = placed.iter().map(|placed| placed.counted.tokens).sum();
    ledger.tokens.add(section.layer, tokens);
    ledger.logs.push(LogShown {
        scope: section.scope.clone(),
        layer: section.layer,
        in_short: summarized_handle(section, spans),
        from: shown.last().map(|(exchange, _)| exchange.turn),
        exchanges: shown.len() as u64,
        left_out,
        excerpted: shown.iter().any(|(_, cut)| *cut),
        tokens,
    });
    out.messages.extend(placed);
}

fn summarized_handle(section: &LogSection<'_>, spans: &[Span]) -> Option<Handle> {
    let (first, last) = (spans.first()?.first, spans.last()?.last);
    Some(Handle::Span { first, last, scope: section.scope.clone() })
}

/// The newest exchanges that fit, newest first, and whether each was cut.
fn newest_exchanges(
    counter: &dyn TokenCounter,
    section: &LogSection<'_>,
    fit: &Fit,
) -> Vec<(Arc<Exchange>, bool)> {
    // Turns of two processes may end out of order.
    let raw = newest(section.cached, section.windowed.raw_max).filter(|exchange| exchange.turn > fit.after);
    let rendered = raw.map(|exchange| render::exchange(counter, exchange));
    newest_within(rendered, fit.raw_room, |exchange, room| {
        let messages: Vec<&CountedMessage> = exchange.messages.iter().collect();
        let handle = |index| Handle::Message { turn: exchange.turn, index };
        let room = (room, EXCERPT_TOKENS_MIN);
        cut_exchange(counter, &messages, handle, CutTemplates::PROMPT, room).map(CutExchange::into_messages)
    })
}

/// The exchanges that ended last, newest first: as many as a session read anew would load (I9). A session that goes on
/// has more in memory.
fn newest(cached: Option<&Log>, raw_max: u64) -> impl Iterator<Item = &Arc<Exchange>> {
    let raw_max = usize::try_from(raw_max).unwrap_or(usize::MAX);
    cached.into_iter().flat_map(|log| log.exchanges().rev()).take(raw_max)
}

/// The size of the shown exchanges before any was cut.
fn uncut_size(section: &LogSection<'_>, fit: &Fit, shown: usize) -> LogSize {
    let cached = section.cached.into_iter().flat_map(|log| log.exchanges().rev());
    let cached = cached.filter(|exchange| exchange.turn > fit.after).take(shown);
    LogSize { exchanges: shown as u64, tokens: cached.map(|exchange| exchange.tokens()).sum() }
}
