//! `neap session efforts`: lists the efforts of a session.

use std::process::ExitCode;

use neap_core::session::effort::Effort;
use neap_core::session::state::SessionState;
use serde_json::{Value, json};

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

fn effort_state(state: &SessionState, effort: &Effort) -> &'static str {
    match effort {
        e if state.active_effort().is_some_and(|active| active.id == e.id) => "active",
        e if e.is_open() => "open",
        e if e.expanded.is_some() => "expanded",
        e if e.shown => "shown",
        _ => "evicted",
    }
}

/// Open efforts first, then by last reference.
fn sorted_efforts(state: &SessionState) -> Vec<&Effort> {
    let mut efforts: Vec<&Effort> = state.efforts().collect();
    efforts.sort_by_key(|e| std::cmp::Reverse((e.is_open(), e.last_referenced, e.id.clone())));
    efforts
}

fn to_json(state: &SessionState) -> Value {
    let entry = |e: &&Effort| {
        json!({
            "id": e.id, "name": e.name, "status": e.status, "place": effort_state(state, e),
            "active": effort_state(state, e) == "active", "expanded": e.expanded.is_some(),
            "raw_tokens": e.log.tokens, "exchanges": e.log.exchanges,
            "summary": e.summary.as_ref().map(|s| &s.text),
            "summary_tokens": e.summary.as_ref().map(|s| s.tokens),
            "expansion_cost_tokens": e.expanded.map(|x| x.tokens_loaded),
            "last_referenced_turn": e.last_referenced,
        })
    };
    Value::Array(sorted_efforts(state).iter().map(entry).collect())
}

pub(crate) fn render(state: &SessionState) -> String {
    let efforts = sorted_efforts(state);
    if efforts.is_empty() {
        return format!("{DIM}No efforts yet: one opens when there is something to work on.{DIM:#}\n");
    }
    let row = |e: &&Effort| {
        let summary = e.summary.as_ref().filter(|_| e.is_concluded()).map_or("", |s| s.text.as_str());
        vec![
            format!("{BOLD}{}{BOLD:#}", e.id),
            effort_state(state, e).to_owned(),
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
