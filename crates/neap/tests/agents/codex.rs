//! Codex: `exec`, `exec resume`, `exec fork`, a subagent, two windows.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::provider::{DELEGATE, TASK};
use super::{Desk, Goes, KEY, check_fork, check_resumed, check_windows_apart, long};
use crate::mock::Request;

const BUDGET: usize = 40_000;

fn desk() -> Option<Desk> {
    Desk::new("codex", BUDGET)
}

fn command(desk: &Desk, verb: &[&str], text: &str) -> Command {
    let mut command = desk.command();
    command.env("CODEX_API_KEY", KEY).stdin(Stdio::null());
    command.args(["-c", &format!("openai_base_url=\"http://{}/v1\"", desk.proxy.address), "exec"]).args(verb);
    command.args(["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--", text]);
    command
}

/// One message to a new process; the id of its conversation.
#[track_caller]
fn say(desk: &Desk, verb: &[&str], text: &str) -> String {
    let mut command = command(desk, verb, text);
    told(desk, command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs"))
}

#[track_caller]
fn told(desk: &Desk, child: Child) -> String {
    let ran = child.wait_with_output().expect("it ends");
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{out}{}{}", String::from_utf8_lossy(&ran.stderr), desk.proxy.log());
    let lines: Vec<Value> = out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(lines.iter().any(|line| line["type"] == "turn.completed"), "{out}");
    lines.iter().find_map(|line| line["thread_id"].as_str()).expect("an id").to_owned()
}

fn arguments(goes: Goes<'_>) -> Vec<&str> {
    match goes {
        Goes::Anew => vec![],
        Goes::OnWithTheLast => vec!["resume", "--last"],
        Goes::OnWith(id) => vec!["resume", id],
        Goes::ForkOf(id) => vec!["fork", id],
    }
}

#[test]
fn a_resumed_conversation_goes_on_in_its_session_within_the_budget() {
    let Some(desk) = desk() else { return };
    check_resumed(&desk, "codex", |goes, text| say(&desk, &arguments(goes), text));
}

#[test]
fn a_new_conversation_is_another_session() {
    let Some(desk) = desk() else { return };
    let first = say(&desk, &[], "first the apple");
    let second = say(&desk, &[], "then the banana");
    assert_ne!(first, second);
    let said = desk.last_said();
    assert!(said.contains("banana") && !said.contains("apple"), "{said}");
    let sessions = desk.sessions();
    assert_eq!(sessions.iter().map(|session| session.requests).collect::<Vec<_>>(), [1, 1], "{sessions:?}");
    assert!(!desk.recorded_words(&sessions[1]).contains("apple"));
}

#[test]
fn a_fork_is_a_session_of_its_own_and_its_origin_goes_on_without_it() {
    let Some(desk) = desk() else { return };
    check_fork(&desk, |goes, text| say(&desk, &arguments(goes), text));
}

/// It begins with the history of the conversation that started it, and goes on by itself.
#[test]
fn a_subagent_is_a_session_of_its_own() {
    let Some(desk) = desk() else { return };
    say(&desk, &[], DELEGATE);
    let is_subagent = |request: &&Request| request.header("thread-id") != request.header("session-id");
    let requests = desk.requests();
    let [subagent] = &requests.iter().filter(is_subagent).collect::<Vec<_>>()[..] else { panic!("one subagent") };
    assert!(subagent.body.contains(TASK), "{}", subagent.body);
    let sessions = desk.sessions();
    assert_eq!(sessions.iter().map(|session| session.requests).collect::<Vec<_>>(), [3, 1], "{sessions:?}");
    let [origin, subagent] = [&sessions[0], &sessions[1]].map(|session| desk.recorded_words(session));
    let task = concat!("Task name: /root", "/walnut");
    assert!(subagent.contains(task) && !origin.contains(task));
    // What it found is told to the one that started it.
    assert!(origin.contains(concat!("Sender: /root", "/walnut")), "{origin}");
}

#[test]
fn two_windows_of_one_project_never_meet() {
    let Some(desk) = desk() else { return };
    let turns = [["apple", "fig"], ["banana", "grape"], ["cherry", "kiwi"], ["damson", "lemon"]];
    let mut ids: [Option<String>; 2] = [None, None];
    for subjects in turns {
        let start = |window: usize| {
            let verb: Vec<&str> = ids[window].as_deref().map_or(Vec::new(), |id| vec!["resume", id]);
            let mut command = command(&desk, &verb, &long(subjects[window]));
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
        };
        let children = [start(0), start(1)];
        ids = children.map(|child| Some(told(&desk, child)));
    }
    check_windows_apart(&desk, &turns);
}
