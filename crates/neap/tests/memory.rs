//! What was said comes back byte for byte, what summaries kept is accounted for, and what is done to the memory is told.

use crate::rig::{self, Neap};
use serde_json::{Value, json};

/// A word that stands for everything private.
const CANARY: &str = "zanzibar-4711";

fn turn(user: &str, calls: &[(&str, Value)], assistant: &str) -> Value {
    let calls: Vec<Value> =
        calls.iter().map(|(name, arguments)| json!({"name": name, "arguments": arguments})).collect();
    json!({"user": user, "calls": calls, "assistant": assistant})
}

/// A session whose ambient log has outgrown its room, with a concluded effort before that.
fn long_session(neap: &Neap) {
    let mut turns = vec![
        turn("The pump at 10.0.0.7 rattles.", &[("open_effort", json!({"name": "water pump"}))], "Since when?"),
        turn("Since 12 March, at 40 Hz, says /var/log/pump.log.", &[], "Then it is the bearing."),
        turn("It was. Done.", &[("close_effort", json!({}))], "Good."),
    ];
    for n in 0..40 {
        let user = format!(
            "Order {n} of {CANARY} weighs {} kg and must not leave before 18:00. {}",
            n * 7,
            "It waits. ".repeat(20)
        );
        turns.push(turn(&user, &[], "Noted, it will not leave before then."));
    }
    let set = ["--session", "default", "--set", "context_tokens_max=2500", "--set", "epoch=every-turn"];
    neap.replay(&set, &turns);
}

#[test]
fn an_original_comes_back_byte_for_byte() {
    let neap = Neap::new();
    let said = "a\u{1b}[2J\u{9b}31m\0 b\n\n  trailing  ";
    neap.replay(&["--session", "default"], &[turn(said, &[], "Yes.\n"), turn("More.", &[], "Ok.")]);
    assert_eq!(neap.ok(&["session", "original", "t1.0"]), said, "no byte is added or changed");
    assert_eq!(neap.ok(&["session", "original", "t1.1"]), "Yes.\n");
    assert_eq!(neap.ok(&["session", "original", "t2"]), "user: More.\nassistant: Ok.\n");
    let json = neap.json(&["session", "original", "t1-2@-"]);
    let messages = json["messages"].as_array().expect("messages");
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    assert_eq!(messages[0]["chars"], said.chars().count());
    assert!(json["text"].as_str().is_some_and(|text| text.contains(said)) && json["next"].is_null(), "{json}");
}

