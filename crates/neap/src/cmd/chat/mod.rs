//! `neap chat`: a conversation in the terminal, that shows what is in the context and why.

mod command;
mod complete;
mod input;
mod knowledge;
mod screen;

use std::process::ExitCode;

use neap_core::message::Incomplete;
use neap_engine::{Author, Engine, Interrupt, Session, SessionOptions};

use crate::app;
use crate::cli::ChatArgs;
use crate::env::DataDir;
use crate::model;
use crate::out::{self, Failure};
use command::{Command, Next};
use input::{Input, Typed};
use screen::Screen;

pub(crate) async fn run(data: &DataDir, args: ChatArgs) -> Result<ExitCode, Failure> {
    let id = app::session_id(&args.session)?;
    let chosen = model::choose(data, &args.model)?;
    let mut builder = app::agent_engine(data)?;
    let mut set = args.set;
    if let Some(chosen) = &chosen {
        builder = builder.model(chosen.client.clone()).encoding(&chosen.encoding());
        set = chosen.settings(set);
    }
    if let Some(summarizer) = model::summarizer(data, &args.model, args.summary_model)? {
        builder = builder.summarizer(summarizer);
    }
    let engine = builder.build();
    // What is said is embedded beside the conversation; it ends with the chat.
    let _indexer = engine.start_indexer();
    let mut session = engine.resume(&id, &SessionOptions { set }).await?;
    if let Some(chosen) = &chosen {
        chosen.fit(&mut session).await?;
    }
    let mut screen = Screen::new(args.mem_debug, chosen);
    let mut input = Input::open(&data.history(&id))?;
    if input.is_terminal() {
        stop_replies_on_ctrl_c(session.interrupt()).await;
    }
    screen.welcome(&session);
    let ended = talk(&engine, &mut session, &mut screen, &mut input).await;
    input.save();
    engine.flush().await;
    // A person has read what could not be taken; a program only sees the exit code.
    let all_taken = ended? == 0;
    Ok(if all_taken || input.is_terminal() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// Goes on until the end is typed; gives how many messages could not be taken.
async fn talk(
    engine: &Engine,
    session: &mut Session,
    screen: &mut Screen,
    input: &mut Input,
) -> Result<u64, Failure> {
    let mut not_taken = 0;
    loop {
        input.complete_with(session.state());
        let text = match next(session, screen, input).await? {
            Typed::Text(text) => text,
            Typed::Nothing => continue,
            Typed::End => return Ok(not_taken),
        };
        match Command::parse(&text) {
            Some(command) => match command.run(engine, session, screen).await {
                Ok(Next::GoOn) => {}
                Ok(Next::NoCommand) => not_taken += 1,
                Ok(Next::Say(text)) => not_taken += u64::from(!turn(session, screen, &text).await),
                Ok(Next::Quit) => return Ok(not_taken),
                Err(failure) => {
                    out::fail(&failure, false);
                }
            },
            None => not_taken += u64::from(!turn(session, screen, &text).await),
        }
    }
}

/// Waits for what is typed, and meanwhile prepares what the next turns will need. Nobody waits for that: it is dropped
/// when a line is entered. A program in a pipe has its reply already, and its next line waits the little it takes.
async fn next(session: &mut Session, screen: &mut Screen, input: &mut Input) -> Result<Typed, Failure> {
    if !input.is_terminal() {
        tend(session, screen).await;
        return input.read().await;
    }
    screen.hold();
    let typed = {
        let mut reading = std::pin::pin!(input.read());
        tokio::select! {
            biased;
            typed = &mut reading => typed,
            () = tend(session, screen) => reading.await,
        }
    };
    screen.release();
    typed
}

/// Upkeep. What fails in it fails again in the next turn, which tells.
async fn tend(session: &mut Session, screen: &mut Screen) {
    if let Err(error) = session.tend_watched(screen).await {
        tracing::debug!(%error, "upkeep failed");
    }
}

/// One turn. Ctrl-C stops the reply and keeps what was said; what cannot be taken is told, and the chat goes on.
/// Gives whether it was taken and answered to the end.
async fn turn(session: &mut Session, screen: &mut Screen, text: &str) -> bool {
    screen.begin_reply();
    let reply = session.turn(Author::Person, text, screen).await;
    screen.end_reply(reply.as_ref().ok());
    match reply {
        Ok(reply) => {
            let used = screen.model().and_then(|model| model.used());
            screen.status(session, &reply, used.as_ref());
            if let (Some(model), Some(used)) = (screen.model(), used)
                && let Err(failure) = model.heed(session, &reply.ledger.cost, &used).await
            {
                out::fail(&failure, false);
            }
            !matches!(reply.incomplete, Some(Incomplete::BrokenOff { .. }))
        }
        Err(error) => {
            out::fail(&error.into(), false);
            false
        }
    }
}

/// From now on Ctrl-C stops a reply instead of the program. Without a signal handler, it ends the program as usual.
async fn stop_replies_on_ctrl_c(interrupt: Interrupt) {
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            interrupt.interrupt();
        }
    });
    // Lets it begin to listen before anything is typed.
    tokio::task::yield_now().await;
}
