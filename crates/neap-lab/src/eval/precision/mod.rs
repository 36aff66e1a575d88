//! Measures whether what is loaded, or found, bears on the question: small worlds of records, and questions of which it is
//! known what bears on them, also nothing (`cases.txt`).
//!
//! Two halves: floors are set by one, and figures are reported of the other.

mod cases;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use neap_core::base::ids::AgentId;
use neap_core::base::tokens::Tokens;
use neap_core::memory::knowledge::AgentProfile;
use neap_core::memory::learn::{HITS_MAX, MemoryCommand, MemoryResponse};
use neap_core::memory::{Author, MemoryDraft, MemoryId, Provenance};
use neap_engine::{Agent, Engine};
use neap_model::Embedder;
use neap_sqlite::SqliteStore;
use serde::Serialize;

use crate::LabError;
use cases::{Case, World, worlds};

/// Budget of a page of memories.
const BUDGET: Tokens = Tokens(2_000);

/// Where a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// The page that is loaded without being asked for.
    Context,
    /// The tool `recall`. What it marks as only the nearest counts as not found.
    Recall,
}

/// Cases of one surface, half and kind of question.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PrecisionRow {
    pub cases: u64,
    /// Sum over the cases: the share of what was returned that bears on the question; 1 where nothing does and nothing was.
    pub precision: f64,
    /// Sum over the cases: the share of what bears on the question that was returned.
    pub recall: f64,
    /// The same, with what was marked as only the nearest.
    pub recall_with_nearest: f64,
    /// Cases in which exactly what bears on it was returned.
    pub exact: u64,
}

/// One answer that was not exact.
#[derive(Debug, Clone, Serialize)]
pub struct PrecisionMiss {
    pub surface: Surface,
    pub tunes: bool,
    pub question: String,
    pub wanted: Vec<String>,
    pub got: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub struct PrecisionReport {
    /// By surface, whether the half tunes, and kind of question; `all` sums up.
    pub rows: BTreeMap<(Surface, bool, String), PrecisionRow>,
    pub misses: Vec<PrecisionMiss>,
}

/// Asks every case of every world, on a thread of its own.
pub fn measure_precision(embedder: Option<Arc<dyn Embedder>>) -> Result<PrecisionReport, LabError> {
    let work = || -> Result<PrecisionReport, LabError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(ask_all(embedder))
    };
    let done = std::thread::scope(|scope| scope.spawn(work).join());
    done.map_err(|_| LabError::new("the measurement panicked"))?
}

async fn ask_all(embedder: Option<Arc<dyn Embedder>>) -> Result<PrecisionReport, LabError> {
    let mut report = PrecisionReport::default();
    for world in worlds()? {
        let folder = tempfile::tempdir()?;
        let store = Arc::new(SqliteStore::open(&folder.path().join("precision.db"))?);
        let mut builder = Engine::builder(store).agent(AgentId::parse("precision")?, AgentProfile::default());
        if let Some(embedder) = &embedder {
            builder = builder.embedder(embedder.clone());
        }
        let engine = builder.build();
        let keys = remember_all(&engine, &world).await?;
        engine.index_all().await?;
        for case in &world.cases {
            for surface in [Surface::Context, Surface::Recall] {
                let Answer { found, nearest } =
                    ask(&mut open_agent(&engine).await?, surface, &case.question).await?;
                let name = |id: MemoryId| keys.get(&id).cloned().unwrap_or_else(|| id.to_string());
                let nearest: Vec<String> = nearest.into_iter().map(name).collect();
                report.add(case, surface, found.into_iter().map(name).collect(), &nearest);
            }
        }
    }
    Ok(report)
}

async fn open_agent(engine: &Engine) -> Result<Agent, LabError> {
    engine.agent().await?.ok_or_else(|| LabError::new("the engine has no agent"))
}

async fn remember_all(engine: &Engine, world: &World) -> Result<BTreeMap<MemoryId, String>, LabError> {
    let mut agent = open_agent(engine).await?;
    let mut keys = BTreeMap::new();
    for (key, body) in &world.records {
        let draft = MemoryDraft::new(body.clone(), Provenance::from_author(Author::Person));
        let response = agent.run_command(MemoryCommand::Remember(Box::new(draft))).await?;
        let MemoryResponse::Remembered { id, .. } = response else {
            return Err(LabError::new(format!("{key} was not remembered: {}", response.to_json())));
        };
        keys.insert(id, key.clone());
    }
    Ok(keys)
}

/// What was returned, and what of that was marked as only the nearest.
#[derive(Debug, Default)]
struct Answer {
    found: Vec<MemoryId>,
    nearest: Vec<MemoryId>,
}

async fn ask(agent: &mut Agent, surface: Surface, question: &str) -> Result<Answer, LabError> {
    match surface {
        Surface::Context => {
            let page = agent.context(question, None, Some(BUDGET)).await?.knowledge;
            Ok(Answer { found: page.items.iter().map(|item| item.id).collect(), nearest: Vec::new() })
        }
        Surface::Recall => {
            let command = MemoryCommand::Recall {
                query: question.to_owned(),
                kinds: Vec::new(),
                time: None,
                project: None,
                superseded: false,
                lists: false,
                max: HITS_MAX,
            };
            let response = agent.run_command(command).await?;
            let MemoryResponse::Found { hits } = response else { return Ok(Answer::default()) };
            let ids = |is_nearest| hits.iter().filter(move |hit| hit.is_nearest == is_nearest).map(|hit| hit.id);
            Ok(Answer { found: ids(false).collect(), nearest: ids(true).collect() })
        }
    }
}

impl PrecisionReport {
    fn add(&mut self, case: &Case, surface: Surface, got: Vec<String>, nearest: &[String]) {
        let (wanted, returned): (BTreeSet<&String>, BTreeSet<&String>) =
            (case.wanted.iter().collect(), got.iter().collect());
        let shared = wanted.intersection(&returned).count() as f64;
        let of = |all: usize, if_none: f64| if all == 0 { if_none } else { shared / all as f64 };
        let near = wanted.iter().filter(|key| nearest.contains(key)).count() as f64;
        let with_nearest = if wanted.is_empty() { 1.0 } else { (shared + near) / wanted.len() as f64 };
        let is_exact = wanted == returned;
        let precision = of(returned.len(), f64::from(u8::from(wanted.is_empty())));
        for kind in [case.kind.as_str(), "all"] {
            let row = self.rows.entry((surface, case.tunes, kind.to_owned())).or_default();
            row.cases += 1;
            row.precision += precision;
            row.recall += of(wanted.len(), 1.0);
            row.recall_with_nearest += with_nearest;
            row.exact += u64::from(is_exact);
        }
        if !is_exact {
            let (question, wanted) = (case.question.clone(), case.wanted.clone());
            self.misses.push(PrecisionMiss { surface, tunes: case.tunes, question, wanted, got });
        }
    }
}
