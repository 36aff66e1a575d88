//! Changes of memories. They count as the local user's own, as commands do.

use std::sync::Arc;

use neap_core::base::ids::{SessionId, Stamp};
use neap_core::memory::amend::Edit;
use neap_core::memory::censor::{compile, dry_run};
use neap_core::memory::learn::{Amendment, MemoryCommand, MemoryResponse};
use neap_core::memory::{
    Author, Body, DraftOutcome, Memory, MemoryId, Outcome as ReviewOutcome, Provenance, SentDraft,
};
use neap_engine::Agent;
use neap_engine::forms::{MemoryChange, MemoryOutcome};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Api;
use super::memories::{existing, unexpected};
use super::memory_draft::{Draft, edit_of};
use super::page::{fit, to_value};
use super::problem::{Problem, quoted};
use super::route::{Answer, Call, Outcome};

const READ: usize = 250;
/// Records that one roll-back takes; a further request takes the rest.
const ROLLED_BACK_MAX: usize = 500;

pub(super) async fn remember(api: Arc<Api>, call: Call) -> Outcome {
    let given: Draft = call.body()?;
    let force = given.force;
    let mut draft = given.into_memory()?;
    if let Some(key) = call.text("Idempotency-Key") {
        draft.sent = Some(SentDraft::new(key, &call.body::<Value>()?.to_string()));
    }
    let mut agent = api.agent().await?;
    let is_sent_before = draft.sent.is_some_and(|sent| sent.find(&agent.head().used_keys).is_some());
    if !is_sent_before {
        fill_from_effort(&api, &mut draft.body).await?;
        try_rule(&api, &draft.body, force).await?;
    }
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

/// A rule is tried on recent texts first.
async fn try_rule(api: &Api, body: &Body, force: bool) -> Result<(), Problem> {
    let Body::Censor(rule) = body else { return Ok(()) };
    let pattern = compile(&rule.pattern)?;
    let texts = api.engine.recent_texts(rule.side).await?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let hint = "make the pattern more specific, or store it anyway with \"force\": true";
    Ok(dry_run(&pattern, &texts).check(Author::Person, force).map_err(|refusal| refusal.hint(hint))?)
}

/// Fills an episode without a summary from the concluded effort that it names.
async fn fill_from_effort(api: &Api, body: &mut Body) -> Result<(), Problem> {
    let Body::Episode(episode) = body else { return Ok(()) };
    let (true, Some(session), Some(effort)) =
        (episode.summary.trim().is_empty(), &episode.session, &episode.effort)
    else {
        return Ok(());
    };
    let concluded = api.engine.episode_of(session, effort).await?;
    let none = || {
        Problem::refused(format!("no concluded effort '{effort}' in session {session}"))
            .hint("an effort must be concluded before it becomes an episode")
    };
    episode.summary = concluded.ok_or_else(none)?.summary;
    Ok(())
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
            return Err(Problem::not_found("no_route", format!("a memory has no action '{}'", quoted(other)))
                .hint("these are: undo, confirm, core, wrong, retire, false-positive, review"));
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
