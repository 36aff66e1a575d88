//! `neap session`: list, show, export, import, erase.

mod erase;
mod export;
mod import;
mod show;

use std::process::ExitCode;

use neap_store::{SessionInfo, StoreError, folder};

use crate::app;
use crate::cli::{SessionArgs, SessionCommand};
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};

pub(crate) async fn run(data: &DataDir, args: SessionArgs, json: bool) -> Result<ExitCode, Failure> {
    match args.what {
        SessionCommand::List => list(data, json).await,
        SessionCommand::Show(args) => show::run(data, &args, json).await,
        SessionCommand::Export(args) => export::run(data, &args, json).await,
        SessionCommand::Import(args) => import::run(data, &args, json).await,
        SessionCommand::DeleteRequest(args) => erase::run(data, &args, json).await,
    }
}

async fn list(data: &DataDir, json: bool) -> Result<ExitCode, Failure> {
    let (mut sessions, mut lost) = (Vec::new(), Vec::new());
    if app::has_store(data)? {
        let engine = app::reader(data)?;
        lost = folder::newer_folders(engine.store().as_ref(), &data.sessions()).await?;
        sessions = engine.sessions().await?;
    }
    if json {
        out::json_line(&sessions)?;
    } else if sessions.is_empty() && lost.is_empty() {
        out::line(format!("{DIM}No sessions yet: `neap chat` begins one.{DIM:#}"));
    } else {
        print(&sessions);
    }
    // The list is shorter than it should be: whoever reads it must know.
    match lost.into_iter().next() {
        Some(first) => Err(StoreError::Lost { path: data.database(), why: first.what }.into()),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn print(sessions: &[SessionInfo]) {
    let rows: Vec<Vec<String>> = sessions
        .iter()
        .map(|info| {
            vec![
                format!("{BOLD}{}{BOLD:#}", info.session),
                thousands(info.turns.0),
                thousands(info.efforts),
                out::time(info.updated),
                if info.scrubbed { "erased".to_owned() } else { String::new() },
            ]
        })
        .collect();
    out::piece(out::table(&["session", "turns", "efforts", "last changed", ""], &rows));
}
