//! Executes hook events.

use std::path::Path;
use std::sync::Arc;

use neap_core::base::ids::Stamp;
use neap_core::base::project_id::Place;
use neap_core::client::transcript::HookTranscript;
use neap_engine::{Clock, Engine, SystemClock};
use neap_model::hook::{HookEvent, HookKind, HookReply};
use neap_model::transcript::Program;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::transcript::{TranscriptCursor, pending_cursors};
use crate::env::DataDir;
use crate::project::GitFolders;
use crate::{agent_profile, app, files, keys, out};

/// When an event arrived and how long the transcript was then; shared by all processes that handle it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EventArrival {
    pub(super) at: Stamp,
    pub(super) position: u64,
}

/// An event that requires work.
#[derive(Debug, Clone)]
pub(super) struct HookTask {
    called: HookEvent,
    moment: HookKind,
    arrival: EventArrival,
}

impl HookTask {
    /// Parses an event; `None` if it requires nothing. `arrival` is now unless given.
    pub(super) fn parse(
        program: Option<Program>,
        bytes: &[u8],
        arrival: Option<EventArrival>,
    ) -> Result<Option<Self>, String> {
        let called = HookEvent::parse(program, &String::from_utf8_lossy(bytes))?;
        let arrival = arrival.unwrap_or_else(|| {
            let length = |path: &String| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
            EventArrival { at: SystemClock.now(), position: called.transcript_path.as_ref().map_or(0, length) }
        });
        Ok(called.kind.map(|moment| Self { called, moment, arrival }))
    }

    /// Where the agent works; what a person said in the environment comes before the event's folder.
    pub(super) fn place(&self) -> &Place {
        &self.called.place
    }

    pub(super) fn with_place(mut self, place: Option<Place>) -> Self {
        self.called.place = place.unwrap_or(self.called.place);
        self
    }

    pub(super) fn arrival(&self) -> EventArrival {
        self.arrival
    }

    pub(super) fn program(&self) -> Program {
        self.called.program
    }

    /// The agent's own id of the conversation.
    pub(super) fn session(&self) -> &str {
        &self.called.client_session
    }

    pub(super) fn transcript(&self) -> Option<&str> {
        self.called.transcript_path.as_deref()
    }

    /// What the event says that the transcript does not contain yet.
    pub(super) fn untranscribed(&self) -> Option<HookTranscript> {
        self.called.to_transcript(self.arrival.at)
    }

    pub(super) fn is_deferred(&self) -> bool {
        self.moment.actions().is_deferred
    }

    pub(super) fn defer(&self, data: &DataDir) {
        if let Some(cursor) = self.cursor(data) {
            cursor.save_pending(data);
        }
    }

    /// Handles the event in this process. Searches by words only: loading the embedding model takes longer than a
    /// hook may block.
    pub(super) fn run_standalone(&self, data: &DataDir) -> Result<Option<String>, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| self.error_text(&error))?;
        let data = &runtime.block_on(data.clone().connected()).map_err(|error| self.error_text(&error))?;
        let engine =
            open_engine(data, self.moment.actions().updates_folder).map_err(|error| self.error_text(&error))?;
        runtime.block_on(async {
            let answer = self.run(data, &engine).await;
            let done = if answer.is_ok() { self.run_after_reply(data, &engine).await } else { Ok(()) };
            engine.flush().await;
            match (done, answer) {
                (Err(fault), Ok(Some(answer))) => {
                    tracing::warn!(target: "neap::hook", fault, "deferred hook work failed; it will be retried");
                    Ok(Some(answer))
                }
                (done, answer) => done.and(answer),
            }
        })
    }

    pub(super) async fn run(&self, data: &DataDir, engine: &Engine) -> Result<Option<String>, String> {
        let context = self.record_and_answer(data, engine).await.map_err(|error| self.error_text(&error))?;
        if context.is_empty() {
            return Ok(None);
        }
        let output = json!({"hookEventName": self.moment.as_str(), "additionalContext": context});
        out::json_text(&json!({"hookSpecificOutput": output})).map(Some).map_err(|failure| failure.to_string())
    }

    async fn record_and_answer(&self, data: &DataDir, engine: &Engine) -> Result<String, String> {
        let (actions, session) = (self.moment.actions(), self.called.session_id());
        let text = |error: neap_engine::EngineError| error.to_string();
        let mut cursor = self.cursor(data);
        let read = match &mut cursor {
            Some(cursor) => cursor.import_new(data, engine, self.place()).await,
            None => Ok(()),
        };
        if let Some(hook_transcript) = self.untranscribed() {
            let seen = cursor
                .zip(hook_transcript.unkeyed_prompt)
                .map(|(cursor, prompt)| cursor.count(&prompt, self.arrival.position));
            engine.import_hook_event(&hook_transcript, seen.unwrap_or_default()).await.map_err(text)?;
        }
        // The prompt is recorded even if the transcript cannot be read.
        read?;
        let context = match (actions.reply, &self.called.prompt) {
            (HookReply::Recap, _) => engine.session_start_context(&session, self.place()).await.map_err(text)?,
            (HookReply::Recall, Some(prompt)) => engine.prompt_context(&session, prompt).await.map_err(text)?,
            (HookReply::Recall, None) | (HookReply::Nothing, _) => String::new(),
        };
        Ok(context)
    }

    pub(super) async fn run_after_reply(&self, data: &DataDir, engine: &Engine) -> Result<(), String> {
        let actions = self.moment.actions();
        if actions.imports_backlog {
            for (note, mut cursor) in pending_cursors(data) {
                cursor.import_new(data, engine, &Place::Unknown).await.map_err(|error| self.error_text(&error))?;
                let _ = files::remove(&note);
            }
        }
        if actions.updates_folder {
            engine.refresh_folder(&self.called.session_id());
        }
        Ok(())
    }

    fn cursor(&self, data: &DataDir) -> Option<TranscriptCursor> {
        let path = self.called.transcript_path.as_deref()?;
        Some(TranscriptCursor::of(data, self.called.program, &self.called.client_session, Path::new(path)))
    }

    fn error_text(&self, error: &dyn std::fmt::Display) -> String {
        format!("{} of {}: {error}", self.moment.as_str(), self.called.session_id())
    }
}

pub(super) fn open_engine(data: &DataDir, updates_folder: bool) -> Result<Engine, String> {
    let text = |failure: out::Failure| failure.to_string();
    // At a turn's end there is time for a clean close; during a turn the agent is waiting.
    let store =
        if updates_folder { app::open_store(data) } else { app::open_store_briefly(data) }.map_err(text)?;
    let builder =
        Engine::builder(store.clone()).agent(data.agent().clone(), agent_profile::load(data).map_err(text)?);
    let builder = builder.keyring(Arc::new(keys::load_or_create(data).map_err(text)?));
    let builder = builder.project_finder(Arc::new(GitFolders));
    Ok(if updates_folder { app::with_folders(builder, store, data).build() } else { builder.build() })
}
