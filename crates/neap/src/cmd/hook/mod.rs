//! `neap hook`: what an agent's hooks call, with an event on standard input. It never stands in the agent's way.
//!
//! Whatever goes wrong, and however long it takes, the agent goes on: the exit code is 0, nothing is printed but an answer, and after a
//! second it is over. What was not recorded by then is kept ([`spool`]) and recorded by a process that nobody waits for. What went wrong is
//! in a log of its own (`neap hook --log`).

mod faults;
pub(crate) mod line;
mod spool;
mod transcript;
mod work;

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use neap_core::transcript::Program;
use neap_engine::Engine;

use crate::cli::{Cli, Command, HookClient};
use crate::env::{self, DataDir};
use crate::out::{self, Failure};

/// After this long it is over, if nobody says otherwise; a second, less what it takes to begin and to end.
const LIMIT: Duration = Duration::from_millis(900);

fn limit() -> Duration {
    let given = env::text(env::NEAP_HOOK_LIMIT_MS).and_then(|text| text.parse().ok());
    given.map_or(LIMIT, Duration::from_millis)
}

/// Whether this is what was typed, however much else of it makes no sense.
pub(crate) fn is_asked_for() -> bool {
    let mut args = std::env::args_os().skip(1);
    let help = ["--help", "-h", "--version", "-V"].map(OsStr::new);
    let mut is_asked = false;
    args.all(|arg| {
        is_asked |= arg == "hook";
        !help.contains(&arg.as_os_str())
    }) && is_asked
}

/// Notes that a hook was called in a way that this version does not know: what it told is lost, but not in silence.
pub(crate) fn run_unknown(error: &clap::Error) -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let mut place = None;
    while let Some(arg) = args.next() {
        match arg.to_str().and_then(|arg| arg.strip_prefix("--data-dir")) {
            Some("") => place = args.next().map(PathBuf::from),
            Some(value) => place = value.strip_prefix('=').map(PathBuf::from),
            None => {}
        }
    }
    let place = place.or_else(|| crate::env::text(crate::env::NEAP_DATA_DIR).map(PathBuf::from));
    let why = error.to_string();
    note_without_agent(place, &format!("called in an unknown way: {}", why.lines().next().unwrap_or_default()));
    ExitCode::SUCCESS
}

/// Notes a fault where it is not known which agent is meant.
fn note_without_agent(place: Option<PathBuf>, fault: &str) {
    if let Ok(data) = DataDir::resolve(place, None, "default") {
        faults::note(&data, fault);
    }
}

/// Answers an event. Never fails.
pub(crate) fn run(cli: Cli) -> ExitCode {
    // Nobody reads what a panic would print.
    std::panic::set_hook(Box::new(|_| {}));
    let Cli { data_dir, key_file, agent, command, .. } = cli;
    let Command::Hook(args) = command else { return ExitCode::SUCCESS };
    let arguments = arguments(data_dir.as_deref(), key_file.as_deref(), &agent);
    let data = match DataDir::resolve(data_dir.clone(), key_file, &agent) {
        Ok(data) => data,
        Err(failure) => {
            note_without_agent(data_dir, &failure.to_string());
            return ExitCode::SUCCESS;
        }
    };
    if args.catch_up {
        spool::catch_up(&data);
        return ExitCode::SUCCESS;
    }
    let program = args.client.map(|client| match client {
        HookClient::ClaudeCode => Program::ClaudeCode,
        HookClient::Codex => Program::Codex,
    });
    let (done, waiting) = channel();
    let (place, came): (_, Arc<Mutex<Option<work::Event>>>) = (data.clone(), Arc::default());
    let read = came.clone();
    let worker = std::thread::Builder::new().name("neap-hook".to_owned()).spawn(move || {
        let told = answer(&place, program, &read);
        let _ = done.send(told);
    });
    let limit = limit();
    let fault = match worker.map(|_| waiting.recv_timeout(limit)) {
        Ok(Ok(Ok(answer))) => {
            answer.into_iter().for_each(out::line);
            None
        }
        Ok(Ok(Err(fault))) => Some(fault),
        Ok(Err(RecvTimeoutError::Timeout)) => Some(format!("nothing was decided within {} ms", limit.as_millis())),
        Ok(Err(RecvTimeoutError::Disconnected)) => Some("it ended in a panic".to_owned()),
        Err(error) => Some(format!("cannot begin: {error}")),
    };
    if let Some(fault) = fault {
        // The thread may still wait for a lock: what it has committed is durable, and what is recorded twice is known.
        let event = came.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let kept = event.map_or(Ok(false), |event| spool::put(&data, &event));
        let more = match &kept {
            Ok(true) => "; what it told is recorded later".to_owned(),
            Ok(false) => String::new(),
            Err(why) => format!("; {why}"),
        };
        faults::note(&data, &format!("{fault}{more}"));
    }
    spool::start(&data, &arguments);
    ExitCode::SUCCESS
}

/// What tells another process of ours which data are meant.
fn arguments(data_dir: Option<&Path>, key_file: Option<&Path>, agent: &str) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["--agent".into(), agent.into()];
    for (name, value) in [("--data-dir", data_dir), ("--key-file", key_file)] {
        arguments.extend(value.into_iter().flat_map(|value| [name.into(), value.into()]));
    }
    arguments
}

/// Reads the event from standard input and answers it; what went wrong is told in a sentence.
fn answer(
    data: &DataDir,
    program: Option<Program>,
    came: &Mutex<Option<work::Event>>,
) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(line::EVENT_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input: {error}"))?;
    let Some(event) = work::Event::read(program, &bytes, None)? else { return Ok(None) };
    if event.waits() {
        event.wait(data);
        return spool::put(data, &event).map(|_| None);
    }
    *came.lock().unwrap_or_else(PoisonError::into_inner) = Some(event.clone());
    line::ask(data, program, &bytes, event.came()).map_or_else(|| event.alone(data), Ok)
}

/// Shows the latest faults.
pub(crate) fn log(data: &DataDir, json: bool) -> Result<ExitCode, Failure> {
    let faults = faults::latest(data);
    if json {
        out::json_line(&faults)?;
    } else if faults.is_empty() {
        out::line("no faults");
    } else {
        faults.iter().for_each(|fault| out::line(out::clean(fault)));
    }
    Ok(ExitCode::SUCCESS)
}

/// What a person should know of hooks: the latest fault, and what still waits to be recorded.
pub(crate) fn findings(data: &DataDir) -> Vec<String> {
    let fault = faults::last_of(data).map(|(fault, count)| match count {
        1 => fault,
        count => format!("{fault} (the latest of {count}; `neap hook --log` shows more)"),
    });
    let waiting = spool::waiting(data).len() as u64;
    let waiting =
        (waiting > 0).then(|| format!("{} told by hooks not recorded yet", out::count(waiting, "event")));
    fault.into_iter().chain(waiting).collect()
}

/// Records what hooks could not, in a process that stays.
pub(crate) async fn record_waiting(data: &DataDir, engine: &Engine) {
    if let Err(fault) = spool::record_waiting(data, engine).await {
        tracing::warn!(target: "neap::hook", fault, "what hooks told waits longer");
    }
}
