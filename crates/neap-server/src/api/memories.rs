//! Memories: lists, versions, what replaced what, and search over them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use neap_core::base::tokens::Tokens;
use neap_core::memory::censor::{AnalyzedText, compile};
use neap_core::memory::learn::{HITS_MAX, MemoryCommand, MemoryResponse};
use neap_core::memory::{Author, Body, CensorPattern, Memory, MemoryId, MemoryKind, Status, Trust};
use neap_core::text::terms::terms;
use neap_engine::Agent;
use neap_engine::forms::{MemoryErasure, MemoryStatus, QuestionForm, VersionEntry, forget_reason};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Api;
use super::page::{continue_at, fit, page, to_value, unpair, whole};
use super::problem::{Problem, quoted};
use super::project::project_filter;
use super::route::{Answer, Call, Outcome, no_memory};

/// Records read at once.
const READ: usize = 250;
/// Records that one request reads to find those that its filter wants; then it answers what it found.
const SCANNED_MAX: usize = 2_000;
/// Links of a chain of supersession.
const CHAIN_MAX: usize = 100;

pub(super) async fn list(api: Arc<Api>, call: Call) -> Outcome {
    let (agent, limit) = (api.agent().await?, call.limit());
    let filter = MemoryFilter::of(&call)?;
    let mut before = call.cursor(|text| text.parse::<MemoryId>().ok())?;
    let (mut found, mut scanned, mut has_more) = (Vec::new(), 0, false);
    'reading: loop {
        let read = agent.list(filter.kind, before, READ).await?;
        let is_last = read.len() < READ;
        for memory in read {
            if found.len() == limit || scanned == SCANNED_MAX {
                has_more = true;
                break 'reading;
            }
            scanned += 1;
            before = Some(memory.id);
            if filter.wants(&memory) {
                found.push(memory);
            }
        }
        if is_last {
            break;
        }
    }
    let count = found.len();
    let mut answer = page(found, limit, |memory| memory.id.to_string())?;
    continue_at(&mut answer, count, before.filter(|_| has_more));
    Ok(Answer::Json(answer))
}

struct MemoryFilter {
    kind: Option<MemoryKind>,
    status: Option<Status>,
    author: Option<Author>,
    trust: Option<Trust>,
    tag: Option<String>,
    words: Vec<String>,
}

impl MemoryFilter {
    fn of(call: &Call) -> Result<Self, Problem> {
        Ok(Self {
            kind: named(call, "kind")?,
            status: named(call, "status")?,
            author: named(call, "author")?,
            trust: named(call, "trust")?,
            tag: call.text("tag").map(str::to_owned),
            words: call.text("q").map(terms).unwrap_or_default(),
        })
    }

    fn wants(&self, memory: &Memory) -> bool {
        let Self { kind: _, status, author, trust, tag, words } = self;
        status.is_none_or(|status| memory.status == status)
            && author.is_none_or(|author| memory.provenance.author == author)
            && trust.is_none_or(|trust| memory.provenance.trust == trust)
            && tag.as_ref().is_none_or(|tag| memory.tags.contains(tag))
            && (words.is_empty() || {
                let said = terms(&memory.search_text());
                words.iter().all(|word| said.contains(word))
            })
    }
}

/// A parameter by its serialised name.
fn named<T: DeserializeOwned>(call: &Call, name: &str) -> Result<Option<T>, Problem> {
    let Some(given) = call.text(name) else { return Ok(None) };
    let unknown = |_| Problem::bad_request(format!("{name} is not '{}'", quoted(given)));
    serde_json::from_value(Value::String(given.to_owned())).map(Some).map_err(unknown)
}

pub(super) async fn show(api: Arc<Api>, call: Call) -> Outcome {
    let (mut agent, id) = (api.agent().await?, call.memory()?);
    existing(&agent, id).await?;
    match agent.run_command(MemoryCommand::Expand { id }).await? {
        MemoryResponse::Full { memory, supersedes } => {
            let mut value = to_value(&memory)?;
            if let Some(fields) = value.as_object_mut().filter(|_| !supersedes.is_empty()) {
                fields.insert("supersedes".to_owned(), to_value(&supersedes)?);
            }
            Ok(Answer::Json(fit(value)))
        }
        MemoryResponse::Refused(refusal) => Err(refusal.into()),
        other @ (MemoryResponse::Remembered { .. }
        | MemoryResponse::Changed { .. }
        | MemoryResponse::Counted
        | MemoryResponse::Found { .. }
        | MemoryResponse::Status(_)
        | MemoryResponse::Swept { .. }) => Err(unexpected(&other)),
    }
}

