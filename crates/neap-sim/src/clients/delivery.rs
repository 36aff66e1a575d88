//! What reaches Neap from outside, and the two processes that may receive it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::base::ids::{SessionId, Stamp, StreamId};
use neap_core::base::message::Message;
use neap_core::base::tokens::Tokens;
use neap_core::client::WireApi;
use neap_core::client::transcript::{HookTranscript, RecordBody, Transcript, TranscriptCount};
use neap_engine::{Author, Engine, EngineError, IncomingRequest, RequestPlan};

use crate::labels::labels_in;
use crate::store::{Caller, Rival};
use crate::trace::Trace;
use crate::wire;

/// Each prompt is in its transcript once, and was not when its hook was called.
const WRITTEN: TranscriptCount = TranscriptCount { before: 0, read: 1 };

#[derive(Debug, Clone)]
pub(crate) struct ProxyRequest {
    pub(crate) tenant: usize,
    pub(crate) api: WireApi,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) budget: Tokens,
    pub(crate) encoding: &'static str,
}

#[derive(Debug, Clone)]
pub(crate) enum Delivery {
    Request(ProxyRequest),
    /// A hook's event, and how often its prompt was in the transcript by then.
    Hook(HookTranscript),
    Transcript(Transcript),
    Record(SessionId, Vec<(Stamp, Message)>),
}

impl Delivery {
    /// The labels of its texts.
    pub(crate) fn labels(&self) -> Vec<u64> {
        let in_records = |transcript: &Transcript| {
            let texts = transcript.records.iter().map(|record| match &record.body {
                RecordBody::Message(item) => {
                    let calls = item.calls().map(|call| call.arguments.as_str());
                    item.text() + &calls.collect::<String>()
                }
                // A summary of texts that are stored already is no text of its own.
                RecordBody::Compacted(_) => String::new(),
            });
            labels_in(&texts.collect::<String>())
        };
        match self {
            Delivery::Request(request) => labels_in(&request.body),
            Delivery::Hook(hook) => in_records(&hook.transcript),
            Delivery::Transcript(transcript) => in_records(transcript),
            Delivery::Record(_, messages) => {
                messages.iter().flat_map(|(_, message)| labels_in(&message.content)).collect()
            }
        }
    }

    /// Delivers it to a process; only a request has a plan.
    pub(crate) async fn deliver(&self, engine: &Engine) -> Result<Option<Box<RequestPlan>>, EngineError> {
        match self {
            Delivery::Request(request) => {
                let ProxyRequest { api, headers, body, budget, encoding, .. } = request;
                let incoming = IncomingRequest::new(wire::path(*api), headers, body, *budget);
                return Ok(Some(Box::new(engine.ingest(&IncomingRequest { encoding, ..incoming }).await)));
            }
            Delivery::Hook(hook) => drop(engine.import_hook_event(hook, WRITTEN).await?),
            Delivery::Transcript(transcript) => drop(engine.import_transcript(transcript).await?),
            Delivery::Record(session, messages) => engine.record(session, Author::Model, messages).await?,
        }
        Ok(None)
    }
}

pub(crate) type Delivered = (Delivery, Option<Box<RequestPlan>>);

pub(crate) struct Processes {
    /// Its store has faults.
    pub(crate) own: Engine,
    /// Its store has none.
    pub(crate) other: Engine,
    pub(crate) twin: Arc<Twin>,
    pub(crate) is_dead: Arc<AtomicBool>,
    pub(crate) caller: Arc<Caller>,
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.is_dead.store(true, Ordering::Relaxed);
    }
}

/// The other process, which receives a delivery just when the first one commits.
pub(crate) struct Twin {
    engine: Engine,
    trace: Trace,
    next: Mutex<Option<Delivery>>,
    done: Mutex<Vec<Delivered>>,
}

impl Twin {
    pub(crate) fn new(engine: Engine, trace: Trace) -> Self {
        Self { engine, trace, next: Mutex::default(), done: Mutex::default() }
    }

    pub(crate) fn prepare(&self, delivery: Option<Delivery>) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = delivery;
    }

    pub(crate) fn take_done(&self) -> Vec<Delivered> {
        std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Rival for Twin {
    async fn act(&self, _stream: &StreamId) {
        // Once: a second delivery of a recorded message would be a second message.
        let Some(delivery) = self.next.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        match delivery.deliver(&self.engine).await {
            Ok(plan) => self.done.lock().unwrap_or_else(PoisonError::into_inner).push((delivery, plan)),
            Err(error) => self.trace.note(|step| step.complaints.push(error.to_string())),
        }
    }
}
