//! `neap import` does not wait for embeddings: they are made after it, by whoever gets to them.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::embedders::{answer, at, command, embedded, input, run, search, search_until, server};
use crate::mock::{End, Mock, Reply};
use crate::rig::{Neap, lines};
use crate::wait::wait_until;
use serde_json::{Value, json};

const RECORDS: usize = 6;

/// A transcript of Claude Code about an automobile and other things.
fn transcript(neap: &Neap) -> String {
    let said = [
        "I like the noise of my automobile.",
        "Have the brakes looked at.",
        "The dessert was too sweet.",
        "Use less sugar next time.",
        "We went along the shore.",
        "That sounds nice.",
    ];
    let record = |(at, text): (usize, &&str)| {
        let kind = if at % 2 == 0 { "user" } else { "assistant" };
        let message = json!({"role": kind, "id": format!("m{at}"), "content": [{"type": "text", "text": text}]});
        json!({"type": kind, "uuid": format!("00000000-0000-4000-8000-00000000000{at}"), "sessionId": "s1",
            "timestamp": format!("2026-01-05T10:00:0{at}Z"), "message": message})
    };
    neap.file("s1.jsonl", lines(&said.iter().enumerate().map(record).collect::<Vec<_>>()))
}

/// Imports it and gives the report.
fn import(neap: &Neap, chosen: &[(&str, String)], more: &[&str]) -> Value {
    let path = transcript(neap);
    let ran = run(neap, chosen, &[&["import", "claude-code", &path, "--json"], more].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    serde_json::from_str(&ran.out).expect("JSON")
}

#[test]
fn embeddings_are_made_after_the_import() {
    let (neap, mock) = (Neap::new(), server(0));
    let told = import(&neap, &at(&mock, "concepts"), &[]);
    assert_eq!((&told["new"], &told["embedding"]), (&RECORDS.into(), &json!("background")), "{told}");
    wait_until("all is embedded", || embedded(&mock, &[]) >= RECORDS);
    // What was answered is stored when the process that embeds lets go of its lock.
    let is_free =
        || std::fs::File::open(neap.data().join("embedding.lock")).is_ok_and(|lock| lock.try_lock().is_ok());
    wait_until("all is stored", is_free);
    let (found, err) = search(&neap, &at(&mock, "concepts"), "vehicle");
    assert_eq!(
        (found.first().map(String::as_str), err.as_str()),
        (Some("I like the noise of my automobile."), "")
    );
    assert_eq!(embedded(&mock, &["vehicle"]), RECORDS, "each text once");
}

/// What an import did not embed is found by its words, and the next process embeds it.
#[test]
fn an_import_ends_while_its_embedder_is_silent_and_loses_nothing() {
    let is_silent = Arc::new(AtomicBool::new(true));
    let mock = {
        let is_silent = is_silent.clone();
        Mock::start(move |request, _| match input(request).len() > 1 && is_silent.load(Ordering::SeqCst) {
            true => answer(request, 0).cut(3, End::Silent),
            false => answer(request, 0),
        })
    };
    let (neap, chosen) = (Neap::new(), at(&mock, "concepts"));
    assert_eq!(import(&neap, &chosen, &[])["embedding"], "background");
    let (found, err) = search(&neap, &chosen, "noise");
    assert_eq!(
        (found.first().map(String::as_str), err.as_str()),
        (Some("I like the noise of my automobile."), "")
    );
    is_silent.store(false, Ordering::SeqCst);
    search_until(&neap, &chosen, "vehicle", |found| found.first().is_some_and(|text| text.contains("automobile")));
}

#[test]
fn an_import_that_is_told_to_wait_returns_with_the_embeddings() {
    let (neap, mock) = (Neap::new(), server(0));
    let told = import(&neap, &at(&mock, "concepts"), &["--wait"]);
    assert_eq!(told["embedding"], Value::Null, "{told}");
    assert_eq!(embedded(&mock, &[]), RECORDS);
    let refuses = Mock::start(|_, _| Reply::error(401, r#"{"error":{"message":"no such key"}}"#));
    let (neap, chosen) = (Neap::new(), at(&refuses, "concepts"));
    let path = transcript(&neap);
    let ran = run(&neap, &chosen, &["import", "claude-code", &path, "--wait"]);
    assert!(ran.code != 0 && ran.err.contains("no such key"), "{ran:?}");
    let ran = run(&neap, &chosen, &["import", "claude-code", &path]);
    assert!(ran.code == 0 && ran.out.contains("6 already known"), "it is recorded all the same: {ran:?}");
}

#[test]
fn a_server_that_runs_embeds_what_is_imported() {
    let (neap, mock) = (Neap::new(), server(0));
    let chosen = at(&mock, "concepts");
    let mut child = command(&neap, &chosen, &["mcp"]).stdin(Stdio::piped()).spawn().expect("it runs");
    wait_until("it embeds for all", || neap.data().join("hooks/line").exists());
    let told = import(&neap, &chosen, &[]);
    assert_eq!((&told["new"], &told["embedding"]), (&RECORDS.into(), &json!("background")), "{told}");
    wait_until("all is embedded", || embedded(&mock, &["ready"]) >= RECORDS);
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
    assert_eq!(embedded(&mock, &["ready"]), RECORDS, "each text once");
    assert!(!neap.data().join("embedding.lock").exists(), "no other process was started");
}

#[test]
fn without_an_embedder_nobody_embeds() {
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
    assert_eq!(import(&neap, &[], &[])["embedding"], Value::Null);
    assert!(!neap.data().join("embedding.lock").exists());
}
