//! `neap run`: a proxy for one command, which is told of it, and what is said at its end.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::os::unix::fs::PermissionsExt;

use crate::mock::{Mock, Reply, Speaks};
use crate::rig::{Neap, Ran};
use serde_json::Value;

const NOWHERE: &str = "http://127.0.0.1:9";

fn answering() -> Mock {
    Mock::start(|request, _| Reply::stream(Speaks::of(&request.path).words(&["pong"])))
}

/// An executable of this name, which prints its arguments and the addresses that it was given.
fn program(neap: &Neap, name: &str) -> String {
    let script =
        "#!/bin/sh\nprintf '%s\\n' \"$@\" \"openai=$OPENAI_BASE_URL\" \"copilot=$COPILOT_PROVIDER_BASE_URL\"\n";
    let path = neap.file(name, script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it may be run");
    path
}

/// Runs a client with a model behind the proxy: this same program, with data of its own.
fn chat(neap: &Neap, upstream: &str, before: &[&str]) -> Ran {
    let own = env!("CARGO_BIN_EXE_neap");
    let data = neap.place().join("of-the-client");
    let client = [own, "--data-dir", data.to_str().expect("a plain path"), "chat", "--model", "gpt-4o"];
    neap.fed(&[&["run", "--upstream", upstream], before, &["--"], &client].concat(), "ping")
}

/// The command's exit code is passed on, and what it prints is all there is on standard output.
#[test]
fn a_command_is_run_with_a_proxy_of_its_own() {
    let neap = Neap::new();
    let script = "echo $OPENAI_BASE_URL $ANTHROPIC_BASE_URL $1; exit 7";
    let ran = neap.run(&["run", "--upstream", NOWHERE, "--", "sh", "-c", script, "sh", "--json"]);
    assert_eq!(ran.code, 7, "{}", ran.err);
    let [openai, anthropic, argument] = ran.out.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{}", ran.out)
    };
    assert_eq!((openai, argument), (format!("{anthropic}/v1").as_str(), "--json"));
    assert!(anthropic.starts_with("http://127.0.0.1:"), "{anthropic}");
    assert_eq!(neap.run(&["run", "--", "sh", "-c", "kill -9 $$"]).code, 137);
    let ran = neap.run(&["run", "--", "no-such-command-here"]);
    assert!(ran.code == 2 && ran.err.contains("cannot run 'no-such-command-here'"), "{}", ran.err);
    assert!(!ran.err.contains("no request"), "{}", ran.err);
}

/// A command that never used the proxy is told so, with what it was given.
#[test]
fn a_command_without_a_request_is_told_so() {
    let neap = Neap::new();
    let ran = neap.run(&["run", "--upstream", NOWHERE, "--", "true"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    let [said, hint] = ran.err.lines().collect::<Vec<_>>()[..] else { panic!("{}", ran.err) };
    assert!(said.starts_with("no request came through the proxy"), "{said}");
    for part in ["hint: ANTHROPIC_BASE_URL, OPENAI_BASE_URL, OPENAI_API_BASE", "true may read", "docs/proxy.md"] {
        assert!(hint.contains(part), "{hint}");
    }
    let ran = neap.run(&["run", "--upstream", NOWHERE, "--", &program(&neap, "claude"), "-p"]);
    assert!(ran.err.contains("hint: Claude Code goes elsewhere if"), "{}", ran.err);
}

/// Codex takes the address from an argument, before its own.
#[test]
fn codex_is_given_the_address_as_it_reads_it() {
    let neap = Neap::new();
    let ran = neap.run(&["run", "--upstream", NOWHERE, "--", &program(&neap, "codex"), "exec", "ping"]);
    let [flag, setting, exec, ping, openai, _] = ran.out.lines().collect::<Vec<_>>()[..] else {
        panic!("{}", ran.out)
    };
    assert_eq!((flag, exec, ping), ("-c", "exec", "ping"));
    let url = openai.strip_prefix("openai=").expect("an address");
    assert_eq!(setting, format!("openai_base_url=\"{url}\""));
}

/// A program that no proxy can serve is run all the same, and why it cannot be served is said before and after.
#[test]
fn a_program_that_cannot_be_served_is_told_why() {
    let neap = Neap::new();
    let ran = neap.run(&["run", "--upstream", NOWHERE, "--", &program(&neap, "gemini"), "hello"]);
    assert!(ran.code == 0 && ran.out.starts_with("hello\n"), "{}", ran.out);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(
        lines[0].starts_with("the command runs without the proxy: ") && lines[0].contains("Google's own protocol"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("no request came") && lines[2].contains("Google's own protocol"), "{lines:?}");
}

/// Copilot is pointed at the proxy only if it has a provider, which is then where its requests go.
#[test]
fn copilot_keeps_its_provider() {
    let neap = Neap::new();
    let program = program(&neap, "copilot");
    let ran = neap.run(&["run", "--", &program]);
    assert!(ran.out.ends_with("copilot=\n") && ran.err.contains("GitHub's servers"), "{} {}", ran.out, ran.err);
    let mock = answering();
    let path = neap.file("input", "ping");
    let input = || std::fs::File::open(&path).expect("a file");
    let with_provider = |args: &[&str]| {
        let mut command = neap.command(&[&["run", "--"], args].concat());
        command.env("COPILOT_PROVIDER_BASE_URL", mock.url("/v1")).stdin(input()).output().expect("it runs")
    };
    let ran = with_provider(&[&program]);
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(out.contains("copilot=http://127.0.0.1:") && !out.contains(&mock.url("")), "{out}");
    assert!(!String::from_utf8_lossy(&ran.stderr).contains("runs without the proxy"), "{ran:?}");
    // A client of this name, which asks.
    std::fs::remove_file(&program).expect("it is there");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_neap"), &program).expect("a link");
    let ran = with_provider(&[&program, "--data-dir", "of-the-client", "chat", "--model", "gpt-4o"]);
    assert!(String::from_utf8_lossy(&ran.stdout).contains("pong"), "{ran:?}");
    assert_eq!(mock.requests().len(), 1);
}

/// What the requests came to is said in one line at the end, on standard error.
#[test]
fn the_end_of_a_run_says_what_came_through() {
    let mock = answering();
    let neap = Neap::new();
    let ran = chat(&neap, &mock.url(""), &[]);
    assert!(ran.code == 0 && ran.out.contains("pong"), "{} {}", ran.out, ran.err);
    let line = ran.err.lines().last().expect("a line");
    assert!(
        line.starts_with("1 request, ") && line.contains(" tokens in, ") && line.contains(" sent, 80.0 % cached"),
        "{line}"
    );
    assert!(!ran.out.contains("tokens in"), "{}", ran.out);
    let ran = chat(&neap, &mock.url(""), &["--json"]);
    let told: Value = serde_json::from_str(ran.err.lines().last().expect("a line")).expect("JSON");
    assert_eq!(
        (&told["requests"], &told["received"], &told["cached_share"]),
        (&1.into(), &1.into(), &0.8.into()),
        "{told}"
    );
}

/// Requests that no model answered are not told as answered ones.
#[test]
fn requests_without_an_answer_are_told_as_such() {
    let mock = Mock::start(|_, _| Reply::error(401, r#"{"error":{"message":"no"}}"#));
    let ran = chat(&Neap::new(), &mock.url(""), &[]);
    let line = ran.err.lines().last().expect("a line");
    assert!(line.contains("came through the proxy, and no model answered"), "{line}");
}
