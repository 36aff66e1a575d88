//! Taking in transcripts of other programs: what is new in them, each record once, however often they are read.

use neap_core::event::{Event, Recorded};
use neap_core::handle::Handle;
use neap_core::hook::Told;
use neap_core::ids::{SessionId, TurnNo};
use neap_core::ingest::{Digest, Line, Link};
use neap_core::message::Exchange;
use neap_core::policy::Policy;
use neap_core::transcript::{Record, Saying, Step, Taking, Transcript, What, lost, steps};
use neap_model::bpe::counter_for;
use neap_model::compute::in_place;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::live::{Live, overtaken};
use crate::original::fetch;

/// Steps that are written in one commit, at most.
const AT_ONCE: usize = 128;
/// How many times that something was said are looked up at once, and how many there may be.
const SAYINGS_AT_ONCE: usize = 16;
const SAYINGS_MAX: u64 = 1 << 32;
/// Longest message of a session that a program holds, in bytes.
const MESSAGE_BYTES_MAX: u64 = 67_108_864;

/// What was taken in of one transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// The session it became, or is.
    pub session: SessionId,
    /// Records that are new.
    pub new: u64,
    /// Records that were there.
    pub known: u64,
    /// Turns that are new.
    pub turns: u64,
    /// Efforts that are new.
    pub efforts: u64,
    /// Secrets that were masked.
    pub masked: u64,
}

impl Taken {
    /// Of a transcript that nothing is known of, if it were taken in.
    pub fn all_new(transcript: &Transcript) -> Self {
        let (session, new) = (transcript.session.clone(), transcript.records.len() as u64);
        Self { session, new, known: 0, turns: 0, efforts: 0, masked: 0 }
    }
}

impl Engine {
    /// How much of a transcript is new; takes nothing in.
    pub async fn look_at(&self, transcript: &Transcript) -> Result<Taken, EngineError> {
        let (new, all) = (self.unknown(transcript).await?.len() as u64, transcript.records.len() as u64);
        let session = transcript.session.clone();
        Ok(Taken { session, new, known: all - new, turns: 0, efforts: 0, masked: 0 })
    }

    /// Takes in what is new in a transcript; all of it is durable when this returns. Ended half-way, it goes on from there the next time.
    pub async fn take_in(&self, transcript: &Transcript) -> Result<Taken, EngineError> {
        let store = self.parts.store.as_ref();
        let mut taken =
            Taken { session: transcript.session.clone(), new: 0, known: 0, turns: 0, efforts: 0, masked: 0 };
        let mut live = Live::load(store, transcript.session.clone()).await?;
        let (turns, efforts) = (live.state.turn().0, live.state.efforts().len());
        let mut conflicts = 0;
        loop {
            let fresh = self.unknown(transcript).await?;
            if conflicts == 0 {
                taken.new = fresh.len() as u64;
                taken.known = transcript.records.len() as u64 - taken.new;
            }
            if fresh.is_empty() {
                break;
            }
            match self.take(&mut live, transcript, &steps(&fresh), &mut taken).await {
                Ok(()) => break,
                // Someone else came first, and may have read the same.
                Err(EngineError::Store(error)) => overtaken(&mut live, store, error, &mut conflicts).await?,
                Err(error) => return Err(error),
            }
        }
        taken.turns = live.state.turn().0.saturating_sub(turns);
        taken.efforts = live.state.efforts().len().saturating_sub(efforts) as u64;
        self.show(&transcript.session);
        Ok(taken)
    }

    /// Takes in what a hook told. A prompt without an id is known by its words; `seen` says how often the same stood in the transcript
    /// when it was told. The same event told again changes nothing.
    pub async fn take_in_told(&self, told: &Told, seen: u64) -> Result<Taken, EngineError> {
        let Told { transcript, unnamed, at } = told;
        let Some(saying) = unnamed else { return self.take_in(transcript).await };
        let mut transcript = transcript.clone();
        let deliveries = saying.deliveries(*at);
        let is_delivered = self.parts.store.linked(&deliveries).await?.iter().any(|sessions| !sessions.is_empty());
        if is_delivered {
            transcript.records.remove(0);
        } else {
            let nth = self.next_saying(saying, seen).await?;
            transcript.records[0].keys = vec![saying.key(nth), deliveries[0]];
        }
        self.take_in(&transcript).await
    }

    /// Which time it is that a prompt is said, as far as that is known: the first after those that are.
    async fn next_saying(&self, saying: &Saying, seen: u64) -> Result<u64, EngineError> {
        let (mut known, mut unknown) = (seen, seen + SAYINGS_MAX);
        let mut step = 1;
        while unknown - known > 1 {
            let probes: Vec<u64> = (known + 1..unknown).step_by(step).take(SAYINGS_AT_ONCE).collect();
            let keys: Vec<Digest> = probes.iter().map(|nth| saying.key(*nth)).collect();
            let linked = self.parts.store.linked(&keys).await?;
            let free = linked.iter().position(Vec::is_empty);
            known = free.map_or(probes.len(), |free| free).checked_sub(1).map_or(known, |last| probes[last]);
            unknown = free.map_or(unknown, |free| probes[free]);
            step = ((unknown - known) as usize / SAYINGS_AT_ONCE).max(1);
        }
        Ok(unknown)
    }

