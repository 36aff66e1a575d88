//! Imports transcripts of other programs: each record once, however often a transcript is read.

use std::sync::Arc;

use neap_core::base::digest::Digest;
use neap_core::base::handle::Handle;
use neap_core::base::ids::{SessionId, TurnNo};
use neap_core::base::message::Exchange;
use neap_core::base::policy::Policy;
use neap_core::client::transcript::HookTranscript;
use neap_core::client::transcript::{
    PromptFingerprint, RecordBody, Transcript, TranscriptCount, TranscriptImporter, TranscriptRecord,
    TranscriptStep, compaction_event, group_records,
};
use neap_core::client::{HistoryHead, HistoryLink};
use neap_core::session::event::{ClientEvent, EffortEvent, Event, RecordedEvent, TurnEvent};
use neap_core::session::state::NewSession;
use neap_model::bpe::counter_for;
use neap_model::compute::run_in_place;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::handle_lookup::fetch_exchanges;
use crate::stream::{Committed, OpenStream, Recorder};

const COMMIT_STEPS_MAX: usize = 128;
/// Occurrences of one prompt: how many are looked up at once, and how many there may be.
const OCCURRENCES_PER_LOOKUP: usize = 16;
const OCCURRENCES_MAX: u64 = 1 << 32;

/// The outcome of importing one transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedTranscript {
    /// The transcript's session.
    pub session: SessionId,
    /// New records.
    pub new: u64,
    /// Records that were imported before.
    pub known: u64,
    /// New turns.
    pub turns: u64,
    /// New efforts.
    pub efforts: u64,
    /// Secrets that were masked.
    pub masked: u64,
}

impl ImportedTranscript {
    /// The preview of a transcript of which nothing was imported before.
    pub fn all_new(transcript: &Transcript) -> Self {
        let (session, new) = (transcript.session.clone(), transcript.records.len() as u64);
        Self { session, new, known: 0, turns: 0, efforts: 0, masked: 0 }
    }
}

impl Engine {
    /// Counts the new records of a transcript without importing them.
    pub async fn preview_transcript(&self, transcript: &Transcript) -> Result<ImportedTranscript, EngineError> {
        let (new, all) = (self.new_records(transcript).await?.len() as u64, transcript.records.len() as u64);
        let session = transcript.session.clone();
        Ok(ImportedTranscript { session, new, known: all - new, turns: 0, efforts: 0, masked: 0 })
    }

    /// Imports new records, durable when this returns. An interrupted import continues the next time.
    pub async fn import_transcript(&self, transcript: &Transcript) -> Result<ImportedTranscript, EngineError> {
        let store = self.parts.store.as_ref();
        let mut imported = ImportedTranscript {
            session: transcript.session.clone(),
            new: 0,
            known: 0,
            turns: 0,
            efforts: 0,
            masked: 0,
        };
        let mut stream = OpenStream::load(store, transcript.session.clone()).await?;
        let mut recorder = Recorder::new(&self.parts);
        let mut steps = group_records(&self.new_records(transcript).await?);
        while self.import_steps(&mut stream, &mut recorder, transcript, &steps, &mut imported).await?.is_stale() {
            // The other process may have imported the same records.
            steps = group_records(&self.new_records(transcript).await?);
        }
        imported.known = transcript.records.len() as u64 - imported.new;
        // Only a hook's prompt is live: what a file tells may have changed since.
        self.parts.remember_stated(recorder.take_live_message()).await;
        self.refresh_folder(&transcript.session);
        Ok(imported)
    }

    /// Imports what a hook reported. A prompt without an id is identified by its text and `seen`. The same event
    /// again changes nothing.
    pub async fn import_hook_event(
        &self,
        event: &HookTranscript,
        seen: TranscriptCount,
    ) -> Result<ImportedTranscript, EngineError> {
        let HookTranscript { transcript, unkeyed_prompt, at } = event;
        let Some(prompt) = unkeyed_prompt else { return self.import_transcript(transcript).await };
        let mut transcript = transcript.clone();
        let deliveries = prompt.delivery_keys(*at, seen.before);
        let is_delivered =
            self.parts.store.sessions_by_digest(&deliveries).await?.iter().any(|sessions| !sessions.is_empty());
        if is_delivered {
            transcript.records.remove(0);
        } else {
            let nth = self.next_occurrence(prompt, seen).await?;
            let [first, second] = deliveries;
            transcript.records[0].keys = vec![prompt.nth_key(nth), prompt.reported_key(nth), first, second];
        }
        self.import_transcript(&transcript).await
    }

