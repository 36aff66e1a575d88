//! `neap chat`: a conversation in the terminal that shows its context and the reasons for it.

mod command;
mod completion;
mod input;
mod memory_commands;
mod past_work;
mod screen;
mod word_wrap;

use std::process::ExitCode;
use std::sync::Arc;

use neap_core::base::message::Incomplete;
use neap_engine::{Author, Engine, Interrupt, ProjectChoice, Session, SessionOptions};

use crate::app;
use crate::cli::ChatArgs;
use crate::cmd::import;
use crate::env::DataDir;
use crate::model;
use crate::out::{self, Failure};
use crate::project::Asked;
use command::{AfterCommand, Command};
use input::{Input, InputLine};
use past_work::PastWorkTool;
pub(crate) use past_work::chat_tools;
use screen::Screen;

pub(crate) async fn run(data: &DataDir, args: ChatArgs, json: bool) -> Result<ExitCode, Failure> {
    let id = app::parse_session_id(&args.session)?;
    let chosen = model::choose(data, &args.model).await?;
    if !json {
        import::offer_once(data).await?;
    }
    let asked = Asked::of(args.project.as_deref())?;
    // The chat without a name is used everywhere, so it is about no project unless a person says so.
    let found = if args.session == app::DEFAULT_SESSION { None } else { asked.project() };
    let mut builder = app::agent_engine_builder(data)?.project(found);
    let project = match &asked {
        Asked::Here(_) => ProjectChoice::Keep,
        Asked::Project(_) | Asked::NoProject | Asked::AllProjects => ProjectChoice::Set(asked.project()),
    };
    if let Some(tool) = PastWorkTool::if_useful(data, &id).await? {
        builder = builder.host_tools(Arc::new(tool));
    }
    let mut set = args.set;
    if let Some(chosen) = &chosen {
        builder = builder.model(chosen.client.clone()).encoding(&chosen.encoding()).keep_efforts_by_rule();
        set = chosen.settings(set);
    }
    if let Some(summarizer) = model::summarizer(data, &args.model, args.summary_model)? {
        builder = builder.summarizer(summarizer);
    }
    let engine = builder.build();
    // Embeds new text in the background until the chat ends.
    let _indexer = engine.start_indexer();
    let mut session = engine.resume(&id, &SessionOptions { set, project }).await?;
    let mut chosen = chosen;
    match &mut chosen {
        Some(chosen) => chosen.fit_budget(&mut session).await?,
        // The built-in model counts as Neap does.
        None => model::assume_ratio(&mut session, 1_000).await?,
    }
    let mut screen = Screen::new(args.mem_debug, json, chosen);
    let mut input = Input::open(&data.history_file(&id))?;
    if input.is_terminal() {
        stop_replies_on_ctrl_c(session.interrupt()).await;
    }
    screen.welcome(&session);
    let failed = run_chat(&engine, &mut session, &mut screen, &mut input).await;
    input.save();
    engine.flush().await;
    // A person has seen the errors; a program only sees the exit code.
    let is_clean = failed? == 0;
    Ok(if is_clean || input.is_terminal() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// Runs until the end of input; returns how many messages failed.
async fn run_chat(
    engine: &Engine,
    session: &mut Session,
    screen: &mut Screen,
    input: &mut Input,
) -> Result<u64, Failure> {
    let mut failed = 0;
    loop {
        input.set_completions(session.state());
        let text = match next_input(session, screen, input).await? {
            InputLine::Text(text) => text,
            InputLine::Empty => continue,
            InputLine::Eof => return Ok(failed),
        };
        // A program's lines are all messages: what a command prints is for people.
        match Command::parse(&text).filter(|_| !screen.is_json()) {
            Some(command) => match command.run(engine, session, screen).await {
                Ok(AfterCommand::Continue) => {}
                Ok(AfterCommand::UnknownCommand) => failed += 1,
                Ok(AfterCommand::Say(text)) => failed += u64::from(!run_turn(session, screen, &text).await),
                Ok(AfterCommand::Quit) => return Ok(failed),
                Err(failure) => {
                    out::print_failure(&failure, false);
                }
            },
            None => failed += u64::from(!run_turn(session, screen, &text).await),
        }
    }
}

/// Reads a line and meanwhile runs upkeep, which is cancelled when the line is entered. In a pipe, upkeep runs
/// first: it is short, and the program has its reply already.
async fn next_input(session: &mut Session, screen: &mut Screen, input: &mut Input) -> Result<InputLine, Failure> {
    if !input.is_terminal() {
        run_upkeep(session, screen).await;
        return input.read().await;
    }
    screen.hold_output();
    let typed = {
        let mut reading = std::pin::pin!(input.read());
        tokio::select! {
            biased;
            typed = &mut reading => typed,
            () = run_upkeep(session, screen) => reading.await,
        }
    };
    screen.print_held();
    typed
}

/// Runs upkeep. A failure recurs in the next turn, which reports it.
async fn run_upkeep(session: &mut Session, screen: &mut Screen) {
    if let Err(error) = session.run_upkeep_observed(screen).await {
        tracing::debug!(%error, "upkeep failed");
    }
}

/// Runs one turn. Ctrl-C stops the reply and keeps what has arrived; errors are printed and the chat continues.
/// Returns whether the turn completed.
async fn run_turn(session: &mut Session, screen: &mut Screen, text: &str) -> bool {
    screen.begin_reply();
    let reply = session.turn(Author::Person, text, screen).await;
    screen.end_reply(reply.as_ref().ok());
    match reply {
        Ok(reply) => {
            let used = screen.model().and_then(|model| model.take_usage());
            screen.status(session, &reply, used.as_ref());
            screen.print_json(&reply);
            if let (Some(model), Some(used)) = (screen.model(), used)
                && let Err(failure) = model.adjust_budget(session, &reply.ledger, &used).await
            {
                out::print_failure(&failure, false);
            }
            !matches!(reply.incomplete, Some(Incomplete::BrokenOff { .. }))
        }
        Err(error) => {
            out::print_failure(&error.into(), screen.is_json());
            false
        }
    }
}

/// Makes Ctrl-C stop the reply instead of the program. Without a signal handler it ends the program as usual.
async fn stop_replies_on_ctrl_c(interrupt: Interrupt) {
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            interrupt.interrupt();
        }
    });
    // Lets the handler start before anything is typed.
    tokio::task::yield_now().await;
}
