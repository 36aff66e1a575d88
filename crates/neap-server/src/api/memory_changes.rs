//! Changes of memories. They count as the local user's own, as commands do.

use std::sync::Arc;

use neap_core::base::ids::{SessionId, Stamp};
use neap_core::memory::amend::Edit;
use neap_core::memory::censor::{compile, dry_run};
use neap_core::memory::learn::{Amendment, MemoryCommand, MemoryResponse};
use neap_core::memory::{
    Author, Body, DraftOutcome, Memory, MemoryDraft, MemoryId, MemoryKind, Outcome as ReviewOutcome, Provenance,
};
use neap_engine::Agent;
use neap_engine::forms::{MemoryChange, MemoryOutcome};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Api;
use super::memories::{existing, unexpected};
use super::page::{fit, to_value};
use super::problem::{Problem, quoted};
use super::route::{Answer, Call, Outcome};

/// Confidence of what is written without one.
const CONFIDENCE: f64 = 0.8;
const READ: usize = 250;
/// Records that one roll-back takes; a further request takes the rest.
const ROLLED_BACK_MAX: usize = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Draft {
    body: Map<String, Value>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    domain: Option<String>,
    #[serde(default)]
    pinned: bool,
    #[serde(default)]
    valid_from: Option<i64>,
    #[serde(default)]
    valid_until: Option<i64>,
    /// Store a rule even if it matches most recent texts.
    #[serde(default)]
    force: bool,
}

pub(super) async fn remember(api: Arc<Api>, call: Call) -> Outcome {
    let Draft { body, tags, domain, pinned, valid_from, valid_until, force } = call.body()?;
    let body = new_body(body)?;
    if let Body::Censor(rule) = &body {
        let pattern = compile(&rule.pattern)?;
        let texts = api.engine.recent_texts(rule.side).await?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let hint = "make the pattern more specific, or store it anyway with \"force\": true";
        dry_run(&pattern, &texts).check(Author::Person, force).map_err(|refusal| refusal.hint(hint))?;
    }
    let mut draft = MemoryDraft::new(body, Provenance::from_author(Author::Person));
    (draft.tags, draft.domain, draft.pinned) = (tags, domain, pinned);
    (draft.valid_from, draft.valid_until) = (valid_from.map(Stamp), valid_until.map(Stamp));
    let mut agent = api.agent().await?;
    match agent.run_command(MemoryCommand::Remember(Box::new(draft))).await? {
        MemoryResponse::Remembered { id, outcome, note, superseded, similar, .. } => {
            let memory = agent.get(id).await?;
            let outcome =
                MemoryOutcome { id, status: DraftOutcome::as_str(outcome), note, superseded, similar, memory };
            Ok(Answer::Json(fit(to_value(&outcome)?)))
        }
        MemoryResponse::Refused(refusal) => Err(refusal.into()),
        other @ (MemoryResponse::Changed { .. }
        | MemoryResponse::Counted
        | MemoryResponse::Found { .. }
        | MemoryResponse::Full { .. }
        | MemoryResponse::Status(_)
        | MemoryResponse::Swept { .. }) => Err(unexpected(&other)),
    }
}

/// The body of a new memory: what a person writes, the rest as of any new one.
fn new_body(mut given: Map<String, Value>) -> Result<Body, Problem> {
    let kind = given.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let new = match kind.as_str() {
        "decision" => {
            json!({"description": "", "confidence": CONFIDENCE, "stakes": "medium", "outcome": "pending"})
        }
        "fact" => json!({"content": "", "confidence": CONFIDENCE}),
        "procedure" => json!({"name": ""}),
        "episode" => json!({"summary": ""}),
        "censor" => {
            json!({"pattern": {"by": "words", "of": ""}, "side": "output", "action": "steer", "reason": ""})
        }
        _ => {
            let kinds = MemoryKind::ALL.map(MemoryKind::as_str).join(", ");
            return Err(Problem::bad_request(format!("body.kind is one of {kinds}, not '{}'", quoted(&kind))));
        }
    };
    check_fields(&kind, &given)?;
    for (name, value) in new.as_object().into_iter().flatten() {
        given.entry(name).or_insert_with(|| value.clone());
    }
    read_body(given)
}

