//! `--expect`: the stage at which a text that somebody expected was lost; and what superseded a fact, with the step back.

use crate::rig::Neap;
use serde_json::json;

#[test]
fn a_fact_that_gave_way_is_named_with_the_step_that_brings_it_back() {
    let neap = Neap::new();
    neap.ok(&["remember", "The billing timeout is 30 seconds"]);
    neap.ok(&["remember", "The billing timeout is 45 seconds"]);
    let list = neap.ok(&["memory", "list"]);
    assert!(list.contains("superseded by f2") && list.contains("neap memory undo f1"), "{list}");
    let newer = neap.ok(&["memory", "show", "f2"]);
    assert!(newer.contains("took the place of f1: The billing timeout is 30 seconds"), "{newer}");
    assert!(newer.contains("neap memory undo f1"), "{newer}");
    let older = neap.ok(&["memory", "show", "f1"]);
    assert!(older.contains("Superseded by: f2") && older.contains("neap memory undo f1"), "{older}");
    assert_eq!(neap.json(&["memory", "show", "f2"])["supersedes"][0]["id"], "f1");
    neap.ok(&["memory", "undo", "f1"]);
    assert!(!neap.ok(&["memory", "list"]).contains("took the place"));
}

#[test]
fn an_expected_text_is_followed_to_where_it_was_lost() {
    let neap = Neap::new();
    neap.chat(&["The staging database is called heron.", "The pump in hall three is red."]);
    neap.ok(&["remember", "The production database is called osprey"]);
    let stage = |args: &[&str]| neap.json(args)["outcome"]["stage"].clone();
    let session = neap.json(&["session", "list"])[0]["session"].as_str().expect("a session").to_owned();
    let turn = |n: u64| format!("{session}/t{n}");
    assert_eq!(stage(&["search", "heron", "--expect", &turn(1)]), "found");
    assert_eq!(stage(&["search", "heron", "--expect", &turn(9)]), "not_stored");
    assert_eq!(stage(&["search", "osprey", "--expect", "f1"]), "not_searched");
    assert_eq!(stage(&["search", "osprey", "--in", "all", "--expect", "f1"]), "found");
    assert_eq!(stage(&["search", "osprey", "--in", "memories", "--expect", "f9"]), "not_stored");
    let lost = stage(&["search", "heron", "--expect", &turn(2)]);
    assert!(lost == json!("below_floor") || lost == json!("not_proposed"), "{lost}");
    assert_eq!(stage(&["recall", "osprey", "--expect", "f1"]), "found");
    assert_eq!(stage(&["recall", "osprey", "--expect", "f7"]), "not_stored");
    let page = neap.json(&["context", "What is the production database called?", "--expect", "f1"]);
    assert_eq!(page["outcome"], "in", "{page}");
    let none = neap.json(&["context", "Who wrote the song about the walrus?", "--expect", "f1"]);
    assert!(none["outcome"].as_str().is_some_and(|outcome| outcome.starts_with("out")), "{none}");
    let told = neap.ok(&["search", "heron", "--expect", &turn(1)]);
    assert!(told.contains("found, place 1") && told.contains("shared words: heron"), "{told}");
    let which = neap.run(&["search", "heron", "--expect", "t1"]);
    assert!(which.code == 2 && which.err.contains("hint: write SESSION/t1"), "{}", which.err);
}

/// A question can be anything on the command line, too.
#[test]
fn questions_of_any_size_are_answered_or_refused_in_words() {
    let neap = Neap::new();
    neap.chat(&["The staging database is called heron."]);
    neap.ok(&["remember", "The staging database is called heron"]);
    let page = format!("{} heron?", "All of this was pasted. ".repeat(4_200));
    for question in ["", " ", "heron", "?", page.as_str()] {
        for command in ["search", "recall", "context"] {
            let ran = neap.run(&[command, question]);
            let is_refused = ran.err.starts_with("error: ") && ran.err.contains("\nhint: ");
            assert!((ran.code == 0) != is_refused, "{command}: {} {}", ran.code, ran.err);
            if question.contains("heron") {
                assert!(ran.out.contains("heron"), "{command}: {}", ran.out);
            }
        }
    }
    let gone = neap.run(&["search", "heron", "--session", "gone"]);
    assert!(gone.code != 0 && gone.err.contains("gone"), "{}", gone.err);
}