    /// Which occurrence of a prompt this is: the first that no hook reported. Those in the transcript may be recorded
    /// by now; beyond them, only a hook can have recorded one.
    async fn next_occurrence(
        &self,
        prompt: &PromptFingerprint,
        seen: TranscriptCount,
    ) -> Result<u64, EngineError> {
        let key = |nth: u64| if nth <= seen.read { prompt.reported_key(nth) } else { prompt.nth_key(nth) };
        let (mut known, mut unknown) = (seen.before, seen.before + OCCURRENCES_MAX);
        let mut step = 1;
        while unknown - known > 1 {
            let probes: Vec<u64> = (known + 1..unknown).step_by(step).take(OCCURRENCES_PER_LOOKUP).collect();
            let keys: Vec<Digest> = probes.iter().map(|nth| key(*nth)).collect();
            let linked = self.parts.store.sessions_by_digest(&keys).await?;
            let free = linked.iter().position(Vec::is_empty);
            known = free.map_or(probes.len(), |free| free).checked_sub(1).map_or(known, |last| probes[last]);
            unknown = free.map_or(unknown, |free| probes[free]);
            step = ((unknown - known) as usize / OCCURRENCES_PER_LOOKUP).max(1);
        }
        Ok(unknown)
    }

    /// Queues an update of the session's folder view, if there are any; does not wait.
    pub fn refresh_folder(&self, session: &SessionId) {
        self.parts.mark_changed(session);
    }

