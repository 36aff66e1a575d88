//! What an event calls for, carried out.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use neap_core::hook::{Called, Moment, Says};
use neap_core::transcript::Program;
use neap_engine::{Clock, Engine, SystemClock};
use neap_store::folder::FolderViews;
use serde_json::json;

use super::transcript::{Cursor, waiting};
use crate::env::DataDir;
use crate::{app, embedder, files, keys, out, outlook};

/// Longest event, in bytes: what a tool answered is in it.
const EVENT_BYTES_MAX: u64 = 64 << 20;

/// How long a prompt waits for an embedder that is elsewhere: all of it is over after a second.
const QUESTION_LIMIT: Duration = Duration::from_millis(400);

/// Reads the event from standard input and answers it; what went wrong is told in a sentence.
pub(super) fn answer(data: &DataDir, program: Option<Program>) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(EVENT_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input: {error}"))?;
    let called = Called::read(program, &String::from_utf8_lossy(&bytes))?;
    let Some(moment) = called.moment else { return Ok(None) };
    let at = |error: String| format!("{} of {}: {error}", moment.as_str(), called.session());
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| at(e.to_string()))?;
    runtime.block_on(carry_out(data, &called, moment)).map_err(at)
}

async fn carry_out(data: &DataDir, called: &Called, moment: Moment) -> Result<Option<String>, String> {
    let todo = moment.todo();
    let mut cursor = called
        .transcript
        .as_deref()
        .map(|path| Cursor::of(data, called.program, &called.session, Path::new(path)));
    if todo.waits {
        if let Some(cursor) = cursor {
            cursor.wait(data);
        }
        return Ok(None);
    }
    let engine = engine(data, todo.shows)?;
    let text = |error: neap_engine::EngineError| error.to_string();
    if let Some(cursor) = &mut cursor {
        cursor.take_in(data, &engine).await?;
    }
    if let Some(told) = called.told(SystemClock.now()) {
        engine.take_in(&told).await.map_err(text)?;
    }
    let context = match todo.says {
        Says::Nothing => String::new(),
        Says::Recap => engine.recap().await.map_err(text)?,
        Says::Recall => match &called.prompt {
            Some(prompt) => engine.remind(&called.session(), prompt).await.map_err(text)?,
            None => String::new(),
        },
    };
    if todo.catches_up {
        for (note, mut cursor) in waiting(data) {
            cursor.take_in(data, &engine).await?;
            let _ = files::remove(&note);
        }
    }
    if todo.shows {
        engine.show(&called.session());
        engine.flush().await;
    }
    if context.is_empty() {
        return Ok(None);
    }
    let answer = json!({"hookSpecificOutput": {"hookEventName": moment.as_str(), "additionalContext": context}});
    out::json_text(&answer).map(Some).map_err(|failure| failure.to_string())
}

fn engine(data: &DataDir, shows: bool) -> Result<Engine, String> {
    let told = |failure: out::Failure| failure.to_string();
    let store = app::open_store(data).map_err(told)?;
    let builder = Engine::builder(store.clone()).agent(data.agent().clone(), outlook::read(data).map_err(told)?);
    let builder = builder.keyring(Arc::new(keys::load(data).map_err(told)?));
    let builder = embedder::with_limit(builder, embedder::choose().map_err(told)?.as_ref(), QUESTION_LIMIT);
    Ok(if shows { builder.views(FolderViews::start(data.sessions(), store)).build() } else { builder.build() })
}
