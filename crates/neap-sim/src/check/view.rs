//! Checks the store by fresh reads: logs have every message (I2), every effort can be found (I6), and a session
//! read anew shows the same prompt as the one in memory (I9).

use std::collections::BTreeMap;

use neap_core::base::ids::{SessionId, StreamId};
use neap_core::base::ledger::Layer;
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::recall::Filter;
use neap_core::session::effort::Effort;
use neap_core::session::event::{AbandonReason, Event, RecordedEvent, RoundVisibility, TurnEvent};
use neap_core::session::log::LogRequest;
use neap_core::text::terms::query_terms;
use neap_engine::{Engine, EngineError, Session};
use neap_store::{Severity, Store, StoreError};
use serde_json::{Value, json};

use super::Violations;

type LogTexts = Vec<(u64, Vec<String>)>;

/// Compares every log with the stream, exchange by exchange.
pub async fn check_logs(
    store: &dyn Store,
    session: &StreamId,
    events: &[RecordedEvent],
    out: &mut Violations,
) -> Result<(), StoreError> {
    let expected_logs = logs_of(events);
    for (scope, expected) in &expected_logs {
        let request = LogRequest::newest(scope.clone(), Tokens(u64::MAX));
        let log = store.log(session, &request).await?;
        let mut actual: LogTexts = log
            .exchanges()
            .map(|exchange| {
                let texts = exchange.messages.iter().map(|counted| counted.message.content.to_string());
                (exchange.turn.0, texts.collect())
            })
            .collect();
        actual.sort();
        let mut expected = expected.clone();
        expected.sort();
        out.check("I2", actual == expected, || {
            let turns = |log: &LogTexts| log.iter().map(|(turn, texts)| (*turn, texts.len())).collect::<Vec<_>>();
            format!("the log of {scope:?} holds {:?}, said was {:?}", turns(&actual), turns(&expected))
        });
    }
    Ok(())
}

fn logs_of(events: &[RecordedEvent]) -> BTreeMap<Scope, LogTexts> {
    let mut open: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut logs: BTreeMap<Scope, LogTexts> = BTreeMap::new();
    for recorded in events {
        if let Event::Turn(TurnEvent::Started { turn, message, .. }) = &recorded.event {
            open.insert(turn.0, vec![message.message.content.to_string()]);
        }
        if let Event::Turn(TurnEvent::ToolsCalled { turn, round, visibility: RoundVisibility::Transcript }) =
            &recorded.event
            && let Some(texts) = open.get_mut(&turn.0)
        {
            texts.extend(round.messages().map(|counted| counted.message.content.to_string()));
        }
        if let Event::Turn(TurnEvent::Completed { turn, scope, reply, .. }) = &recorded.event {
            let mut texts = open.remove(&turn.0).unwrap_or_default();
            texts.push(reply.message.content.to_string());
            logs.entry(scope.clone()).or_default().push((turn.0, texts));
        }
        if let Event::Turn(TurnEvent::Abandoned { turn, scope, reason }) = &recorded.event {
            let mut texts = open.remove(&turn.0).unwrap_or_default();
            // A censored turn's texts are in no log; only the reason is.
            if matches!(reason, AbandonReason::Censored { .. }) {
                texts.iter_mut().for_each(String::clear);
            }
            logs.entry(scope.clone()).or_default().push((turn.0, texts));
        }
        if let Event::Turn(TurnEvent::MessageAdded { turn, message }) = &recorded.event {
            open.entry(turn.0).or_default().push(message.message.content.to_string());
        }
        if let Event::Turn(TurnEvent::Closed { turn, scope }) = &recorded.event {
            let texts = open.remove(&turn.0).unwrap_or_default();
            logs.entry(scope.clone()).or_default().push((turn.0, texts));
        }
        if let Event::Turn(TurnEvent::TakenBack { turn, scope, .. }) = &recorded.event {
            logs.entry(scope.clone()).or_default().retain(|(logged_turn, _)| *logged_turn != turn.0);
        }
    }
    logs
}

