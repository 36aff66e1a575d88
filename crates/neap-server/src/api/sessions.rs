//! Sessions: lists, settings, efforts, receipts, originals, erasure.

use std::sync::Arc;

use neap_core::base::handle::Handle;
use neap_core::base::ids::{EffortId, Seq, SessionId, Stamp, TurnNo};
use neap_core::base::message::{Exchange, Scope};
use neap_core::base::tokens::Tokens;
use neap_core::context::brief;
use neap_core::session::effort::Effort;
use neap_core::session::event::RecordedEvent;
use neap_core::session::log::LogRequest;
use neap_core::session::summary_account::{SUMMARY_EVENT_KINDS, summary_accounts};
use neap_engine::SessionOptions;
use neap_engine::forms::{
    EffortEntry, Original, SessionDetail, SessionErasure, SessionReport, effort_entries, effort_place,
};
use neap_store::{SessionInfo, StoredEvent};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use super::page::{continue_at, fit, page, to_value, unpair};
use super::problem::{Problem, quoted};
use super::project::project_id;
use super::route::{Answer, Call, Outcome, no_effort, no_session};

/// Of an original, in characters: what is shown unless the caller says.
const ORIGINAL_CHARS: usize = 20_000;
/// Exchanges read of a log at once; a page ends earlier if it is full.
const LOG_TOKENS_MAX: Tokens = Tokens(400_000);
const EVENTS_PAGE: usize = 200;

