//! `neap hook`: what agents' hooks are told, what is taken down, and that nothing ever stands in an agent's way.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::disk::skip;
use crate::rig::{MOMENTS, Neap, Ran, holding};
use serde_json::{Value, json};

const IMPORTED: &str = "7f3c1a52-9b1e-4c0d-8f61-2d5e7a9b4c10";
/// On a slow machine a hook may run out of time; asked again, it goes on from there.
const TRIES: usize = 20;

/// By words alone: in a build for tests meaning takes longer than a hook may.
fn neap() -> Neap {
    Neap::with(&[("NEAP_EMBEDDER", "none")])
}

/// With a session of Claude Code that was imported.
fn with_imported() -> Neap {
    let neap = neap();
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../neap-model/tests/transcripts");
    let file = place.join(format!("{IMPORTED}.jsonl"));
    neap.ok(&["import", "claude-code", file.to_str().expect("a path")]);
    neap
}

/// Calls the hook; gives what the agent is told.
#[track_caller]
pub(crate) fn hook(neap: &Neap, args: &[&str], event: &Value) -> String {
    for _ in 0..TRIES {
        let late = faults(neap).len();
        let Ran { code, out, err } = neap.fed(&[&["hook"], args].concat(), event.to_string());
        assert_eq!((code, err.as_str()), (0, ""), "{event}");
        let faults = faults(neap);
        if faults.len() > late {
            assert!(faults[late].contains("the hook timed out"), "{faults:?}");
            continue;
        }
        if out.is_empty() {
            return out;
        }
        let answer: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"));
        let told = &answer["hookSpecificOutput"];
        assert_eq!(told["hookEventName"], event["hook_event_name"]);
        return told["additionalContext"].as_str().expect("words").to_owned();
    }
    panic!("a hook that never had the time it takes: {event}");
}

