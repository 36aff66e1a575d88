//! Recording later what the store could not take in time, in order, off the path of requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use neap_core::ids::TurnNo;
use neap_core::ingest::{Digest, Passed, Reply};
use tokio::runtime::Handle;

use super::backlog::{Entry, LateRequest, RecordingStatus, Step};
use super::compacting::told;
use super::plan::Ticket;
use super::recording::{Account, New};
use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// How recording goes: whether the store takes what clients say, and how much waits for it.
    pub fn recording_status(&self) -> RecordingStatus {
        self.parts.backlog.status()
    }

    /// Waits until all that waits is recorded, for so long at most; says what is left.
    pub async fn caught_up(&self, limit: Duration) -> usize {
        // Whoever waited long enough is told by the figure.
        let _ = tokio::time::timeout(limit, self.parts.backlog.emptied()).await;
        self.recording_status().waiting
    }

    /// Keeps something for later.
    pub(super) fn record_later(&self, entry: Arc<Entry>) {
        if self.parts.backlog.push(entry) {
            self.start_catching_up();
        }
    }

    /// Notes that the store failed.
    pub(super) fn store_failed(&self, reason: &str) {
        self.parts.backlog.failed(reason, Instant::now());
        if self.parts.backlog.wants_watching() {
            self.start_catching_up();
        }
    }

    fn start_catching_up(&self) {
        let engine = self.clone();
        // Without a runtime nobody could have asked.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { engine.catch_up().await });
        }
    }

    /// Records what waits, oldest first, until nothing does.
    async fn catch_up(&self) {
        let backlog = &self.parts.backlog;
        while let Some((entry, pause)) = backlog.head(Instant::now()) {
            tokio::time::sleep(pause).await;
            let Some(entry) = entry else { continue };
            // In a task of its own: one that panics must not keep the others waiting for ever.
            let (engine, own) = (self.clone(), entry.clone());
            let recorded = tokio::spawn(async move { engine.record_entry(&own).await }).await;
            match recorded.unwrap_or_else(|error| Err(EngineError::NotRecorded(error.to_string()))) {
                Ok(()) => backlog.done(&entry),
                Err(error) => {
                    tracing::warn!(target: "neap::ingest", %error, "a request still waits to be recorded");
                    backlog.not_done(&entry, &error, Instant::now());
                }
            }
        }
    }

    async fn record_entry(&self, entry: &Entry) -> Result<(), EngineError> {
        while let Some(step) = entry.next() {
            match step {
                Step::Request(request) => {
                    let (ticket, turn) = self.record_late(entry.key, &request).await?;
                    entry.request_done(ticket, turn);
                }
                Step::Reply(reply) => {
                    let (ticket, turn, reply, passed) = *reply;
                    match self.write_reply(&ticket, turn, &reply, passed).await {
                        // What it answers was erased meanwhile.
                        Ok(()) | Err(EngineError::NoSession(_)) => entry.reply_done(),
                        Err(error) => return Err(error),
                    }
                    // A summary that fails takes nothing away from what is recorded.
                    if let Err(error) = self.conclude_work_of(&ticket).await {
                        tracing::warn!(target: "neap::ingest", %error, "work that is over was not concluded");
                    }
                }
            }
        }
        Ok(())
    }

    /// Records a request after it went on. One that a later request had in its history is recorded with that already.
    async fn record_late(&self, key: Digest, request: &LateRequest) -> Result<(Ticket, TurnNo), EngineError> {
        let LateRequest { heard, chain, caller, opened } = request;
        let ticket = |session| Ticket { session, api: heard.api, caller: *caller, chain: chain.clone(), key };
        if heard.signals.identity(&caller.tenant).is_none()
            && let Some((session, turn)) = self.recorded_in(None, heard, chain).await?
        {
            return Ok((ticket(session), turn));
        }
        let (session, mut line) = self.line_of(caller, heard, chain, &mut None).await?;
        if let Some((session, turn)) = self.recorded_in(Some(&session), heard, chain).await? {
            return Ok((ticket(session), turn));
        }
        let mut found = self.found(&mut line, &session, heard, chain, false).await?;
        found.told = told(heard, &session, opened.as_deref());
        let new = New::of(&line, heard, chain, &found);
        self.hear(&mut line, new, (heard, chain)).await?;
        let turn = line.live.state.turn();
        Ok((ticket(session), turn))
    }

    /// Records a reply; durable when this returns.
    pub(super) async fn write_reply(
        &self,
        ticket: &Ticket,
        turn: TurnNo,
        reply: &Reply,
        passed: Passed,
    ) -> Result<(), EngineError> {
        let Ticket { session, api, caller, chain, key: _ } = ticket;
        let line = self.parts.lines.get(&self.parts, session, &caller.tenant).await?;
        let mut line = line.lock().await;
        self.hear_reply(&mut line, (*api, caller.tenant), chain, reply, Account { turn, passed }).await
    }

    /// Concludes the work in play, if what was said last ends it. That may take as long as a summary does; nobody waits for it.
    pub(super) async fn conclude_work_of(&self, ticket: &Ticket) -> Result<(), EngineError> {
        let shared = self.parts.lines.get(&self.parts, &ticket.session, &ticket.caller.tenant).await?;
        let ends_work = {
            let mut line = shared.lock().await;
            std::mem::take(&mut line.is_over) && line.live.state.active().is_some()
        };
        if !ends_work {
            return Ok(());
        }
        let concluded = async {
            self.attach(&ticket.session).await?.call_tool("close_effort", "{}").await?;
            Ok(shared.lock().await.live.reload(self.parts.store.as_ref()).await?)
        };
        let concluded = concluded.await;
        // The next reply tries again.
        shared.lock().await.is_over |= concluded.is_err();
        concluded
    }
}