#[test]
fn a_handle_that_leads_nowhere_is_named_with_a_hint() {
    let neap = Neap::new();
    neap.replay(&["--session", "default"], &[turn("Hello.", &[], "Hello.")]);
    for (handle, error) in [
        ("t9", "nothing is stored under 't9' in session 'default'"),
        ("t1.7", "nothing is stored under 't1.7'"),
        ("t1-1@pump", "nothing is stored under 't1-1@pump'"),
        ("pump", "'pump' is no handle"),
    ] {
        let ran = neap.run(&["session", "original", handle]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{handle}");
        assert!(ran.err.contains(error) && ran.err.contains("hint:"), "{handle}: {}", ran.err);
        let ran = neap.run(&["session", "original", handle, "--json"]);
        let told: Value = serde_json::from_str(&ran.err).expect("JSON");
        assert!(told["error"].as_str().expect("an error").contains(error), "{told}");
    }
}

#[test]
fn every_summary_has_its_receipt() {
    let neap = Neap::new();
    long_session(&neap);
    let receipts = neap.json(&["session", "receipts", "--limit", "1000"]);
    let receipts = receipts.as_array().expect("a list");
    let of = |kind: &str| receipts.iter().filter(|receipt| receipt["kind"] == kind).count();
    assert_eq!(of("conclusion"), 1, "two events of one conclusion are one receipt");
    assert!(of("compaction") >= 2, "{receipts:?}");
    let turns: Vec<u64> = receipts.iter().map(|receipt| receipt["turn"].as_u64().expect("a turn")).collect();
    assert!(turns.is_sorted_by(|a, b| a >= b), "newest first: {turns:?}");
    for receipt in receipts {
        assert!(receipt["receipt"]["kinds"]["number"]["found"].as_u64() > Some(0), "{receipt}");
        assert!(receipt["summary_tokens"].as_u64() < receipt["source_tokens"].as_u64(), "{receipt}");
        // The handle leads to the words.
        let handle = receipt["receipt"]["handle"].as_str().expect("a handle");
        assert!(!neap.ok(&["session", "original", handle]).is_empty(), "{handle}");
    }
    assert_eq!(neap.json(&["session", "receipts", "--limit", "2"]).as_array().map(Vec::len), Some(2));
    let said = neap.ok(&["session", "receipts"]);
    assert!(said.starts_with("of ") && said.contains("by t") && said.contains("compaction"), "{said}");
    let report = neap.json(&["report"]);
    assert_eq!(report["compactions"].as_u64().map(|n| n as usize), Some(of("compaction") + of("merge")));
    assert!(report["price_dollars"].as_f64() > Some(0.0), "{report}");
}

#[test]
fn explain_tells_cost_epoch_and_receipts() {
    let neap = Neap::new();
    neap.replay(&["--session", "default"], &[turn("Hello.", &[], "Hello."), turn("More.", &[], "Ok.")]);
    let said = neap.ok(&["explain"]);
    assert!(said.contains("tokens sent in 1 call, ") && said.contains(" % of them cached; $0.0"), "{said}");
    assert!(said.contains("epoch the prompt was rewritten for turn 1, because there was none\n"), "{said}");
    assert_eq!(neap.json(&["explain"])["epoch_cause"], "first");
    let neap = Neap::new();
    long_session(&neap);
    let turn = neap.json(&["session", "receipts", "--limit", "1"])[0]["turn"].to_string();
    let said = neap.ok(&["explain", "--turn", &turn]);
    assert!(said.contains("summarised t") && said.contains(" % of ") && said.contains("in short, then"), "{said}");
}

/// Lines that a chat says to outgrow its room.
fn chatter() -> String {
    let line = |n: u64| {
        format!("My {n}. note on {CANARY}: {}\n", "the harbour is quiet and the boats are in. ".repeat(12))
    };
    (0..30).map(line).collect()
}

#[test]
fn mem_debug_shows_what_is_done_and_no_words() {
    let neap = Neap::new();
    let args = ["chat", "--mem-debug", "--set", "context_tokens_max=2500"];
    let ran = neap.fed(&args, chatter());
    assert_eq!(ran.code, 0, "{}", ran.err);
    for told in ["began an epoch (there was none)", "compacted t", " → ", " ms"] {
        assert!(ran.err.contains(told), "{told}: {}", ran.err);
    }
    assert!(ran.err.lines().all(|line| line.starts_with("memory · turn ")), "{}", ran.err);
    assert!(!ran.err.contains(CANARY) && !ran.err.contains("harbour"), "{}", ran.err);
    let quiet = Neap::new().fed(&["chat", "--set", "context_tokens_max=2500"], chatter());
    assert_eq!((quiet.err.as_str(), quiet.out), ("", ran.out));
    let mut by_env = neap.command(&["chat", "--session", "other"]);
    by_env.env("NEAP_MEM_DEBUG", "1").stdin(std::process::Stdio::null());
    assert!(by_env.output().expect("it runs").status.success());
}

/// Memory operations are logged with ids and counts; nothing that was said, and no key.
#[test]
fn the_log_has_ids_and_counts_and_no_words() {
    let neap = Neap::new();
    let key = "ab".repeat(32);
    let mut command = neap
        .command(&["lab", "replay", "script.jsonl", "--session", "default", "--set", "context_tokens_max=2500"]);
    let turns: Vec<Value> =
        chatter().lines().map(|line| turn(line, &[], &format!("I keep {CANARY} in mind."))).collect();
    neap.file("script.jsonl", rig::lines(&turns));
    let output = command.env("NEAP_LOG", "trace").env("NEAP_KEY", &key).output().expect("it runs");
    let log = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success(), "{log}");
    assert!(log.contains("DEBUG neap::memory: compacted t") && log.contains("session=default"), "{log}");
    for secret in [CANARY, "harbour", key.as_str()] {
        assert!(!log.contains(secret), "{secret} is in the log: {log}");
    }
    let wrong = neap.command(&["store", "settings"]).env("NEAP_LOG", "loud").output().expect("it runs");
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said.contains("NEAP_LOG='loud' is not a log level"), "{said}");
}
