//! Which summary stands for what, what it cost, and what it kept: an account of conclusions and compactions.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::event::{Event, Recorded};
use crate::ids::{EffortId, Stamp, TurnNo};
use crate::receipt::Receipt;
use crate::state::SessionState;
use crate::tokens::Tokens;

/// The kinds of events that make summaries, as the store knows them.
pub const SUMMARY_KINDS: [&str; 4] =
    ["effort_concluded", "effort_summarized", "span_compacted", "client_compacted"];

/// One summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Account {
    /// The turn in which it was made, or after which.
    pub turn: TurnNo,
    /// When.
    pub at: Stamp,
    /// The effort, or the handle of the span.
    pub of: String,
    /// Whether it stands for an effort or for a span of a log.
    pub kind: AccountKind,
    /// What was said, in tokens. Of an effort: all that is in its log by now.
    pub source_tokens: Tokens,
    /// What stands for it, in tokens.
    pub summary_tokens: Tokens,
    /// What it kept; summaries of earlier versions have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

/// What a summary stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// A concluded effort.
    Conclusion,
    /// A stretch of a log.
    Compaction,
    /// Several such summaries.
    Merge,
    /// All that a client had in its context, which put a summary of its own in its place.
    Client,
}

impl AccountKind {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            AccountKind::Conclusion => "conclusion",
            AccountKind::Compaction => "compaction",
            AccountKind::Merge => "merge",
            AccountKind::Client => "client",
        }
    }
}

impl Account {
    /// The account that an event gives, if it made a summary.
    pub fn of(recorded: &Recorded, state: &SessionState) -> Option<Self> {
        let Recorded { at, event, .. } = recorded;
        let (turn, of, kind, source_tokens, summary_tokens, receipt) =
            if let Event::EffortConcluded { id, summary, turn, receipt, .. }
            | Event::EffortSummarized { id, summary, turn, receipt } = event
            {
                let source = state.effort(id).map_or(Tokens::ZERO, |effort| effort.log.tokens);
                (turn, id.to_string(), AccountKind::Conclusion, source, summary.tokens, receipt)
            } else if let Event::SpanCompacted { scope, turn, span, receipt } = event {
                let kind = if span.depth == 0 { AccountKind::Compaction } else { AccountKind::Merge };
                (turn, span.handle(scope).to_string(), kind, span.size.tokens, span.tokens, receipt)
            } else if let Event::ClientCompacted { turn, source_tokens, summary_tokens, receipt, .. } = event {
                let of = receipt.handle.clone().unwrap_or_default();
                return Some(Self {
                    turn: *turn,
                    at: *at,
                    of,
                    kind: AccountKind::Client,
                    source_tokens: *source_tokens,
                    summary_tokens: *summary_tokens,
                    receipt: Some(receipt.as_ref().clone()),
                });
            } else {
                return None;
            };
        let (turn, at, receipt) = (*turn, *at, receipt.as_deref().cloned());
        Some(Self { turn, at, of, kind, source_tokens, summary_tokens, receipt })
    }
}

/// Accounts of events that come newest first: of the summaries that a turn made for one effort, only the last.
pub fn accounts<'a>(newest_first: impl IntoIterator<Item = &'a Recorded>, state: &SessionState) -> Vec<Account> {
    let mut seen: BTreeSet<(TurnNo, EffortId)> = BTreeSet::new();
    let mut out = Vec::new();
    for recorded in newest_first {
        if let Event::EffortConcluded { id, turn, .. } | Event::EffortSummarized { id, turn, .. } = &recorded.event
            && !seen.insert((*turn, id.clone()))
        {
            continue;
        }
        out.extend(Account::of(recorded, state));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effort::{LogSize, Summary};
    use crate::ids::Seq;
    use crate::message::Scope;
    use crate::testing::WordCounter;
    use crate::window::Span;

    #[test]
    fn a_turn_that_summarised_an_effort_twice_is_one_account() {
        let id = EffortId::parse("auth-bug").unwrap();
        let summary = |text: &str| Summary::new(&WordCounter, &id, text, None);
        let turn = TurnNo(7);
        let size = LogSize { exchanges: 2, tokens: Tokens(400) };
        let span = Span::new(&WordCounter, &Scope::Ambient, (TurnNo(1), TurnNo(2)), (size, size), 0, "short");
        let events = [
            Event::SpanCompacted { scope: Scope::Ambient, turn, span, receipt: None },
            Event::EffortSummarized { id: id.clone(), summary: summary("better one"), turn, receipt: None },
            Event::EffortConcluded {
                id: id.clone(),
                summary: summary("one"),
                turn,
                next_active: None,
                provisional: true,
                receipt: None,
            },
            Event::EffortConcluded {
                id: id.clone(),
                summary: summary("one"),
                turn: TurnNo(3),
                next_active: None,
                provisional: true,
                receipt: None,
            },
        ];
        let recorded: Vec<Recorded> =
            events.into_iter().map(|event| Recorded { seq: Seq(1), at: Stamp(0), event }).collect();
        let accounts = accounts(&recorded, &SessionState::default());
        let rows: Vec<_> = accounts.iter().map(|a| (a.of.as_str(), a.turn.0, a.kind)).collect();
        let expected = [
            ("t1-2@-", 7, AccountKind::Compaction),
            ("auth-bug", 7, AccountKind::Conclusion),
            ("auth-bug", 3, AccountKind::Conclusion),
        ];
        assert_eq!(rows, expected);
        assert_eq!(accounts[1].summary_tokens, summary("better one").tokens);
    }
}
