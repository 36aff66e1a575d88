//! Turns of a session, what they must have stored, and errors that must have a cause.

use neap_core::base::ids::TurnNo;
use neap_core::base::ledger::Layer;
use neap_core::memory::knowledge::Placement;
use neap_core::session::event::{Event, TurnEvent};
use neap_core::turn::{ModelRequest, TurnError};
use neap_engine::{Author, EngineError, NullObserver, TurnReply};
use neap_model::bpe::counter_for;

use crate::check::marks::memory_tokens;
use crate::check::request::{messages_tokens, tools_tokens};
use crate::check::{StepResult, Violation, Violations};
use crate::trace::Fault;
use crate::world::{World, unexplained};

enum TurnOutcome {
    Answered(Box<TurnReply>),
    /// Stored, but without a reply.
    Accepted(TurnNo),
    /// The caller went away.
    Dropped,
    Failed(EngineError),
}

impl World {
    pub(crate) async fn say(&mut self, at: usize, number: u64, text: String) -> StepResult {
        let turn_id = self.rng.chance(400).then(|| format!("turn-{number}"));
        let outcome = self.take_turn(at, &text, turn_id.as_deref()).await?;
        let mut out = Violations::default();
        match outcome {
            TurnOutcome::Answered(reply) => {
                self.check_answered(at, &text, &reply, &mut out).await?;
                if let Some(id) = turn_id.filter(|id| self.turn_with_id(at, id) == Some(reply.turn)) {
                    self.sessions[at].last_answered = Some((id, text, reply.text));
                }
            }
            TurnOutcome::Accepted(turn) => self.check_stored(at, turn, &text, None, &mut out),
            TurnOutcome::Dropped => {}
            TurnOutcome::Failed(error) => return self.explain_failure(at, &text, turn_id, error).await,
        }
        out.into_result()
    }

    async fn take_turn(
        &mut self,
        at: usize,
        text: &str,
        turn_id: Option<&str>,
    ) -> Result<TurnOutcome, Vec<Violation>> {
        let session = &mut self.sessions[at];
        session.prepare(text);
        let cut = session.cut.clone();
        let Some(process) = session.process() else { return Err(unexplained("nobody is there to talk to")) };
        let mut observer = NullObserver;
        let outcome = tokio::select! {
            biased;
            outcome = process.session.turn_with_id(Author::Person, text, turn_id, &mut observer) => outcome,
            () = cut.notified() => return Ok(TurnOutcome::Dropped),
        };
        Ok(match outcome {
            Ok(reply) => TurnOutcome::Answered(Box::new(reply)),
            Err(EngineError::NoReply { turn, .. }) => TurnOutcome::Accepted(turn),
            Err(error) => TurnOutcome::Failed(error),
        })
    }

    /// A reply must be durable, and its ledger must agree with the model's request.
    async fn check_answered(
        &mut self,
        at: usize,
        text: &str,
        reply: &TurnReply,
        out: &mut Violations,
    ) -> StepResult {
        self.check_stored(at, reply.turn, text, Some(&reply.text), out);
        let id = self.sessions[at].id.clone();
        let mut newest = None;
        let mut tools = 0;
        self.trace.note(|step| {
            let ours = |seen: &&crate::trace::SeenRequest| seen.session == id && seen.message == text;
            newest = step.requests.iter().rev().find(ours).map(|seen| seen.request.clone());
        });
        let Some(newest) = newest else { return Ok(()) };
        if let Some(process) = self.sessions[at].process() {
            let counter = process.session.counter().clone();
            if newest.may_call_tools {
                tools = tools_tokens(counter.as_ref(), newest.tools.iter());
            }
            let counted = messages_tokens(counter.as_ref(), &newest.messages) + tools;
            let ledger = reply.ledger.tokens.total().0;
            let agrees = if newest.may_call_tools { counted == ledger } else { counted <= ledger };
            out.check("I1", agrees, || format!("the ledger says {ledger}, the request has {counted} tokens"));
        }
        self.check_memories(at, &newest, reply, out);
        Ok(())
    }

    /// Checks the token cost of the memory layers, and that censors were applied.
    fn check_memories(&self, at: usize, request: &ModelRequest, reply: &TurnReply, out: &mut Violations) {
        let session = &self.sessions[at];
        let Some(agent) = &session.agent else { return };
        let counter = counter_for(&session.replayed.head().encoding);
        if agent.profile.placement == Placement::System {
            let (counted, tokens) = (memory_tokens(counter.as_ref(), request), &reply.ledger.tokens);
            let paid = Layer::ALL.into_iter().filter(|layer| layer.is_memory()).map(|layer| tokens.get(layer).0);
            let paid = paid.sum::<u64>();
            out.check("layers", counted == paid, || {
                format!(
                    "memories cost {counted} tokens, their layers say {paid}: {tokens:?}\n{:?}",
                    request.messages
                )
            });
        }
        if self.trace.had_fault(Fault::Rival) {
            return;
        }
        let has_word =
            |word: &str| reply.text.split(|c: char| !c.is_alphanumeric()).any(|part| part.to_lowercase() == word);
        for watch in self.agents.iter().filter(|watch| watch.id == agent.id.stream()) {
            for (id, word) in watch.forbidden_words() {
                out.check("censors", !has_word(&word), || {
                    format!("{id} forbids {word:?}, the reply is {:?}", reply.text)
                });
            }
        }
    }

