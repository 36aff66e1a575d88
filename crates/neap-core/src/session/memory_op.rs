//! Operations on a session's memory as ids and token counts, never message text; safe to log.

use std::fmt;

use serde::Serialize;

use crate::base::handle::Handle;
use crate::base::ids::{EffortId, TurnNo};
use crate::base::tokens::Tokens;
use crate::session::event::{CollapseCause, EffortEvent, EpochCause, Event, TurnEvent, WindowEvent};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryOp {
    /// The turn in which, or after which, it happened.
    pub turn: TurnNo,
    #[serde(flatten)]
    pub kind: MemoryOpKind,
    /// Tokens affected, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Tokens>,
    /// Tokens in the context instead, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Tokens>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum MemoryOpKind {
    /// A stretch of a log was summarized.
    Compacted {
        handle: Handle,
    },
    /// Several summaries were merged into one.
    Merged {
        handle: Handle,
    },
    /// An effort ended and is represented by its summary.
    Concluded {
        id: EffortId,
    },
    /// An effort's summary was rewritten to include its closing exchange.
    Summarized {
        id: EffortId,
    },
    /// An effort's log was loaded again.
    Expanded {
        id: EffortId,
    },
    Collapsed {
        id: EffortId,
        cause: CollapseCause,
    },
    /// Effort summaries left the context.
    Evicted {
        ids: Vec<EffortId>,
    },
    /// Efforts were mentioned, so they stay or come back.
    Referenced {
        ids: Vec<EffortId>,
    },
    /// One of our tools returned stored text.
    Recalled {
        tool: &'static str,
    },
    /// The prompt was rewritten.
    EpochBegan {
        cause: EpochCause,
    },
}

/// Our tools that return stored text.
const RECALL_TOOLS: [&str; 2] = ["search_efforts", "fetch_original"];

impl MemoryOp {
    /// The operations an event represents; `prompt` is the current cost of the growing prompt.
    pub fn from_event(event: &Event, prompt: Tokens) -> Vec<Self> {
        let Some(turn) = event.turn() else { return Vec::new() };
        let (kind, before, after) = match event {
            Event::Window(WindowEvent::SpanCompacted { scope, span, .. }) => {
                let handle = span.handle(scope);
                let kind = match span.depth {
                    0 => MemoryOpKind::Compacted { handle },
                    _ => MemoryOpKind::Merged { handle },
                };
                (kind, Some(span.size.tokens), Some(span.tokens))
            }
            Event::Window(WindowEvent::EpochBegan { cause, .. }) => {
                (MemoryOpKind::EpochBegan { cause: *cause }, None, Some(prompt))
            }
            Event::Effort(event) => match effort_op(event) {
                Some(op) => op,
                None => return Vec::new(),
            },
            Event::Turn(TurnEvent::ToolsCalled { round, .. }) => {
                let calls = round.assistant.message.tool_calls.iter().zip(&round.results);
                let recalled = calls.filter_map(|(call, result)| {
                    let tool = RECALL_TOOLS.into_iter().find(|tool| *tool == call.name)?;
                    let kind = MemoryOpKind::Recalled { tool };
                    Some(Self { turn, kind, before: None, after: Some(result.tokens) })
                });
                return recalled.collect();
            }
            Event::Session(_) | Event::Turn(_) | Event::Client(_) | Event::Memory(_) => return Vec::new(),
        };
        vec![Self { turn, kind, before, after }]
    }
}

/// The operation on an effort, and the tokens before and after.
fn effort_op(event: &EffortEvent) -> Option<(MemoryOpKind, Option<Tokens>, Option<Tokens>)> {
    Some(match event.clone() {
        EffortEvent::Concluded { id, summary, .. } => (MemoryOpKind::Concluded { id }, None, Some(summary.tokens)),
        EffortEvent::Summarized { id, summary, .. } => {
            (MemoryOpKind::Summarized { id }, None, Some(summary.tokens))
        }
        EffortEvent::Expanded { id, tokens_loaded, .. } => {
            (MemoryOpKind::Expanded { id }, None, Some(tokens_loaded))
        }
        EffortEvent::Collapsed { id, cause, tokens_freed, .. } => {
            (MemoryOpKind::Collapsed { id, cause }, Some(tokens_freed), None)
        }
        EffortEvent::Evicted { ids, .. } => (MemoryOpKind::Evicted { ids }, None, None),
        EffortEvent::Referenced { ids, .. } => (MemoryOpKind::Referenced { ids }, None, None),
        EffortEvent::Opened { .. } | EffortEvent::Switched { .. } | EffortEvent::Reopened { .. } => return None,
    })
}

