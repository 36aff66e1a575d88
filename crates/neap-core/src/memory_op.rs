//! What is done to the memory, told by ids and token counts alone: never what was said.

use std::fmt;

use serde::Serialize;

use crate::event::{CollapseCause, EpochCause, Event};
use crate::handle::Handle;
use crate::ids::{EffortId, TurnNo};
use crate::tokens::Tokens;

/// One thing done to the memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryOp {
    /// In which turn, or after which.
    pub turn: TurnNo,
    /// What was done.
    #[serde(flatten)]
    pub what: Done,
    /// Tokens that it was about, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Tokens>,
    /// Tokens that stand in the context instead, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Tokens>,
}

/// What was done, and to what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Done {
    /// A stretch of a log got a summary.
    Compacted {
        /// What leads back to the words.
        handle: Handle,
    },
    /// Several summaries became one.
    Merged {
        /// What leads back to the words.
        handle: Handle,
    },
    /// An effort ended; its summary stands for it.
    Concluded {
        /// Which.
        id: EffortId,
    },
    /// Its summary was made anew, with its closing exchange.
    Summarized {
        /// Which.
        id: EffortId,
    },
    /// A log came back.
    Expanded {
        /// Whose.
        id: EffortId,
    },
    /// An expansion ended.
    Collapsed {
        /// Whose.
        id: EffortId,
        /// Why.
        cause: CollapseCause,
    },
    /// Summaries left the context.
    Evicted {
        /// Whose.
        ids: Vec<EffortId>,
    },
    /// Efforts were mentioned: they stay, or come back.
    Referenced {
        /// Which.
        ids: Vec<EffortId>,
    },
    /// Stored words were brought back by a tool of ours.
    Recalled {
        /// By which: one of our own names.
        tool: &'static str,
    },
    /// The prompt was written anew.
    EpochBegan {
        /// Why.
        cause: EpochCause,
    },
}

/// Our tools that bring stored words back.
const RECALLING: [&str; 2] = ["search_efforts", "fetch_original"];

impl MemoryOp {
    /// What an event did to the memory, if it did anything; `prompt` is what the growing prompt costs now.
    pub fn of(event: &Event, prompt: Tokens) -> Vec<Self> {
        let Some(turn) = event.turn() else { return Vec::new() };
        let op = |what, before, after| vec![Self { turn, what, before, after }];
        match event {
            Event::SpanCompacted { scope, span, .. } => {
                let handle = span.handle(scope);
                let what = if span.depth == 0 { Done::Compacted { handle } } else { Done::Merged { handle } };
                op(what, Some(span.size.tokens), Some(span.tokens))
            }
            Event::EffortConcluded { id, summary, .. } => {
                op(Done::Concluded { id: id.clone() }, None, Some(summary.tokens))
            }
            Event::EffortSummarized { id, summary, .. } => {
                op(Done::Summarized { id: id.clone() }, None, Some(summary.tokens))
            }
            Event::EffortExpanded { id, tokens_loaded, .. } => {
                op(Done::Expanded { id: id.clone() }, None, Some(*tokens_loaded))
            }
            Event::EffortCollapsed { id, cause, tokens_freed, .. } => {
                op(Done::Collapsed { id: id.clone(), cause: *cause }, Some(*tokens_freed), None)
            }
            Event::SummariesEvicted { ids, .. } => op(Done::Evicted { ids: ids.clone() }, None, None),
            Event::EffortsReferenced { ids, .. } => op(Done::Referenced { ids: ids.clone() }, None, None),
            Event::EpochBegan { cause, .. } => op(Done::EpochBegan { cause: *cause }, None, Some(prompt)),
            Event::ToolsCalled { round, .. } => {
                let calls = round.assistant.message.tool_calls.iter().zip(&round.results);
                let recalled = calls.filter_map(|(call, result)| {
                    let tool = RECALLING.into_iter().find(|tool| *tool == call.name)?;
                    Some(Self { turn, what: Done::Recalled { tool }, before: None, after: Some(result.tokens) })
                });
                recalled.collect()
            }
            Event::SessionCreated { .. }
            | Event::PolicyChanged { .. }
            | Event::TurnStarted { .. }
            | Event::EffortOpened { .. }
            | Event::EffortSwitched { .. }
            | Event::EffortReopened { .. }
            | Event::TurnCompleted { .. }
            | Event::TurnAbandoned { .. }
            | Event::MessageAdded { .. }
            | Event::TurnClosed { .. }
            | Event::TurnTakenBack { .. }
            | Event::HistoryLinked { .. }
            | Event::RequestPassed { .. }
            | Event::ClientCompacted { .. }
            | Event::MemoriesLoaded { .. }
            | Event::CensorTriggered { .. }
            | Event::MemoryChanged { .. }
            | Event::MemoryErased { .. }
            | Event::Scrubbed { .. } => Vec::new(),
        }
    }
}

