//! Accounts for summaries: what each covers, what it cost, and what it kept.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::base::ids::{EffortId, Stamp, TurnNo};
use crate::base::tokens::Tokens;
use crate::session::event::{ClientEvent, EffortEvent, Event, RecordedEvent, WindowEvent};
use crate::session::state::SessionState;
use crate::text::receipt::Receipt;

/// Kinds of events that make summaries, as stored.
pub const SUMMARY_EVENT_KINDS: [&str; 4] =
    ["effort_concluded", "effort_summarized", "span_compacted", "client_compacted"];

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SummaryAccount {
    /// The turn in or after which it was made.
    pub turn: TurnNo,
    pub at: Stamp,
    /// The effort's id, or the span's handle.
    pub of: String,
    pub kind: SummaryKind,
    /// Size of the original; for an effort, its whole log by now.
    pub source_tokens: Tokens,
    pub summary_tokens: Tokens,
    /// Summaries of earlier versions have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryKind {
    /// A concluded effort.
    Conclusion,
    /// A span of a log.
    Compaction,
    /// Several span summaries.
    Merge,
    /// A client's whole context, replaced by the client's own summary.
    Client,
}

impl SummaryKind {
    pub fn as_str(self) -> &'static str {
        match self {
            SummaryKind::Conclusion => "conclusion",
            SummaryKind::Compaction => "compaction",
            SummaryKind::Merge => "merge",
            SummaryKind::Client => "client",
        }
    }
}

impl SummaryAccount {
    pub fn from_event(recorded: &RecordedEvent, state: &SessionState) -> Option<Self> {
        let RecordedEvent { at, event, .. } = recorded;
        let (of, kind, source_tokens, summary_tokens, receipt) = match event {
            Event::Effort(
                EffortEvent::Concluded { id, summary, receipt, .. }
                | EffortEvent::Summarized { id, summary, receipt, .. },
            ) => {
                let source = state.effort(id).map_or(Tokens::ZERO, |effort| effort.log.tokens);
                (id.to_string(), SummaryKind::Conclusion, source, summary.tokens, receipt.as_deref())
            }
            Event::Window(WindowEvent::SpanCompacted { scope, span, receipt, .. }) => {
                let kind = if span.depth == 0 { SummaryKind::Compaction } else { SummaryKind::Merge };
                (span.handle(scope).to_string(), kind, span.size.tokens, span.tokens, receipt.as_deref())
            }
            Event::Client(ClientEvent::Compacted { source_tokens, summary_tokens, receipt, .. }) => {
                let of = receipt.handle.clone().unwrap_or_default();
                (of, SummaryKind::Client, *source_tokens, *summary_tokens, Some(&**receipt))
            }
            Event::Session(_)
            | Event::Turn(_)
            | Event::Effort(_)
            | Event::Window(_)
            | Event::Client(_)
            | Event::Memory(_) => return None,
        };
        let (turn, at, receipt) = (event.turn()?, *at, receipt.cloned());
        Some(Self { turn, at, of, kind, source_tokens, summary_tokens, receipt })
    }
}

/// Events come newest first. Of several summaries of one effort in a turn, only the last counts.
pub fn summary_accounts<'a>(
    newest_first: impl IntoIterator<Item = &'a RecordedEvent>,
    state: &SessionState,
) -> Vec<SummaryAccount> {
    let mut seen: BTreeSet<(TurnNo, EffortId)> = BTreeSet::new();
    let mut out = Vec::new();
    for recorded in newest_first {
        if let Event::Effort(EffortEvent::Concluded { id, turn, .. } | EffortEvent::Summarized { id, turn, .. }) =
            &recorded.event
            && !seen.insert((*turn, id.clone()))
        {
            continue;
        }
        out.extend(SummaryAccount::from_event(recorded, state));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::Seq;
    use crate::base::message::Scope;
    use crate::base::testing::WordCounter;
    use crate::session::effort::{LogSize, Summary};
    use crate::session::window::Span;

    #[test]
    fn a_turn_that_summarised_an_effort_twice_is_one_account() {
        let id = EffortId::parse("auth-bug").unwrap();
        let summary = |text: &str| Summary::new(&WordCounter, &id, text, None);
        let turn = TurnNo(7);
        let size = LogSize { exchanges: 2, tokens: Tokens(400) };
        let span = Span::new(&WordCounter, &Scope::Ambient, (TurnNo(1), TurnNo(2)), (size, size), 0, "short");
        let events = [
            Event::Window(WindowEvent::SpanCompacted { scope: Scope::Ambient, turn, span, receipt: None }),
            Event::Effort(EffortEvent::Summarized {
                id: id.clone(),
                summary: summary("better one"),
                turn,
                receipt: None,
            }),
            Event::Effort(EffortEvent::Concluded {
                id: id.clone(),
                summary: summary("one"),
                turn,
                next_active: None,
                provisional: true,
                receipt: None,
            }),
            Event::Effort(EffortEvent::Concluded {
                id: id.clone(),
                summary: summary("one"),
                turn: TurnNo(3),
                next_active: None,
                provisional: true,
                receipt: None,
            }),
        ];
        let recorded: Vec<RecordedEvent> =
            events.into_iter().map(|event| RecordedEvent { seq: Seq(1), at: Stamp(0), event }).collect();
        let accounts = summary_accounts(&recorded, &SessionState::default());
        let rows: Vec<_> = accounts.iter().map(|a| (a.of.as_str(), a.turn.0, a.kind)).collect();
        let expected = [
            ("t1-2@-", 7, SummaryKind::Compaction),
            ("auth-bug", 7, SummaryKind::Conclusion),
            ("auth-bug", 3, SummaryKind::Conclusion),
        ];
        assert_eq!(rows, expected);
        assert_eq!(accounts[1].summary_tokens, summary("better one").tokens);
    }
}