/// An effort is found by its id, by a person and by a model, and by any word of its summary.
pub async fn check_findable(
    engine: &Engine,
    session: &SessionId,
    effort: &Effort,
    out: &mut Violations,
) -> Result<(), EngineError> {
    let id = &effort.id;
    let summary = effort.summary.as_ref().map_or("", |summary| summary.text.as_str());
    let by_word = summary.split_whitespace().rfind(|word| !query_terms(word).is_empty());
    if let Some(word) = by_word {
        let hits = engine.search(word, Filter::for_stream(session), usize::MAX).await?;
        let found = hits.iter().any(|hit| hit.effort.as_ref() == Some(id) && hit.turn.is_none());
        out.check("I6", found, || format!("a search for {word:?} does not find {id}: {summary}"));
    }
    let hits = engine.search(id.as_str(), Filter::for_stream(session), 100).await?;
    out.check("I6", hits.iter().any(|hit| hit.effort.as_ref() == Some(id)), || {
        format!("a search for {id} does not find it among {} hits", hits.len())
    });
    let mut attached = engine.attach(session).await?;
    let answer = attached.call_tool("search_efforts", &json!({"query": id.as_str()}).to_string()).await?;
    let results: Value = serde_json::from_str(&answer.text).unwrap_or_default();
    let found = results["results"].as_array().is_some_and(|all| all.iter().any(|hit| hit["id"] == id.as_str()));
    out.check("I6", found, || format!("search_efforts for {id} gives {}", answer.text));
    Ok(())
}

/// The store's own examination finds nothing that needs repair.
pub async fn check_examination(
    store: &dyn Store,
    session: &StreamId,
    out: &mut Violations,
) -> Result<(), StoreError> {
    for finding in store.examine(Some(session)).await? {
        out.check("I3", finding.severity == Severity::Note, || format!("{}: {}", session, finding.what));
    }
    Ok(())
}

/// Assembling twice gives the same bytes, and so does a session read anew.
pub async fn check_same_prompt(
    session: &mut Session,
    engine: &Engine,
    text: &str,
    out: &mut Violations,
) -> Result<(), EngineError> {
    let (first, tools) = assembled_prompt(session, text).await?;
    let (second, _) = assembled_prompt(session, text).await?;
    out.check("I9", first == second, || "assembling twice gives two prompts".to_owned());
    let mut reopened = engine.attach(session.id()).await?;
    if reopened.state().seq() != session.state().seq() {
        return Ok(());
    }
    let (third, reopened_tools) = assembled_prompt(&mut reopened, text).await?;
    // A session opened anew has tools for what its agent has learnt by now, but no memories loaded.
    out.check("I9", first == third || tools != reopened_tools || tools.is_none(), || {
        let differs = first.lines().zip(third.lines()).find(|(a, b)| a != b);
        format!("a session read anew shows another prompt; the first difference: {differs:?}")
    });
    Ok(())
}

/// A prompt as one text, and how many tools it offers; `None` if it has memories, which only one process has
/// loaded.
async fn assembled_prompt(session: &mut Session, text: &str) -> Result<(String, Option<usize>), EngineError> {
    Ok(match session.assemble(Some(text)).await {
        Ok(context) => {
            let messages: Vec<String> =
                context.request_messages().iter().map(|message| format!("{message:?}")).collect();
            let tokens = &context.ledger.tokens;
            let has_memories =
                Layer::ALL.into_iter().any(|layer| layer.is_memory() && tokens.get(layer) > Tokens::ZERO);
            let tools = (!has_memories).then_some(context.tools.len());
            (format!("{}\n{:?}", messages.join("\n"), context.ledger), tools)
        }
        Err(EngineError::Turn(too_small)) => (too_small.to_string(), Some(0)),
        Err(other) => return Err(other),
    })
}
