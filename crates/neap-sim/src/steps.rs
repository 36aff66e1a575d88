//! What may happen in one step: a turn, a command, a setting, a crash, a rival's visit, a stale commit.

use neap_core::base::ids::TurnNo;
use neap_core::base::ledger::Layer;
use neap_core::base::message::ToolCall;
use neap_core::memory::knowledge::Placement;
use neap_core::session::event::{Event, TurnEvent};
use neap_core::turn::{ModelRequest, TurnError};
use neap_engine::{Author, EngineError, NullObserver, TurnReply};
use neap_model::bpe::counter_for;
use neap_store::StoreError;
use serde_json::json;

use crate::agent::run_person_command;
use crate::check::marks::memory_tokens;
use crate::check::request::{messages_tokens, tools_tokens};
use crate::check::{Violation, Violations};
use crate::model::memory::sensible_call;
use crate::plant::Plant;
use crate::rival::random_tool_call;
use crate::rng::Rng;
use crate::store::{Rival, hold_clock};
use crate::trace::Fault;
use crate::words::{REPORTED_CANARY, standing_rule};
use crate::world::{World, unexplained};

type StepResult = Result<(), Vec<Violation>>;

enum TurnOutcome {
    Answered(Box<TurnReply>),
    /// Stored, but without a reply.
    Accepted(TurnNo),
    /// The caller went away.
    Dropped,
    Failed(EngineError),
}

impl World {
    pub(crate) async fn step(&mut self, number: u64) -> StepResult {
        self.session_step(number).await?;
        self.client_step().await
    }

    async fn session_step(&mut self, number: u64) -> StepResult {
        if !self.agents.is_empty() && self.memory_rng.chance(130) {
            self.memory_step().await?;
            let deep = self.memory_rng.chance(300);
            return self.check_step(deep).await;
        }
        let at = usize::try_from(self.rng.below(self.sessions.len() as u64)).unwrap_or(0);
        match self.rng.below(100) {
            0 => return self.restart().await,
            1..=11 => self.call_tool(at).await?,
            12..=14 => self.change_setting(at).await?,
            15..=17 => self.run_rival(at).await,
            18..=19 => self.commit_stale(at).await?,
            20..=21 => self.resend(at).await?,
            22..=26 => self.record_external_turn(at).await?,
            28..=31 => self.run_upkeep(at).await?,
            32 => self.undo_turn(at).await?,
            27 => self.say(at, number, "x ".repeat(110_000)).await?,
            _ => {
                let text = self.sessions[at].user.next_message();
                self.say(at, number, text).await?;
                // As a chat does while it waits for the next line.
                if self.rng.chance(500) {
                    self.run_upkeep(at).await?;
                }
            }
        }
        let deep = self.rng.chance(300);
        self.check_step(deep).await
    }

