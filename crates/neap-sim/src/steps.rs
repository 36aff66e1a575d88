//! What may happen in one step: a turn, a command, a setting, a crash, a visit, a commit that comes too late.

use neap_core::event::Event;
use neap_core::ids::TurnNo;
use neap_core::knowledge::Placement;
use neap_core::ledger::Layer;
use neap_core::message::ToolCall;
use neap_core::turn::{ModelRequest, TurnError};
use neap_engine::{Author, EngineError, Quiet, TurnReply};
use neap_model::bpe::counter_for;
use neap_store::StoreError;
use serde_json::json;

use crate::agent::person;
use crate::check::marks::memory_tokens;
use crate::check::request::{messages_tokens, tools_tokens};
use crate::check::{Violation, Violations};
use crate::model::memory::sensible;
use crate::plant::Plant;
use crate::rng::Rng;
use crate::store::Rival;
use crate::tape::Fault;
use crate::visitor::tool_call;
use crate::words::{TOLD, standing};
use crate::world::{World, broken};

type Step = Result<(), Vec<Violation>>;

/// What came of saying something.
enum Said {
    Answered(Box<TurnReply>),
    /// Stored, but there is no reply.
    Accepted(TurnNo),
    /// The caller went away.
    Dropped,
    Failed(EngineError),
}

impl World {
    /// One step and the look after it.
    pub(crate) async fn step(&mut self, number: u64) -> Step {
        if !self.minds.is_empty() && self.memories.chance(130) {
            self.memory().await?;
            let deep = self.memories.chance(300);
            return self.look(deep).await;
        }
        let at = usize::try_from(self.rng.below(self.talks.len() as u64)).unwrap_or(0);
        match self.rng.below(100) {
            0 => return self.restart().await,
            1..=11 => self.command(at).await?,
            12..=14 => self.set(at).await?,
            15..=17 => self.visit(at).await,
            18..=19 => self.stale(at).await?,
            20..=21 => self.resend(at).await?,
            22..=26 => self.tell(at).await?,
            28..=31 => self.tend(at).await?,
            32 => self.take_back(at).await?,
            27 => self.say(at, number, "x ".repeat(110_000)).await?,
            _ => {
                let text = self.talks[at].user.says();
                self.say(at, number, text).await?;
                // As a chat does while it waits for the next line.
                if self.rng.chance(500) {
                    self.tend(at).await?;
                }
            }
        }
        let deep = self.rng.chance(300);
        self.look(deep).await
    }

    async fn say(&mut self, at: usize, number: u64, text: String) -> Step {
        let turn_id = self.rng.chance(400).then(|| format!("turn-{number}"));
        let said = self.once(at, &text, turn_id.as_deref()).await?;
        let mut out = Violations::default();
        match said {
            Said::Answered(reply) => {
                self.was_answered(at, &text, &reply, &mut out).await?;
                if let Some(id) = turn_id.filter(|id| self.began_as(at, id) == Some(reply.turn)) {
                    self.talks[at].answered = Some((id, text, reply.text));
                }
            }
            Said::Accepted(turn) => self.is_stored(at, turn, &text, None, &mut out),
            Said::Dropped => {}
            Said::Failed(error) => return self.failed(at, &text, turn_id, error).await,
        }
        finish(out)
    }

    async fn once(&mut self, at: usize, text: &str, turn_id: Option<&str>) -> Result<Said, Vec<Violation>> {
        let talk = &mut self.talks[at];
        talk.prepare(text);
        let cut = talk.cut.clone();
        let Some(place) = talk.place() else { return Err(broken("nobody is there to talk to")) };
        let mut nobody = Quiet;
        let outcome = tokio::select! {
            biased;
            outcome = place.session.turn_with_id(Author::Person, text, turn_id, &mut nobody) => outcome,
            () = cut.notified() => return Ok(Said::Dropped),
        };
        Ok(match outcome {
            Ok(reply) => Said::Answered(Box::new(reply)),
            Err(EngineError::NoReply { turn, .. }) => Said::Accepted(turn),
            Err(error) => Said::Failed(error),
        })
    }

