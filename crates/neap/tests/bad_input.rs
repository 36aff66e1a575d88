//! What comes from outside can be anything: names, messages, arguments, files, disks. Nothing outside the data
//! directory is touched, nothing stored is lost, and the message says what to do.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use crate::disk::Disk;
use crate::rig::{Neap, Ran, lines, objects, tree};
use serde_json::{Value, json};

/// What a person needs when something is refused: the exit code, one error, one hint.
#[track_caller]
fn check(ran: &Ran, said: &str) {
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(ran.err.starts_with("error: ") && ran.err.contains(said), "not {said:?}: {}", ran.err);
    assert!(ran.err.contains("\nhint: "), "no hint: {}", ran.err);
}

/// Everything beside the data directory.
fn outside(neap: &Neap) -> Vec<std::path::PathBuf> {
    tree(neap.place()).into_keys().filter(|path| !path.starts_with("data")).collect()
}

fn open(name: &str) -> Value {
    json!({"user": "Begin.", "calls": [{"name": "open_effort", "arguments": {"name": name}}], "assistant": "Noted."})
}

#[test]
fn hostile_effort_names_become_harmless_ids_or_are_refused() {
    let neap = Neap::new();
    let (long, deep) = ("x".repeat(4_096), "../".repeat(40) + "etc/passwd");
    let names =
        ["../../evil", long.as_str(), deep.as_str(), "a\0b", "C:\\windows", "\u{202e}live", "😀", "", "..", "/"];
    let turns: Vec<Value> = names.iter().map(|name| open(name)).collect();
    let told = neap.replay(&["--session", "s"], &turns);
    let ids: Vec<&str> =
        told.last().expect("turns")["open"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
    let mut expected = vec!["a-b", "c-windows", "etc-passwd", "evil", "live", &long[..64]];
    let mut found = ids.clone();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    for (name, turn) in names.iter().zip(&told).skip(6) {
        assert_eq!(turn["refusals"].as_array().map(Vec::len), Some(1), "{name:?}: {turn}");
    }
    let logs = tree(&neap.folder("s").join("efforts")).into_keys().map(|path| path.display().to_string());
    let numbered: Vec<String> = (1..=expected.len()).map(|number| format!("{number:04}.jsonl")).collect();
    assert_eq!(logs.collect::<Vec<_>>(), numbered, "what a model calls an effort is in no path");
    assert_eq!(outside(&neap), Vec::<std::path::PathBuf>::new());
}

#[test]
fn hostile_session_names_stay_inside_or_are_refused() {
    let neap = Neap::new();
    let long = "y".repeat(4_096);
    for (name, id) in [("../../x", "x"), ("/etc/passwd", "etc-passwd"), ("a b", "a-b")] {
        let ran = neap.fed(&["chat", "--session", name], "hello!\n");
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        assert!(neap.folder(id).is_dir(), "{name}");
    }
    assert_eq!(neap.fed(&["chat", "--session", &long], "hello!\n").code, 0);
    let ids = neap.json(&["session", "list"]);
    let id = ids.as_array().into_iter().flatten().filter_map(|session| session["session"].as_str());
    let id = id.clone().find(|id| id.starts_with("yyy")).expect("a session");
    assert!(id.len() <= 64 && neap.folder(id).is_dir(), "{id}");
    for name in ["", "../..", "😀", "\u{1b}[2J"] {
        let ran = neap.fed(&["chat", "--session", name], "hello!\n");
        if name.contains('J') {
            assert_eq!((ran.code, neap.folder("2j").is_dir()), (0, true));
        } else {
            check(&ran, "as a session name");
        }
        assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
    }
    assert_eq!(neap.json(&["session", "list"]).as_array().map(Vec::len), Some(5));
    assert_eq!(outside(&neap), Vec::<std::path::PathBuf>::new());
    for args in
        [&["session", "export", ""][..], &["session", "erase", ".."], &["session", "efforts", "--session", ""]]
    {
        check(&neap.run(args), "as a session name");
    }
}

#[test]
fn malformed_tool_calls_are_refused_and_nothing_is_done() {
    let arguments = [
        json!("{bad"),
        json!(""),
        json!("null"),
        json!("[1]"),
        json!("[".repeat(100_000)),
        json!({"name": 7}),
        json!({"nome": "x"}),
        json!([{"name": "x"}]),
        json!(true),
    ];
    let turn = |arguments: &Value| json!({"user": "Begin.", "calls": [{"name": "open_effort", "arguments": arguments}], "assistant": "Noted."});
    let neap = Neap::new();
    let told = neap.replay(&["--session", "s"], &arguments.iter().map(turn).collect::<Vec<_>>());
    for (arguments, turn) in arguments.iter().zip(&told) {
        assert!(turn["refusals"].as_array().is_some_and(|refusals| !refusals.is_empty()), "{turn}");
        assert_eq!(turn["open"], json!([]), "{arguments}");
    }
    let ids = ["nothing", "../../evil", "", "\u{1b}[2J"].map(|id| {
        let call = |name: &str| json!({"name": name, "arguments": {"id": id}});
        let calls =
            ["close_effort", "expand_effort", "collapse_effort", "switch_effort", "reopen_effort"].map(call);
        json!({"user": "Try.", "calls": calls, "assistant": "Noted."})
    });
    for turn in neap.replay(&["--session", "s"], &ids) {
        assert_eq!((turn["refusals"].as_array().map(Vec::len), &turn["banners"]), (Some(5), &json!([])), "{turn}");
    }
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
}

#[test]
fn a_message_of_ten_megabytes_is_refused_and_the_next_is_taken() {
    let neap = Neap::new();
    let input = format!("login keeps failing\n{}\nthe server is called heron\n", "ten megabytes ".repeat(750_000));
    let ran = neap.fed(&["chat"], input);
    assert_eq!(ran.code, 2, "a program that feeds a chat learns that something was not taken");
    assert!(ran.err.starts_with("error: ") && ran.err.contains("\nhint: split the message"), "{}", ran.err);
    assert!(ran.err.len() < 1_000, "it is not repeated in the error");
    assert_eq!(ran.out.matches("Noted under").count(), 2, "{}", ran.out);
    assert_eq!(neap.json(&["session", "show"])["turns"], 2);
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
}

#[test]
fn a_message_at_the_limit_is_kept_whole() {
    let neap = Neap::new();
    let said = "é".repeat(4_194_304);
    let told = neap.replay(&["--session", "s"], &[json!({"user": said}), json!({"user": "Next."})]);
    assert_eq!(told.len(), 2);
    assert_eq!(neap.json(&["explain", "--session", "s", "--turn", "1"])["message"], said);
    let over = neap.fed(&["lab", "replay", "--session", "s", "-"], lines(&[json!({"user": said.clone() + "e"})]));
    check(&over, "8388609 bytes");
    assert_eq!(neap.replay(&["--session", "s"], &[json!({"user": "Next."})])[0]["turn"], 3);
}

#[test]
fn nul_and_every_control_character_come_back_as_they_went_in() {
    let neap = Neap::new();
    let said: String = (0..0xa0_u8).map(char::from).chain("\u{2028}\u{feff}\u{fffd}\u{10ffff}".chars()).collect();
    neap.replay(&["--session", "s"], &[json!({"user": said, "assistant": said}), json!({"user": "Next."})]);
    let turn = neap.json(&["explain", "--session", "s", "--turn", "1"]);
    assert_eq!((&turn["message"], &turn["reply"]), (&json!(said), &json!(said)));
    assert_eq!(neap.events("s")[1]["event"]["message"]["content"], json!(said));
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
    let ran = neap.fed(&["chat"], b"login keeps failing\0here\nnext\n");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn invalid_utf_8_in_a_chat_is_marked_and_in_a_replay_is_named() {
    let neap = Neap::new();
    let ran = neap.fed(&["chat"], b"login \xff\xfe keeps failing\nnext\n");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(neap.json(&["explain", "--turn", "1"])["message"], "login \u{fffd}\u{fffd} keeps failing");
    let ran =
        neap.fed(&["lab", "replay", "--session", "s", "--json", "-"], b"{\"user\":\"a\"}\n{\"user\":\"\xff\"}\n");
    assert_eq!((ran.code, objects(&ran.out).len()), (2, 1));
    assert!(ran.err.contains("line 2 of -: "), "{}", ran.err);
    assert!(ran.err.contains("\"hint\":"), "{}", ran.err);
    let path = neap.file("export.jsonl", b"\xff\n");
    check(&neap.run(&["session", "import", &path]), "line 1 of ");
}

#[test]
fn a_data_directory_that_is_a_file_is_named_and_left_alone() {
    let neap = Neap::new();
    neap.file("data", "something else");
    let before = tree(neap.place());
    for args in [
        &["chat"][..],
        &["session", "list"],
        &["store", "doctor"],
        &["search", "x"],
        &["lab", "replay", "-", "--session", "s"],
    ] {
        check(&neap.run(args), "data is not a directory");
    }
    let below = neap.data().join("deeper");
    check(&neap.run(&["chat", "--data-dir", below.to_str().expect("a plain path")]), "data is not a directory");
    assert_eq!(tree(neap.place()), before);
}

/// Commands that open the store in one way or another.
const OPENING: [&[&str]; 7] = [
    &["chat"],
    &["lab", "replay", "-", "--session", "s"],
    &["session", "list"],
    &["session", "erase", "s", "--confirm", "s"],
    &["store", "doctor"],
    &["store", "rebuild"],
    &["search", "x"],
];

/// No command opens this database, and none changes a byte of the directory.
#[track_caller]
fn refused(neap: &Neap, said: &str) {
    let before = tree(&neap.data());
    for args in OPENING {
        check(&neap.fed(args, "{\"user\":\"hello\"}\n"), said);
        assert_eq!(tree(&neap.data()).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{args:?}");
        assert!(tree(&neap.data()) == before, "{args:?} changed a file");
    }
}

/// A store with one turn, whose log was folded into its one file.
fn store() -> Neap {
    let neap = Neap::new();
    neap.replay(&["--session", "s"], &[json!({"user": "Hello.", "assistant": "Hello."})]);
    for left in ["neap.db-wal", "neap.db-shm"] {
        let _ = std::fs::remove_file(neap.data().join(left));
    }
    neap
}

fn rewrite(neap: &Neap, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(neap.database()).expect("a database");
    change(&mut bytes);
    std::fs::write(neap.database(), bytes).expect("it can be changed");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let neap = store();
    rewrite(&neap, |bytes| *bytes = b"garbage ".repeat(2_000));
    refused(&neap, "it is not a database");
    rewrite(&neap, |bytes| bytes.truncate(20));
    refused(&neap, "it is not a database");
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let neap = store();
    // Where SQLite keeps the user version.
    rewrite(&neap, |bytes| bytes[60..64].copy_from_slice(&9_999_u32.to_be_bytes()));
    refused(&neap, "has format 9999; this version reads up to");
}

#[test]
fn another_programs_database_is_refused_and_left_alone() {
    let neap = store();
    std::fs::remove_file(neap.database()).expect("it was there");
    let other = rusqlite::Connection::open(neap.database()).expect("a database");
    other.execute_batch("PRAGMA application_id = 7; CREATE TABLE birds (name TEXT)").expect("a table");
    drop(other);
    refused(&neap, "it is the database of another program");
}

#[test]
fn a_truncated_database_is_refused_and_never_begun_anew() {
    let neap = store();
    rewrite(&neap, |bytes| bytes.truncate(bytes.len() / 2));
    let before = std::fs::read(neap.database()).expect("a database");
    for args in [&["chat"][..], &["lab", "replay", "-", "--session", "s"], &["search", "hello"]] {
        check(&neap.fed(args, "{\"user\":\"hello\"}\n"), "");
    }
    // Doctor may open what can be opened, to name what is damaged; a clean bill it must not give.
    assert_eq!(neap.run(&["store", "doctor"]).code, 2);
    assert!(std::fs::read(neap.database()).expect("a database") == before, "not a byte was changed");
}

#[test]
fn a_read_only_data_directory_can_be_looked_at_and_says_why_not_more() {
    let neap = Neap::new();
    let data = neap.data();
    let Some(disk) = Disk::mount(&data, "size=8m") else { return };
    neap.replay(&["--session", "s"], &[json!({"user": "Hello heron.", "assistant": "Hello."})]);
    disk.remount("ro");
    let before = tree(&data);
    for args in [&["chat", "--session", "s"][..], &["lab", "replay", "-", "--session", "s"]] {
        check(&neap.fed(args, "{\"user\":\"more\"}\n"), "is read-only");
    }
    assert_eq!(neap.json(&["session", "show", "s"])["turns"], 1);
    assert_eq!(neap.json(&["search", "heron"])[0]["session"], "s");
    assert!(tree(&data) == before);
    disk.remount("rw");
    assert_eq!(neap.replay(&["--session", "s"], &[json!({"user": "More."})])[0]["turn"], 2);
}

#[test]
fn a_full_disk_is_named_loses_nothing_and_is_gone_when_there_is_room() {
    let neap = Neap::new();
    let data = neap.data();
    let Some(disk) = Disk::mount(&data, "size=600k") else { return };
    let turn =
        |at: usize| json!({"user": format!("message {at} {}", "lorem ipsum ".repeat(800)), "assistant": "Noted."});
    let ran = neap
        .fed(&["lab", "replay", "--session", "s", "--json", "-"], lines(&(0..100).map(turn).collect::<Vec<_>>()));
    let acknowledged = objects(&ran.out).len();
    assert!(acknowledged < 100, "600 kB hold fewer");
    assert_eq!(ran.code, 2);
    let told: Value = serde_json::from_str(&ran.err).expect("an error in JSON");
    assert!(told["error"].as_str().is_some_and(|error| error.contains("no space left")), "{told}");
    assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("free some disk space")), "{told}");
    // A chat goes on by itself: the message is refused, not the conversation.
    let chat = neap.fed(&["chat", "--session", "s"], format!("hello {}\n/status\n", "heron ".repeat(20_000)));
    assert!(chat.err.contains("\nhint: free some disk space"), "{}{}", chat.out, chat.err);

    disk.remount("size=16m");
    let kept = neap.events("s");
    let said = |at: usize| kept.iter().filter(|e| e["event"]["message"]["content"] == turn(at)["user"]).count();
    assert!((0..acknowledged).all(|at| said(at) == 1), "every acknowledged turn is there, once");
    assert_eq!(neap.replay(&["--session", "s"], &[json!({"user": "More."})]).len(), 1);
    neap.ok(&["store", "rebuild"]);
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
}
