//! Nothing is made anew over what was lost: what is there is named, and stays.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use crate::rig::{Neap, lines, objects, tree};
use crate::wait::wait_until;
use serde_json::{Value, json};

/// A line of a script: what is said, and what is answered.
fn said(n: usize) -> Value {
    json!({"user": format!("canary-{n:05} what now?"), "assistant": format!("reply-{n:05}")})
}

/// Says things in a process that is killed once its folder shows all of them: what it wrote is in the log alone.
fn killed(neap: &Neap, session: &str, numbers: std::ops::Range<usize>) {
    // While somebody reads what was there before, nothing can be copied from the log into the file; nor may the reader's own leaving do it.
    let reader = rusqlite::Connection::open(neap.database()).expect("a store");
    let no_copy = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    reader.set_db_config(no_copy, true).expect("it can be set");
    reader.execute_batch("BEGIN; SELECT count(*) FROM events").expect("it can be read");
    let mut command = neap.command(&["lab", "replay", "--json", "-", "--session", session]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut acknowledged = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let last = format!("reply-{:05}", numbers.end - 1);
    for n in numbers {
        writeln!(stdin, "{}", said(n)).expect("it listens");
        acknowledged.next().expect("a line for each").expect("text");
    }
    let log = neap.folder(session).join("raw.jsonl");
    wait_until("its folder shows the last reply", || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.contains(&last) && log.ends_with('\n'))
    });
    let cursor = neap.folder(session).join(".view.json");
    wait_until("the folder's cursor follows its lines", || {
        std::fs::read_to_string(&cursor).is_ok_and(|cursor| !cursor.contains("appending"))
    });
    child.kill().expect("it lives");
    child.wait().expect("it ends");
}

fn beside(neap: &Neap, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", neap.database().display()))
}

/// A store with a session of a hundred lines in its folder, of which the last are in the log alone.
fn store() -> Neap {
    let neap = Neap::new();
    neap.replay(&["--session", "work"], &(0..30).map(said).collect::<Vec<_>>());
    killed(&neap, "work", 30..50);
    let log = std::fs::read_to_string(neap.folder("work").join("raw.jsonl")).expect("a log");
    assert_eq!(log.lines().count(), 100, "the scene is set");
    assert!(std::fs::metadata(beside(&neap, "-wal")).expect("a log").len() > 0, "the scene is set");
    neap
}

fn folder_lines(neap: &Neap, session: &str) -> Vec<String> {
    let log = std::fs::read_to_string(neap.folder(session).join("raw.jsonl")).expect("a log");
    log.lines().map(str::to_owned).collect()
}

/// Every command that opens the store refuses it with these words and changes nothing.
#[track_caller]
fn refused_by_all(neap: &Neap, words: &[&str]) {
    let export = neap.file("export.jsonl", "{}\n");
    let transcript = neap.file("rollout-1.jsonl", "{}\n");
    let turn = neap.file("turn.jsonl", lines(&[said(900)]));
    let before = tree(&neap.data());
    let commands: [&[&str]; 18] = [
        &["chat", "--session", "work"],
        &["lab", "replay", &turn, "--session", "work"],
        &["serve", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:9"],
        &["mcp"],
        &["session", "list"],
        &["session", "show", "work"],
        &["session", "export", "work"],
        &["session", "import", &export],
        &["session", "erase", "work"],
        &["import", "codex", &transcript],
        &["import", "codex", &transcript, "--dry-run"],
        &["search", "canary"],
        &["session", "efforts", "--session", "work"],
        &["explain", "--session", "work"],
        &["report", "--session", "work"],
        &["remember", "apples fall"],
        &["recall", "apples"],
        &["memory", "list"],
    ];
    for command in commands {
        let ran = neap.run(command);
        assert_eq!(ran.code, 2, "{command:?}: {}{}", ran.out, ran.err);
        for words in words {
            assert!(ran.err.contains(words), "{command:?} does not say {words:?}: {}", ran.err);
        }
        assert!(ran.err.contains("\nhint: ") && ran.err.contains("--set-aside"), "{command:?}: {}", ran.err);
    }
    let event = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "p", "prompt_id": "1", "cwd": "/"});
    let ran = neap.fed(&["hook", "claude-code"], event.to_string());
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "a hook never stands in the way");
    let mut after = tree(&neap.data());
    // A hook notes its fault; keys are made on first use.
    after.retain(|path, _| !path.starts_with("hooks") && !path.starts_with("keys"));
    let mut before = before;
    before.retain(|path, _| !path.starts_with("hooks") && !path.starts_with("keys"));
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(after == before, "a file was changed");
    doctor(neap, 2, words);
}

/// Examines a store, twice: what is said has these words, and no file is made or changed.
#[track_caller]
fn doctor(neap: &Neap, code: i32, words: &[&str]) {
    let before = tree(&neap.data());
    let ran = neap.run(&["store", "doctor"]);
    assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    for words in words {
        assert!(ran.out.contains(words), "doctor does not say {words:?}: {}{}", ran.out, ran.err);
    }
    let told: Value = serde_json::from_str(&neap.run(&["store", "doctor", "--json"]).out).expect("JSON");
    assert_eq!((&told["exit"], &told["clean"]), (&json!(code), &json!(code == 0)));
    let after = tree(&neap.data());
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(after == before, "an examination changed a file");
}