pub(super) async fn list(api: Arc<Api>, call: Call) -> Outcome {
    let limit = call.limit();
    let after = call.cursor(|text| {
        let (updated, name) = text.split_once('.')?;
        Some((updated.parse::<i64>().ok()?, SessionId::parse(name).ok()?))
    })?;
    let mut sessions = api.engine.sessions().await?;
    let (wants_erased, part) = (call.flag("erased"), call.text("q").map(str::to_lowercase));
    let project = call.text("project").map(project_id).transpose()?;
    sessions.retain(|info| {
        (wants_erased || !info.scrubbed)
            && (project.is_none() || info.project == project)
            && part.as_ref().is_none_or(|part| info.session.as_str().contains(part.as_str()))
    });
    let place = |info: &SessionInfo| (std::cmp::Reverse(info.updated.0), info.session.clone());
    sessions.sort_by_key(place);
    if let Some((updated, name)) = after {
        sessions.retain(|info| place(info) > (std::cmp::Reverse(updated), name.clone()));
    }
    sessions.truncate(limit + 1);
    Ok(Answer::Json(page(sessions, limit, |info| format!("{}.{}", info.updated.0, info.session))?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    set: std::collections::BTreeMap<String, String>,
}

pub(super) async fn put(api: Arc<Api>, call: Call) -> Outcome {
    let Settings { set } = call.body()?;
    let name = call.required("session");
    let id = SessionId::from_name(name).map_err(|error| {
        Problem::refused(format!("cannot use '{}' as a session name: {error}", quoted(name)))
            .hint("use letters, digits and hyphens")
    })?;
    api.check_not_erased(&id).await?;
    let options = SessionOptions { set: set.into_iter().collect(), ..SessionOptions::default() };
    // A session that exists is not continued, only changed.
    let session = match api.engine.attach(&id).await {
        Ok(mut session) => {
            for (key, value) in &options.set {
                session.set(key, value).await?;
            }
            session
        }
        Err(neap_engine::EngineError::NoSession(_)) => api.engine.resume(&id, &options).await?,
        Err(error) => return Err(error.into()),
    };
    Ok(Answer::Json(to_value(&SessionDetail::of(&session))?))
}

pub(super) async fn show(api: Arc<Api>, call: Call) -> Outcome {
    let session = api.engine.attach(&call.session()?).await?;
    Ok(Answer::Json(to_value(&SessionDetail::of(&session))?))
}

pub(super) async fn report(api: Arc<Api>, call: Call) -> Outcome {
    let id = call.session()?;
    let report = api.engine.attach(&id).await?.report();
    let agent = api.agent().await?.report();
    Ok(Answer::Json(to_value(&SessionReport::new(id, report, agent))?))
}

pub(super) async fn erasure(api: Arc<Api>, call: Call) -> Outcome {
    let session = api.engine.attach(&call.session()?).await?;
    Ok(Answer::Json(to_value(&SessionErasure::of(&session))?))
}

pub(super) async fn erase(api: Arc<Api>, call: Call) -> Outcome {
    let id = call.session()?;
    api.engine.head(&id).await?;
    if SessionId::from_name(call.required("confirm")).ok().as_ref() != Some(&id) {
        return Err(
            Problem::refused(format!("'confirm' names another session than {id}")).hint("nothing was erased")
        );
    }
    let events = api.engine.scrub(&id).await?;
    api.engine.flush().await;
    (api.on_erased)(&id)
        .map_err(|reason| Problem::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, "incomplete", reason))?;
    Ok(Answer::Json(json!({"session": id, "events": events, "erased": true})))
}

pub(super) async fn events(api: Arc<Api>, call: Call) -> Outcome {
    let (id, limit) = (call.session()?, call.limit());
    api.engine.head(&id).await?;
    let after = Seq(call.number_cursor()?.unwrap_or(0));
    let mut stored = api.engine.store().events(&id, after.next(), limit + 1).await?;
    let has_more = stored.len() > limit;
    stored.truncate(limit);
    // Damaged ones are left out.
    let last = stored.last().map(StoredEvent::seq).filter(|_| has_more);
    let events: Vec<RecordedEvent> = stored.into_iter().filter_map(StoredEvent::whole).collect();
    let count = events.len();
    let mut answer = page(events, limit, |recorded| recorded.seq.to_string())?;
    continue_at(&mut answer, count, last);
    Ok(Answer::Json(answer))
}

pub(super) async fn efforts(api: Arc<Api>, call: Call) -> Outcome {
    let (session, limit) = (api.engine.attach(&call.session()?).await?, call.limit());
    let after = call.cursor(|text| {
        let mut parts = text.splitn(3, '.');
        let (is_open, turn) = (parts.next()?.parse::<bool>().ok()?, parts.next()?.parse().ok()?);
        Some((is_open, TurnNo(turn), EffortId::from_name(parts.next()?).ok()?))
    })?;
    let state = session.state();
    let shown: Vec<(String, EffortEntry)> = effort_entries(state)
        .into_iter()
        .map(|effort| (effort_place(effort), effort))
        .filter(|(place, _)| after.as_ref().is_none_or(|after| place < after))
        .take(limit + 1)
        .map(|((is_open, turn, id), effort)| (format!("{is_open}.{turn}.{id}"), EffortEntry::of(state, effort)))
        .collect();
    let mut answer = page(shown, limit, |(place, _)| place.clone())?;
    unpair(&mut answer);
    Ok(Answer::Json(answer))
}

pub(super) async fn effort(api: Arc<Api>, call: Call) -> Outcome {
    let (session, id) = (api.engine.attach(&call.session()?).await?, call.effort()?);
    let state = session.state();
    let effort = state.effort(&id).ok_or_else(|| no_effort(id.as_str()))?;
    Ok(Answer::Json(fit(to_value(&EffortEntry::of(state, effort))?)))
}

pub(super) async fn log(api: Arc<Api>, call: Call) -> Outcome {
    let (id, limit) = (call.session()?, call.limit());
    api.engine.head(&id).await?;
    let scope = match call.required("effort") {
        "ambient" => Scope::Ambient,
        _ => Scope::Effort(call.effort()?),
    };
    if let Scope::Effort(effort) = &scope {
        let session = api.engine.attach(&id).await?;
        session.state().effort(effort).ok_or_else(|| no_effort(effort.as_str()))?;
    }
    let last = call.number_cursor()?.map_or(u64::MAX, |turn| turn.saturating_sub(1));
    let turns = (TurnNo(0), TurnNo(last));
    let request = LogRequest { turns, exchanges_max: limit + 1, ..LogRequest::newest(scope, LOG_TOKENS_MAX) };
    let read = api.engine.store().log(&id, &request).await?;
    let tokens = read.exchanges().flat_map(|exchange| &exchange.messages).map(|counted| counted.tokens);
    let is_cut = tokens.sum::<Tokens>() >= LOG_TOKENS_MAX;
    let oldest = read.exchanges().next().map(|exchange| exchange.turn).filter(|_| is_cut);
    let form = |exchange: &std::sync::Arc<Exchange>| json!({"turn": exchange.turn, "at": exchange.at, "messages": exchange.messages});
    let exchanges: Vec<Value> = read.exchanges().rev().map(form).collect();
    let count = exchanges.len();
    let mut answer = page(exchanges, limit, |exchange| exchange["turn"].to_string())?;
    continue_at(&mut answer, count, oldest);
    Ok(Answer::Json(answer))
}

pub(super) async fn receipts(api: Arc<Api>, call: Call) -> Outcome {
    let (session, limit) = (api.engine.attach(&call.session()?).await?, call.limit());
    let before = call.number_cursor()?.map(Seq);
    // A conclusion may be two events.
    let stored =
        api.engine.store().events_of_kinds(session.id(), &SUMMARY_EVENT_KINDS, before, 2 * limit + 2).await?;
    let oldest = stored.last().map(StoredEvent::seq).filter(|_| stored.len() == 2 * limit + 2);
    let events: Vec<RecordedEvent> = stored.into_iter().filter_map(StoredEvent::whole).collect();
    let mut shown = Vec::new();
    for (at, recorded) in events.iter().enumerate() {
        // All so far, so that the earlier of two summaries of an effort is known as such.
        let account = summary_accounts(&events[..=at], session.state());
        if account.len() > shown.len()
            && let Some(last) = account.into_iter().next_back()
        {
            shown.push((recorded.seq.0, last));
        }
        if shown.len() > limit {
            break;
        }
    }
    let count = shown.len();
    let mut answer = page(shown, limit, |(seq, _)| seq.to_string())?;
    unpair(&mut answer);
    continue_at(&mut answer, count, oldest);
    Ok(Answer::Json(answer))
}

pub(super) async fn original(api: Arc<Api>, call: Call) -> Outcome {
    let (id, given) = (call.session()?, call.required("handle"));
    api.engine.head(&id).await?;
    let missing = || {
        Problem::not_found("no_original", format!("nothing is stored under '{}'", quoted(given))).hint(
            "t12 is turn 12, t12.3 its fourth message; receipts show those of summaries, such as t3-41@auth-bug",
        )
    };
    let handle: Handle = given.parse().map_err(|_| missing())?;
    let messages = api.engine.original(&id, &handle).await?;
    if messages.is_empty() {
        return Err(missing());
    }
    let (offset, limit) = (call.size("offset").unwrap_or(0), call.size("limit").unwrap_or(ORIGINAL_CHARS));
    Ok(Answer::Json(fit(to_value(&Original::new(&handle, &messages, offset, limit))?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    question: Option<String>,
    budget: Option<u64>,
}

pub(super) async fn context(api: Arc<Api>, call: Call) -> Outcome {
    let Question { question, budget } = call.body()?;
    let budget = budget.map_or(brief::TOKENS_DEFAULT, Tokens);
    if !(brief::TOKENS_MIN..=brief::TOKENS_MAX).contains(&budget) {
        let (min, max) = (brief::TOKENS_MIN, brief::TOKENS_MAX);
        return Err(Problem::refused(format!("a budget is from {min} to {max} tokens, not {budget}")));
    }
    let question = question.filter(|question| !question.trim().is_empty());
    let brief = api.engine.brief(&call.session()?, question.as_deref(), budget).await?;
    Ok(Answer::Json(fit(json!({"text": brief.text, "tokens": brief.tokens, "budget": brief.budget}))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewEffort {
    name: String,
}

pub(super) async fn open_effort(api: Arc<Api>, call: Call) -> Outcome {
    let NewEffort { name } = call.body()?;
    let session = call.session()?;
    let attached = api.engine.attach(&session).await?;
    // A repetition: opening also makes it active.
    let open =
        EffortId::from_name(&name).ok().filter(|id| attached.state().effort(id).is_some_and(Effort::is_open));
    match open {
        Some(id) => run_tool(&api, &session, "switch_effort", json!({"id": id})).await,
        None => run_tool(&api, &session, "open_effort", json!({"name": name})).await,
    }
}

pub(super) async fn act_on_effort(api: Arc<Api>, call: Call) -> Outcome {
    let (session, effort) = (call.session()?, call.effort()?);
    let tool = match call.required("action") {
        "expand" => "expand_effort",
        "collapse" => "collapse_effort",
        "conclude" => "close_effort",
        "reopen" => "reopen_effort",
        "switch" => "switch_effort",
        other => {
            return Err(Problem::not_found("no_route", format!("an effort has no action '{}'", quoted(other)))
                .hint("these are: expand, collapse, conclude, reopen, switch"));
        }
    };
    run_tool(&api, &session, tool, json!({"id": effort})).await
}

async fn run_tool(api: &Api, id: &SessionId, tool: &str, arguments: Value) -> Outcome {
    let mut session = api.engine.attach(id).await?;
    let reply = session.call_tool(tool, &arguments.to_string()).await?;
    if let Some(refusal) = reply.refusal {
        return Err(Problem::refused(refusal));
    }
    let banner = reply.banner.map(|banner| banner.to_string());
    Ok(Answer::Json(fit(json!({"text": reply.text, "banner": banner, "refusal": null}))))
}

pub(super) async fn export(api: Arc<Api>, call: Call) -> Outcome {
    let id = call.session()?;
    api.engine.head(&id).await?;
    let name = format!("attachment; filename=\"{id}.jsonl\"");
    let body = super::export::events_body(api.engine.store().clone(), id, Seq(1), EVENTS_PAGE, Some);
    super::export::response(name, body).map(Answer::Stream)
}

impl Api {
    /// A name of an erased session is not used again through the API: its tombstone says that it was erased.
    pub(super) async fn check_not_erased(&self, id: &SessionId) -> Result<(), Problem> {
        match self.engine.store().head(id).await? {
            Some(head) if head.scrubbed => {
                Err(no_session(id.as_str()).hint("a session of this name was erased; use another name"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

pub(super) fn now() -> Stamp {
    use neap_engine::{Clock, SystemClock};
    SystemClock.now()
}