    /// Has a session's folder brought up to date, where folders are kept; waits for nothing.
    pub fn show(&self, session: &SessionId) {
        self.parts.changed(session);
    }

    /// The records that nobody has taken in, in whatever session: programs copy what was said into the files of those that go on with it.
    async fn unknown<'a>(&self, transcript: &'a Transcript) -> Result<Vec<&'a Record>, EngineError> {
        let keys: Vec<Digest> = transcript.records.iter().flat_map(|record| &record.keys).copied().collect();
        let linked = self.parts.store.linked(&keys).await?;
        let mut linked = linked.iter();
        let is_unknown = |record: &&Record| {
            let own = linked.by_ref().take(record.keys.len());
            own.filter(|sessions| !sessions.is_empty()).count() == 0
        };
        Ok(transcript.records.iter().filter(is_unknown).collect())
    }

    async fn take(
        &self,
        live: &mut Live,
        transcript: &Transcript,
        steps: &[Step],
        taken: &mut Taken,
    ) -> Result<(), EngineError> {
        let store = self.parts.store.as_ref();
        let asked = match live.state.head().pending.last_key_value() {
            Some((turn, _)) => {
                let said = fetch(store, &live.id, &live.state, &Handle::Turn(*turn)).await?;
                said.first()
                    .and_then(|exchange| exchange.messages.first())
                    .map(|said| said.message.content.clone())
            }
            None => None,
        };
        let mut taking = Taking::resumed(&live.state, asked.as_deref());
        let mut batch = Batch::default();
        let mut last: Option<&Step> = None;
        for step in steps {
            if taking.concludes(&live.state, last, Some(step)) {
                self.keep(live, &mut batch).await?;
                self.conclude(live).await?;
            }
            self.begin(live, transcript, step, &mut batch);
            let counter = counter_for(&live.state.head().encoding);
            let now = self.parts.clock.now();
            let take = || taking.take(&mut live.state, counter.as_ref(), step, transcript.author, now);
            batch.events.extend(in_place(step.bytes(), take));
            if let What::Compacted(summary) = &step.what {
                self.keep(live, &mut batch).await?;
                let said = self.since_compacted(live).await?;
                if let Some(event) = lost(&live.state, counter.as_ref(), &said, summary) {
                    batch.events.push(live.state.record(step.at.unwrap_or(now), event));
                }
            }
            batch.keys.extend(&step.keys);
            batch.steps += 1;
            if batch.steps >= AT_ONCE {
                self.keep(live, &mut batch).await?;
            }
            last = Some(step);
        }
        self.keep(live, &mut batch).await?;
        if taking.concludes(&live.state, last, None) {
            self.conclude(live).await?;
        }
        taken.masked += taking.masked;
        Ok(())
    }

    /// Begins the session, if there is none.
    fn begin(&self, live: &mut Live, transcript: &Transcript, step: &Step, batch: &mut Batch) {
        if live.state.head().session.is_some() {
            return;
        }
        let policy = Policy { message_bytes_max: MESSAGE_BYTES_MAX, ..Policy::default() };
        let (session, encoding) = (live.id.clone(), self.parts.encoding.clone());
        let imported_from = Some(transcript.source.clone());
        let created = Event::SessionCreated { session, encoding, policy, imported_from };
        let at = step.at.unwrap_or_else(|| self.parts.clock.now());
        batch.events.push(live.state.record(at, created));
    }

    /// Makes what was decided durable, with what it is known by.
    async fn keep(&self, live: &mut Live, batch: &mut Batch) -> Result<(), EngineError> {
        let Batch { mut events, keys, .. } = std::mem::take(batch);
        let turn = live.state.turn();
        if let Some(end) = keys.last() {
            let line = Line { asked: *end, answered: Vec::new() };
            let links = keys.iter().map(|digest| Link { digest: *digest, turn }).collect();
            let at = events.last().map_or_else(|| live.state.head().updated, |recorded| recorded.at);
            events.push(live.state.record(at, Event::HistoryLinked { turn, links, line, tenant: None }));
        }
        Ok(live.commit(self.parts.store.as_ref(), events).await?)
    }

    /// Concludes the work in play.
    async fn conclude(&self, live: &mut Live) -> Result<(), EngineError> {
        self.attach(&live.id).await?.call_tool("close_effort", "{}").await?;
        Ok(live.reload(self.parts.store.as_ref()).await?)
    }

    /// All that was said since the program last put a summary in its place.
    async fn since_compacted(&self, live: &Live) -> Result<Vec<Exchange>, EngineError> {
        let first = live.state.head().compacted.unwrap_or(TurnNo(0)).next();
        let handle = Handle::Turns { first, last: live.state.turn() };
        Ok(fetch(self.parts.store.as_ref(), &live.id, &live.state, &handle).await?)
    }
}

/// What is decided and not written yet.
#[derive(Default)]
struct Batch {
    events: Vec<Recorded>,
    keys: Vec<Digest>,
    steps: usize,
}
