//! `neap session`: lists, shows, exports, imports and erases sessions.

mod erase;
mod export;
mod import;
mod show;

use std::process::ExitCode;

use neap_store::{SessionInfo, StoreError, folder};

use crate::cli::{SessionArgs, SessionSubcommand};
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};
use crate::project::Asked;
use crate::{app, cmd};

pub(crate) async fn run(data: &DataDir, args: SessionArgs, json: bool) -> Result<ExitCode, Failure> {
    match args.what {
        SessionSubcommand::List(args) => list(data, args.project.as_deref(), json).await,
        SessionSubcommand::Show(args) => show::run(data, &args, json).await,
        SessionSubcommand::Export(args) => export::run(data, &args, json).await,
        SessionSubcommand::Import(args) => import::run(data, &args, json).await,
        SessionSubcommand::Efforts(args) => cmd::efforts::run(data, &args, json).await,
        SessionSubcommand::Receipts(args) => cmd::receipts::run(data, &args, json).await,
        SessionSubcommand::Original(args) => cmd::original::run(data, &args, json).await,
        SessionSubcommand::Erase(args) => erase::run(data, &args, json).await,
    }
}

async fn list(data: &DataDir, project: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let (mut sessions, mut lost) = (Vec::new(), Vec::new());
    if app::has_store(data)? {
        let engine = app::read_engine(data)?;
        if data.database().is_none() {
            lost = folder::newer_folders(engine.store().as_ref(), &data.sessions_folder()).await?;
        }
        sessions = engine.sessions().await?;
    }
    match project.map(|name| Asked::of(Some(name))).transpose()? {
        Some(Asked::Project(project)) => sessions.retain(|info| info.project.as_ref() == Some(&project)),
        Some(Asked::NoProject) => sessions.retain(|info| info.project.is_none()),
        Some(Asked::AllProjects | Asked::Here(_)) | None => {}
    }
    if json {
        out::print_json(&sessions)?;
    } else if project.is_some() && sessions.is_empty() {
        out::print_line(format!("{DIM}No sessions of this project.{DIM:#}"));
    } else if sessions.is_empty() && lost.is_empty() {
        out::print_line(format!("{DIM}No sessions yet: `neap chat` starts one.{DIM:#}"));
    } else {
        print(&sessions);
    }
    // The list is incomplete, and its reader must know.
    match lost.into_iter().next() {
        Some(first) => Err(StoreError::Lost { path: data.database_file(), why: first.what }.into()),
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
                match &info.project {
                    _ if info.scrubbed => "erased".to_owned(),
                    Some(project) => project.to_string(),
                    None => String::new(),
                },
            ]
        })
        .collect();
    out::print_text(out::table(&["session", "turns", "efforts", "last changed", "project"], &rows));
}
