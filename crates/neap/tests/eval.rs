//! `neap lab eval` and `neap lab bench`, on small texts of our own.

use std::io::Write;

use crate::rig::Neap;
use serde_json::{Value, json};

const TALKS: &str = include_str!("../../../docs/talks.jsonl");

fn eval(neap: &Neap, args: &[&str]) -> Value {
    let all: Vec<&str> = ["lab", "eval", "--json"].iter().chain(args).copied().collect();
    let mut said: Value = serde_json::from_str(&neap.ok(&all)).expect("one object");
    for file in said["files"].as_array_mut().expect("files") {
        // Times differ from run to run; nothing else may.
        for time in ["assembling_ms", "embedding_ms"] {
            assert!(file[time]["p50"].is_number());
            file[time] = Value::Null;
        }
    }
    said
}

fn row<'a>(said: &'a Value, category: &str, budget: u64) -> &'a Value {
    let rows = said["files"][0]["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["category"] == category && row["budget"] == budget).expect("a row")
}

#[test]
fn what_answers_is_recalled_and_the_current_answer_comes_first() {
    let neap = Neap::new();
    let file = neap.file("talks.jsonl", TALKS);
    let said = eval(&neap, &[&file, "--budget", "120,1000"]);
    for category in ["single", "several", "time"] {
        assert_eq!(row(&said, category, 1_000)["recall"], 100.0, "{category}: {said}");
    }
    assert_eq!(row(&said, "current", 1_000)["answer_first"], 100.0, "{said}");
    assert_eq!(said["files"][0]["placed"], 100.0, "{said}");
    assert!(row(&said, "all", 120)["tokens"].as_u64().expect("tokens") <= 120);
    assert_eq!(said, eval(&neap, &[&file, "--budget", "120,1000", "--threads", "1"]), "the same to the digit");
    assert!(!neap.data().exists(), "nothing is kept");
}

#[test]
fn conversations_in_one_store_are_asked_within_their_projects() {
    let neap = Neap::new();
    let file = neap.file("talks.jsonl", TALKS);
    for how in ["projects", "nothing"] {
        let said = eval(&neap, &[&file, "--suite", "recall", "--budget", "1000", "--shared", how]);
        assert_eq!(said["files"][0]["file"], "shared", "{said}");
        assert_eq!(row(&said, "single", 1_000)["recall"], 100.0, "{how}: {said}");
    }
    assert!(!neap.data().exists(), "nothing is kept");
}

#[test]
fn a_compressed_file_is_the_same_and_a_curve_can_be_drawn() {
    let neap = Neap::new();
    let plain = neap.file("talks.jsonl", TALKS);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(TALKS.as_bytes()).expect("it can be packed");
    let packed = neap.file("talks.jsonl.gz", packed.finish().expect("it can be packed"));
    let curve = neap.place().join("curve.svg");
    let curve = curve.to_str().expect("a plain path");
    assert_eq!(eval(&neap, &[&plain, "--curve", curve]), eval(&neap, &[&packed, "--curve", curve]));
    let drawn = std::fs::read_to_string(curve).expect("it was drawn");
    assert!(drawn.starts_with("<svg") && drawn.contains("BM25") && drawn.trim_end().ends_with("</svg>"));
}

#[test]
fn a_reason_that_is_left_out_is_left_out() {
    let neap = Neap::new();
    let turn = |n: usize, text: &str| json!({"id": n, "session": n / 9, "who": "user", "text": text});
    let filler = "this and that about a zebra, the weather, the tea and the time of day";
    let mut turns: Vec<Value> = (0..60).map(|n| turn(n, &format!("{filler}, {n}"))).collect();
    turns[13] = turn(13, "the zebra escaped from the circus in Lund");
    let talk = json!({"id": "z", "turns": turns, "questions": [{"q": "Which zebra escaped from the circus?", "evidence": [13]}]});
    let file = neap.file("zebra.jsonl", talk.to_string());
    let measured = |args: &[&str]| {
        let all: Vec<&str> =
            [file.as_str(), "--suite", "recall", "--budget", "100"].iter().chain(args).copied().collect();
        eval(&neap, &all)
    };
    let recall = |args: &[&str]| row(&measured(args), "all", 100)["recall"].as_f64().expect("a share");
    assert_eq!((recall(&[]), recall(&["--without", "words,meaning"])), (100.0, 0.0));
    // Each in turn, in one go.
    let ablated = measured(&["--ablate"]);
    assert_eq!(row(&ablated, "all", 100)["recall"], 100.0);
    let without = ablated["files"][0]["without"].as_array().expect("rows");
    let of =
        |reason: &str| without.iter().find(|row| row["category"] == reason).expect("a row")["recall"].as_f64();
    assert_eq!(without.len(), 12);
    for reason in ["words", "meaning", "beside"] {
        assert_eq!(of(reason), Some(recall(&["--without", reason])), "{reason}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let neap = Neap::new();
    let file = neap.file("broken.jsonl", format!("{}not json\n", TALKS));
    let ran = neap.run(&["lab", "eval", &file]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("broken.jsonl: line 4") && ran.err.contains("hint:"), "{}", ran.err);
    assert_eq!(neap.run(&["lab", "eval", "nowhere.jsonl"]).code, 2);
    assert_eq!(neap.run(&["lab", "eval", &file, "--budget", "5"]).code, 2);
}

#[test]
fn a_bench_measures_each_size() {
    let neap = Neap::new();
    let said: Value =
        serde_json::from_str(&neap.ok(&["lab", "bench", "--records", "200,400", "--json"])).expect("rows");
    for (row, turns) in said.as_array().expect("rows").iter().zip([200, 400]) {
        assert_eq!(row["turns"], turns);
        assert!(row["searched"]["p50_ms"].as_f64().expect("a time") > 0.0, "{row}");
        assert!(row["built"]["append_per_s"].as_f64().expect("a rate") > 0.0, "{row}");
    }
    assert_eq!(neap.run(&["lab", "bench", "--records", "many"]).code, 2);
}