/// Records the event that a hook had to leave in the spool, and waits until no process has the store open: the hook's own detached process may record it as well.
fn record_spooled(neap: &Neap) {
    neap.ok(&["hook", "--catch-up"]);
    let spool = neap.data().join("hooks/spool");
    let is_event = |path: PathBuf| path.extension().is_some_and(|end| end == "json");
    wait_until("the spool is empty and the store closed", || {
        let waits = std::fs::read_dir(&spool)
            .is_ok_and(|mut all| all.any(|entry| is_event(entry.expect("an entry").path())));
        !waits && !beside(neap, "-shm").exists()
    });
}

/// All that was said in a session, as its export has it.
fn words_of(neap: &Neap, session: &str) -> Vec<String> {
    let said = |event: &Value| {
        let message = &event["event"]["message"]["content"];
        message.as_str().and_then(|text| text.split(' ').next()).map(str::to_owned)
    };
    neap.events(session).iter().filter_map(said).collect()
}

fn canaries(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|n| format!("canary-{n:05}")).collect()
}

#[test]
fn an_examination_changes_nothing_whatever_the_state() {
    let neap = store();
    doctor(&neap, 0, &["clean"]);
    std::fs::remove_file(beside(&neap, "-shm")).expect("it was there");
    doctor(&neap, 0, &["clean"]);
    neap.ok(&["session", "list"]);
    assert!(!beside(&neap, "-wal").exists(), "whoever leaves last copies the log");
    doctor(&neap, 0, &["clean"]);
    let empty = Neap::new();
    std::fs::create_dir(empty.data()).expect("a place");
    let ran = empty.run(&["store", "doctor"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("there is no store at"), "{}", ran.err);
    assert!(tree(&empty.data()).is_empty());
}

#[test]
fn an_empty_database_beside_a_log_is_refused_by_every_command() {
    let neap = store();
    std::fs::write(neap.database(), "").expect("it can be emptied");
    refused_by_all(&neap, &["neap.db is empty", "neap.db-wal has ", " events in "]);
    std::fs::remove_file(neap.database()).expect("it was there");
    refused_by_all(&neap, &["neap.db is missing", "neap.db-wal has ", "neap.db-mark says"]);
    for end in ["-wal", "-shm", "-mark"] {
        std::fs::remove_file(beside(&neap, end)).expect("it was there");
    }
    refused_by_all(&neap, &["neap.db is missing", "sessions has the folders of 1 session"]);
}

#[test]
fn a_lost_log_is_refused_by_every_command_until_it_is_set_aside() {
    let neap = store();
    std::fs::remove_file(beside(&neap, "-wal")).expect("it was there");
    refused_by_all(&neap, &["has lost what was written last", "neap.db-mark says"]);
    // A person goes on with what is left: nothing is removed, and the folder keeps what the store has lost.
    let whole = folder_lines(&neap, "work");
    let ran = neap.run(&["store", "rebuild", "--set-aside"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("renamed ") && ran.out.contains("neap session import "), "{}", ran.out);
    let aside: Vec<PathBuf> =
        tree(&neap.data()).into_keys().filter(|path| path.to_string_lossy().contains(".aside-")).collect();
    let folder = aside.iter().find(|path| path.ends_with("raw.jsonl")).expect("the folder is kept").clone();
    assert_eq!(
        std::fs::read_to_string(neap.data().join(&folder)).expect("a log").lines().collect::<Vec<_>>(),
        whole
    );
    assert!(aside.iter().any(|path| path.to_string_lossy().starts_with("neap.db-mark.aside-")), "{aside:?}");
    record_spooled(&neap);
    doctor(&neap, 0, &["clean"]);
    let kept = neap.data().join(folder).parent().expect("a folder").to_owned();
    neap.ok(&["session", "import", kept.to_str().expect("plain"), "--session", "work-2"]);
    let count = whole.len() / 2;
    assert_eq!(words_of(&neap, "work-2"), canaries(0..count), "no line is lost");
}

#[test]
fn a_lost_log_without_a_marker_is_told_by_the_folder() {
    let neap = store();
    std::fs::remove_file(beside(&neap, "-wal")).expect("it was there");
    std::fs::remove_file(beside(&neap, "-mark")).expect("it was there");
    let words = ["shows session 'work' up to event ", "but the store has it only up to event "];
    for command in [&["session", "list"][..], &["chat", "--session", "work"], &["search", "canary"]] {
        let ran = neap.run(command);
        assert_eq!(ran.code, 2, "{command:?}: {}", ran.out);
        words.iter().for_each(|words| assert!(ran.err.contains(words), "{command:?}: {}", ran.err));
    }
    doctor(&neap, 2, &["the session folder shows events up to ", "are in the folder alone"]);
}

/// `neap store rebuild` cut the folder, the only copy, from 100 lines to 54.
#[test]
fn a_rebuild_never_shortens_a_folder() {
    let neap = store();
    let log = std::fs::read(beside(&neap, "-wal")).expect("a log");
    std::fs::write(beside(&neap, "-wal"), &log[..log.len() / 2]).expect("it can be halved");
    refused_by_all(&neap, &["has lost what was written last"]);
    let whole = folder_lines(&neap, "work");
    let ran = neap.run(&["store", "rebuild"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert_eq!(folder_lines(&neap, "work"), whole);
    // Also where nothing but the folder says what is lost.
    std::fs::remove_file(beside(&neap, "-mark")).expect("it was there");
    for _ in 0..2 {
        let ran = neap.run(&["store", "rebuild"]);
        assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
        let told = format!("raw.jsonl has {} lines and the store ", whole.len());
        assert!(ran.out.contains(&told) && ran.out.contains("neap session import "), "{}", ran.out);
        assert_eq!(folder_lines(&neap, "work"), whole);
    }
    let names = std::fs::read_dir(neap.data().join("sessions")).expect("a folder");
    let beside: Vec<String> =
        names.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    let rebuilt = beside.iter().filter(|name| name.starts_with("work.rebuilt-")).count();
    assert_eq!(rebuilt, 1, "the same is not written twice: {beside:?}");
    // The round trip: the longer folder is taken in, and has every line.
    let folder = neap.folder("work");
    neap.ok(&["session", "import", folder.to_str().expect("plain"), "--session", "taken back"]);
    assert_eq!(words_of(&neap, "taken-back"), canaries(0..whole.len() / 2));
    assert_eq!(folder_lines(&neap, "taken-back").len(), whole.len());
}

#[test]
fn a_session_that_the_store_lost_is_taken_back_under_its_own_name() {
    let neap = store();
    let whole = folder_lines(&neap, "work");
    for end in ["", "-wal", "-shm", "-mark"] {
        std::fs::remove_file(beside(&neap, end)).expect("it was there");
    }
    let ran = neap.run(&["store", "rebuild", "--set-aside"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let names = std::fs::read_dir(neap.data()).expect("a folder");
    let aside = names
        .map(|entry| entry.expect("readable").path())
        .find(|path| path.to_string_lossy().contains("sessions.aside-"));
    let aside = aside.expect("the folders are kept").join("work");
    neap.ok(&["session", "import", aside.to_str().expect("plain")]);
    assert_eq!(words_of(&neap, "work"), canaries(0..whole.len() / 2));
    // In its own place, beside a store that has another session.
    let neap = store();
    neap.replay(&["--session", "other"], &[said(7)]);
    let copy = neap.place().join("copy");
    std::fs::create_dir(&copy).expect("a place");
    std::fs::rename(neap.folder("work"), copy.join("work")).expect("it can be moved");
    neap.ok(&["session", "erase", "work", "--confirm", "work"]);
    let other = Neap::new();
    other.replay(&["--session", "other"], &[said(7)]);
    std::fs::rename(copy.join("work"), other.folder("work")).expect("it can be moved");
    let ran = other.run(&["store", "doctor"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(
        ran.out.contains("a session that the store does not have; `neap session import` imports it"),
        "{}",
        ran.out
    );
    let folder = other.folder("work");
    let ran = other.run(&["session", "import", folder.to_str().expect("plain")]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(words_of(&other, "work"), canaries(0..whole.len() / 2));
    doctor(&other, 0, &["clean", "work.imported-"]);
}

#[test]
fn a_damaged_file_is_salvaged_beside_itself() {
    let neap = store();
    neap.replay(&["--session", "other"], &[said(77)]);
    let mut bytes = std::fs::read(neap.database()).expect("a database");
    bytes[70] ^= 0x10;
    std::fs::write(neap.database(), &bytes).expect("it can be damaged");
    doctor(&neap, 2, &["cannot be read as a store", "can still be read from its pages", "hint: "]);
    let before = tree(&neap.data());
    let ran = neap.run(&["store", "rebuild"]);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    let mut after = tree(&neap.data());
    let salvaged = after
        .keys()
        .find(|path| path.ends_with("neap.db") && !path.starts_with("neap.db"))
        .expect("a new store")
        .clone();
    let place = neap.data().join(salvaged.parent().expect("a folder"));
    after.retain(|path, _| !path.to_string_lossy().starts_with("salvaged-"));
    assert!(after == before, "the damaged store was changed");
    let list = neap.run(&["--data-dir", place.to_str().expect("plain"), "session", "export", "work"]);
    assert_eq!(list.code, 0, "{}", list.err);
    let words = objects(&list.out).iter().filter(|event| event["event"]["type"] == "turn_started").count();
    assert_eq!(words, 50);
    let examined = neap.run(&["--data-dir", place.to_str().expect("plain"), "store", "doctor"]);
    assert_eq!(examined.code, 0, "{}", examined.out);
}
