//! `neap hook`: what an agent's hooks call, with an event on standard input. It never stands in the agent's way.
//!
//! Whatever goes wrong, and however long it takes, the agent goes on: the exit code is 0, nothing is printed but an answer, and after a
//! second it is over. What went wrong is in a log of its own (`neap hook --log`).

mod faults;
pub(crate) mod line;
mod transcript;
mod work;

use std::ffi::OsStr;
use std::io::Read as _;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use neap_core::transcript::Program;

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

/// Answers an event. Never fails.
pub(crate) fn run(cli: Cli) -> ExitCode {
    // Nobody reads what a panic would print.
    std::panic::set_hook(Box::new(|_| {}));
    let Cli { data_dir, key_file, agent, command, .. } = cli;
    let Command::Hook(args) = command else { return ExitCode::SUCCESS };
    let Ok(data) = DataDir::resolve(data_dir, key_file, &agent) else { return ExitCode::SUCCESS };
    let program = args.client.map(|client| match client {
        HookClient::ClaudeCode => Program::ClaudeCode,
        HookClient::Codex => Program::Codex,
    });
    let (done, waiting) = channel();
    let place = data.clone();
    let worker = std::thread::Builder::new().name("neap-hook".to_owned()).spawn(move || {
        let told = answer(&place, program);
        let _ = done.send(told);
    });
    if worker.is_err() {
        return ExitCode::SUCCESS;
    }
    let limit = limit();
    let fault = match waiting.recv_timeout(limit) {
        Ok(Ok(Some(answer))) => {
            out::line(answer);
            return ExitCode::SUCCESS;
        }
        Ok(Ok(None)) => return ExitCode::SUCCESS,
        Ok(Err(fault)) => fault,
        Err(RecvTimeoutError::Timeout) => format!("nothing was decided within {} ms", limit.as_millis()),
        Err(RecvTimeoutError::Disconnected) => "it ended in a panic".to_owned(),
    };
    faults::note(&data, &fault);
    // The thread may still wait for a lock: what it has committed is durable, and the rest is taken in the next time.
    ExitCode::SUCCESS
}

/// Reads the event from standard input and answers it; what went wrong is told in a sentence.
fn answer(data: &DataDir, program: Option<Program>) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(line::EVENT_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input: {error}"))?;
    let Some(event) = work::Event::read(program, &bytes)? else { return Ok(None) };
    if event.waits() {
        event.wait(data);
        return Ok(None);
    }
    line::ask(data, program, &bytes).map_or_else(|| event.alone(data), Ok)
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

/// The latest fault, if there was one.
pub(crate) fn latest_fault(data: &DataDir) -> Option<String> {
    faults::latest(data).pop()
}
