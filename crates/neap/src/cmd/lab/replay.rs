//! `neap lab replay`: plays a scripted conversation through the real engine, one turn per line.

use std::io::BufRead;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use neap_core::base::ledger::Layer;
use neap_core::session::effort::Effort;
use neap_core::turn::tools::Banner;
use neap_engine::{Author, Engine, NullObserver, Session, SessionOptions, TurnReply};
use neap_model::scripted::ScriptedModel;
use neap_sqlite::SqliteStore;
use neap_store::bounded_lines::{self, LINE_BYTES_MAX, json_lines};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::app;
use crate::cli::ReplayArgs;
use crate::env::DataDir;
use crate::out::{self, BANNER, BOLD, DIM, Failure, thousands};

/// Most ids listed per turn; the counts are complete.
const IDS_MAX: usize = 200;

#[derive(Debug, Deserialize)]
struct ScriptTurn {
    user: String,
    #[serde(default)]
    calls: Vec<ScriptCall>,
    #[serde(default)]
    assistant: String,
}

#[derive(Debug, Deserialize)]
struct ScriptCall {
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl ScriptCall {
    /// Arguments as a model would write them; a string is used as it is.
    fn into_call(self) -> (String, String) {
        let arguments = match self.arguments {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text,
            value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => value.to_string(),
        };
        (self.name, arguments)
    }
}

/// The state after a turn. Tokens are those of the last context that the model saw in it.
#[derive(Debug, Serialize)]
pub(crate) struct TurnReport {
    pub(crate) turn: u64,
    pub(crate) active: Option<String>,
    pub(crate) open: Vec<String>,
    pub(crate) expanded: Vec<String>,
    pub(crate) shown_summaries: Vec<String>,
    pub(crate) evicted: Vec<String>,
    pub(crate) evicted_count: usize,
    pub(crate) ambient_exchanges: u64,
    pub(crate) tokens: Map<String, Value>,
    pub(crate) budget: u64,
    pub(crate) naive_tokens: u64,
    pub(crate) banners: Vec<String>,
    pub(crate) refusals: Vec<String>,
}

impl TurnReport {
    pub(crate) fn of(session: &Session, reply: &TurnReply) -> Self {
        let state = session.state();
        let ids = |efforts: &mut dyn Iterator<Item = &Effort>| {
            efforts.take(IDS_MAX).map(|effort| effort.id.to_string()).collect::<Vec<_>>()
        };
        let ledger = &reply.ledger;
        let mut tokens = Map::new();
        tokens.insert("total".into(), ledger.tokens.total().0.into());
        for (layer, cost) in ledger.tokens.entries() {
            tokens.insert(layer.as_str().into(), cost.0.into());
        }
        let ambient = ledger.logs.iter().filter(|log| log.layer == Layer::Ambient).map(|log| log.exchanges);
        Self {
            turn: reply.turn.0,
            active: state.active_effort().map(|effort| effort.id.to_string()),
            open: ids(&mut state.open_efforts()),
            expanded: ids(&mut state.expanded_efforts()),
            shown_summaries: ids(&mut state.shown_efforts().rev().filter(|effort| effort.expanded.is_none())),
            evicted: ids(&mut state.evicted_efforts().rev()),
            evicted_count: state.evicted_efforts().len(),
            ambient_exchanges: ambient.sum(),
            tokens,
            budget: ledger.budget.0,
            naive_tokens: ledger.naive_tokens.0,
            banners: reply.banners.iter().map(Banner::to_string).collect(),
            refusals: reply.refusals.clone(),
        }
    }

    fn print(&self) {
        let total = self.tokens.get("total").and_then(Value::as_u64).unwrap_or_default();
        let mut text = format!(
            "{BOLD}turn {}{BOLD:#}  {} tokens of {} {DIM}(all: {}){DIM:#}",
            self.turn,
            thousands(total),
            thousands(self.budget),
            thousands(self.naive_tokens)
        );
        let mut add = |label: &str, value: String| {
            if !value.is_empty() {
                text.push_str(&format!("  {DIM}{label}{DIM:#} {value}"));
            }
        };
        add("active", self.active.clone().unwrap_or_default());
        add("open", self.open.join(" "));
        add("expanded", self.expanded.join(" "));
        add("shown", self.shown_summaries.join(" "));
        if self.evicted_count > 0 {
            add("evicted", self.evicted_count.to_string());
        }
        out::print_line(text);
        for banner in &self.banners {
            out::print_line(format!("  {BANNER}{}{BANNER:#}", out::escape_control(banner).replace('\n', "\n  ")));
        }
        for refusal in &self.refusals {
            out::print_line(format!("  {DIM}refused:{DIM:#} {}", out::escape_control(refusal)));
        }
    }
}

pub(crate) async fn run(data: &DataDir, args: ReplayArgs, json: bool) -> Result<ExitCode, Failure> {
    let script = bounded_lines::open_input(&args.file).map_err(|error| {
        Failure::new(format!("cannot read {}: {error}", args.file.display()))
            .hint("name a .jsonl file, or - for standard input")
    })?;
    let model = Arc::new(ScriptedModel::new());
    let options = SessionOptions { set: args.set, ..SessionOptions::default() };
    // Without --session the turns go to a temporary store.
    let scratch = tempfile::tempdir()?;
    let engine = match &args.session {
        Some(_) => app::agent_engine_builder(data)?.model(model.clone()).build(),
        None => {
            let store = SqliteStore::open(&scratch.path().join("replay.db"))?;
            Engine::builder(Arc::new(store)).model(model.clone()).build()
        }
    };
    let id = app::parse_session_id(args.session.as_deref().unwrap_or("replay"))?;
    let mut session = engine.resume(&id, &options).await?;
    let result = run_script(&mut session, &model, script, &args.file, json).await;
    // Also after a failure, so that the session folder is current.
    engine.flush().await;
    result.map(|()| ExitCode::SUCCESS)
}

async fn run_script(
    session: &mut Session,
    model: &ScriptedModel,
    script: Box<dyn BufRead>,
    file: &Path,
    json: bool,
) -> Result<(), Failure> {
    for (at, line) in json_lines::<ScriptTurn>(script, LINE_BYTES_MAX) {
        let line = line.map_err(|error| {
            Failure::new(format!("line {at} of {}: {error}", file.display())).hint(
                r#"each line is {"user": "…", "calls": [{"name": "…", "arguments": {…}}], "assistant": "…"}"#,
            )
        })?;
        model.push_turn(line.calls.into_iter().map(ScriptCall::into_call).collect(), &line.assistant);
        let reply = session.turn(Author::Import, &line.user, &mut NullObserver).await?;
        let turn = TurnReport::of(session, &reply);
        if json {
            out::print_json(&turn)?;
        } else {
            turn.print();
        }
    }
    Ok(())
}
