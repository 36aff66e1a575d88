//! A first `neap chat` on a terminal offers to import what other programs kept, once, and answers from it.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests make files on purpose")]

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::disk::skip;
use crate::rig::Neap;
use neap_core::base::ids::Stamp;
use serde_json::Value;

const CONVERSATION: &str = "7f3c1a52-9b1e-4c0d-8f61-2d5e7a9b4c10";
const WEEK_MS: i64 = 7 * 86_400_000;

fn last_week() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    Stamp(i64::try_from(now).expect("a time") - WEEK_MS).date()
}

/// A conversation of last week, where Claude Code keeps it.
fn put_conversation(neap: &Neap) {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../neap-model/tests/transcripts");
    let text = std::fs::read_to_string(format!("{fixtures}/{CONVERSATION}.jsonl")).expect("a transcript");
    let folder = neap.place().join(".claude/projects/-home-ada-shop");
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = text.replace("2026-03-02", &last_week());
    std::fs::write(folder.join(format!("{CONVERSATION}.jsonl")), text).expect("a file");
}

/// Starts a chat, answers its offer, and asks; nothing where there is no python3.
fn check(neap: &Neap, answer: &str) -> Option<Value> {
    let works = Command::new("python3").args(["-c", "import pty"]).output().is_ok_and(|ran| ran.status.success());
    if !works {
        skip("the offer to import", "python3 with its pty module is not here");
        return None;
    }
    let mut command = Command::new("python3");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/import_offer.py");
    command.args([script, env!("CARGO_BIN_EXE_neap"), answer]).env("TERM", "xterm-256color");
    command.env("NEAP_DATA_DIR", neap.data()).env("HOME", neap.place()).env("NO_COLOR", "1");
    // Words that belong together stay on one line.
    command
        .env("COLUMNS", "200")
        .env("NEAP_EMBEDDER", "none")
        .env_remove("CLAUDE_CONFIG_DIR")
        .env_remove("CODEX_HOME");
    let output = command.output().expect("python3 runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let told: Value = serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}: {text} {}", String::from_utf8_lossy(&output.stderr)));
    Some(told)
}

fn seen<'a>(told: &'a Value, chat: &str) -> &'a str {
    told[chat]["seen"].as_str().expect("text")
}

#[test]
fn a_first_chat_imports_what_it_finds_and_answers_by_time() {
    let neap = Neap::new();
    put_conversation(&neap);
    let Some(told) = check(&neap, "y") else { return };
    let first = seen(&told, "first");
    assert!(first.contains("Claude Code") && first.contains("1 conversation"), "{first}");
    assert!(first.contains("Imported 1 conversation: 4 turns, 2 efforts."), "{first}");
    let answer = &first[first.find("Done from").unwrap_or_else(|| panic!("no list: {first}"))..];
    assert!(answer.contains(&last_week()) && answer.contains(&format!("claude-code-{CONVERSATION}")), "{answer}");
    assert!(answer.contains("31 seconds"), "what was done is named: {answer}");
    assert!(!seen(&told, "second").contains("[Y/n]"), "it asks once: {}", seen(&told, "second"));
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
}

#[test]
fn a_no_is_remembered_even_with_an_empty_store() {
    let neap = Neap::new();
    put_conversation(&neap);
    let Some(told) = check(&neap, "n") else { return };
    assert_eq!(told["offered"], true, "{told}");
    let first = seen(&told, "first");
    assert!(first.contains("`neap import claude-code`") && !first.contains("Imported"), "{first}");
    assert!(!seen(&told, "second").contains("[Y/n]"), "{}", seen(&told, "second"));
    assert_eq!(neap.json(&["session", "list"]).as_array().map(Vec::len), Some(1), "only the chat's own");
}

#[test]
fn a_pipe_and_a_store_with_conversations_get_no_offer() {
    let neap = Neap::new();
    put_conversation(&neap);
    let said = neap.chat(&["hello!"]);
    assert!(!said.contains("[Y/n]") && said.starts_with("Hello."), "{said}");
    assert!(!neap.data().join("import-offered").exists());
    let Some(told) = check(&neap, "y") else { return };
    assert_eq!(told["offered"], false, "{told}");
}