    /// A reply was given: it must be durable, and its account must agree with what the model saw.
    async fn was_answered(&mut self, at: usize, text: &str, reply: &TurnReply, out: &mut Violations) -> Step {
        self.is_stored(at, reply.turn, text, Some(&reply.text), out);
        let id = self.talks[at].id.clone();
        let mut newest = None;
        let mut tools = 0;
        self.tape.note(|step| {
            let ours = |seen: &&crate::tape::Seen| seen.session == id && seen.said == text;
            newest = step.requests.iter().rev().find(ours).map(|seen| seen.request.clone());
        });
        let Some(newest) = newest else { return Ok(()) };
        if let Some(place) = self.talks[at].place() {
            let counter = place.session.counter().clone();
            if newest.reply_may_call {
                tools = tools_tokens(counter.as_ref(), newest.tools.iter());
            }
            let counted = messages_tokens(counter.as_ref(), &newest.messages) + tools;
            let ledger = reply.ledger.tokens.total().0;
            let agrees = if newest.reply_may_call { counted == ledger } else { counted <= ledger };
            out.check("I1", agrees, || format!("the ledger says {ledger}, the request has {counted} tokens"));
        }
        self.with_memories(at, &newest, reply, out);
        Ok(())
    }

    /// A person looks after what an agent knows, or time passes over it.
    async fn memory(&mut self) -> Step {
        if self.memories.chance(60) {
            let days = i64::try_from(self.memories.between(1, 50)).unwrap_or(1);
            self.clock.pass(days * 86_400_000);
            return Ok(());
        }
        let mut rng = Rng::new(self.memories.draw());
        let at = usize::try_from(rng.below(self.talks.len() as u64)).unwrap_or(0);
        let Some(agent) = self.talks[at].agent.clone() else { return Ok(()) };
        let Some(place) = self.talks[at].place() else { return Ok(()) };
        let outcome = if rng.chance(300) {
            let ToolCall { name, arguments, .. } = sensible(&mut rng, &agent);
            place.session.call_tool(&name, &arguments).await.map(|_| ())
        } else {
            let with = if rng.chance(500) { &place.own } else { &place.quiet };
            person(with, &mut rng, &agent.canary).await
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => self.failed(at, "", None, error).await,
        }
    }

    /// What the layers of memory cost, and that rules were looked at.
    fn with_memories(&self, at: usize, request: &ModelRequest, reply: &TurnReply, out: &mut Violations) {
        let talk = &self.talks[at];
        let Some(agent) = &talk.agent else { return };
        let counter = counter_for(&talk.replayed.head().encoding);
        if agent.outlook.placement == Placement::System {
            let (counted, of) = (memory_tokens(counter.as_ref(), request), &reply.ledger.tokens);
            let paid = Layer::ALL.into_iter().filter(|layer| layer.is_of_memory()).map(|layer| of.get(layer).0);
            let paid = paid.sum::<u64>();
            out.check("layers", counted == paid, || {
                format!("memories cost {counted} tokens, their layers say {paid}: {of:?}\n{:?}", request.messages)
            });
        }
        if self.tape.had(Fault::Rival) {
            return;
        }
        let said =
            |word: &str| reply.text.split(|c: char| !c.is_alphanumeric()).any(|of| of.to_lowercase() == word);
        for mind in self.minds.iter().filter(|mind| mind.id == agent.id.stream()) {
            for (id, word) in mind.forbidden() {
                out.check("censors", !said(&word), || {
                    format!("{id} forbids {word:?}, the reply is {:?}", reply.text)
                });
            }
        }
    }

    /// The turn that a caller's id was given to. It is another than the one answered where a rival took the turn
    /// for dead: what was said then counts as a new turn.
    fn began_as(&self, at: usize, id: &str) -> Option<TurnNo> {
        self.tape.with_acknowledged(&self.talks[at].id, |events| {
            events.iter().rev().find_map(|recorded| {
                if let Event::TurnStarted { turn, turn_id: Some(given), .. } = &recorded.event {
                    return (given == id).then_some(*turn);
                }
                None
            })
        })
    }