/// The engine answered another command than was asked for.
pub(super) fn unexpected(response: &MemoryResponse) -> Problem {
    Problem::refused(format!("the command was answered with {}", response.to_json()))
}

pub(super) async fn existing(agent: &Agent, id: MemoryId) -> Result<Memory, Problem> {
    agent.get(id).await?.ok_or_else(|| no_memory(&id.to_string()))
}

pub(super) async fn history(api: Arc<Api>, call: Call) -> Outcome {
    let (agent, id, limit) = (api.agent().await?, call.memory()?, call.limit());
    existing(&agent, id).await?;
    let after = call.number_cursor()?.unwrap_or(0);
    let versions = agent.history(id).await?.into_iter().filter(|version| version.seq.0 > after);
    let versions: Vec<(u64, VersionEntry)> =
        versions.take(limit + 1).map(|version| (version.seq.0, VersionEntry::from(&version))).collect();
    let mut answer = page(versions, limit, |(seq, _)| seq.to_string())?;
    unpair(&mut answer);
    Ok(Answer::Json(answer))
}

/// What it replaced, step by step, and what replaced it.
pub(super) async fn chain(api: Arc<Api>, call: Call) -> Outcome {
    let (mut agent, id) = (api.agent().await?, call.memory()?);
    let memory = existing(&agent, id).await?;
    let mut links: BTreeMap<MemoryId, Memory> = BTreeMap::new();
    let mut next = memory.superseded_by();
    links.insert(id, memory);
    while let Some(newer) = next.filter(|newer| !links.contains_key(newer) && links.len() < CHAIN_MAX) {
        let Some(memory) = agent.get(newer).await? else { break };
        next = memory.superseded_by();
        links.insert(newer, memory);
    }
    let mut open: Vec<MemoryId> = links.keys().copied().collect();
    while let Some(newer) = open.pop().filter(|_| links.len() < CHAIN_MAX) {
        let MemoryResponse::Full { supersedes, .. } =
            agent.run_command(MemoryCommand::Expand { id: newer }).await?
        else {
            continue;
        };
        for older in supersedes {
            if !links.contains_key(&older.id)
                && let Some(memory) = agent.get(older.id).await?
            {
                links.insert(older.id, memory);
                open.push(older.id);
            }
        }
    }
    let mut items: Vec<Memory> = links.into_values().collect();
    items.sort_by_key(|memory| (memory.created, memory.id));
    Ok(Answer::Json(fit(whole(&items)?)))
}

pub(super) async fn erasure(api: Arc<Api>, call: Call) -> Outcome {
    let (agent, id) = (api.agent().await?, call.memory()?);
    let memory = existing(&agent, id).await?;
    let versions = agent.history(id).await?.len() as u64;
    let takes = affected(&agent, id).await?;
    let mut answer = to_value(&MemoryErasure { id, versions, memory, erased: false })?;
    answer["takes"] = to_value(&takes)?;
    Ok(Answer::Json(fit(answer)))
}

/// The newest records that name this one, and how.
async fn affected(agent: &Agent, id: MemoryId) -> Result<Vec<Value>, Problem> {
    let mut affected = Vec::new();
    let (mut before, mut scanned) = (None, 0);
    while scanned < SCANNED_MAX {
        let read = agent.list(None, before, READ).await?;
        let is_last = read.len() < READ;
        scanned += read.len();
        before = read.last().map(|memory| memory.id);
        for memory in read.iter().filter(|memory| memory.id != id) {
            let rests = matches!(&memory.body, Body::Decision(decision) if decision.rests_on.contains(&id));
            let how = match () {
                () if rests => "rests_on",
                () if memory.superseded_by() == Some(id) => "superseded_by",
                () if memory.contested_with.contains(&id) => "contested_with",
                () if memory.shaken_by.contains(&id) => "shaken_by",
                () => continue,
            };
            affected.push(json!({"id": memory.id, "how": how}));
        }
        if is_last {
            break;
        }
    }
    Ok(affected)
}

pub(super) async fn asked(api: Arc<Api>, call: Call) -> Outcome {
    let (agent, limit) = (api.agent().await?, call.limit());
    let mut before = call.cursor(|text| text.parse::<MemoryId>().ok())?;
    let (mut found, mut scanned) = (Vec::new(), 0);
    let mut next = None;
    loop {
        let read = agent.list(None, before, READ).await?;
        let is_last = read.len() < READ;
        scanned += read.len();
        before = read.last().map(|memory| memory.id).or(before);
        for memory in read.into_iter().filter(|memory| memory.forget_asked) {
            let reason = forget_reason(&agent.history(memory.id).await?);
            found.push((memory.id, json!({"id": memory.id, "reason": reason, "memory": memory})));
        }
        if is_last {
            break;
        }
        if found.len() > limit || scanned >= SCANNED_MAX {
            next = before;
            break;
        }
    }
    let count = found.len();
    let mut answer = page(found, limit, |(id, _)| id.to_string())?;
    unpair(&mut answer);
    continue_at(&mut answer, count, next);
    Ok(Answer::Json(answer))
}

