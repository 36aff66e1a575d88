//! What may happen in one step: a turn, a command, a setting, a crash, a rival's visit, a stale commit.

use neap_core::base::message::ToolCall;
use neap_engine::{Author, EngineError};
use neap_store::StoreError;
use serde_json::json;

use crate::agent::run_person_command;
use crate::check::{StepResult, Violations};
use crate::model::memory::sensible_call;
use crate::plant::Plant;
use crate::rival::random_tool_call;
use crate::rng::Rng;
use crate::store::{Rival, hold_clock};
use crate::trace::Fault;
use crate::words::{REPORTED_CANARY, standing_rule};
use crate::world::{World, unexplained};

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
            18..=19 => self.commit_stale().await?,
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
        self.explain_outcome(at, outcome).await
    }

    /// An error must have its cause.
    async fn explain_outcome<T>(&mut self, at: usize, outcome: Result<T, EngineError>) -> StepResult {
        match outcome {
            Ok(_) => Ok(()),
            Err(error) => self.explain_failure(at, "", None, error).await,
        }
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
                out.into_result()
            }
            Err(EngineError::NoReply { .. }) => Ok(()),
            Err(error) => self.explain_failure(at, &text, None, error).await,
        }
    }

    async fn run_upkeep(&mut self, at: usize) -> StepResult {
        let Some(process) = self.sessions[at].process() else { return Ok(()) };
        let outcome = process.session.run_upkeep().await;
        self.explain_outcome(at, outcome).await
    }

    async fn undo_turn(&mut self, at: usize) -> StepResult {
        let Some(process) = self.sessions[at].process() else { return Ok(()) };
        let outcome = process.session.undo_turn().await;
        self.explain_outcome(at, outcome).await
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
            outcome => self.explain_outcome(at, outcome).await,
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
            Err(EngineError::Policy(_) | EngineError::Turn(_)) => {
                let unchanged = *process.session.state().policy() == before;
                let mut out = Violations::default();
                out.check("settings", unchanged, || format!("{key}={value} was refused and yet made"));
                out.into_result()
            }
            // Another process committed first: reported, and nothing happened.
            Err(EngineError::Store(StoreError::Conflict { .. })) => Ok(()),
            outcome => self.explain_outcome(at, outcome).await,
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
    async fn commit_stale(&mut self) -> StepResult {
        let Some(commit) = self.trace.newest_commit() else { return Ok(()) };
        match hold_clock(self.store.commit(commit)).await {
            Err(StoreError::Conflict { .. } | StoreError::DuplicateTurn { .. }) => Ok(()),
            Ok(()) => Err(unexplained("I10: a stale commit was accepted")),
            Err(error) => Err(unexplained(&format!("I10: a stale commit failed with {error}"))),
        }
    }
}
