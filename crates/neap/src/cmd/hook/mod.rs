//! `neap hook`: called by an agent's hooks with an event on standard input. It never blocks or fails the agent.
//!
//! Whatever goes wrong, the exit code is 0, only an answer is printed, and it ends within a second. Events that
//! could not be recorded by then are spooled ([`spool`]) and recorded by a background process. Errors go to a log
//! of their own (`neap hook --log`).

pub(crate) mod daemon;
mod error_log;
mod spool;
mod task;
mod transcript;

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use neap_core::base::project_id::Place;
use neap_engine::Engine;
use neap_model::transcript::Program;

use crate::cli::{Cli, HiddenCommand, HookClient, TopLevel};
use crate::env::{self, DataDir};
use crate::heard;
use crate::out::{self, Failure};
use crate::project;

/// Default time limit: a second, less the time to start and to exit.
const DEFAULT_LIMIT: Duration = Duration::from_millis(900);

fn time_limit() -> Duration {
    let given = env::var(env::NEAP_HOOK_LIMIT_MS).and_then(|text| text.parse().ok());
    given.map_or(DEFAULT_LIMIT, Duration::from_millis)
}

/// Whether `neap hook` was invoked, even with arguments that do not parse.
pub(crate) fn is_hook_invocation() -> bool {
    let mut args = std::env::args_os().skip(1);
    let help = ["--help", "-h", "--version", "-V"].map(OsStr::new);
    let mut is_hook = false;
    args.all(|arg| {
        is_hook |= arg == "hook";
        !help.contains(&arg.as_os_str())
    }) && is_hook
}

/// Logs a call with unknown arguments; its event is lost.
pub(crate) fn run_unparsable(error: &clap::Error) -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let mut data_dir = None;
    while let Some(arg) = args.next() {
        match arg.to_str().and_then(|arg| arg.strip_prefix("--data-dir")) {
            Some("") => data_dir = args.next().map(PathBuf::from),
            Some(value) => data_dir = value.strip_prefix('=').map(PathBuf::from),
            None => {}
        }
    }
    let data_dir = data_dir.or_else(|| crate::env::var(crate::env::NEAP_DATA_DIR).map(PathBuf::from));
    let text = error.to_string();
    log_for_default_agent(data_dir, &format!("unknown arguments: {}", text.lines().next().unwrap_or_default()));
    ExitCode::SUCCESS
}

fn log_for_default_agent(data_dir: Option<PathBuf>, fault: &str) {
    if let Ok(data) = DataDir::resolve(data_dir, None, "default") {
        error_log::append(&data, fault);
    }
}

/// Handles an event. Never fails.
pub(crate) fn run(cli: Cli) -> ExitCode {
    // Nobody reads the message of a panic.
    std::panic::set_hook(Box::new(|_| {}));
    let Cli { data_dir, key_file, agent, command, .. } = cli;
    let TopLevel::Hidden(HiddenCommand::Hook(args)) = command else { return ExitCode::SUCCESS };
    let data = match DataDir::resolve(data_dir.clone(), key_file, &agent) {
        Ok(data) => data,
        Err(failure) => {
            log_for_default_agent(data_dir, &failure.to_string());
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
    let (worker_data, task): (_, Arc<Mutex<Option<task::HookTask>>>) = (data.clone(), Arc::default());
    let worker_task = task.clone();
    let worker = std::thread::Builder::new().name("neap-hook".to_owned()).spawn(move || {
        let answer = answer_event(&worker_data, program, &worker_task);
        let _ = done.send(answer);
    });
    let limit = time_limit();
    let fault = match worker.map(|_| waiting.recv_timeout(limit)) {
        Ok(Ok(Ok(answer))) => {
            answer.into_iter().for_each(out::print_line);
            None
        }
        Ok(Ok(Err(fault))) => Some(fault),
        Ok(Err(RecvTimeoutError::Timeout)) => Some(format!("the hook timed out after {} ms", limit.as_millis())),
        Ok(Err(RecvTimeoutError::Disconnected)) => Some("the hook panicked".to_owned()),
        Err(error) => Some(format!("the hook could not start: {error}")),
    };
    if let Some(fault) = fault {
        // The thread may still wait for a lock; its commits are durable, and records are deduplicated.
        let event = task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let spooled = event.map_or(Ok(false), |event| spool::enqueue(&data, &event));
        let suffix = match &spooled {
            Ok(true) => "; its event will be recorded later".to_owned(),
            Ok(false) => String::new(),
            Err(reason) => format!("; {reason}"),
        };
        error_log::append(&data, &format!("{fault}{suffix}"));
    }
    spool::spawn_recorder(&data);
    ExitCode::SUCCESS
}

/// What a person said of the project. A name that cannot be one must not stop the agent.
fn place_from_environment() -> Option<Place> {
    let said = project::from_environment().ok().flatten()?;
    Some(said.map_or(Place::Unknown, Place::Project))
}

fn answer_event(
    data: &DataDir,
    program: Option<Program>,
    task: &Mutex<Option<task::HookTask>>,
) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(daemon::EVENT_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read standard input: {error}"))?;
    let Some(event) = task::HookTask::parse(program, &bytes, None)? else { return Ok(None) };
    let place = place_from_environment();
    let event = event.with_place(place.clone());
    heard::note(data, event.program().as_str());
    if event.is_deferred() {
        event.defer(data);
        return spool::enqueue(data, &event).map(|_| None);
    }
    *task.lock().unwrap_or_else(PoisonError::into_inner) = Some(event.clone());
    daemon::ask(data, program, &bytes, event.arrival(), place).map_or_else(|| event.run_standalone(data), Ok)
}

pub(crate) fn print_errors(data: &DataDir, json: bool) -> Result<ExitCode, Failure> {
    let faults = error_log::latest(data);
    if json {
        out::print_json(&faults)?;
    } else if faults.is_empty() {
        out::print_line("no errors");
    } else {
        faults.iter().for_each(|fault| out::print_line(out::escape_control(fault)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Notes for `neap store doctor`: the latest error, and events not yet recorded.
pub(crate) fn findings(data: &DataDir) -> Vec<String> {
    let fault = error_log::latest_and_count(data).map(|(fault, count)| match count {
        1 => fault,
        count => format!("{fault} (the latest of {count}; `neap hook --log` shows more)"),
    });
    let waiting = spool::pending_files(data).len() as u64;
    let waiting = (waiting > 0).then(|| format!("{} from hooks not recorded yet", out::count(waiting, "event")));
    fault.into_iter().chain(waiting).collect()
}

/// Records spooled events, in a long-running process.
pub(crate) async fn record_pending(data: &DataDir, engine: &Engine) {
    if let Err(fault) = spool::record_pending(data, engine).await {
        tracing::warn!(target: "neap::hook", fault, "could not record hook events; they will be retried");
    }
}
