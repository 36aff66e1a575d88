//! Rules about what not to do, at the side they name: what the user says, what the model answers, what it asks of tools.

use super::desk::Desk;
use super::step::Step;
use super::{Phase, Turn};
use crate::censor::{Hit, allowed, check};
use crate::event::{AbandonReason, Event, RoundVisibility};
use crate::learn::Use;
use crate::memory::{Action, Body, MemoryKind, Side};
use crate::message::{Counted, Incomplete, Message, ToolCall, ToolRound};
use crate::prompt;
use crate::tools::{Banner, Refusal};

/// How often an answer is asked for again before it is withheld.
const REFUSALS_MAX: u64 = 2;
/// Rules that are told of at once.
const TOLD_MAX: usize = 3;

/// What rules say to a tool call.
pub(super) enum Checked {
    /// Nothing.
    Passed,
    /// It is carried out, and this is said about it.
    Steered(String),
    /// It is not.
    Refused(Refusal),
    /// The turn is over.
    Ended(AbandonReason),
}

/// Which rules are met, strictest first.
fn hits(desk: &mut Desk<'_>, side: Side, text: &str) -> Vec<Hit> {
    let Some(mind) = &mut desk.mind else { return Vec::new() };
    let head = mind.agent.head().agent.as_deref();
    head.map_or_else(Vec::new, |head| check(head.censors.values(), &mut mind.known.patterns, side, text))
}

/// Whether words of the model must be looked at before anyone reads them.
pub(super) fn must_hold(desk: &Desk<'_>) -> bool {
    let head = desk.mind.as_ref().and_then(|mind| mind.agent.head().agent.as_deref());
    head.is_some_and(|head| {
        head.censors.values().any(|memory| match &memory.body {
            Body::Censor(censor) => {
                memory.is_a_persons()
                    && censor.side == Side::Output
                    && allowed(memory.provenance.author, censor.action) > Action::Steer
            }
            Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) => false,
        })
    })
}

/// Why a call from outside a turn is not carried out, if a rule says so, and the event of that.
pub(super) fn refused_call(desk: &mut Desk<'_>, call: &ToolCall) -> Option<(Refusal, Event)> {
    let (turn, side) = (desk.state.turn(), Side::ToolCall);
    let hits = hits(desk, side, &called(call));
    let hit = hits.first().filter(|hit| hit.action > Action::Steer)?;
    Some((refusal(hit), Event::CensorTriggered { turn, id: hit.id, side, action: hit.action }))
}

fn called(call: &ToolCall) -> String {
    format!("{} {}", call.name, call.arguments)
}

fn refusal(hit: &Hit) -> Refusal {
    Refusal::new(format!("Rule {} refuses this: {}", hit.id, hit.reason))
        .hint("do it another way, or say why you cannot")
}

impl Turn {
    /// Rules about what was just said to us. One that ends the turn says why; others give guidance.
    pub(super) fn check_input(&mut self, desk: &mut Desk<'_>) -> Option<AbandonReason> {
        let text = self.message.message.content.clone();
        let hits = hits(desk, Side::Input, &text);
        self.met(desk, Side::Input, &hits);
        if let Some(hit) = hits.first().filter(|hit| hit.action == Action::Abort) {
            return Some(ended(hit));
        }
        self.guidance = guidance(&hits).map(|text| desk.count(Message::user(text)));
        None
    }

    pub(super) fn check_call(&mut self, desk: &mut Desk<'_>, call: &ToolCall) -> Checked {
        let hits = hits(desk, Side::ToolCall, &called(call));
        self.met(desk, Side::ToolCall, &hits);
        match hits.first() {
            None => Checked::Passed,
            Some(hit) if hit.action == Action::Abort => Checked::Ended(ended(hit)),
            Some(hit) if hit.action == Action::Refuse => Checked::Refused(refusal(hit)),
            Some(_) => guidance(&hits).map_or(Checked::Passed, Checked::Steered),
        }
    }