fn read_body(fields: Map<String, Value>) -> Result<Body, Problem> {
    let unreadable =
        |error: serde_json::Error| Problem::bad_request(format!("the body is not as expected: {error}"));
    serde_json::from_value(Value::Object(fields)).map_err(unreadable)
}

/// Fields that a person writes; counts, outcomes and supersession follow from what happens.
fn check_fields(kind: &str, given: &Map<String, Value>) -> Result<(), Problem> {
    let written: &[&str] = match kind {
        "decision" => {
            &["description", "context", "reasons", "confidence", "category", "stakes", "alternatives", "rests_on"]
        }
        "fact" => &["subject", "content", "confidence"],
        "procedure" => &["name", "core_patterns", "steps"],
        "episode" => &["summary", "detail", "participants", "minutes", "outcome", "lessons", "session", "effort"],
        _ => &["pattern", "side", "action", "reason"],
    };
    let unknown = given.keys().find(|name| *name != "kind" && !written.contains(&name.as_str()));
    match unknown {
        Some(name) => {
            Err(Problem::bad_request(format!("body.{} is not written by hand in a {kind}", quoted(name)))
                .hint(format!("these are: {}", written.join(", "))))
        }
        None => Ok(()),
    }
}

pub(super) async fn edit(api: Arc<Api>, call: Call) -> Outcome {
    let id = call.memory()?;
    let mut fields: Map<String, Value> = call.body()?;
    let mut agent = api.agent().await?;
    let memory = existing(&agent, id).await?;
    let edit = edit_of(&memory, &mut fields)?;
    if edit == Edit::new(Author::Person) {
        return Err(Problem::refused(format!("the edit changes nothing in {id}")));
    }
    amend(&mut agent, id, Amendment::Edit(Box::new(edit))).await
}

fn edit_of(memory: &Memory, fields: &mut Map<String, Value>) -> Result<Edit, Problem> {
    let mut edit = Edit::new(Author::Person);
    if let Some(changes) = fields.remove("body") {
        let Value::Object(changes) = changes else { return Err(Problem::bad_request("body must be an object")) };
        let changed = changed_body(memory, changes)?;
        edit.body = (changed != memory.body).then_some(changed);
    }
    let unreadable =
        |error: serde_json::Error| Problem::bad_request(format!("the body is not as expected: {error}"));
    if let Some(tags) = fields.remove("tags") {
        let tags: Option<Vec<String>> = serde_json::from_value(tags).map_err(unreadable)?;
        edit.tags = tags.or_else(|| Some(Vec::new())).filter(|tags| *tags != memory.tags);
    }
    if let Some(domain) = fields.remove("domain") {
        let domain: Option<String> = serde_json::from_value(domain).map_err(unreadable)?;
        edit.domain = (domain != memory.domain).then_some(domain);
    }
    if let Some(pinned) = fields.remove("pinned") {
        edit.pinned = Some(serde_json::from_value(pinned).map_err(unreadable)?);
    }
    let mut valid = (memory.valid_from, memory.valid_until);
    for (name, end) in [("valid_from", &mut valid.0), ("valid_until", &mut valid.1)] {
        if let Some(given) = fields.remove(name) {
            let at: Option<i64> = serde_json::from_value(given).map_err(unreadable)?;
            *end = at.map(Stamp);
        }
    }
    edit.valid = (valid != (memory.valid_from, memory.valid_until)).then_some(valid);
    match fields.keys().next() {
        Some(name) => Err(Problem::bad_request(format!("a memory has no field '{}' to edit", quoted(name)))),
        None => Ok(edit),
    }
}