    async fn say(&mut self, at: usize, number: u64, text: String) -> StepResult {
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
        finish(out)
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

    /// A person edits an agent's memory, or time passes.
    async fn memory_step(&mut self) -> StepResult {
        if self.memory_rng.chance(60) {
            let days = i64::try_from(self.memory_rng.between(1, 50)).unwrap_or(1);
            self.clock.advance(days * 86_400_000);
            return Ok(());
        }
        let mut rng = Rng::new(self.memory_rng.draw());
        let at = usize::try_from(rng.below(self.sessions.len() as u64)).unwrap_or(0);
        let Some(agent) = self.sessions[at].agent.clone() else { return Ok(()) };
        let Some(process) = self.sessions[at].process() else { return Ok(()) };
        let outcome = if rng.chance(300) {
            let ToolCall { name, arguments, .. } = sensible_call(&mut rng, &agent);
            process.session.call_tool(&name, &arguments).await.map(|_| ())
        } else {
            let engine = if rng.chance(500) { &process.own_engine } else { &process.faultless_engine };
            run_person_command(engine, &mut rng, &agent.canary).await
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => self.explain_failure(at, "", None, error).await,
        }
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

    fn check_stored(&self, at: usize, turn: TurnNo, text: &str, reply: Option<&str>, out: &mut Violations) {
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
    async fn explain_failure(
        &mut self,
        at: usize,
        text: &str,
        turn_id: Option<String>,
        error: EngineError,
    ) -> StepResult {
        let crashed = self.trace.had_fault(Fault::CrashBefore) || self.trace.had_fault(Fault::CrashAfter);
        let explained = match &error {
            EngineError::Store(StoreError::Failed(_)) => crashed,
            EngineError::Store(StoreError::Full { .. }) => self.trace.had_fault(Fault::Full),
            EngineError::Store(StoreError::Busy { .. }) => self.trace.had_fault(Fault::BusyRead),
            EngineError::Turn(TurnError::MessageTooLong { bytes, bytes_max }) => bytes > bytes_max,
            EngineError::Turn(TurnError::BudgetTooSmall(_)) => {
                self.report.refused += 1;
                true
            }
            EngineError::Store(_)
            | EngineError::NotRecorded(_)
            | EngineError::NoReply { .. }
            | EngineError::StillAnswering { .. }
            | EngineError::Policy(_)
            | EngineError::NoSession(_)
            | EngineError::SessionExists(_)
            | EngineError::NoTurn { .. }
            | EngineError::Key(_)
            | EngineError::NoFrame(_)
            | EngineError::MemoryTooSmall { .. }
            | EngineError::Embedder(_)
            | EngineError::TimedOut
            | EngineError::Contended(_) => false,
        };
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
    async fn resend(&mut self, at: usize) -> StepResult {
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
        finish(out)
    }

    async fn record_external_turn(&mut self, at: usize) -> StepResult {
        let (mut text, mut reply) = (self.sessions[at].user.next_message(), self.sessions[at].user.next_message());
        if self.rng.chance(300) {
            // A rule that a model attributes to the user, meant to hold for good.
            text = format!("{} {text}", standing_rule(&mut self.rng));
            reply.push_str(REPORTED_CANARY);
        }
        // Nobody vouches for the author; taking it for a person's is the planted fault.
        let author =
            if self.sessions[at].plant == Some(Plant::ModelAsPerson) { Author::Person } else { Author::Model };
        let Some(process) = self.sessions[at].process() else { return Ok(()) };
        match process.session.record(author, &text, &reply, None).await {
            Ok(recorded) => {
                let mut out = Violations::default();
                self.check_stored(at, recorded.turn, &text, Some(&recorded.text), &mut out);
                finish(out)
            }
            Err(EngineError::NoReply { .. }) => Ok(()),
            Err(error) => self.explain_failure(at, &text, None, error).await,
        }
    }

    async fn run_upkeep(&mut self, at: usize) -> StepResult {
        let Some(process) = self.sessions[at].process() else { return Ok(()) };
        match process.session.run_upkeep().await {
            Ok(_) => Ok(()),
            Err(error) => self.explain_failure(at, "", None, error).await,
        }
    }

    async fn undo_turn(&mut self, at: usize) -> StepResult {
        let Some(process) = self.sessions[at].process() else { return Ok(()) };
        match process.session.undo_turn().await {
            Ok(_) => Ok(()),
            Err(error) => self.explain_failure(at, "", None, error).await,
        }
    }

    /// A person's command. A concluded effort can always be expanded (I6).
    async fn call_tool(&mut self, at: usize) -> StepResult {
        let mut rng = Rng::new(self.rng.draw());
        let Some(process) = self.sessions[at].process() else { return Ok(()) };
        let (name, id) = random_tool_call(&mut rng, &process.session);
        let arguments = json!({"id": id, "name": id}).to_string();
        let outcome = process.session.call_tool(name, &arguments).await;
        let effort = process.session.state().efforts().find(|effort| effort.id.as_str() == id);
        let expandable = effort.is_some_and(|effort| effort.is_concluded() && effort.expanded.is_none());
        match outcome {
            Ok(outcome) if name == "expand_effort" && expandable => {
                Err(unexplained(&format!("{id} is concluded and was not expanded: {}", outcome.text)))
            }
            Ok(_) => Ok(()),
            Err(error) => self.explain_failure(at, "", None, error).await,
        }
    }

    /// Changes a setting; a refused change must change nothing.
    async fn change_setting(&mut self, at: usize) -> StepResult {
        let rng = &mut self.rng;
        let (key, value) = match rng.below(6) {
            0 => ("decay_threshold", rng.between(0, 5)),
            1 => ("summary_eviction_threshold", rng.between(1, 20)),
            2 => ("context_tokens_max", rng.between(3_000, 8_000)),
            3 => ("context_tokens_max", 256),
            4 => ("ambient_window", rng.between(0, 12)),
            _ => ("active_share_percent", rng.between(0, 100)),
        };
        let Some(process) = self.sessions[at].process() else { return Ok(()) };
        let before = process.session.state().policy().clone();
        match process.session.set(key, &value.to_string()).await {
            Ok(()) => Ok(()),
            Err(EngineError::Policy(_) | EngineError::Turn(_)) => {
                let unchanged = *process.session.state().policy() == before;
                let mut out = Violations::default();
                out.check("settings", unchanged, || format!("{key}={value} was refused and yet made"));
                finish(out)
            }
            // Another process committed first: reported, and nothing happened.
            Err(EngineError::Store(StoreError::Conflict { .. })) => Ok(()),
            Err(error) => self.explain_failure(at, "", None, error).await,
        }
    }

    /// Another process uses the session; ours does not know yet.
    async fn run_rival(&mut self, at: usize) {
        let id = self.sessions[at].id.clone();
        if let Some(process) = self.sessions[at].process() {
            let rival = process.rival.clone();
            self.trace.note(|step| step.faults.push(Fault::Rival));
            rival.act(&id).await;
        }
    }

    /// A stale commit is refused and changes nothing (I10).
    async fn commit_stale(&mut self, at: usize) -> StepResult {
        let _ = at;
        let Some(commit) = self.trace.newest_commit() else { return Ok(()) };
        match hold_clock(self.store.commit(commit)).await {
            Err(StoreError::Conflict { .. } | StoreError::DuplicateTurn { .. }) => Ok(()),
            Ok(()) => Err(unexplained("I10: a stale commit was accepted")),
            Err(error) => Err(unexplained(&format!("I10: a stale commit failed with {error}"))),
        }
    }
}

fn finish(out: Violations) -> StepResult {
    let found = out.into_vec();
    if found.is_empty() { Ok(()) } else { Err(found) }
}