pub(super) async fn status(api: Arc<Api>, _call: Call) -> Outcome {
    let agent = api.agent().await?;
    let mut counts: BTreeMap<MemoryKind, BTreeMap<&'static str, u64>> = BTreeMap::new();
    let mut before = None;
    loop {
        let read = agent.list(None, before, READ).await?;
        before = read.last().map(|memory| memory.id);
        for memory in &read {
            *counts.entry(memory.kind()).or_default().entry(memory.status.as_str()).or_default() += 1;
        }
        if read.len() < READ {
            break;
        }
    }
    Ok(Answer::Json(fit(to_value(&MemoryStatus::new(&agent, &counts))?)))
}

pub(super) async fn frames(api: Arc<Api>, _call: Call) -> Outcome {
    let frames: Vec<_> = api.profile.frames.iter().collect();
    Ok(Answer::Json(fit(whole(&frames)?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    #[serde(default)]
    query: String,
    #[serde(default)]
    kinds: Vec<MemoryKind>,
    #[serde(default)]
    time: Option<String>,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    here: Option<String>,
    #[serde(default)]
    superseded: bool,
    #[serde(default)]
    max: Option<usize>,
    #[serde(default)]
    expect: Option<MemoryId>,
}

impl Search {
    fn into_command(self) -> Result<(MemoryCommand, Option<MemoryId>), Problem> {
        let Self { query, kinds, time, project, here, superseded, max, expect } = self;
        let max = super::search::most(max)?.min(HITS_MAX);
        let project = project_filter(project.as_deref(), here.as_deref())?;
        Ok((MemoryCommand::Recall { query, kinds, time, superseded, lists: true, project, max }, expect))
    }
}

pub(super) async fn recall(api: Arc<Api>, call: Call) -> Outcome {
    let (command, expected) = call.body::<Search>()?.into_command()?;
    if expected.is_some() {
        return Err(Problem::bad_request("'expect' is not for this route")
            .hint("POST /memories/expect says what became of an expected memory"));
    }
    match api.agent().await?.run_command(command).await? {
        MemoryResponse::Refused(refusal) => Err(refusal.into()),
        MemoryResponse::Found { hits } => Ok(Answer::Json(fit(whole(&hits)?))),
        other @ (MemoryResponse::Remembered { .. }
        | MemoryResponse::Changed { .. }
        | MemoryResponse::Counted
        | MemoryResponse::Full { .. }
        | MemoryResponse::Status(_)
        | MemoryResponse::Swept { .. }) => Err(unexpected(&other)),
    }
}

/// What became of a memory that a recall should find.
pub(super) async fn expect(api: Arc<Api>, call: Call) -> Outcome {
    let (command, expected) = call.body::<Search>()?.into_command()?;
    let id =
        expected.ok_or_else(|| Problem::bad_request("'expect' is missing: the memory that should be found"))?;
    let outcome = api.agent().await?.expect(id, command).await?;
    Ok(Answer::Json(fit(json!({"expected": id, "outcome": outcome}))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    question: String,
    #[serde(default)]
    frame: Option<String>,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    here: Option<String>,
    #[serde(default)]
    budget: Option<u64>,
}

pub(super) async fn context(api: Arc<Api>, call: Call) -> Outcome {
    let began = Instant::now();
    let Question { question, frame, project, here, budget } = call.body()?;
    let project = project_filter(project.as_deref(), here.as_deref())?;
    let agent = api.agent().await?;
    let selected = agent.context_in(&question, frame.as_deref(), project, budget.map(Tokens)).await?;
    let build_ms = began.elapsed().as_secs_f64() * 1_000.0;
    Ok(Answer::Json(fit(to_value(&QuestionForm::new(&selected, build_ms))?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trial {
    pattern: CensorPattern,
    text: String,
}

pub(super) async fn try_pattern(_api: Arc<Api>, call: Call) -> Outcome {
    let Trial { pattern, text } = call.body()?;
    let compiled = compile(&pattern)?;
    let found = compiled.is_match(&AnalyzedText::new(&text));
    Ok(Answer::Json(fit(json!({"pattern": pattern, "found": found}))))
}