    fn is_stored(&self, at: usize, turn: TurnNo, text: &str, reply: Option<&str>, out: &mut Violations) {
        let (said, answered) = self.tape.with_acknowledged(&self.talks[at].id, |events| {
            let newest_first = || events.iter().rev().map(|recorded| &recorded.event);
            let said = newest_first().any(|event| {
                matches!(event, Event::TurnStarted { turn: of, message, .. }
                    if *of == turn && *message.message.content == *text)
            });
            let answered = newest_first().any(|event| {
                matches!(event, Event::TurnCompleted { turn: of, reply: stored, .. }
                    if *of == turn && Some(stored.message.content.as_ref()) == reply)
            });
            (said, answered)
        });
        out.check("I2", said, || format!("turn {turn} was acknowledged but its message is not stored"));
        out.check("I2", reply.is_none() || answered, || format!("the reply of turn {turn} is not stored"));
    }

    /// An error must have its reason; after a crash everything is opened again, and the turn is sent again.
    async fn failed(&mut self, at: usize, text: &str, turn_id: Option<String>, error: EngineError) -> Step {
        let crashed = self.tape.had(Fault::CrashBefore) || self.tape.had(Fault::CrashAfter);
        let explained = match &error {
            EngineError::Store(StoreError::Failed(_)) => crashed,
            EngineError::Store(StoreError::Full { .. }) => self.tape.had(Fault::Full),
            EngineError::Store(StoreError::Busy { .. }) => self.tape.had(Fault::BusyRead),
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
            | EngineError::Late
            | EngineError::Contended(_) => false,
        };
        if !explained {
            return Err(broken(&format!("saying {:.80?} failed: {error}", text)));
        }
        // Most processes die of it; some go on with the session as if nothing had been.
        if crashed && self.rng.chance(800) {
            self.restart().await?;
        }
        let Some(id) = turn_id else { return Ok(()) };
        // Sent again under the same id, it is taken once: the stream is watched for that.
        match self.once(at, text, Some(&id)).await? {
            Said::Answered(_) | Said::Accepted(_) | Said::Dropped => Ok(()),
            // It is still in flight, for all that anyone knows.
            Said::Failed(EngineError::StillAnswering { .. } | EngineError::Turn(_) | EngineError::Store(_)) => {
                Ok(())
            }
            Said::Failed(error) => Err(broken(&format!("sending {id} again failed: {error}"))),
        }
    }

    /// A turn that was answered is sent again: the same reply, and nothing happens.
    async fn resend(&mut self, at: usize) -> Step {
        let Some((id, text, reply)) = self.talks[at].answered.clone() else { return Ok(()) };
        let before = self.tape.acknowledged_len(&self.talks[at].id);
        let said = self.once(at, &text, Some(&id)).await?;
        let mut out = Violations::default();
        match said {
            Said::Answered(again) => {
                out.check("turns", again.text == reply, || format!("{id} was answered anew: {:?}", again.text));
                // A turn that was dropped before may be closed now; nothing else happens.
                let quiet = self.tape.with_acknowledged(&self.talks[at].id, |events| {
                    let new = events.get(before..).unwrap_or_default();
                    new.iter().all(|recorded| matches!(recorded.event, Event::TurnAbandoned { .. }))
                });
                let undisturbed = !self.tape.had(Fault::Rival);
                out.check("turns", quiet || !undisturbed, || format!("sending {id} again changed something"));
            }
            Said::Accepted(turn) => out.add("turns", format!("{id} was answered, and now has no reply: {turn}")),
            Said::Dropped => out.add("turns", format!("{id} was thought about again")),
            Said::Failed(EngineError::Store(_) | EngineError::Turn(_)) => {}
            Said::Failed(error) => out.add("turns", format!("sending {id} again: {error}")),
        }
        finish(out)
    }

    /// A turn that happened elsewhere.
    async fn tell(&mut self, at: usize) -> Step {
        let (mut text, mut reply) = (self.talks[at].user.says(), self.talks[at].user.says());
        if self.rng.chance(300) {
            // What a model says that a user said, and wants to hold for good.
            text = format!("{} {text}", standing(&mut self.rng));
            reply.push_str(TOLD);
        }
        // Nobody vouches for who said it; whoever takes it for a person's has the fault that is planted.
        let author =
            if self.talks[at].plant == Some(Plant::ModelAsPerson) { Author::Person } else { Author::Model };
        let Some(place) = self.talks[at].place() else { return Ok(()) };
        match place.session.record(author, &text, &reply, None).await {
            Ok(told) => {
                let mut out = Violations::default();
                self.is_stored(at, told.turn, &text, Some(&told.text), &mut out);
                finish(out)
            }
            Err(EngineError::NoReply { .. }) => Ok(()),
            Err(error) => self.failed(at, &text, None, error).await,
        }
    }

