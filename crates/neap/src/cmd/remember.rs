//! `neap remember`: something to be known from now on.

use std::process::ExitCode;

use neap_core::ids::EffortId;
use neap_core::learn::Wish;
use neap_core::memory::{Body, MemoryDraft, MemoryKind};
use neap_core::tools::Refusal;

use crate::app;
use crate::cli::{NewKind, RememberArgs};
use crate::cmd::censor;
use crate::env::DataDir;
use crate::out::Failure;
use crate::{told, typed};

pub(crate) async fn run(data: &DataDir, args: RememberArgs, json: bool) -> Result<ExitCode, Failure> {
    let kind = match (args.kind, &args.from_effort) {
        (None, None) | (Some(NewKind::Fact), _) => MemoryKind::Fact,
        (Some(NewKind::Procedure), _) => MemoryKind::Procedure,
        (Some(NewKind::Episode), _) | (None, Some(_)) => MemoryKind::Episode,
        (Some(NewKind::Censor), _) => MemoryKind::Censor,
    };
    if args.text.as_deref() == Some("-") && args.fields.detail.as_deref() == Some("-") {
        return Err(Failure::new("the text and --detail cannot both come from standard input")
            .hint("give one of them as an argument"));
    }
    let text = typed::from_input(args.text.unwrap_or_default())?;
    let mut draft = typed::draft(kind, text, args.fields)?;
    if let Some(effort) = &args.from_effort {
        tell_of(data, &mut draft, effort, &args.session).await?;
    }
    if let Body::Censor(rule) = &draft.body {
        let tried = censor::try_out(data, rule, args.force).await?;
        if !json {
            tried.print();
        }
    }
    let mut agent = app::agent(data).await?;
    let answer = agent.ask(Wish::Remember(Box::new(draft))).await?;
    told::tell(&agent, answer, json).await
}

/// An episode of a concluded effort says what its summary says, unless it was told otherwise.
async fn tell_of(data: &DataDir, draft: &mut MemoryDraft, effort: &str, session: &str) -> Result<(), Failure> {
    let Body::Episode(episode) = &mut draft.body else {
        return Err(Failure::refused(
            &Refusal::new("Only an episode tells of an effort.").hint("leave --kind out, or make it episode"),
        ));
    };
    let session = app::session_id(session)?;
    let attached = app::reader(data)?.attach(&session).await?;
    let id = EffortId::from_name(effort).ok();
    let found = id.and_then(|id| attached.state().effort(&id)).filter(|effort| effort.is_concluded());
    let Some(found) = found else {
        return Err(Failure::refused(
            &Refusal::new(format!("No concluded effort with id '{effort}' in session {session}.")).hint(format!(
                "an episode tells of work that is over; `neap efforts --session {session}` lists it"
            )),
        ));
    };
    if episode.summary.trim().is_empty() {
        episode.summary =
            found.summary.as_ref().map_or_else(|| found.name.clone(), |summary| summary.text.clone());
    }
    (episode.session, episode.effort) = (Some(session), Some(found.id.clone()));
    Ok(())
}
