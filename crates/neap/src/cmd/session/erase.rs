//! `neap session delete-request`: erasure, asked for by a person and confirmed by one. No model reaches this.

use std::process::ExitCode;

use serde_json::json;

use crate::app;
use crate::cli::DeleteArgs;
use crate::env::DataDir;
use crate::files;
use crate::out::{self, BOLD, DIM, Failure, count};

pub(super) async fn run(data: &DataDir, args: &DeleteArgs, json: bool) -> Result<ExitCode, Failure> {
    let id = app::session_id(&args.session)?;
    app::open_existing(data)?;
    let engine = app::engine(data)?.build();
    let session = engine.attach(&id).await?;
    let (turns, efforts) = (session.state().turn().0, session.state().efforts().len());
    let Some(confirm) = &args.confirm else {
        if json {
            out::json_line(&json!({"session": id, "turns": turns, "efforts": efforts, "erased": false}))?;
            return Ok(ExitCode::SUCCESS);
        }
        out::line(format!(
            "{BOLD}{id}{BOLD:#} has {} and {}. Erasing it removes every word of it from the store, from its folder \
             and from the history of what was typed; only the fact remains that it was erased. It cannot be undone.",
            count(turns, "turn"),
            count(efforts as u64, "effort")
        ));
        out::line(format!("{DIM}to keep a copy:{DIM:#} neap session export {id} --output {id}.jsonl"));
        out::line(format!("{DIM}to erase it:{DIM:#}    neap session delete-request {id} --confirm {id}"));
        return Ok(ExitCode::SUCCESS);
    };
    if app::session_id(confirm)? != id {
        return Err(Failure::new(format!("--confirm names another session than {id}")).hint("nothing was erased"));
    }
    drop(session);
    let events = engine.scrub(&id).await?;
    engine.flush().await;
    let history = data.history(&id);
    files::remove(&history).map_err(|error| {
        Failure::new(format!("erased {id}, but not what was typed in its chats: {error}"))
            .hint(format!("remove {} by hand", history.display()))
    })?;
    if json {
        out::json_line(&json!({"session": id, "events": events, "erased": true}))?;
    } else {
        out::line(format!("erased {id}: {}", count(events, "event")));
    }
    Ok(ExitCode::SUCCESS)
}
