//! `neap replay`: a scripted conversation through the real engine, one turn a line.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use neap_core::effort::Effort;
use neap_core::ledger::Layer;
use neap_core::tools::Banner;
use neap_engine::{Author, Engine, Quiet, Session, SessionOptions, TurnReply};
use neap_model::scripted::Scripted;
use neap_store::SqliteStore;
use neap_store::reading::{self, LINE_BYTES_MAX, Line as Found, Lines};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::app;
use crate::cli::ReplayArgs;
use crate::env::DataDir;
use crate::out::{self, BANNER, BOLD, DIM, Failure, thousands};

/// Ids listed in a turn's object, at most; the counts beside them are complete.
const IDS_MAX: usize = 200;

/// One line of the script.
#[derive(Debug, Deserialize)]
struct Line {
    user: String,
    #[serde(default)]
    calls: Vec<Called>,
    #[serde(default)]
    assistant: String,
}

#[derive(Debug, Deserialize)]
struct Called {
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl Called {
    /// Arguments as a model would write them; text is taken to be that already.
    fn written(self) -> (String, String) {
        let arguments = match self.arguments {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text,
            value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => value.to_string(),
        };
        (self.name, arguments)
    }
}

/// What a turn left behind. Tokens are those of the context that the model saw last in the turn; the rest is
/// the state after it.
#[derive(Debug, Serialize)]
pub(crate) struct TurnLine {
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

impl TurnLine {
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
            active: state.active().map(|effort| effort.id.to_string()),
            open: ids(&mut state.open()),
            expanded: ids(&mut state.expanded()),
            shown_summaries: ids(&mut state.shown().rev().filter(|effort| effort.expanded.is_none())),
            evicted: ids(&mut state.evicted().rev()),
            evicted_count: state.evicted().len(),
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
        out::line(text);
        for banner in &self.banners {
            out::line(format!("  {BANNER}{}{BANNER:#}", out::clean(banner).replace('\n', "\n  ")));
        }
        for refusal in &self.refusals {
            out::line(format!("  {DIM}refused:{DIM:#} {}", out::clean(refusal)));
        }
    }
}

pub(crate) async fn run(data: &DataDir, args: ReplayArgs, json: bool) -> Result<ExitCode, Failure> {
    let script = open(&args.file)?;
    let model = Arc::new(Scripted::new());
    let options = SessionOptions { set: args.set };
    // Without a session to keep, the turns go to a store that is thrown away.
    let scratch = tempfile::tempdir()?;
    let engine = match &args.session {
        Some(_) => app::agent_engine(data)?.model(model.clone()).build(),
        None => {
            let store = SqliteStore::open(&scratch.path().join("replay.db"))?;
            Engine::builder(Arc::new(store)).model(model.clone()).build()
        }
    };
    let id = app::session_id(args.session.as_deref().unwrap_or("replay"))?;
    let mut session = engine.resume(&id, &options).await?;
    let played = play(&mut session, &model, script, &args.file, json).await;
    // Whether it went to its end or not: what was said is shown in the folder.
    engine.flush().await;
    played.map(|()| ExitCode::SUCCESS)
}

async fn play(
    session: &mut Session,
    model: &Scripted,
    script: Box<dyn BufRead>,
    file: &Path,
    json: bool,
) -> Result<(), Failure> {
    for (at, text) in Lines::new(script, LINE_BYTES_MAX).enumerate() {
        let wrong = |error: String| {
            Failure::new(format!("line {} of {}: {error}", at + 1, file.display())).hint(
                r#"each line is {"user": "…", "calls": [{"name": "…", "arguments": {…}}], "assistant": "…"}"#,
            )
        };
        let text = match text.map_err(|error| wrong(error.to_string()))? {
            Found::Whole(text) if text.trim_ascii().is_empty() => continue,
            Found::Whole(text) => text,
            Found::TooLong { bytes } => {
                return Err(wrong(format!("it has {bytes} bytes; {LINE_BYTES_MAX} is the most")));
            }
        };
        let line: Line = serde_json::from_slice(text.trim_ascii_end()).map_err(|error| wrong(describe(&error)))?;
        model.push_turn(line.calls.into_iter().map(Called::written).collect(), &line.assistant);
        let reply = session.turn(Author::Import, &line.user, &mut Quiet).await?;
        let turn = TurnLine::of(session, &reply);
        if json {
            out::json_line(&turn)?;
        } else {
            turn.print();
        }
    }
    Ok(())
}

/// What is wrong with a line. The parser counts lines too, and each of ours is its first.
fn describe(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", " at column")
}

fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format!("cannot read {}: {error}", path.display()))
            .hint("name a .jsonl file, or - for standard input")
    };
    let file = reading::open(path).map_err(|error| failed(&error))?;
    Ok(Box::new(BufReader::new(file.ok_or_else(|| failed(&"there is no such file"))?)))
}
