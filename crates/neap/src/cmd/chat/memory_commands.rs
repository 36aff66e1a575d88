//! Slash commands about the agent's memories.

use neap_core::memory::learn::MemoryCommand;
use neap_core::memory::{Confidence, MemoryDraft, MemoryKind};
use neap_core::recall::ProjectFilter;
use neap_engine::{Agent, Engine, Session};

use crate::cli::{DecideArgs, DecisionFields, MemoryFields};
use crate::cmd::recall as recall_output;
use crate::out::{self, Failure};
use crate::{memory_input, memory_output};

const HITS_MAX: usize = 8;

pub(super) async fn remember(engine: &Engine, session: &Session, text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        out::print_line("Say what to remember, e.g. /remember Tim prefers Celsius.");
        return Ok(());
    }
    let draft = memory_input::draft(MemoryKind::Fact, text.to_owned(), MemoryFields::default())?;
    store_draft(engine, session, draft).await
}

pub(super) async fn decide(engine: &Engine, session: &Session, text: &str) -> Result<(), Failure> {
    let Some((text, confidence)) = split_confidence(text) else {
        out::print_line("Say what was decided and how sure you are, e.g. /decide Use Postgres --confidence 0.85.");
        return Ok(());
    };
    let confidence = Confidence::try_from(confidence)
        .map_err(|error| Failure::new(error).hint("give a number from 0 to 1; 0.85 is quite sure"))?;
    let draft = memory_input::decision_draft(DecideArgs {
        text,
        confidence,
        reasons: Vec::new(),
        tags: Vec::new(),
        domain: None,
        fields: DecisionFields::default(),
    });
    store_draft(engine, session, draft).await
}

pub(super) async fn recall(engine: &Engine, session: &Session, query: &str) -> Result<(), Failure> {
    if query.is_empty() {
        out::print_line(
            "Give the words to search for, e.g. /recall staging database, or /recall what did we do yesterday.",
        );
        return Ok(());
    }
    let command = MemoryCommand::Recall {
        query: query.to_owned(),
        kinds: Vec::new(),
        time: None,
        project: session.state().head().project.clone().map(ProjectFilter::First),
        superseded: false,
        lists: true,
        max: HITS_MAX,
    };
    let hits = recall_output::into_hits(agent(engine).await?.run_command(command).await?)?;
    out::print_text(recall_output::render(&hits, query));
    Ok(())
}

async fn store_draft(engine: &Engine, session: &Session, mut draft: MemoryDraft) -> Result<(), Failure> {
    draft.provenance.session = Some(session.id().clone());
    let draft = draft.recorded_in(session.state().head().project.as_ref());
    let mut agent = agent(engine).await?;
    let response = agent.run_command(MemoryCommand::Remember(Box::new(draft))).await?;
    memory_output::print_outcome(&agent, response, false).await?;
    Ok(())
}

async fn agent(engine: &Engine) -> Result<Agent, Failure> {
    Ok(engine.agent().await?.expect("a chat is an agent's"))
}

/// Splits off the number after `--confidence`, wherever it is.
fn split_confidence(text: &str) -> Option<(String, f64)> {
    let (before, after) = text.split_once("--confidence")?;
    let after = after.trim_start_matches([' ', '=']);
    let (number, rest) = after.split_once(char::is_whitespace).unwrap_or((after, ""));
    let statement = [before.trim(), rest.trim()].join(" ").trim().to_owned();
    Some((statement, number.parse().ok()?)).filter(|(statement, _)| !statement.is_empty())
}

#[cfg(test)]
mod tests {
    use super::split_confidence;

    #[test]
    fn a_decision_in_a_chat_has_a_confidence_anywhere() {
        let said = |text: &str| split_confidence(text).map(|(said, sure)| format!("{said} {sure}"));
        assert_eq!(said("Use Postgres --confidence 0.85").as_deref(), Some("Use Postgres 0.85"));
        assert_eq!(said("--confidence=0.5 Use Postgres").as_deref(), Some("Use Postgres 0.5"));
        for wrong in ["Use Postgres", "--confidence 0.5", "Use Postgres --confidence high", "x --confidence"] {
            assert_eq!(said(wrong), None, "{wrong}");
        }
    }
}