impl fmt::Display for MemoryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            MemoryOpKind::Compacted { handle } => write!(f, "compacted {handle}")?,
            MemoryOpKind::Merged { handle } => write!(f, "merged {handle}")?,
            MemoryOpKind::Concluded { id } => write!(f, "concluded {id}")?,
            MemoryOpKind::Summarized { id } => write!(f, "summarised {id} once more")?,
            MemoryOpKind::Expanded { id } => write!(f, "expanded {id}")?,
            MemoryOpKind::Collapsed { id, cause } => write!(f, "collapsed {id} ({cause})")?,
            MemoryOpKind::Evicted { ids } => write!(f, "evicted {}", join_ids(ids))?,
            MemoryOpKind::Referenced { ids } => write!(f, "referenced {}", join_ids(ids))?,
            MemoryOpKind::Recalled { tool } => write!(f, "recalled by {tool}")?,
            MemoryOpKind::EpochBegan { cause } => write!(f, "began an epoch ({cause})")?,
        }
        match (self.before, self.after) {
            (Some(before), Some(after)) => write!(f, ": {before} → {after} tokens"),
            (Some(before), None) => write!(f, ": {before} tokens out"),
            (None, Some(after)) => write!(f, ": {after} tokens in"),
            (None, None) => Ok(()),
        }
    }
}

/// The first few ids, and how many more.
fn join_ids(ids: &[EffortId]) -> String {
    const SHOWN: usize = 5;
    let shown = ids.iter().take(SHOWN).map(EffortId::as_str).collect::<Vec<_>>().join(", ");
    match ids.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl fmt::Display for CollapseCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CollapseCause::Asked => f.write_str("asked for"),
            CollapseCause::Decayed { inactive_turns } => write!(f, "not referenced for {inactive_turns} turns"),
            CollapseCause::Crowded => f.write_str("too many others were expanded"),
            CollapseCause::Restarted => f.write_str("the session was opened again"),
        }
    }
}

impl fmt::Display for EpochCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EpochCause::First => "there was none",
            EpochCause::Full => "it was full",
            EpochCause::Expired => "the cache had forgotten it",
            EpochCause::Cheaper => "a shorter one is cheaper",
            EpochCause::TurnsOver => "its turns were over",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::message::Scope;
    use crate::base::testing::WordCounter;
    use crate::session::effort::LogSize;
    use crate::session::window::Span;

    fn span(depth: u32) -> Event {
        let size = LogSize { exchanges: 4, tokens: Tokens(900) };
        let span =
            Span::new(&WordCounter, &Scope::Ambient, (TurnNo(1), TurnNo(4)), (size, size), depth, "CANARY text");
        Event::Window(WindowEvent::SpanCompacted { scope: Scope::Ambient, turn: TurnNo(9), span, receipt: None })
    }

    #[test]
    fn operations_tell_ids_and_tokens_and_no_words() {
        let id = EffortId::parse("auth-bug").unwrap();
        let collapsed = Event::Effort(EffortEvent::Collapsed {
            id: id.clone(),
            turn: TurnNo(9),
            cause: CollapseCause::Decayed { inactive_turns: 3 },
            tokens_freed: Tokens(70),
        });
        let rows = [
            (span(0), "compacted t1-4@-: 900 → "),
            (span(1), "merged t1-4@-: 900 → "),
            (collapsed, "collapsed auth-bug (not referenced for 3 turns): 70 tokens out"),
            (Event::Effort(EffortEvent::Evicted { turn: TurnNo(9), ids: vec![id] }), "evicted auth-bug"),
            (
                Event::Window(WindowEvent::EpochBegan { turn: TurnNo(9), cause: EpochCause::Full }),
                "began an epoch (it was full): 11 tokens in",
            ),
        ];
        for (event, line) in rows {
            let ops = MemoryOp::from_event(&event, Tokens(11));
            let [op] = ops.as_slice() else { panic!("one operation: {ops:?}") };
            assert!(op.to_string().starts_with(line), "{op}");
            let written = format!("{op} {op:?} {}", serde_json::to_string(op).unwrap());
            assert!(!written.contains("CANARY"), "{written}");
        }
    }
}