    /// The turn that has a caller's id. It differs from the answered turn if a rival counted that one as dead: its
    /// message then became a new turn.
    fn turn_with_id(&self, at: usize, id: &str) -> Option<TurnNo> {
        self.trace.with_acknowledged(&self.sessions[at].id, |events| {
            events.iter().rev().find_map(|recorded| {
                if let Event::Turn(TurnEvent::Started { turn, turn_id: Some(given), .. }) = &recorded.event {
                    return (given == id).then_some(*turn);
                }
                None
            })
        })
    }

    pub(crate) fn check_stored(
        &self,
        at: usize,
        turn: TurnNo,
        text: &str,
        reply: Option<&str>,
        out: &mut Violations,
    ) {
        let (has_message, has_reply) = self.trace.with_acknowledged(&self.sessions[at].id, |events| {
            let newest_first = || events.iter().rev().map(|recorded| &recorded.event);
            let has_message = newest_first().any(|event| {
                matches!(event, Event::Turn(TurnEvent::Started { turn: recorded_turn, message, .. })
                    if *recorded_turn == turn && *message.message.content == *text)
            });
            let has_reply = newest_first().any(|event| {
                matches!(event, Event::Turn(TurnEvent::Completed { turn: recorded_turn, reply: stored, .. })
                    if *recorded_turn == turn && Some(stored.message.content.as_ref()) == reply)
            });
            (has_message, has_reply)
        });
        out.check("I2", has_message, || format!("turn {turn} was acknowledged but its message is not stored"));
        out.check("I2", reply.is_none() || has_reply, || format!("the reply of turn {turn} is not stored"));
    }

    /// Every error must have its cause. After a crash everything is reopened and the turn is sent again.
    pub(crate) async fn explain_failure(
        &mut self,
        at: usize,
        text: &str,
        turn_id: Option<String>,
        error: EngineError,
    ) -> StepResult {
        let crashed = self.trace.had_fault(Fault::CrashBefore) || self.trace.had_fault(Fault::CrashAfter);
        let is_too_small = matches!(&error, EngineError::Turn(TurnError::BudgetTooSmall(_)));
        self.report.refused += u64::from(is_too_small);
        let is_too_long = matches!(&error, EngineError::Turn(TurnError::MessageTooLong { bytes, bytes_max }) if bytes > bytes_max);
        let explained = is_too_small || is_too_long || self.trace.explains(&error);
        if !explained {
            return Err(unexplained(&format!("saying {:.80?} failed: {error}", text)));
        }
        // Most processes die of it; some continue with the session as if nothing had happened.
        if crashed && self.rng.chance(800) {
            self.restart().await?;
        }
        let Some(id) = turn_id else { return Ok(()) };
        // Sent again under the same id, it is accepted once; the stream check verifies that.
        match self.take_turn(at, text, Some(&id)).await? {
            TurnOutcome::Answered(_) | TurnOutcome::Accepted(_) | TurnOutcome::Dropped => Ok(()),
            // It may still be in flight.
            TurnOutcome::Failed(
                EngineError::StillAnswering { .. } | EngineError::Turn(_) | EngineError::Store(_),
            ) => Ok(()),
            TurnOutcome::Failed(error) => Err(unexplained(&format!("sending {id} again failed: {error}"))),
        }
    }

    /// Sends an answered turn again: it returns the same reply and changes nothing.
    pub(crate) async fn resend(&mut self, at: usize) -> StepResult {
        let Some((id, text, reply)) = self.sessions[at].last_answered.clone() else { return Ok(()) };
        let before = self.trace.acknowledged_len(&self.sessions[at].id);
        let outcome = self.take_turn(at, &text, Some(&id)).await?;
        let mut out = Violations::default();
        match outcome {
            TurnOutcome::Answered(again) => {
                out.check("turns", again.text == reply, || format!("{id} was answered anew: {:?}", again.text));
                // A turn dropped earlier may be closed now; nothing else happens.
                let is_unchanged = self.trace.with_acknowledged(&self.sessions[at].id, |events| {
                    let new = events.get(before..).unwrap_or_default();
                    new.iter().all(|recorded| matches!(recorded.event, Event::Turn(TurnEvent::Abandoned { .. })))
                });
                let without_rival = !self.trace.had_fault(Fault::Rival);
                out.check("turns", is_unchanged || !without_rival, || {
                    format!("sending {id} again changed something")
                });
            }
            TurnOutcome::Accepted(turn) => {
                out.add("turns", format!("{id} was answered, and now has no reply: {turn}"))
            }
            TurnOutcome::Dropped => out.add("turns", format!("{id} was thought about again")),
            TurnOutcome::Failed(EngineError::Store(_) | EngineError::Turn(_)) => {}
            TurnOutcome::Failed(error) => out.add("turns", format!("sending {id} again: {error}")),
        }
        out.into_result()
    }
}