impl fmt::Display for MemoryOp {
    /// One line: what, to what, why, and the tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Done::Compacted { handle } => write!(f, "compacted {handle}")?,
            Done::Merged { handle } => write!(f, "merged {handle}")?,
            Done::Concluded { id } => write!(f, "concluded {id}")?,
            Done::Summarized { id } => write!(f, "summarised {id} once more")?,
            Done::Expanded { id } => write!(f, "expanded {id}")?,
            Done::Collapsed { id, cause } => write!(f, "collapsed {id} ({cause})")?,
            Done::Evicted { ids } => write!(f, "evicted {}", listed(ids))?,
            Done::Referenced { ids } => write!(f, "referenced {}", listed(ids))?,
            Done::Recalled { tool } => write!(f, "recalled by {tool}")?,
            Done::EpochBegan { cause } => write!(f, "began an epoch ({cause})")?,
        }
        match (self.before, self.after) {
            (Some(before), Some(after)) => write!(f, ": {before} → {after} tokens"),
            (Some(before), None) => write!(f, ": {before} tokens out"),
            (None, Some(after)) => write!(f, ": {after} tokens in"),
            (None, None) => Ok(()),
        }
    }
}

/// The first few, and how many more.
fn listed(ids: &[EffortId]) -> String {
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
    use crate::effort::LogSize;
    use crate::message::Scope;
    use crate::testing::WordCounter;
    use crate::window::Span;

    fn span(depth: u32) -> Event {
        let size = LogSize { exchanges: 4, tokens: Tokens(900) };
        let span =
            Span::new(&WordCounter, &Scope::Ambient, (TurnNo(1), TurnNo(4)), (size, size), depth, "CANARY text");
        Event::SpanCompacted { scope: Scope::Ambient, turn: TurnNo(9), span, receipt: None }
    }

    #[test]
    fn operations_tell_ids_and_tokens_and_no_words() {
        let id = EffortId::parse("auth-bug").unwrap();
        let collapsed = Event::EffortCollapsed {
            id: id.clone(),
            turn: TurnNo(9),
            cause: CollapseCause::Decayed { inactive_turns: 3 },
            tokens_freed: Tokens(70),
        };
        let rows = [
            (span(0), "compacted t1-4@-: 900 → "),
            (span(1), "merged t1-4@-: 900 → "),
            (collapsed, "collapsed auth-bug (not referenced for 3 turns): 70 tokens out"),
            (Event::SummariesEvicted { turn: TurnNo(9), ids: vec![id] }, "evicted auth-bug"),
            (
                Event::EpochBegan { turn: TurnNo(9), cause: EpochCause::Full },
                "began an epoch (it was full): 11 tokens in",
            ),
        ];
        for (event, line) in rows {
            let ops = MemoryOp::of(&event, Tokens(11));
            let [op] = ops.as_slice() else { panic!("one operation: {ops:?}") };
            assert!(op.to_string().starts_with(line), "{op}");
            let written = format!("{op} {op:?} {}", serde_json::to_string(op).unwrap());
            assert!(!written.contains("CANARY"), "{written}");
        }
    }
}
