//! Applies censors to user messages, model replies and tool calls.

use super::agent_context::AgentContext;
use super::context::TurnContext;
use super::{Phase, Turn, TurnProgress};
use crate::base::message::{CountedMessage, Incomplete, Message, ToolCall, ToolRound};
use crate::base::prompt;
use crate::base::refusal::Refusal;
use crate::memory::censor::{CensorHit, cap_action, check};
use crate::memory::learn::MemoryUse;
use crate::memory::{Body, CensorAction, CensorSide, MemoryEvent, MemoryKind};
use crate::session::event::{AbandonReason, Event, RoundVisibility, TurnEvent};
use crate::turn::tools::Banner;

/// Retries of a refused reply before it is withheld.
const REPLY_RETRIES_MAX: u64 = 2;
/// Most censors named in one note.
const GUIDANCE_HITS_MAX: usize = 3;

pub(super) enum CallVerdict {
    Allowed,
    /// The call runs, and the model reads this note about it.
    Steered(String),
    Refused(Refusal),
    Aborted(AbandonReason),
}

/// Matching censors, strictest first.
fn find_hits(cx: &mut TurnContext<'_>, side: CensorSide, text: &str) -> Vec<CensorHit> {
    let Some(agent) = &mut cx.agent else { return Vec::new() };
    let head = agent.agent.head().agent.as_deref();
    head.map_or_else(Vec::new, |head| check(head.censors.values(), &mut agent.memories.patterns, side, text))
}

/// Whether output must be checked before anyone reads it.
pub(super) fn needs_buffering(cx: &TurnContext<'_>) -> bool {
    let head = cx.agent.as_ref().and_then(AgentContext::head);
    head.is_some_and(|head| {
        head.censors.values().any(|memory| match &memory.body {
            Body::Censor(censor) => {
                memory.is_person_approved()
                    && censor.side == CensorSide::Output
                    && cap_action(memory.provenance.author, censor.action) > CensorAction::Steer
            }
            Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) => false,
        })
    })
}

/// The refusal of a call from outside a turn, if a censor matches, with its event.
pub(super) fn check_standalone_call(cx: &mut TurnContext<'_>, call: &ToolCall) -> Option<(Refusal, MemoryEvent)> {
    let (turn, side) = (cx.state.turn(), CensorSide::ToolCall);
    let hits = find_hits(cx, side, &call_text(call));
    let hit = hits.first().filter(|hit| hit.action > CensorAction::Steer)?;
    Some((refusal(hit), MemoryEvent::CensorTriggered { turn, id: hit.id, side, action: hit.action }))
}

fn call_text(call: &ToolCall) -> String {
    format!("{} {}", call.name, call.arguments)
}

fn refusal(hit: &CensorHit) -> Refusal {
    Refusal::new(format!("Rule {} refuses this: {}", hit.id, hit.reason))
        .hint("do it another way, or say why you cannot")
}

impl Turn {
    /// Checks the user's message. Returns a reason if a censor ends the turn; other hits become guidance.
    pub(super) fn check_input(&mut self, cx: &mut TurnContext<'_>) -> Option<AbandonReason> {
        let text = self.message.message.content.clone();
        let hits = find_hits(cx, CensorSide::Input, &text);
        self.record_hits(cx, CensorSide::Input, &hits);
        if let Some(hit) = hits.first().filter(|hit| hit.action == CensorAction::Abort) {
            return Some(abort_reason(hit));
        }
        self.guidance = guidance(&hits).map(|text| cx.mask_and_count(Message::user(text)));
        None
    }

    pub(super) fn check_call(&mut self, cx: &mut TurnContext<'_>, call: &ToolCall) -> CallVerdict {
        let hits = find_hits(cx, CensorSide::ToolCall, &call_text(call));
        self.record_hits(cx, CensorSide::ToolCall, &hits);
        match hits.first() {
            None => CallVerdict::Allowed,
            Some(hit) if hit.action == CensorAction::Abort => CallVerdict::Aborted(abort_reason(hit)),
            Some(hit) if hit.action == CensorAction::Refuse => CallVerdict::Refused(refusal(hit)),
            Some(_) => guidance(&hits).map_or(CallVerdict::Allowed, CallVerdict::Steered),
        }
    }