    /// Rules about an answer: none, then it stands; else the model is asked again, at most so often, and then the
    /// answer is withheld.
    pub(super) fn check_output(
        &mut self,
        desk: &mut Desk<'_>,
        said: &str,
        whole: &str,
    ) -> Result<Option<Incomplete>, Box<Step>> {
        let hits = hits(desk, Side::Output, whole);
        self.met(desk, Side::Output, &hits);
        let Some(hit) = hits.first().filter(|hit| hit.action > Action::Steer) else { return Ok(None) };
        if hit.action == Action::Abort {
            return Err(Box::new(self.abandon(desk, ended(hit))));
        }
        let reason = hit.reason.clone();
        if self.refused < REFUSALS_MAX {
            self.refused += 1;
            let note = prompt::fill(prompt::REFUSED, &[("id", &hit.id.to_string()), ("reason", &reason)]);
            return Err(Box::new(self.ask_again(desk, said, &note)));
        }
        Ok(Some(Incomplete::Withheld { rule: hit.id, reason }))
    }

    /// Rules about a round of calls, before anything of it is done: one that ends the turn does so now. Words beside the
    /// calls that a rule refuses are not said.
    pub(super) fn check_round(
        &mut self,
        desk: &mut Desk<'_>,
        said: String,
        calls: &[ToolCall],
    ) -> Result<String, AbandonReason> {
        for call in calls {
            let hits = hits(desk, Side::ToolCall, &called(call));
            if let Some(hit) = hits.first().filter(|hit| hit.action == Action::Abort) {
                self.met(desk, Side::ToolCall, &hits);
                return Err(ended(hit));
            }
        }
        let hits = hits(desk, Side::Output, &said);
        self.met(desk, Side::Output, &hits);
        match hits.first() {
            Some(hit) if hit.action == Action::Abort => Err(ended(hit)),
            Some(hit) if hit.action == Action::Refuse => {
                self.refusals.push(refusal(hit).error);
                Ok(String::new())
            }
            Some(_) | None => Ok(said),
        }
    }

    /// What was said elsewhere was said: rules are noted, and block nothing.
    pub(super) fn check_told(&mut self, desk: &mut Desk<'_>) {
        let said = self.message.message.content.clone();
        let reply = self.told_reply.as_ref().map_or_else(|| "".into(), |reply| reply.message.content.clone());
        for (side, text) in [(Side::Input, &*said), (Side::Output, &*reply)] {
            let hits = hits(desk, side, text);
            self.met(desk, side, &hits);
        }
    }

    /// Whether a rule stands against these words.
    pub(super) fn is_refused(&mut self, desk: &mut Desk<'_>, said: &str) -> bool {
        let hits = hits(desk, Side::Output, said);
        self.met(desk, Side::Output, &hits);
        hits.first().is_some_and(|hit| hit.action > Action::Steer)
    }

    /// The refused answer and the reason stay in this turn, for the model to read.
    fn ask_again(&mut self, desk: &mut Desk<'_>, said: &str, note: &str) -> Step {
        let assistant = desk.count(Message::assistant(said));
        let notes: Vec<Counted> = vec![desk.count(Message::user(note))];
        let round = ToolRound { assistant, results: Vec::new(), seals: Vec::new(), notes };
        let visibility = RoundVisibility::ThisTurn;
        self.record(desk, Event::ToolsCalled { turn: self.turn, round: round.clone(), visibility });
        self.commit(Phase::AskedAgain { round: Box::new(round) })
    }

    fn met(&mut self, desk: &mut Desk<'_>, side: Side, hits: &[Hit]) {
        for hit in hits {
            debug_assert_eq!(hit.id.kind(), MemoryKind::Censor);
            let Hit { id, action, reason } = hit.clone();
            let event = Event::CensorTriggered { turn: self.turn, id, side, action };
            if !self.unsaved.contains(&event) {
                self.record_found(desk, event);
            }
            // A rule counts once a turn, however often it is met and decided upon.
            if !self.uses.contains(&(id, Use::Triggered)) {
                self.banners.push(Banner::Censored { id, action, reason });
                self.uses.push((id, Use::Triggered));
            }
        }
    }
}

fn ended(hit: &Hit) -> AbandonReason {
    AbandonReason::Censored { id: hit.id, reason: hit.reason.clone() }
}

/// What the model is told of rules that were met; nothing if none was.
fn guidance(hits: &[Hit]) -> Option<String> {
    let lines = hits.iter().take(TOLD_MAX).map(|hit| {
        let template = if hit.action == Action::Steer { prompt::STEERED } else { prompt::FORBIDDEN };
        prompt::fill(template, &[("id", &hit.id.to_string()), ("reason", &hit.reason)])
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
