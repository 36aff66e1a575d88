//! What can be typed in a chat about what the agent knows.

use neap_core::learn::Wish;
use neap_core::memory::{Confidence, MemoryDraft, MemoryKind};
use neap_engine::{Agent, Engine, Session};

use crate::cli::{DecideArgs, DecisionFields, Fields};
use crate::cmd::recall as found;
use crate::out::{self, Failure};
use crate::{told, typed};

/// Records that `/recall` shows.
const HITS_MAX: usize = 8;

pub(super) async fn remember(engine: &Engine, session: &Session, text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        out::line("Say what to remember, e.g. /remember Tim prefers Celsius.");
        return Ok(());
    }
    let draft = typed::draft(MemoryKind::Fact, text.to_owned(), Fields::default())?;
    write(engine, session, draft).await
}

pub(super) async fn decide(engine: &Engine, session: &Session, text: &str) -> Result<(), Failure> {
    let Some((text, confidence)) = confident(text) else {
        out::line("Say what was chosen and how sure you are, e.g. /decide Use Postgres --confidence 0.85.");
        return Ok(());
    };
    let confidence =
        Confidence::try_from(confidence).map_err(|error| Failure::new(error).hint("0.85 is quite sure"))?;
    let draft = typed::decision(DecideArgs {
        text,
        confidence,
        reasons: Vec::new(),
        tags: Vec::new(),
        domain: None,
        fields: DecisionFields::default(),
    });
    write(engine, session, draft).await
}

pub(super) async fn recall(engine: &Engine, query: &str) -> Result<(), Failure> {
    if query.is_empty() {
        out::line("Name what to look for, e.g. /recall staging database, or /recall what did we do yesterday.");
        return Ok(());
    }
    let wish =
        Wish::Recall { query: query.to_owned(), kinds: Vec::new(), time: None, superseded: false, max: HITS_MAX };
    let hits = found::found(agent(engine).await?.ask(wish).await?)?;
    out::piece(found::render(&hits, query));
    Ok(())
}

async fn write(engine: &Engine, session: &Session, mut draft: MemoryDraft) -> Result<(), Failure> {
    draft.provenance.session = Some(session.id().clone());
    let mut agent = agent(engine).await?;
    let answer = agent.ask(Wish::Remember(Box::new(draft))).await?;
    told::tell(&agent, answer, false).await?;
    Ok(())
}

async fn agent(engine: &Engine) -> Result<Agent, Failure> {
    Ok(engine.memory().await?.expect("a chat is an agent's"))
}

/// What was chosen, and the number after `--confidence`, wherever that stands.
fn confident(text: &str) -> Option<(String, f64)> {
    let (before, after) = text.split_once("--confidence")?;
    let after = after.trim_start_matches([' ', '=']);
    let (number, rest) = after.split_once(char::is_whitespace).unwrap_or((after, ""));
    let said = [before.trim(), rest.trim()].join(" ").trim().to_owned();
    Some((said, number.parse().ok()?)).filter(|(said, _)| !said.is_empty())
}

#[cfg(test)]
mod tests {
    use super::confident;

    #[test]
    fn a_decision_in_a_chat_has_a_confidence_anywhere() {
        let said = |text: &str| confident(text).map(|(said, sure)| format!("{said} {sure}"));
        assert_eq!(said("Use Postgres --confidence 0.85").as_deref(), Some("Use Postgres 0.85"));
        assert_eq!(said("--confidence=0.5 Use Postgres").as_deref(), Some("Use Postgres 0.5"));
        for wrong in ["Use Postgres", "--confidence 0.5", "Use Postgres --confidence high", "x --confidence"] {
            assert_eq!(said(wrong), None, "{wrong}");
        }
    }
}