    /// Records that are in no session yet: programs copy old records into the files of later sessions. What a person
    /// erased is not new.
    async fn new_records<'a>(&self, transcript: &'a Transcript) -> Result<Vec<&'a TranscriptRecord>, EngineError> {
        let erased = self.parts.store.events_of_kinds(&transcript.session, &["scrubbed"], None, 1).await?;
        let erased = erased.into_iter().find_map(|stored| Some(stored.whole()?.at));
        let is_erased =
            |record: &TranscriptRecord| erased.is_some_and(|erased| record.at.is_none_or(|at| at <= erased));
        let keys: Vec<Digest> = transcript.records.iter().flat_map(|record| &record.keys).copied().collect();
        let linked = self.parts.store.sessions_by_digest(&keys).await?;
        let mut linked = linked.iter();
        let is_unknown = |record: &&TranscriptRecord| {
            let own = linked.by_ref().take(record.keys.len());
            own.filter(|sessions| !sessions.is_empty()).count() == 0
        };
        Ok(transcript.records.iter().filter(is_unknown).filter(|record| !is_erased(record)).collect())
    }

    async fn import_steps(
        &self,
        stream: &mut OpenStream,
        recorder: &mut Recorder<'_>,
        transcript: &Transcript,
        steps: &[TranscriptStep],
        imported: &mut ImportedTranscript,
    ) -> Result<Committed, EngineError> {
        if steps.is_empty() {
            return Ok(Committed::Yes);
        }
        let prompt = self.open_prompt(stream).await?;
        let mut importer = TranscriptImporter::resumed(&stream.state, prompt.as_deref());
        let mut batch = ImportBatch::default();
        let mut last: Option<&TranscriptStep> = None;
        for step in steps {
            if importer.should_conclude(&stream.state, last, Some(step)) {
                let batch = self.commit_batch(stream, recorder, &mut batch, imported).await?;
                if batch.is_stale()
                    || self.conclude_effort(&transcript.session, stream, recorder).await?.is_stale()
                {
                    return Ok(Committed::Stale);
                }
            }
            self.begin_session(stream, transcript, step, &mut batch);
            let counter = counter_for(&stream.state.head().encoding);
            let now = self.parts.clock.now();
            let apply = || importer.apply(&mut stream.state, counter.as_ref(), step, transcript.author, now);
            batch.events.extend(run_in_place(step.bytes(), apply));
            batch.masked += std::mem::take(&mut importer.masked_count);
            if let RecordBody::Compacted(summary) = &step.body {
                if self.commit_batch(stream, recorder, &mut batch, imported).await?.is_stale() {
                    return Ok(Committed::Stale);
                }
                let exchanges = self.exchanges_since_compaction(stream).await?;
                if let Some(event) = compaction_event(&stream.state, counter.as_ref(), &exchanges, summary) {
                    batch.events.push(stream.state.record(step.at.unwrap_or(now), event));
                }
            }
            batch.keys.extend(&step.keys);
            batch.records += step.records;
            batch.steps += 1;
            if batch.steps >= COMMIT_STEPS_MAX
                && self.commit_batch(stream, recorder, &mut batch, imported).await?.is_stale()
            {
                return Ok(Committed::Stale);
            }
            last = Some(step);
        }
        if self.commit_batch(stream, recorder, &mut batch, imported).await?.is_stale() {
            return Ok(Committed::Stale);
        }
        match importer.should_conclude(&stream.state, last, None) {
            true => self.conclude_effort(&transcript.session, stream, recorder).await,
            false => Ok(Committed::Yes),
        }
    }

    /// The message of the turn that has not ended.
    async fn open_prompt(&self, stream: &OpenStream) -> Result<Option<Arc<str>>, EngineError> {
        let Some((turn, _)) = stream.state.head().pending.last_key_value() else { return Ok(None) };
        let (store, turn) = (self.parts.store.as_ref(), Handle::Turn(*turn));
        let exchanges = fetch_exchanges(store, &stream.id, &stream.state, &turn).await?;
        let message = exchanges.first().and_then(|exchange| exchange.messages.first());
        Ok(message.map(|counted| counted.message.content.clone()))
    }

    fn begin_session(
        &self,
        stream: &mut OpenStream,
        transcript: &Transcript,
        step: &TranscriptStep,
        batch: &mut ImportBatch,
    ) {
        let policy = Policy::for_recorded_conversations();
        let (encoding, imported_from) = (self.parts.encoding.as_str(), Some(transcript.source.clone()));
        let at = step.at.unwrap_or_else(|| self.parts.clock.now());
        let new = NewSession { id: &stream.id, encoding, policy, imported_from };
        batch.events.extend(stream.state.create_if_new(at, new));
        if stream.state.head().project.is_none() {
            let project = self.parts.project_at(&transcript.place);
            batch.events.extend(stream.state.assign_project(at, project.as_ref()));
        }
    }

    /// Commits a batch with the keys that identify its records. Only what is durable is counted as imported: another
    /// process may import the rest.
    async fn commit_batch(
        &self,
        stream: &mut OpenStream,
        recorder: &mut Recorder<'_>,
        batch: &mut ImportBatch,
        imported: &mut ImportedTranscript,
    ) -> Result<Committed, EngineError> {
        let ImportBatch { mut events, keys, steps: _, records, masked } = std::mem::take(batch);
        let count = |is_counted: fn(&Event) -> bool| {
            events.iter().filter(|recorded| is_counted(&recorded.event)).count() as u64
        };
        let turns = count(|event| matches!(event, Event::Turn(TurnEvent::Started { .. })));
        let efforts = count(|event| matches!(event, Event::Effort(EffortEvent::Opened { .. })));
        let turn = stream.state.turn();
        if let Some(end) = keys.last() {
            let history = HistoryHead { asked: *end, answered: Vec::new() };
            let links = keys.iter().map(|digest| HistoryLink { digest: *digest, turn }).collect();
            let at = events.last().map_or_else(|| stream.state.head().updated, |recorded| recorded.at);
            events
                .push(stream.state.record(at, ClientEvent::HistoryLinked { turn, links, history, tenant: None }));
        }
        let committed = recorder.commit(stream, events).await?;
        if !committed.is_stale() {
            imported.new += records;
            imported.turns += turns;
            imported.efforts += efforts;
            imported.masked += masked;
        }
        Ok(committed)
    }

    /// Concludes the active effort. Stale if another process imported meanwhile: it may have had the same records.
    async fn conclude_effort(
        &self,
        session: &SessionId,
        stream: &mut OpenStream,
        recorder: &mut Recorder<'_>,
    ) -> Result<Committed, EngineError> {
        let history = stream.state.head().history.clone();
        self.attach(session).await?.call_tool("close_effort", "{}").await?;
        stream.reload(self.parts.store.as_ref()).await?;
        if stream.state.head().history == history {
            return Ok(Committed::Yes);
        }
        recorder.count_conflict(&stream.id)?;
        Ok(Committed::Stale)
    }

    /// Exchanges since the program last replaced its history with a summary.
    async fn exchanges_since_compaction(&self, stream: &OpenStream) -> Result<Vec<Exchange>, EngineError> {
        let first = stream.state.head().compacted.unwrap_or(TurnNo(0)).next();
        let handle = Handle::Turns { first, last: stream.state.turn() };
        Ok(fetch_exchanges(self.parts.store.as_ref(), &stream.id, &stream.state, &handle).await?)
    }
}

#[derive(Default)]
struct ImportBatch {
    events: Vec<RecordedEvent>,
    keys: Vec<Digest>,
    steps: usize,
    records: u64,
    masked: u64,
}