/// The memory's body with some fields changed; `null` clears one.
fn changed_body(memory: &Memory, mut changes: Map<String, Value>) -> Result<Body, Problem> {
    let kind = memory.kind().as_str();
    changes.remove("kind");
    check_fields(kind, &changes)?;
    let Value::Object(mut fields) = to_value(&memory.body)? else { return Ok(memory.body.clone()) };
    for (name, value) in changes {
        if value.is_null() {
            fields.remove(&name);
        } else {
            fields.insert(name, value);
        }
    }
    read_body(fields)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Review {
    outcome: ReviewOutcome,
    #[serde(default)]
    notes: String,
}

pub(super) async fn act(api: Arc<Api>, call: Call) -> Outcome {
    let how = match call.required("action") {
        "undo" => Amendment::Undo,
        "confirm" => Amendment::Confirm,
        "core" => Amendment::MarkCore,
        "wrong" => Amendment::Deactivate,
        "retire" => Amendment::Retire,
        "false-positive" => Amendment::FalsePositive,
        other => {
            return Err(Problem::not_found("no_route", format!("a memory has no action '{}'", quoted(other))));
        }
    };
    let (mut agent, id) = (api.agent().await?, call.memory()?);
    existing(&agent, id).await?;
    amend(&mut agent, id, how).await
}

pub(super) async fn review(api: Arc<Api>, call: Call) -> Outcome {
    let Review { outcome, notes } = call.body()?;
    let (mut agent, id) = (api.agent().await?, call.memory()?);
    existing(&agent, id).await?;
    amend(&mut agent, id, Amendment::Review { outcome, notes }).await
}

async fn amend(agent: &mut Agent, id: MemoryId, how: Amendment) -> Outcome {
    let command = MemoryCommand::Amend { id, how, by: Provenance::from_author(Author::Person) };
    match agent.run_command(command).await? {
        MemoryResponse::Changed { memory, how, note } => {
            let change = MemoryChange { id, status: how, note, memory: *memory };
            Ok(Answer::Json(fit(to_value(&change)?)))
        }
        MemoryResponse::Refused(refusal) => Err(refusal.into()),
        other @ (MemoryResponse::Remembered { .. }
        | MemoryResponse::Counted
        | MemoryResponse::Found { .. }
        | MemoryResponse::Full { .. }
        | MemoryResponse::Status(_)
        | MemoryResponse::Swept { .. }) => Err(unexpected(&other)),
    }
}

pub(super) async fn erase(api: Arc<Api>, call: Call) -> Outcome {
    let (mut agent, id) = (api.agent().await?, call.memory()?);
    existing(&agent, id).await?;
    if call.required("confirm").parse() != Ok(id) {
        return Err(
            Problem::refused(format!("'confirm' names another memory than {id}")).hint("nothing was erased")
        );
    }
    let events = agent.erase(id).await?;
    Ok(Answer::Json(json!({"id": id, "events": events, "erased": true})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RollBack {
    author: Author,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    since: Option<i64>,
    #[serde(default)]
    confirm: bool,
}

pub(super) async fn roll_back(api: Arc<Api>, call: Call) -> Outcome {
    let RollBack { author, session, since, confirm } = call.body()?;
    let session = session.map(|name| SessionId::from_name(&name)).transpose();
    let session = session.map_err(|error| Problem::bad_request(format!("session: {error}")))?;
    let mut agent = api.agent().await?;
    let records = written_by(&agent, author, session.as_ref(), since.map(Stamp)).await?;
    let mut rolled_back = Vec::new();
    if confirm {
        // Newest first, so that a superseded memory is restored before it is considered.
        for memory in &records {
            match agent.revoke(memory).await? {
                Some(MemoryResponse::Refused(refusal)) => return Err(refusal.into()),
                Some(_) => rolled_back.push(memory.id),
                None => {}
            }
        }
    }
    Ok(Answer::Json(fit(
        json!({"author": author, "records": records, "rolled_back": rolled_back, "done": confirm}),
    )))
}

async fn written_by(
    agent: &Agent,
    author: Author,
    session: Option<&SessionId>,
    since: Option<Stamp>,
) -> Result<Vec<Memory>, Problem> {
    let (mut records, mut before) = (Vec::new(), None);
    loop {
        let read = agent.list(None, before, READ).await?;
        let is_last = read.len() < READ;
        before = read.last().map(|memory| memory.id);
        records.extend(read.into_iter().filter(|memory| {
            memory.provenance.author == author
                && session.is_none_or(|session| memory.provenance.session.as_ref() == Some(session))
                && since.is_none_or(|since| memory.created >= since)
        }));
        if is_last || records.len() >= ROLLED_BACK_MAX {
            records.truncate(ROLLED_BACK_MAX);
            return Ok(records);
        }
    }
}
