//! What an event calls for, carried out.

use std::path::Path;
use std::sync::Arc;

use neap_core::hook::{Called, Moment, Says, Told};
use neap_core::ids::Stamp;
use neap_core::transcript::Program;
use neap_engine::{Clock, Engine, SystemClock};
use neap_store::folder::FolderViews;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::transcript::{Cursor, waiting};
use crate::env::DataDir;
use crate::{app, files, keys, out, outlook};

/// When an event came, and how long the agent's transcript was by then: the same for all who work on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Came {
    pub(super) at: Stamp,
    pub(super) position: u64,
}

/// An event that calls for something.
#[derive(Debug, Clone)]
pub(super) struct Event {
    called: Called,
    moment: Moment,
    came: Came,
}

impl Event {
    /// Reads what an agent said; nothing if it calls for nothing. What is wrong with it is told in a sentence. It comes now, unless it is
    /// known when it came.
    pub(super) fn read(
        program: Option<Program>,
        bytes: &[u8],
        came: Option<Came>,
    ) -> Result<Option<Self>, String> {
        let called = Called::read(program, &String::from_utf8_lossy(bytes))?;
        let came = came.unwrap_or_else(|| {
            let length = |path: &String| std::fs::metadata(path).map_or(0, |found| found.len());
            Came { at: SystemClock.now(), position: called.transcript.as_ref().map_or(0, length) }
        });
        Ok(called.moment.map(|moment| Self { called, moment, came }))
    }

    pub(super) fn came(&self) -> Came {
        self.came
    }

    pub(super) fn program(&self) -> Program {
        self.called.program
    }

    /// What its agent calls the conversation.
    pub(super) fn session(&self) -> &str {
        &self.called.session
    }

    pub(super) fn transcript(&self) -> Option<&str> {
        self.called.transcript.as_deref()
    }

    /// What it tells that no transcript does yet.
    pub(super) fn told(&self) -> Option<Told> {
        self.called.told(self.came.at)
    }

    /// Whether it is only noted, for another time.
    pub(super) fn waits(&self) -> bool {
        self.moment.todo().waits
    }

    /// Notes it for another time.
    pub(super) fn wait(&self, data: &DataDir) {
        if let Some(cursor) = self.cursor(data) {
            cursor.wait(data);
        }
    }

    /// Carries it out by itself. By words alone: to load what meaning takes would last longer than an agent should wait.
    pub(super) fn alone(&self, data: &DataDir) -> Result<Option<String>, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| self.fault(&error))?;
        let engine = engine(data, self.moment.todo().shows).map_err(|error| self.fault(&error))?;
        runtime.block_on(async {
            let answer = self.carry_out(data, &engine).await;
            let done = if answer.is_ok() { self.afterwards(data, &engine).await } else { Ok(()) };
            engine.flush().await;
            match (done, answer) {
                (Err(fault), Ok(Some(answer))) => {
                    tracing::warn!(target: "neap::hook", fault, "what can wait waits longer");
                    Ok(Some(answer))
                }
                (done, answer) => done.and(answer),
            }
        })
    }

    /// Does what it calls for; gives what the agent is told.
    pub(super) async fn carry_out(&self, data: &DataDir, engine: &Engine) -> Result<Option<String>, String> {
        let context = self.done(data, engine).await.map_err(|error| self.fault(&error))?;
        if context.is_empty() {
            return Ok(None);
        }
        let told = json!({"hookEventName": self.moment.as_str(), "additionalContext": context});
        out::json_text(&json!({"hookSpecificOutput": told})).map(Some).map_err(|failure| failure.to_string())
    }

    async fn done(&self, data: &DataDir, engine: &Engine) -> Result<String, String> {
        let (todo, session) = (self.moment.todo(), self.called.session());
        let text = |error: neap_engine::EngineError| error.to_string();
        let mut cursor = self.cursor(data);
        let read = match &mut cursor {
            Some(cursor) => cursor.take_in(data, engine).await,
            None => Ok(()),
        };
        if let Some(told) = self.told() {
            let seen =
                cursor.zip(told.unnamed).map_or(0, |(cursor, saying)| cursor.seen(&saying, self.came.position));
            engine.take_in_told(&told, seen).await.map_err(text)?;
        }
        // What was asked is taken down, whatever is wrong with the transcript.
        read?;
        let context = match (todo.says, &self.called.prompt) {
            (Says::Recap, _) => engine.recap().await.map_err(text)?,
            (Says::Recall, Some(prompt)) => engine.remind(&session, prompt).await.map_err(text)?,
            (Says::Recall, None) | (Says::Nothing, _) => String::new(),
        };
        Ok(context)
    }

    /// Does what nobody waits for, once it is carried out.
    pub(super) async fn afterwards(&self, data: &DataDir, engine: &Engine) -> Result<(), String> {
        let todo = self.moment.todo();
        if todo.catches_up {
            for (note, mut cursor) in waiting(data) {
                cursor.take_in(data, engine).await.map_err(|error| self.fault(&error))?;
                let _ = files::remove(&note);
            }
        }
        if todo.shows {
            engine.show(&self.called.session());
        }
        Ok(())
    }

    fn cursor(&self, data: &DataDir) -> Option<Cursor> {
        let path = self.called.transcript.as_deref()?;
        Some(Cursor::of(data, self.called.program, &self.called.session, Path::new(path)))
    }

    fn fault(&self, error: &dyn std::fmt::Display) -> String {
        format!("{} of {}: {error}", self.moment.as_str(), self.called.session())
    }
}

pub(super) fn engine(data: &DataDir, shows: bool) -> Result<Engine, String> {
    let told = |failure: out::Failure| failure.to_string();
    // A turn's end has the time to leave the store in order; at the other moments the agent is in the midst of it.
    let store = if shows { app::open_store(data) } else { app::open_store_briefly(data) }.map_err(told)?;
    let builder = Engine::builder(store.clone()).agent(data.agent().clone(), outlook::read(data).map_err(told)?);
    let builder = builder.keyring(Arc::new(keys::load(data).map_err(told)?));
    Ok(if shows { builder.views(FolderViews::start(data.sessions(), store)).build() } else { builder.build() })
}