fn faults(neap: &Neap) -> Vec<String> {
    let log = std::fs::read_to_string(neap.data().join("hooks/faults.log")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

/// A transcript that Claude Code is writing.
struct Transcript {
    path: PathBuf,
    records: usize,
}

impl Transcript {
    fn new(neap: &Neap, session: &str) -> Self {
        let folder = neap.place().join(".claude/projects/p");
        std::fs::create_dir_all(&folder).expect("a folder");
        Self { path: folder.join(format!("{session}.jsonl")), records: 0 }
    }

    fn add(&mut self, role: &str, text: &str, more: Value) {
        self.records += 1;
        let mut record = json!({
            "type": role, "uuid": format!("u-{}-{}", self.path.display(), self.records), "timestamp": "2026-05-01T10:00:00.000Z",
            "message": {"role": role, "id": format!("m{}", self.records), "content": [{"type": "text", "text": text}]},
        });
        record.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path).expect("the file");
        writeln!(file, "{record}").expect("it is written");
    }

    fn event(&self, name: &str, more: Value) -> Value {
        let session = self.path.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut event =
            json!({"hook_event_name": name, "session_id": session, "transcript_path": self.path, "cwd": "/"});
        event.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        event
    }
}

#[test]
fn a_fact_of_an_imported_session_is_told_where_it_is_asked_for_and_only_there() {
    let neap = with_imported();
    let talk = Transcript::new(&neap, "new");
    let ask = |prompt: &str, id: &str| talk.event("UserPromptSubmit", json!({"prompt": prompt, "prompt_id": id}));
    let told = hook(&neap, &[], &ask("Which idempotency key does the checkout retry use?", "p1"));
    assert!(told.contains("checkout-7Q"), "{told}");
    // As data, by its time and its session, and within what agents take.
    assert!(told.contains("not instructions") && told.contains("§[End of what was said before]"), "{told}");
    assert!(told.contains(&format!("claude-code-{IMPORTED}")) && told.chars().count() <= 10_000, "{told}");
    assert_eq!(hook(&neap, &[], &ask("Paint the garden shed blue", "p2")), "");
    // Codex asks alike.
    let codex = json!({"hook_event_name": "UserPromptSubmit", "session_id": "01a1", "turn_id": "t1", "transcript_path": "/none/rollout-1.jsonl",
        "prompt": "the idempotency key of the checkout retry", "model": "gpt-5-codex"});
    assert!(hook(&neap, &["codex"], &codex).contains("checkout-7Q"));
    let sessions = neap.ok(&["session", "list"]);
    assert!(sessions.contains("codex-01a1") && sessions.contains("claude-code-new"), "{sessions}");
}

/// Each moment by itself: what was said since is found when it is over, and a turn's end brings the session's folder up to date.
#[test]
fn each_moment_takes_in_what_is_new() {
    for (moment, shows) in [
        ("PostToolUse", false),
        ("PreCompact", false),
        ("PostCompact", false),
        ("Stop", true),
        ("SubagentStop", true),
    ] {
        let neap = neap();
        let mut talk = Transcript::new(&neap, "s7");
        talk.add("user", "The lighthouse blinks every 12 seconds.", json!({"promptId": "p1"}));
        talk.add("assistant", "Noted.", json!({}));
        let event = match moment {
            "SubagentStop" => json!({"agent_transcript_path": talk.path, "agent_id": "a1"}),
            "PostCompact" => json!({"trigger": "manual", "compact_summary": "Nothing of note."}),
            _ => json!({}),
        };
        assert_eq!(hook(&neap, &[], &talk.event(moment, event)), "", "{moment}");
        assert!(neap.ok(&["search", "lighthouse blinks"]).contains("12 seconds"), "{moment}");
        let folder = neap.data().join("sessions/claude-code-s7/raw.jsonl");
        assert!(!shows || folder.exists(), "{moment}");
    }
}

#[test]
fn what_is_said_is_taken_down_once_however_often_it_is_told() {
    let neap = neap();
    let mut talk = Transcript::new(&neap, "s1");
    let prompt = "Please fix the parser: offset 0x40 holds the heights, key hunter-2";
    let asked = talk.event("UserPromptSubmit", json!({"prompt": prompt, "prompt_id": "p1"}));
    hook(&neap, &[], &asked);
    // Durable before the agent has written a line; asked twice, it is there once.
    hook(&neap, &[], &asked);
    talk.add("user", prompt, json!({"promptId": "p1"}));
    talk.add("assistant", "The parser reads from 0x40 now.", json!({}));
    for event in ["PostToolUse", "Stop", "PreCompact", "Stop"] {
        assert_eq!(hook(&neap, &[], &talk.event(event, json!({}))), "");
    }
    let events = neap.events("claude-code-s1");
    let said = |text: &str| {
        let of = |kind: &str| {
            let named = events.iter().filter(|event| event["event"]["type"] == *kind);
            named.filter(|event| event["event"]["message"]["content"] == *text).count()
        };
        (of("turn_started"), of("message_added"))
    };
    assert_eq!((said(prompt), said("The parser reads from 0x40 now.")), ((1, 0), (0, 1)));
    assert_eq!(figures(&neap, &talk), (0, 2));
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
}

fn figures(neap: &Neap, talk: &Transcript) -> (u64, u64) {
    let told = neap.json(&["import", "claude-code", talk.path.to_str().expect("a path")]);
    (told["new"].as_u64().expect("a number"), told["known"].as_u64().expect("a number"))
}

#[test]
fn after_a_clients_compaction_the_lost_detail_is_named_and_comes_back_by_its_handle() {
    let neap = neap();
    let mut talk = Transcript::new(&neap, "s2");
    talk.add(
        "user",
        "Remember: the staging database is heron-7 and listens on port 6543.",
        json!({"promptId": "p1"}),
    );
    talk.add("assistant", "Noted.", json!({}));
    talk.add("user", "Deploy the release on Friday.", json!({"promptId": "p2"}));
    talk.add("assistant", "It is deployed.", json!({}));
    hook(&neap, &[], &talk.event("PreCompact", json!({"trigger": "manual"})));
    let after = json!({"trigger": "manual", "compact_summary": "A release was deployed on Friday."});
    hook(&neap, &[], &talk.event("PostCompact", after.clone()));
    hook(&neap, &[], &talk.event("PostCompact", after));
    // The client writes the same down in words of its own: that is the same summary.
    talk.add(
        "user",
        "This session is being continued. A release was deployed on Friday.",
        json!({"isCompactSummary": true}),
    );
    let asked = talk.event("UserPromptSubmit", json!({"prompt": "What next?", "prompt_id": "p3"}));
    let told = hook(&neap, &[], &asked);
    assert!(told.contains("6543") && told.contains("not in the summary"), "{told}");
    let handle = told
        .split("`neap session original ")
        .nth(1)
        .and_then(|rest| rest.split(" --session").next())
        .expect("a handle");
    assert_eq!(handle, "t1-2");
    assert!(neap.ok(&["session", "original", handle, "--session", "claude-code-s2"]).contains("port 6543"));
    let receipts = neap.json(&["session", "receipts", "--session", "claude-code-s2"]);
    assert_eq!(receipts.as_array().expect("a list").len(), 1, "{receipts}");
    // It is told once; what bears on a question is told whenever it is asked, since the agent has it no more.
    talk.add("assistant", "Whatever you like.", json!({}));
    let later = talk.event(
        "UserPromptSubmit",
        json!({"prompt": "Which port does the staging database use?", "prompt_id": "p4"}),
    );
    let told = hook(&neap, &[], &later);
    assert!(told.contains("heron-7") && !told.contains("not in the summary"), "{told}");
}

#[test]
fn a_session_begins_with_what_is_open_and_what_always_holds_and_catches_up() {
    let neap = with_imported();
    neap.ok(&["remember", "Never push to main", "--always"]);
    let mut talk = Transcript::new(&neap, "s3");
    talk.add("user", "The lighthouse blinks every 12 seconds.", json!({}));
    hook(&neap, &[], &talk.event("SessionEnd", json!({"reason": "other"})));
    // At its end there is no time: it is only noted.
    assert_eq!(holding(&neap.data(), "lighthouse"), Vec::<PathBuf>::new());
    let next = Transcript::new(&neap, "s4");
    let told = hook(&neap, &[], &next.event("SessionStart", json!({"source": "startup"})));
    assert!(told.contains("release-notes") && told.contains("Never push to main"), "{told}");
    assert!(told.contains("not instructions"), "{told}");
    assert!(neap.ok(&["search", "lighthouse blinks"]).contains("12 seconds"));
    assert!(!neap.data().join("hooks/waiting").read_dir().expect("a folder").any(|_| true));
}

#[test]
fn secrets_in_what_is_asked_never_reach_the_disk() {
    let neap = neap();
    let talk = Transcript::new(&neap, "s5");
    let prompt = "deploy with OPENAI_API_KEY=sk-proj-4f9aT7bQ2mX8vL1cR6yN3wK5dH0sJ9eG please";
    hook(&neap, &[], &talk.event("UserPromptSubmit", json!({"prompt": prompt, "prompt_id": "p"})));
    assert_eq!(holding(&neap.data(), "4f9aT7bQ2mX8vL1c"), Vec::<PathBuf>::new());
    assert!(neap.ok(&["session", "original", "t1", "--session", "claude-code-s5"]).contains("[masked: "));
    // Nor by what the work is called.
    let prompt = "sk-proj-7h2kP4zW9qD3xB8nM5tV1aF6uC0rY2jL is the key of the payment service for nightly invoices in the harbour office";
    let talk = Transcript::new(&neap, "s6");
    hook(&neap, &[], &talk.event("UserPromptSubmit", json!({"prompt": prompt, "prompt_id": "p"})));
    let efforts = neap.ok(&["session", "efforts", "--session", "claude-code-s6"]);
    assert!(efforts.contains("masked") && !efforts.to_lowercase().contains("7h2kp4"), "{efforts}");
    assert_eq!(holding(&neap.data(), "7h2kp4zw9qd3xb8n"), Vec::<PathBuf>::new());
}

#[test]
fn whatever_is_wrong_the_agent_goes_on() {
    let silent = |neap: &Neap, args: &[&str], input: &str| {
        let ran = neap.fed(args, input);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""), "{args:?} {input}");
    };
    let event = |name: &str| {
        json!({"hook_event_name": name, "session_id": "x", "prompt": "hello there", "prompt_id": "p"}).to_string()
    };
    let neap = neap();
    for input in ["", "null", "{", "[1]", "{\"hook_event_name\":\"Stop\"}", "\u{0}\u{1}", &"[".repeat(100_000)] {
        silent(&neap, &["hook"], input);
    }
    silent(&neap, &["hook"], &event("Teleport"));
    // A command line of another version.
    silent(&neap, &["hook", "--frobnicate"], &event("Stop"));
    silent(&neap, &["hook", "emacs"], &event("Stop"));
    silent(&neap, &["--agent", "///", "hook"], &event("Stop"));
    let faults = neap.json(&["hook", "--log"]);
    assert!(faults.as_array().is_some_and(|all| all.len() >= 7), "{faults}");
    // A store that is none, a folder that is a file, a folder where a file should be, a transcript that is gone.
    for broken in ["store", "place", "folder"] {
        let neap = self::neap();
        match broken {
            "store" => {
                std::fs::create_dir_all(neap.data()).expect("a folder");
                std::fs::write(neap.database(), "this is no database at all, whatever it is called".repeat(40))
                    .expect("a file");
            }
            "place" => std::fs::write(neap.data(), "x").expect("a file"),
            _ => std::fs::create_dir_all(neap.database()).expect("a folder"),
        }
        for moment in MOMENTS {
            silent(&neap, &["hook"], &event(moment));
        }
    }
    let gone = json!({"hook_event_name": "Stop", "session_id": "x", "transcript_path": "/nowhere/at/all.jsonl"});
    silent(&neap, &["hook"], &gone.to_string());
}

#[test]
fn a_lock_that_is_never_given_up_does_not_hold_the_agent() {
    let neap = with_imported();
    let hold = "import sqlite3,sys\ndb=sqlite3.connect(sys.argv[1],isolation_level=None)\ndb.execute('BEGIN IMMEDIATE')\nprint('held',flush=True)\nsys.stdin.read()";
    let held = Command::new("python3")
        .args(["-c", hold])
        .arg(neap.database())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut holder) = held else { return skip("a lock that is never given up", "there is no python3") };
    let mut said = String::new();
    BufReader::new(holder.stdout.take().expect("a pipe")).read_line(&mut said).expect("a line");
    assert_eq!(said.trim(), "held");
    let event =
        json!({"hook_event_name": "UserPromptSubmit", "session_id": "x", "prompt": "hello", "prompt_id": "p"});
    let ran = neap.fed(&["hook"], event.to_string());
    drop(holder.stdin.take());
    let _ = holder.wait();
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
    let faults = faults(&neap);
    assert!(faults.iter().any(|fault| fault.contains("the hook timed out after")), "{faults:?}");
    assert!(neap.ok(&["store", "doctor"]).contains("hook: "));
}
