//! What a fresh look at the store gives: logs hold what was said (I2), every effort can be found (I6), and a
//! session read anew shows the same prompt as the one in memory (I9).

use std::collections::BTreeMap;

use neap_core::effort::Effort;
use neap_core::event::{AbandonReason, Event, Recorded, RoundVisibility};
use neap_core::ids::SessionId;
use neap_core::ledger::Layer;
use neap_core::log::LogRequest;
use neap_core::message::Scope;
use neap_core::recall::Filter;
use neap_core::terms::query_terms;
use neap_core::tokens::Tokens;
use neap_engine::{Engine, EngineError, Session};
use neap_store::{Severity, Store, StoreError};
use serde_json::{Value, json};

use super::Violations;

type Said = Vec<(u64, Vec<String>)>;

/// Every log against the stream, exchange by exchange.
pub async fn logs(
    store: &dyn Store,
    session: &SessionId,
    events: &[Recorded],
    out: &mut Violations,
) -> Result<(), StoreError> {
    let must = logs_of(events);
    for (scope, said) in &must {
        let request = LogRequest::newest(scope.clone(), Tokens(u64::MAX));
        let log = store.log(session, &request).await?;
        let mut is: Said = log
            .exchanges()
            .map(|exchange| {
                let texts = exchange.messages.iter().map(|counted| counted.message.content.to_string());
                (exchange.turn.0, texts.collect())
            })
            .collect();
        is.sort();
        let mut said = said.clone();
        said.sort();
        out.check("I2", is == said, || {
            let turns = |said: &Said| said.iter().map(|(turn, texts)| (*turn, texts.len())).collect::<Vec<_>>();
            format!("the log of {scope:?} holds {:?}, said was {:?}", turns(&is), turns(&said))
        });
    }
    Ok(())
}

/// What was said in each scope, from nothing but the stream.
fn logs_of(events: &[Recorded]) -> BTreeMap<Scope, Said> {
    let mut open: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut logs: BTreeMap<Scope, Said> = BTreeMap::new();
    for recorded in events {
        if let Event::TurnStarted { turn, message, .. } = &recorded.event {
            open.insert(turn.0, vec![message.message.content.to_string()]);
        }
        if let Event::ToolsCalled { turn, round, visibility: RoundVisibility::Transcript } = &recorded.event
            && let Some(said) = open.get_mut(&turn.0)
        {
            said.extend(round.messages().map(|counted| counted.message.content.to_string()));
        }
        if let Event::TurnCompleted { turn, scope, reply, .. } = &recorded.event {
            let mut said = open.remove(&turn.0).unwrap_or_default();
            said.push(reply.message.content.to_string());
            logs.entry(scope.clone()).or_default().push((turn.0, said));
        }
        if let Event::TurnAbandoned { turn, scope, reason } = &recorded.event {
            let mut said = open.remove(&turn.0).unwrap_or_default();
            // What a rule withheld is in no log; why is said beside it.
            if matches!(reason, AbandonReason::Censored { .. }) {
                said.iter_mut().for_each(String::clear);
            }
            logs.entry(scope.clone()).or_default().push((turn.0, said));
        }
        if let Event::TurnTakenBack { turn, scope, .. } = &recorded.event {
            logs.entry(scope.clone()).or_default().retain(|(of, _)| *of != turn.0);
        }
    }
    logs
}

/// An effort is found by its id, by a person and by a model; and by any word of its summary.
pub async fn findable(
    engine: &Engine,
    session: &SessionId,
    effort: &Effort,
    out: &mut Violations,
) -> Result<(), EngineError> {
    let id = &effort.id;
    let summary = effort.summary.as_ref().map_or("", |summary| summary.text.as_str());
    let by_word = summary.split_whitespace().rfind(|word| !query_terms(word).is_empty());
    if let Some(word) = by_word {
        let hits = engine.search(word, Filter::of_stream(session), usize::MAX).await?;
        let found = hits.iter().any(|hit| hit.effort.as_ref() == Some(id) && hit.turn.is_none());
        out.check("I6", found, || format!("a search for {word:?} does not find {id}: {summary}"));
    }
    let hits = engine.search(id.as_str(), Filter::of_stream(session), 100).await?;
    out.check("I6", hits.iter().any(|hit| hit.effort.as_ref() == Some(id)), || {
        format!("a search for {id} does not find it among {} hits", hits.len())
    });
    let mut looking = engine.attach(session).await?;
    let answer = looking.call_tool("search_efforts", &json!({"query": id.as_str()}).to_string()).await?;
    let results: Value = serde_json::from_str(&answer.text).unwrap_or_default();
    let found = results["results"].as_array().is_some_and(|all| all.iter().any(|hit| hit["id"] == id.as_str()));
    out.check("I6", found, || format!("search_efforts for {id} gives {}", answer.text));
    Ok(())
}

/// The store's own examination finds nothing that would need repair.
pub async fn sound(store: &dyn Store, session: &SessionId, out: &mut Violations) -> Result<(), StoreError> {
    for finding in store.examine(Some(session)).await? {
        out.check("I3", finding.severity == Severity::Note, || format!("{}: {}", session, finding.what));
    }
    Ok(())
}

/// Assembling twice gives the same bytes; assembling from a session read anew does, too.
pub async fn same_prompt(
    live: &mut Session,
    engine: &Engine,
    text: &str,
    out: &mut Violations,
) -> Result<(), EngineError> {
    let (first, tools) = prompt(live, text).await?;
    let (second, _) = prompt(live, text).await?;
    out.check("I9", first == second, || "assembling twice gives two prompts".to_owned());
    let mut anew = engine.attach(live.id()).await?;
    if anew.state().seq() != live.state().seq() {
        return Ok(());
    }
    let (third, now) = prompt(&mut anew, text).await?;
    // A session that is opened anew has the tools for what its agent has learnt by now, and nothing of that at hand.
    out.check("I9", first == third || tools != now || tools.is_none(), || {
        let differs = first.lines().zip(third.lines()).find(|(a, b)| a != b);
        format!("a session read anew shows another prompt; the first difference: {differs:?}")
    });
    Ok(())
}

/// A prompt as one text, and how many tools it offers, unless something is in it that only one process has at hand.
async fn prompt(session: &mut Session, text: &str) -> Result<(String, Option<usize>), EngineError> {
    Ok(match session.assemble(Some(text)).await {
        Ok(context) => {
            let messages: Vec<String> =
                context.request_messages().iter().map(|message| format!("{message:?}")).collect();
            let of = &context.ledger.tokens;
            let knows = Layer::ALL.into_iter().any(|layer| layer.is_of_memory() && of.get(layer) > Tokens::ZERO);
            let tools = (!knows).then_some(context.tools.len());
            (format!("{}\n{:?}", messages.join("\n"), context.ledger), tools)
        }
        Err(EngineError::Turn(too_small)) => (too_small.to_string(), Some(0)),
        Err(other) => return Err(other),
    })
}
