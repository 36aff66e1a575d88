//! `neap remember`: stores a fact, preference, rule or episode.

use std::process::ExitCode;

use neap_core::base::ids::EffortId;
use neap_core::base::refusal::Refusal;
use neap_core::memory::learn::MemoryCommand;
use neap_core::memory::{Body, MemoryDraft, MemoryKind};

use crate::app;
use crate::cli::{NewMemoryKind, RememberArgs};
use crate::cmd::censor;
use crate::env::DataDir;
use crate::out::Failure;
use crate::project::Asked;
use crate::{memory_input, memory_output};

pub(crate) async fn run(data: &DataDir, args: RememberArgs, json: bool) -> Result<ExitCode, Failure> {
    let kind = match (args.kind, &args.from_effort) {
        (None, None) | (Some(NewMemoryKind::Fact), _) => MemoryKind::Fact,
        (Some(NewMemoryKind::Procedure), _) => MemoryKind::Procedure,
        (Some(NewMemoryKind::Episode), _) | (None, Some(_)) => MemoryKind::Episode,
        (Some(NewMemoryKind::Censor), _) => MemoryKind::Censor,
    };
    if args.text.as_deref() == Some("-") && args.fields.detail.as_deref() == Some("-") {
        return Err(Failure::new("the text and --detail cannot both come from standard input")
            .hint("give one of them as an argument"));
    }
    let text = memory_input::text_or_stdin(args.text.unwrap_or_default())?;
    let mut draft = memory_input::draft(kind, text, args.fields)?;
    if let Some(effort) = &args.from_effort {
        fill_from_effort(data, &mut draft, effort, &args.session).await?;
    }
    let draft = Asked::of(args.project.as_deref())?.assign(draft);
    store(data, draft, args.force, json).await
}

/// A rule is tried on recent texts first.
pub(super) async fn store(
    data: &DataDir,
    draft: MemoryDraft,
    force: bool,
    json: bool,
) -> Result<ExitCode, Failure> {
    if let Body::Censor(rule) = &draft.body {
        let trial = censor::try_rule(data, rule, force).await?;
        if !json {
            trial.print();
        }
    }
    memory_output::run(&mut app::agent(data).await?, MemoryCommand::Remember(Box::new(draft)), json).await
}

/// Fills an episode from a concluded effort; a given text takes precedence over the effort's summary.
async fn fill_from_effort(
    data: &DataDir,
    draft: &mut MemoryDraft,
    effort: &str,
    session: &str,
) -> Result<(), Failure> {
    let Body::Episode(episode) = &mut draft.body else {
        return Err(Failure::from_refusal(
            &Refusal::new("Only an episode can be made from an effort.")
                .hint("leave --kind out, or make it episode"),
        ));
    };
    let session = app::parse_session_id(session)?;
    let engine = app::read_engine(data)?;
    let concluded = match EffortId::from_name(effort) {
        Ok(id) => engine.episode_of(&session, &id).await?,
        Err(_) => None,
    };
    let Some(concluded) = concluded else {
        return Err(Failure::from_refusal(
            &Refusal::new(format!("No concluded effort with id '{effort}' in session {session}.")).hint(format!(
                "the effort must be concluded; `neap session efforts --session {session}` lists all efforts"
            )),
        ));
    };
    if episode.summary.trim().is_empty() {
        episode.summary = concluded.summary;
    }
    (episode.session, episode.effort) = (concluded.session, concluded.effort);
    Ok(())
}
