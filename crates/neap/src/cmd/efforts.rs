//! `neap session efforts`: lists the efforts of a session.

use std::process::ExitCode;

use neap_core::session::effort::Effort;
use neap_core::session::state::SessionState;
use neap_engine::forms::{EffortEntry, effort_entries, place_of};

use crate::app;
use crate::cli::SessionNameArgs;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};

const SUMMARY_CHARS_MAX: usize = 100;

pub(crate) async fn run(data: &DataDir, args: &SessionNameArgs, json: bool) -> Result<ExitCode, Failure> {
    let engine = app::read_engine(data)?;
    let session = engine.attach(&app::named_or_latest(&engine, args.session.as_deref()).await?).await?;
    out::print_answer(json, &to_json(session.state()), || render(session.state()))
}

fn to_json(state: &SessionState) -> Vec<EffortEntry> {
    effort_entries(state).into_iter().map(|effort| EffortEntry::of(state, effort)).collect()
}

pub(crate) fn render(state: &SessionState) -> String {
    let efforts = effort_entries(state);
    if efforts.is_empty() {
        return format!("{DIM}No efforts yet: one opens when there is something to work on.{DIM:#}\n");
    }
    let row = |e: &&Effort| {
        let summary = e.summary.as_ref().filter(|_| e.is_concluded()).map_or("", |s| s.text.as_str());
        vec![
            format!("{BOLD}{}{BOLD:#}", e.id),
            place_of(state, e).as_str().to_owned(),
            thousands(e.log.exchanges),
            thousands(e.log.tokens.0),
            e.summary.as_ref().map_or_else(String::new, |s| thousands(s.tokens.0)),
            format!("turn {}", e.last_referenced),
            out::shorten(summary, SUMMARY_CHARS_MAX),
        ]
    };
    let head = ["effort", "where", "exchanges", "raw tokens", "summary tokens", "referenced", "summary"];
    out::table(&head, &efforts.iter().map(row).collect::<Vec<_>>())
}