    /// Upkeep between turns.
    async fn tend(&mut self, at: usize) -> Step {
        let Some(place) = self.talks[at].place() else { return Ok(()) };
        match place.session.tend().await {
            Ok(_) => Ok(()),
            Err(error) => self.failed(at, "", None, error).await,
        }
    }

    /// A person takes back what was said last, where that can be.
    async fn take_back(&mut self, at: usize) -> Step {
        let Some(place) = self.talks[at].place() else { return Ok(()) };
        match place.session.take_back().await {
            Ok(_) => Ok(()),
            Err(error) => self.failed(at, "", None, error).await,
        }
    }

    /// A person's command. What is concluded can always be expanded (I6).
    async fn command(&mut self, at: usize) -> Step {
        let mut rng = Rng::new(self.rng.draw());
        let Some(place) = self.talks[at].place() else { return Ok(()) };
        let (name, id) = tool_call(&mut rng, &place.session);
        let arguments = json!({"id": id, "name": id}).to_string();
        let outcome = place.session.call_tool(name, &arguments).await;
        let effort = place.session.state().efforts().find(|effort| effort.id.as_str() == id);
        let expandable = effort.is_some_and(|effort| effort.is_concluded() && effort.expanded.is_none());
        match outcome {
            Ok(outcome) if name == "expand_effort" && expandable => {
                Err(broken(&format!("{id} is concluded and was not expanded: {}", outcome.text)))
            }
            Ok(_) => Ok(()),
            Err(error) => self.failed(at, "", None, error).await,
        }
    }

    /// A setting is changed, or refused and then not changed.
    async fn set(&mut self, at: usize) -> Step {
        let rng = &mut self.rng;
        let (key, value) = match rng.below(6) {
            0 => ("decay_threshold", rng.between(0, 5)),
            1 => ("summary_eviction_threshold", rng.between(1, 20)),
            2 => ("context_tokens_max", rng.between(3_000, 8_000)),
            3 => ("context_tokens_max", 256),
            4 => ("ambient_window", rng.between(0, 12)),
            _ => ("active_share_percent", rng.between(0, 100)),
        };
        let Some(place) = self.talks[at].place() else { return Ok(()) };
        let before = place.session.state().policy().clone();
        match place.session.set(key, &value.to_string()).await {
            Ok(()) => Ok(()),
            Err(EngineError::Policy(_) | EngineError::Turn(_)) => {
                let unchanged = *place.session.state().policy() == before;
                let mut out = Violations::default();
                out.check("settings", unchanged, || format!("{key}={value} was refused and yet made"));
                finish(out)
            }
            // Another process came first: said so, and nothing happened.
            Err(EngineError::Store(StoreError::Conflict { .. })) => Ok(()),
            Err(error) => self.failed(at, "", None, error).await,
        }
    }

    /// Another process uses the session; ours does not know yet.
    async fn visit(&mut self, at: usize) {
        let id = self.talks[at].id.clone();
        if let Some(place) = self.talks[at].place() {
            let visitor = place.visitor.clone();
            self.tape.note(|step| step.faults.push(Fault::Rival));
            visitor.act(&id).await;
        }
    }

    /// A commit that comes too late is refused and changes nothing (I10).
    async fn stale(&mut self, at: usize) -> Step {
        let _ = at;
        let Some(commit) = self.tape.newest_commit() else { return Ok(()) };
        match self.store.commit(commit).await {
            Err(StoreError::Conflict { .. } | StoreError::DuplicateTurn { .. }) => Ok(()),
            Ok(()) => Err(broken("I10: a stale commit was accepted")),
            Err(error) => Err(broken(&format!("I10: a stale commit failed with {error}"))),
        }
    }
}

fn finish(out: Violations) -> Step {
    let found = out.into_vec();
    if found.is_empty() { Ok(()) } else { Err(found) }
}