    /// Checks a reply. `Ok(None)` accepts it. A refused reply is retried up to [`REPLY_RETRIES_MAX`] times, then
    /// withheld.
    pub(super) fn check_output(
        &mut self,
        cx: &mut TurnContext<'_>,
        text: &str,
        whole: &str,
    ) -> Result<Option<Incomplete>, Box<TurnProgress>> {
        let hits = find_hits(cx, CensorSide::Output, whole);
        self.record_hits(cx, CensorSide::Output, &hits);
        let Some(hit) = hits.first().filter(|hit| hit.action > CensorAction::Steer) else { return Ok(None) };
        if hit.action == CensorAction::Abort {
            return Err(Box::new(self.abandon(cx, abort_reason(hit))));
        }
        let reason = hit.reason.clone();
        if self.replies_refused < REPLY_RETRIES_MAX {
            self.replies_refused += 1;
            let note = prompt::fill(prompt::REFUSED, &[("id", &hit.id.to_string()), ("reason", &reason)]);
            return Err(Box::new(self.ask_again(cx, text, &note)));
        }
        Ok(Some(Incomplete::Withheld { rule: hit.id, reason }))
    }

    /// Checks a round of calls before any of it runs. A censor that ends the turn does so now; refused text beside
    /// the calls is dropped.
    pub(super) fn check_round(
        &mut self,
        cx: &mut TurnContext<'_>,
        text: String,
        calls: &[ToolCall],
    ) -> Result<String, AbandonReason> {
        for call in calls {
            let hits = find_hits(cx, CensorSide::ToolCall, &call_text(call));
            if let Some(hit) = hits.first().filter(|hit| hit.action == CensorAction::Abort) {
                self.record_hits(cx, CensorSide::ToolCall, &hits);
                return Err(abort_reason(hit));
            }
        }
        let hits = find_hits(cx, CensorSide::Output, &text);
        self.record_hits(cx, CensorSide::Output, &hits);
        match hits.first() {
            Some(hit) if hit.action == CensorAction::Abort => Err(abort_reason(hit)),
            Some(hit) if hit.action == CensorAction::Refuse => {
                self.refusals.push(refusal(hit).error);
                Ok(String::new())
            }
            Some(_) | None => Ok(text),
        }
    }

    /// Records hits in a turn that a host has already completed; blocks nothing.
    pub(super) fn check_host_turn(&mut self, cx: &mut TurnContext<'_>) {
        let message = self.message.message.content.clone();
        let reply = self.host_reply.as_ref().map_or_else(|| "".into(), |reply| reply.message.content.clone());
        for (side, text) in [(CensorSide::Input, &*message), (CensorSide::Output, &*reply)] {
            let hits = find_hits(cx, side, text);
            self.record_hits(cx, side, &hits);
        }
    }

    /// Whether a censor refuses this text.
    pub(super) fn is_refused(&mut self, cx: &mut TurnContext<'_>, text: &str) -> bool {
        let hits = find_hits(cx, CensorSide::Output, text);
        self.record_hits(cx, CensorSide::Output, &hits);
        hits.first().is_some_and(|hit| hit.action > CensorAction::Steer)
    }

    /// Keeps the refused reply and the reason in this turn, for the model to read.
    fn ask_again(&mut self, cx: &mut TurnContext<'_>, text: &str, note: &str) -> TurnProgress {
        let assistant = cx.mask_and_count(Message::assistant(text));
        let notes: Vec<CountedMessage> = vec![cx.mask_and_count(Message::user(note))];
        let round = ToolRound { assistant, results: Vec::new(), seals: Vec::new(), notes };
        let visibility = RoundVisibility::ThisTurn;
        self.record(cx, TurnEvent::ToolsCalled { turn: self.turn, round: round.clone(), visibility });
        self.commit(Phase::RetryingReply { round: Box::new(round) })
    }

    fn record_hits(&mut self, cx: &mut TurnContext<'_>, side: CensorSide, hits: &[CensorHit]) {
        for hit in hits {
            debug_assert_eq!(hit.id.kind(), MemoryKind::Censor);
            let CensorHit { id, action, reason } = hit.clone();
            let event = Event::Memory(MemoryEvent::CensorTriggered { turn: self.turn, id, side, action });
            if !self.retry_events.contains(&event) {
                self.record_for_retry(cx, event);
            }
            // A censor counts once per turn, however often it matches.
            if !self.memory_uses.contains(&(id, MemoryUse::Triggered)) {
                self.banners.push(Banner::Censored { id, action, reason });
                self.memory_uses.push((id, MemoryUse::Triggered));
            }
        }
    }
}

fn abort_reason(hit: &CensorHit) -> AbandonReason {
    AbandonReason::Censored { id: hit.id, reason: hit.reason.clone() }
}

/// What the model reads about matching censors.
fn guidance(hits: &[CensorHit]) -> Option<String> {
    let lines = hits.iter().take(GUIDANCE_HITS_MAX).map(|hit| {
        let template = if hit.action == CensorAction::Steer { prompt::STEERED } else { prompt::FORBIDDEN };
        prompt::fill(template, &[("id", &hit.id.to_string()), ("reason", &hit.reason)])
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
