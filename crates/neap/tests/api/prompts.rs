//! The prompt of any turn, as it was sent.

use serde_json::{Value, json};

use super::Api;
use crate::rig::Neap;

/// A chat over several efforts, with rewritten prompts.
fn long_chat() -> Neap {
    let neap = Neap::new();
    let mut lines: Vec<String> = Vec::new();
    for n in 0..6 {
        lines.push(format!("service {n} answers 50{n} after the deployment, help me"));
        for step in 0..4 {
            lines.push(format!(
                "step {step}: the log of service {n} says {} and nothing else",
                "timeout ".repeat(40)
            ));
        }
        lines.push("it is fixed, that is done".to_owned());
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    neap.chat(&lines);
    neap
}

#[test]
fn a_prompt_of_the_past_is_what_the_ledger_recorded() {
    let api = Api::over(long_chat());
    let turns = api.get("/sessions/default")["turns"].as_u64().expect("turns");
    let mut rewritten = 0;
    for turn in 1..=turns {
        let prompt = api.get(&format!("/sessions/default/turns/{turn}/prompt"));
        let ledger = &api.get(&format!("/sessions/default/turns/{turn}"))["ledger"];
        assert_eq!(
            (&prompt["kind"], &prompt["exact"]),
            (&json!("assembled"), &json!(true)),
            "turn {turn}: {}",
            prompt["note"]
        );
        assert_eq!(prompt["budget"], ledger["budget"]);
        let row = api.get(&format!("/sessions/default/turns?before={}&limit=1", turn + 1))["items"][0].clone();
        assert_eq!(row["turn"], turn);
        rewritten += u64::from(!row["rewritten"].is_null());
    }
    assert!(rewritten > 0, "there were rewritten prompts");
}

/// The tools that an agent is offered depend on what it knows, and scripts have no agent.
#[test]
fn what_is_learned_later_changes_no_prompt_of_the_past() {
    let neap = long_chat();
    // Where there are other sessions, a chat offers a tool of its own.
    let script = [json!({"user": "how warm is it?", "calls": [], "assistant": "21 °C"})];
    neap.replay(&["--session", "script"], &script);
    let learned: [&[&str]; 3] = [
        &["memory", "decide", "Use Redis for sessions", "--confidence", "0.7"],
        &["remember", "Staging runs PostgreSQL 15"],
        &["memory", "censor", "add", "delete production", "--reason", "ask first"],
    ];
    for learned in learned {
        neap.ok(learned);
    }
    neap.chat(&[
        "service 9 answers 509 after the deployment, help me",
        "the log says nothing",
        "which PostgreSQL does staging run?",
    ]);
    neap.ok(&["remember", "Staging runs PostgreSQL 17"]);
    let api = Api::over(neap);
    let last = api.get("/sessions/default/turns/latest/prompt")["blocks"].to_string();
    for shown in ["Staging runs PostgreSQL 15", "delete production"] {
        assert!(last.contains(shown), "{shown}: {last}");
    }
    assert!(!last.contains("PostgreSQL 17"), "{last}");
    for (session, tools) in [("default", 2), ("script", 1)] {
        let turns = api.get(&format!("/sessions/{session}"))["turns"].as_u64().expect("turns");
        let mut offered = std::collections::BTreeSet::new();
        for turn in (1..=turns).filter(|turn| turn % 6 == 1 || turn + 4 > turns) {
            let prompt = api.get(&format!("/sessions/{session}/turns/{turn}/prompt"));
            assert_eq!(prompt["exact"], true, "{session} {turn}: {}", prompt["note"]);
            offered.insert(
                prompt["layers"].to_string().split("},").find(|layer| layer.contains("tools")).map(str::to_owned),
            );
        }
        assert_eq!(offered.len(), tools, "{session}: {offered:?}");
    }
}

/// An erased session's stream begins with its tombstone.
#[test]
fn a_session_that_was_erased_and_imported_again_shows_its_prompts() {
    let neap = long_chat();
    let exported = neap.ok(&["session", "export", "default"]);
    let file = neap.file("exported.jsonl", &exported);
    neap.ok(&["session", "erase", "default", "--confirm", "default"]);
    neap.ok(&["session", "import", &file]);
    neap.chat(&["one more turn after that"]);
    let api = Api::over(neap);
    for turn in ["1", "20", "latest"] {
        let prompt = api.get(&format!("/sessions/default/turns/{turn}/prompt"));
        assert_eq!(prompt["exact"], true, "{turn}: {}", prompt["note"]);
    }
}

#[test]
fn a_block_is_read_in_parts_and_blocks_in_pages() {
    let api = Api::over(long_chat());
    let prompt = api.get("/sessions/default/turns/latest/prompt");
    let blocks = prompt["blocks"].as_array().expect("blocks");
    let long = blocks.iter().max_by_key(|block| block["chars"].as_u64()).expect("a block");
    let (number, chars) = (&long["block"], long["chars"].as_u64().expect("a length"));
    let (mut text, mut offset) = (String::new(), 0);
    while offset < chars {
        let part =
            api.get(&format!("/sessions/default/turns/latest/prompt?block={number}&offset={offset}&limit=100"));
        let [part] = &part["blocks"].as_array().expect("blocks")[..] else { panic!("one block") };
        text.push_str(part["text"].as_str().expect("text"));
        offset += 100;
    }
    assert_eq!(Value::from(text), long["text"]);
    let later = api.get("/sessions/default/turns/latest/prompt?block=2");
    assert_eq!(later["blocks"][0], blocks[2]);
}

#[test]
fn two_prompts_of_an_epoch_differ_at_their_end() {
    let api = Api::over(long_chat());
    let rows = api.get("/sessions/default/turns?limit=200")["items"].clone();
    let grown = rows.as_array().expect("rows").iter().find(|row| row["rewritten"].is_null() && row["turn"] != 1);
    let turn = grown.expect("a turn that only added")["turn"].as_u64().expect("a number");
    let diff = api.get(&format!("/sessions/default/turns/{turn}/diff"));
    assert_eq!((&diff["from"], &diff["to"]), (&json!(turn - 1), &json!(turn)));
    let changes: Vec<&str> =
        diff["blocks"].as_array().expect("blocks").iter().filter_map(|block| block["change"].as_str()).collect();
    assert!(!changes.contains(&"removed"), "{changes:?}");
    let same = changes.iter().take_while(|change| **change == "same").count();
    assert!(same > 3 && changes[same..].contains(&"added"), "{changes:?}");
}

#[test]
fn of_a_proxied_turn_it_is_said_what_is_stored() {
    let api = Api::with_data();
    let prompt = api.get(&format!("/sessions/{}/turns/latest/prompt", api.proxied));
    assert_eq!((&prompt["kind"], &prompt["exact"]), (&json!("forwarded"), &json!(false)));
    assert_eq!(prompt["requests"][0]["class"], "main_turn");
    assert_eq!(prompt["blocks"][0]["text"], "what is in the proxy?");
    assert_eq!(prompt["blocks"][0]["tokens"], 6, "{prompt}");
}
