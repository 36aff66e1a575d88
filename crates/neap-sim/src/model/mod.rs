//! Simulated models: good ones follow the rules, forgetful ones half of them, hostile ones none.

mod good;
mod hostile;
pub(crate) mod memory;

use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::base::ids::SessionId;
use neap_core::base::message::{Message, Role, ToolCall};
use neap_core::turn::{ModelReply, ModelRequest};
use neap_engine::Interrupt;
use neap_model::{ChatModel, ModelError, OnText};
use tokio::sync::Notify;

use crate::agent::SimAgent;
use crate::plant::{Plant, spoil_request};
use crate::rng::Rng;
use crate::trace::{Fault, SeenRequest, Trace};

/// How often, in a thousand, an agent's reply uses memory.
const MEMORY_PER_MILLE: u64 = 220;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Good,
    /// Opens efforts, and forgets to close or collapse them.
    Forgetful,
    /// Bad arguments, unknown tools, loops, forged banners, errors.
    Hostile,
}

#[derive(Debug, Default)]
pub struct StopHandles {
    /// Stops the model; the text so far is kept.
    pub interrupt: Option<Interrupt>,
    /// Makes the caller go away.
    pub cut: Option<Arc<Notify>>,
}

pub struct SimModel {
    session: SessionId,
    trace: Trace,
    plant: Option<Plant>,
    moods: Vec<Mood>,
    agent: Option<SimAgent>,
    inner: Mutex<Inner>,
}

struct Inner {
    rng: Rng,
    user_text: String,
    stops: StopHandles,
    /// A loop lasts for the whole turn.
    looping: bool,
}

enum Delivery {
    Whole,
    Interrupted(Interrupt),
    Cut(Arc<Notify>),
}

impl SimModel {
    /// Each reply has one of the moods at random; repeat a mood to make it likelier.
    pub fn new(session: SessionId, rng: Rng, trace: Trace, moods: Vec<Mood>, plant: Option<Plant>) -> Self {
        let inner = Inner { rng, user_text: String::new(), stops: StopHandles::default(), looping: false };
        Self { session, trace, plant, moods, agent: None, inner: Mutex::new(inner) }
    }

    pub fn for_agent(mut self, agent: Option<&SimAgent>) -> Self {
        self.agent = agent.cloned();
        self
    }

    pub fn prepare(&self, text: &str, stops: StopHandles) {
        let mut inner = self.lock();
        text.clone_into(&mut inner.user_text);
        inner.stops = stops;
        inner.looping = false;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, request: &ModelRequest) -> (Result<ModelReply, ModelError>, Delivery) {
        let mut inner = self.lock();
        let seen = SeenRequest {
            session: self.session.clone().into(),
            message: inner.user_text.clone(),
            acknowledged: self.trace.acknowledged_len(&self.session),
            request: request.clone(),
        };
        self.trace.note(|step| step.requests.push(seen));
        let Inner { rng, looping, stops, .. } = &mut *inner;
        let mood = rng.pick(&self.moods).copied().unwrap_or(Mood::Good);
        let agent = self.agent.as_ref().filter(|_| !*looping && request.may_call_tools);
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
                self.trace.note(|step| step.faults.push(Fault::Interrupted));
                interrupt.interrupt();
                pending().await
            }
            Delivery::Cut(cut) => {
                self.trace.note(|step| step.faults.push(Fault::Dropped));
                cut.notify_one();
                pending().await
            }
        }
    }
}

/// The newest user message, and the messages after it.
fn latest_question(request: &ModelRequest) -> (&str, &[Message]) {
    let is_user_message = |message: &Message| message.role == Role::User && !message.content.starts_with("§[");
    let at = request.messages.iter().rposition(is_user_message);
    match at {
        Some(at) => (&request.messages[at].content, &request.messages[at + 1..]),
        None => ("", &[]),
    }
}

fn new_call(rng: &mut Rng, name: &str, arguments: String) -> ToolCall {
    // Some providers restart their call numbers in each reply.
    let id = if rng.chance(200) { "c0".to_owned() } else { format!("c{:x}", rng.below(1 << 40)) };
    ToolCall { id, name: name.to_owned(), arguments }
}
