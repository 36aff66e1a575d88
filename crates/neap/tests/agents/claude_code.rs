//! Claude Code: `--continue` and `--resume`, `/clear`, `--fork-session`, a subagent, two windows.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::provider::{DELEGATE, TASK, history};
use super::{Desk, Goes, KEY, check_fork, check_resumed, check_windows_apart, long};

/// Its own tools and instructions take a third of it.
const BUDGET: usize = 60_000;

fn desk() -> Option<Desk> {
    Desk::new("claude", BUDGET)
}

fn command(desk: &Desk, args: &[&str]) -> Command {
    let mut command = desk.command();
    command.env("ANTHROPIC_BASE_URL", format!("http://{}", desk.proxy.address)).env("ANTHROPIC_API_KEY", KEY);
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").args(["-p", "--allowedTools", "Bash"]);
    command.arg("--output-format").args(args);
    command
}

/// One message to a new process; the id of its conversation.
#[track_caller]
fn say(desk: &Desk, args: &[&str], text: &str) -> String {
    let mut command = command(desk, &[&["json"], args].concat());
    let ran = command.arg("--").arg(text).stdin(Stdio::null()).output().expect("it runs");
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{out}{}{}", String::from_utf8_lossy(&ran.stderr), desk.proxy.log());
    let told: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"));
    assert_eq!(told["is_error"], false, "{out}");
    told["session_id"].as_str().expect("an id").to_owned()
}

/// A window that stays open.
struct Window {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Window {
    fn open(desk: &Desk) -> Self {
        let mut command = command(desk, &["stream-json", "--input-format", "stream-json", "--verbose"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it runs");
        let stdin = child.stdin.take().expect("a pipe");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, stdin, lines }
    }

    /// Sends a message without waiting.
    fn send(&mut self, text: &str) {
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
        writeln!(self.stdin, "{}", json!({"type": "user", "message": message})).expect("it listens");
    }

    /// Waits for the end of a turn.
    #[track_caller]
    fn wait(&mut self) {
        for line in self.lines.by_ref() {
            let told: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
            assert!(!told["subtype"].as_str().is_some_and(|kind| kind.contains("compact")), "{told}");
            if told["type"] == "result" {
                assert_eq!(told["is_error"], false, "{told}");
                return;
            }
        }
        panic!("it ended before its turn");
    }

    #[track_caller]
    fn say(&mut self, text: &str) {
        self.send(text);
        self.wait();
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn arguments(goes: Goes<'_>) -> Vec<&str> {
    match goes {
        Goes::Anew => vec![],
        Goes::OnWithTheLast => vec!["--continue"],
        Goes::OnWith(id) => vec!["--resume", id],
        Goes::ForkOf(id) => vec!["--resume", id, "--fork-session"],
    }
}

#[test]
fn a_resumed_conversation_goes_on_in_its_session_within_the_budget() {
    let Some(desk) = desk() else { return };
    check_resumed(&desk, "claude-code", |goes, text| say(&desk, &arguments(goes), text));
}

#[test]
fn clear_begins_another_session_without_the_old_one() {
    let Some(desk) = desk() else { return };
    let mut window = Window::open(&desk);
    window.say(&long("apple"));
    window.say("and the banana");
    window.say("/clear");
    window.say("then the cherry");
    let said = desk.last_said();
    assert!(said.contains("cherry") && !said.contains("apple") && !said.contains("banana"), "{said}");
    let sessions = desk.sessions();
    assert_eq!(sessions.iter().map(|session| session.requests).collect::<Vec<_>>(), [2, 1], "{sessions:?}");
    assert!(!desk.recorded_words(&sessions[1]).contains("apple"));
}

#[test]
fn a_fork_is_a_session_of_its_own_and_its_origin_goes_on_without_it() {
    let Some(desk) = desk() else { return };
    check_fork(&desk, |goes, text| say(&desk, &arguments(goes), text));
}

#[test]
fn a_subagent_is_a_session_of_its_own() {
    let Some(desk) = desk() else { return };
    say(&desk, &[], &format!("keep the quince in mind; {DELEGATE}"));
    let requests: Vec<String> = desk.requests().iter().map(|request| history(&request.json())).collect();
    let [asked, subagent, answered] = &requests[..] else { panic!("{} requests", requests.len()) };
    assert!(asked.contains("quince") && answered.contains("quince"));
    assert!(subagent.contains(TASK) && !subagent.contains("quince"), "{subagent}");
    // What it found is the result of the call.
    assert!(answered.contains("Noted as number"), "{answered}");
    let sessions = desk.sessions();
    assert_eq!(sessions.iter().map(|session| session.requests).collect::<Vec<_>>(), [2, 1], "{sessions:?}");
    let words = desk.recorded_words(&sessions[1]);
    assert!(words.contains(TASK) && !words.contains("quince"), "{words}");
}

#[test]
fn two_windows_of_one_project_never_meet() {
    let Some(desk) = desk() else { return };
    let mut windows = [Window::open(&desk), Window::open(&desk)];
    let turns =
        [["apple", "fig"], ["banana", "grape"], ["cherry", "kiwi"], ["damson", "lemon"], ["elder", "mango"]];
    for subjects in turns {
        for (window, subject) in windows.iter_mut().zip(subjects) {
            window.send(&long(subject));
        }
        windows.iter_mut().for_each(Window::wait);
    }
    check_windows_apart(&desk, &turns);
}
