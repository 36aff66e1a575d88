//! `neap lab proof window`: bounds hold on short runs; time is judged only on long ones, outside of tests.

use crate::rig::Neap;
use serde_json::Value;

const TRANSCRIPT: &str = include_str!("../../../docs/transcript.jsonl");

#[track_caller]
fn rows(proofs: &Value) -> Vec<Value> {
    let proofs = proofs.as_array().expect("a list of proofs");
    proofs.iter().flat_map(|proof| proof["rows"].as_array().expect("rows").clone()).collect()
}

#[test]
fn a_short_run_holds_every_bound() {
    let neap = Neap::new();
    let proofs = neap.json(&["lab", "proof", "window", "--turns", "20"]);
    assert!(!neap.data().exists(), "a proof leaves nothing behind");
    let rows = rows(&proofs);
    let steps: Vec<&str> = rows.iter().map(|row| row["step"].as_str().expect("a step")).collect();
    assert_eq!(steps, ["9-C", "9-D", "9-E", "10-1", "10-2", "10-3", "10-4", "epochs"]);
    for row in &rows {
        assert_eq!(row["ok"], true, "{row}");
    }
}

#[test]
fn recorded_sessions_hold_every_bound() {
    let neap = Neap::new();
    neap.file("transcript.jsonl", TRANSCRIPT);
    let proofs = neap.json(&["lab", "proof", "window", "--transcripts", "transcript.jsonl"]);
    let rows = rows(&proofs);
    assert!(rows.len() >= 21, "{rows:?}");
    for row in &rows {
        assert_eq!(row["ok"], true, "{row}");
    }
    let spans: u64 = rows
        .iter()
        .filter(|row| row["action"].as_str().is_some_and(|action| action.starts_with("summaries of spans")))
        .filter_map(|row| row["measured"].as_str()?.rsplit(' ').next()?.parse::<u64>().ok())
        .sum();
    assert!(spans > 0, "something had to be summarised: {rows:?}");
    let from_pipe = neap.fed(&["lab", "proof", "window", "--transcripts", "-", "--json"], TRANSCRIPT);
    assert_eq!(from_pipe.code, 0, "{}", from_pipe.err);
}

#[test]
fn what_is_no_transcript_is_named_with_a_hint() {
    let neap = Neap::new();
    neap.file("broken.jsonl", "{\"id\": \"a\", \"turns\": []}\n{\"turns\": 7}\n");
    for (args, error) in [
        (vec!["lab", "proof", "window", "--transcripts", "broken.jsonl"], "broken.jsonl, line 2"),
        (vec!["lab", "proof", "window", "--transcripts", "absent.jsonl"], "absent.jsonl"),
        (vec!["lab", "proof", "slice2", "--transcripts", "broken.jsonl"], "--transcripts is for the window proof"),
    ] {
        let ran = neap.run(&args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains(error) && ran.err.contains("hint:"), "{args:?}: {}", ran.err);
    }
}
