//! What a caller writes of a memory: a new one, or changes of one.

use neap_core::base::ids::Stamp;
use neap_core::memory::amend::Edit;
use neap_core::memory::{Author, Body, Memory, MemoryDraft, MemoryKind, Provenance};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::page::to_value;
use super::problem::{Problem, quoted};
use super::project::project_id;

/// Confidence of what is written without one.
const CONFIDENCE: f64 = 0.8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Draft {
    body: Map<String, Value>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    project: Option<String>,
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
    pub(super) force: bool,
}

impl Draft {
    pub(super) fn into_memory(self) -> Result<MemoryDraft, Problem> {
        let Self { body, tags, project, domain, pinned, valid_from, valid_until, force: _ } = self;
        Ok(MemoryDraft {
            body: new_body(body)?,
            tags,
            project: project.as_deref().map(project_id).transpose()?,
            domain,
            pinned,
            valid_from: valid_from.map(Stamp),
            valid_until: valid_until.map(Stamp),
            provenance: Provenance::from_author(Author::Person),
            sent: None,
        })
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

pub(super) fn edit_of(memory: &Memory, fields: &mut Map<String, Value>) -> Result<Edit, Problem> {
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
    if let Some(project) = fields.remove("project") {
        let project: Option<String> = serde_json::from_value(project).map_err(unreadable)?;
        let project = project.as_deref().map(project_id).transpose()?;
        edit.project = (project != memory.project).then_some(project);
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
