//! Simulated models: good ones follow the rules, forgetful ones do half of it, hostile ones do what they like.

mod good;
mod hostile;
pub(crate) mod memory;

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::ids::SessionId;
use neap_core::message::{Message, Role, ToolCall};
use neap_core::turn::{ModelReply, ModelRequest};
use neap_engine::Interrupt;
use neap_model::{ChatModel, ModelError, OnText};
use tokio::sync::Notify;

use crate::agent::SimAgent;
use crate::plant::{Plant, spoil_request};
use crate::rng::Rng;
use crate::tape::{Fault, Seen, Tape};

/// Replies that ask something of memory, in a thousand, where there is one.
const MEMORY_PER_MILLE: u64 = 220;

/// How a model behaves in one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Follows the rules.
    Good,
    /// Opens things, and forgets to close or collapse them.
    Forgetful,
    /// Bad arguments, unknown tools, loops, forged banners, errors.
    Hostile,
}

/// Who can stop a reply, and how.
#[derive(Debug, Default)]
pub struct Stops {
    /// Stops the model; what it said is kept.
    pub interrupt: Option<Interrupt>,
    /// Makes the caller go away.
    pub cut: Option<Arc<Notify>>,
}

/// What a model is made of.
pub struct SimModel {
    session: SessionId,
    tape: Tape,
    plant: Option<Plant>,
    moods: Vec<Mood>,
    agent: Option<SimAgent>,
    inner: Mutex<Inner>,
}

struct Inner {
    rng: Rng,
    said: String,
    stops: Stops,
    /// Once it loops it loops for the whole turn.
    looping: bool,
}

/// What to do with a reply on its way out.
enum Delivery {
    Whole,
    Interrupted(Interrupt),
    Cut(Arc<Notify>),
}

impl SimModel {
    /// A model for one session; each reply is in one of the moods, so repeat one to make it likelier.
    pub fn new(session: SessionId, rng: Rng, tape: Tape, moods: Vec<Mood>, plant: Option<Plant>) -> Self {
        let inner = Inner { rng, said: String::new(), stops: Stops::default(), looping: false };
        Self { session, tape, plant, moods, agent: None, inner: Mutex::new(inner) }
    }

    /// A model of an agent, whose memory it uses.
    pub fn of(mut self, agent: Option<&SimAgent>) -> Self {
        self.agent = agent.cloned();
        self
    }

    /// Tells it what is about to be said, and who may stop it.
    pub fn prepare(&self, said: &str, stops: Stops) {
        let mut inner = self.lock();
        said.clone_into(&mut inner.said);
        inner.stops = stops;
        inner.looping = false;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, request: &ModelRequest) -> (Result<ModelReply, ModelError>, Delivery) {
        let mut inner = self.lock();
        let seen = Seen {
            session: self.session.clone(),
            said: inner.said.clone(),
            acknowledged: self.tape.acknowledged_len(&self.session),
            request: request.clone(),
        };
        self.tape.note(|step| step.requests.push(seen));
        let Inner { rng, looping, stops, .. } = &mut *inner;
        let mood = rng.pick(&self.moods).copied().unwrap_or(Mood::Good);
        let agent = self.agent.as_ref().filter(|_| !*looping && request.reply_may_call);
        let agent = agent.filter(|_| rng.chance(MEMORY_PER_MILLE));
        let reply = match (mood, agent) {
            (_, Some(agent)) => Ok(memory::reply(rng, agent, mood == Mood::Hostile)),
            (Mood::Hostile, None) => hostile::reply(rng, request, looping),
            (Mood::Good | Mood::Forgetful, None) if *looping => hostile::reply(rng, request, looping),
            (Mood::Good | Mood::Forgetful, None) => Ok(good::reply(rng, request, mood)),
        };
        let delivery = match (rng.below(60), &stops.interrupt, &stops.cut) {
            (0, Some(interrupt), _) => Delivery::Interrupted(interrupt.clone()),
            (1, _, Some(cut)) => Delivery::Cut(cut.clone()),
            _ => Delivery::Whole,
        };
        (reply, delivery)
    }
}

#[async_trait]
impl ChatModel for SimModel {
    fn name(&self) -> &str {
        "simulated"
    }

    async fn reply(&self, request: &ModelRequest, on_text: OnText<'_>) -> Result<ModelReply, ModelError> {
        let mut request = request.clone();
        spoil_request(self.plant, &mut request);
        let (reply, delivery) = self.decide(&request);
        let reply = reply?;
        match delivery {
            Delivery::Whole => {
                on_text(&reply.text);
                Ok(reply)
            }
            Delivery::Interrupted(interrupt) => {
                on_text(&reply.text[..reply.text.floor_char_boundary(reply.text.len() / 2)]);
                self.tape.note(|step| step.faults.push(Fault::Interrupted));
                interrupt.interrupt();
                pending().await
            }
            Delivery::Cut(cut) => {
                self.tape.note(|step| step.faults.push(Fault::Dropped));
                cut.notify_one();
                pending().await
            }
        }
    }
}

/// What the request asks: the newest message of the person, and the tool results after it.
fn question(request: &ModelRequest) -> (&str, &[Message]) {
    let is_said = |message: &Message| message.role == Role::User && !message.content.starts_with("§[");
    let at = request.messages.iter().rposition(is_said);
    match at {
        Some(at) => (&request.messages[at].content, &request.messages[at + 1..]),
        None => ("", &[]),
    }
}

fn call(rng: &mut Rng, name: &str, arguments: String) -> ToolCall {
    // Some providers number their calls anew in each reply.
    let id = if rng.chance(200) { "c0".to_owned() } else { format!("c{:x}", rng.below(1 << 40)) };
    ToolCall { id, name: name.to_owned(), arguments }
}
