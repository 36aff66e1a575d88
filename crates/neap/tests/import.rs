//! `neap import`: what other programs kept becomes sessions that can be searched, once.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::io::Write as _;
use std::path::PathBuf;

use crate::rig::{Neap, holding};
use serde_json::Value;

const CLAUDE: &str = "7f3c1a52-9b1e-4c0d-8f61-2d5e7a9b4c10";
const CODEX: &str = "rollout-2026-04-11T14-00-00-0199f00d-1111-7222-8333-444455556666";

/// A file as its program wrote it.
fn written(name: &str) -> Vec<u8> {
    let place = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../neap-model/tests/transcripts"));
    std::fs::read(place.join(name)).expect("a transcript")
}

/// Puts a transcript where its program would.
fn put(neap: &Neap, place: &str, name: &str) -> PathBuf {
    let folder = neap.place().join(place);
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name.rsplit('/').next().expect("a name"));
    std::fs::write(&path, written(name)).expect("a file");
    path
}

fn figures(told: &Value) -> (u64, u64) {
    (told["new"].as_u64().expect("a number"), told["known"].as_u64().expect("a number"))
}

/// Where meaning does not count: in a build for tests it takes its time.
fn by_words() -> Neap {
    Neap::with(&[("NEAP_EMBEDDER", "none")])
}

fn claude_code(neap: &Neap) -> PathBuf {
    put(neap, ".claude/projects/-home-ada-shop", &format!("{CLAUDE}.jsonl"))
}

#[test]
fn claude_code_is_taken_in_from_its_usual_folder_once_and_what_grew_later() {
    let neap = by_words();
    let path = claude_code(&neap);
    let first = neap.json(&["import", "claude-code"]);
    assert_eq!(figures(&first), (11, 0), "{first}");
    assert_eq!(first["left"]["unknown"]["hologram"], 1);
    assert_eq!((&first["sessions"][0]["efforts"], &first["turns"]), (&2.into(), &4.into()), "{first}");
    assert_eq!(figures(&neap.json(&["import", "claude-code"])), (0, 11));
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("the file");
    file.write_all(&written("grown-claude-code.jsonl")).expect("it grows");
    let grown = neap.json(&["import", "claude-code"]);
    assert_eq!(figures(&grown), (5, 11), "{grown}");
    let told = neap.ok(&["import", "claude-code"]);
    assert!(
        told.starts_with("imported 0 records of 1 file: 0 sessions, 0 turns, 0 efforts; 16 already known"),
        "{told}"
    );
    let session = format!("claude-code-{CLAUDE}");
    // Said and done are found, in their turns, at their times; the work that was said to be over is concluded.
    let hits = neap.json(&["search", "raised it to 45", "--session", &session, "--in", "raw"]);
    assert!(hits[0]["text"].as_str().expect("words").contains("checkout-7Q"), "{hits}");
    assert_eq!(hits[0]["at"].as_i64(), Some(1_772_442_009_000), "{hits}");
    let efforts = neap.json(&["session", "efforts", "--session", &session]);
    let concluded: Vec<&Value> =
        efforts.as_array().expect("a list").iter().filter(|e| e["status"] == "concluded").collect();
    assert_eq!(concluded.len(), 1, "{efforts}");
    // Calls and their results are whole.
    let turn = neap.ok(&["session", "original", "t1", "--session", &session]);
    assert!(turn.contains("assistant calls Read") && turn.contains("tool: const TIMEOUT"), "{turn}");
    let interrupted = neap.ok(&["session", "original", "t3", "--session", &session]);
    assert!(
        interrupted.contains("calls Bash") && interrupted.contains("[no result was recorded]"),
        "{interrupted}"
    );
    // Secrets never reach the disk.
    assert_eq!(holding(&neap.data(), "4f9aT7bQ2mX8vL1c"), Vec::<PathBuf>::new());
    // What the program's own summary dropped is told, and comes back by its handle.
    let receipts = neap.json(&["session", "receipts", "--session", &session]);
    let of_client =
        receipts.as_array().expect("a list").iter().find(|r| r["kind"] == "client").expect("a receipt");
    assert_eq!(of_client["of"], "t1-4", "{receipts}");
    assert!(of_client["receipt"]["recoverable"].to_string().contains("checkout-7Q"), "{of_client}");
    assert!(neap.ok(&["session", "original", "t1-4", "--session", &session]).contains("checkout-7Q"));
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
    // A helper's words are a session of their own.
    let sessions = neap.ok(&["session", "list"]);
    assert!(sessions.contains(&format!("{session}-a490af55")), "{sessions}");
}

#[test]
fn what_a_person_erased_does_not_come_back() {
    let neap = by_words();
    let path = claude_code(&neap);
    neap.json(&["import", "claude-code"]);
    let session = format!("claude-code-{CLAUDE}");
    neap.ok(&["session", "erase", &session, "--confirm", &session]);
    let again = neap.json(&["import", "claude-code"]);
    assert_eq!(again["new"], 0, "{again}");
    assert_eq!(holding(&neap.data(), "checkout-7Q"), Vec::<PathBuf>::new());
    // What is said from now on is kept, alone.
    let later = "2099-01-01T00:00:00.000Z";
    let said = serde_json::json!({
        "type": "user", "uuid": "00000000-0000-4000-8000-000000000001", "parentUuid": null, "sessionId": CLAUDE,
        "timestamp": later, "cwd": "/home/ada/shop", "message": {"role": "user", "content": "the lighthouse is painted green"},
    });
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("the file");
    writeln!(file, "{said}").expect("it grows");
    for new in [1, 0] {
        let grown = neap.json(&["import", "claude-code"]);
        assert_eq!(grown["new"], new, "{grown}");
    }
    assert!(neap.ok(&["session", "original", "t1", "--session", &session]).contains("lighthouse"));
    assert_eq!(holding(&neap.data(), "checkout-7Q"), Vec::<PathBuf>::new());
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
}

#[test]
fn codex_chatgpt_and_claude_ai_are_taken_in_and_found() {
    let neap = by_words();
    let codex = put(&neap, ".codex/sessions/2026/04/11", &format!("{CODEX}.jsonl"));
    assert_eq!(figures(&neap.json(&["import", "codex"])), (9, 0));
    assert_eq!(figures(&neap.json(&["import", "codex", codex.to_str().expect("a path")])), (0, 9));
    let bread = put(&neap, "exports/chatgpt", "chatgpt.json");
    let bread = bread.to_str().expect("a path");
    assert_eq!(figures(&neap.json(&["import", "chatgpt", bread])), (6, 0));
    assert_eq!(figures(&neap.json(&["import", "chatgpt", bread])), (0, 6));
    let garden = put(&neap, "exports/claude-ai", "claude-ai.json");
    let garden = garden.to_str().expect("a path");
    assert_eq!(figures(&neap.json(&["import", "claude-ai", garden])), (5, 0));
    assert_eq!(figures(&neap.json(&["import", "claude-ai", garden])), (0, 5));
    for (query, session) in [
        ("harbour heights decimetres", "codex-0199f00d-1111-7222-8333-444455556666"),
        ("rye sourdough Bruno", "chatgpt-68aa-bread"),
        ("vegetable bed floods March", "claude-ai-5b1c-garden"),
    ] {
        let hits = neap.json(&["search", query]);
        assert_eq!(hits[0]["session"], session, "{query}: {hits}");
    }
    let turn = neap.ok(&["session", "original", "t1", "--session", "codex-0199f00d-1111-7222-8333-444455556666"]);
    assert!(turn.contains("assistant calls apply_patch") && turn.contains("tool: Done!"), "{turn}");
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
}

#[test]
fn a_session_folder_is_taken_in_once() {
    let neap = Neap::new();
    let folder = neap.place().join("old");
    std::fs::create_dir_all(folder.join("efforts")).expect("a folder");
    std::fs::write(folder.join("manifest.yaml"), "efforts: []\n").expect("a file");
    std::fs::write(
        folder.join("raw.jsonl"),
        "{\"role\":\"user\",\"content\":\"The heron pump leaks\",\"ts\":\"2026-01-01T00:00:00Z\"}\n{\"role\":\"assistant\",\"content\":\"Noted.\"}\n",
    )
    .expect("a file");
    assert_eq!(figures(&neap.json(&["import", "folder", "old"])), (2, 0));
    assert_eq!(figures(&neap.json(&["import", "folder", "old"])), (0, 2));
    assert_eq!(neap.json(&["search", "heron pump"])[0]["session"], "old");
}

/// Whatever is taken in is masked, whoever kept it: by `import folder` and by `session import`.
#[test]
fn secrets_in_a_session_folder_never_reach_the_disk() {
    let neap = by_words();
    let folder = neap.place().join("elsewhere/old");
    std::fs::create_dir_all(folder.join("efforts")).expect("a folder");
    let key = |part: &str| format!("sk-proj-{part}T7bQ2mX8vL1cR6yN3wK5dH0sJ9eG");
    let manifest = format!(
        "efforts:\n  - id: deploy\n    status: concluded\n    summary: deployed with OPENAI_API_KEY={}\n    raw_file: efforts/deploy.jsonl\n",
        key("1111")
    );
    std::fs::write(folder.join("manifest.yaml"), manifest).expect("a file");
    let said = |role: &str, text: &str| format!("{}\n", serde_json::json!({"role": role, "content": text}));
    let ambient = said("user", &format!("my key is {}", key("2222"))) + &said("assistant", &key("3333"));
    std::fs::write(folder.join("raw.jsonl"), ambient).expect("a file");
    let effort = said("user", &format!("deploy with {}", key("4444"))) + &said("assistant", "Done.");
    std::fs::write(folder.join("efforts/deploy.jsonl"), effort).expect("a file");
    let path = folder.to_str().expect("a path");
    let told = neap.json(&["import", "folder", path]);
    assert_eq!((figures(&told), &told["masked"]), ((4, 0), &4.into()), "{told}");
    let other = neap.json(&["session", "import", path, "--session", "again"]);
    assert_eq!((&other["turns"], &other["masked"]), (&2.into(), &4.into()), "{other}");
    assert_eq!(holding(&neap.data(), "T7bQ2mX8vL1c"), Vec::<PathBuf>::new());
    let efforts = neap.ok(&["session", "efforts", "--session", "old"]);
    assert!(efforts.contains("[masked: "), "{efforts}");
    assert!(neap.ok(&["session", "original", "t1", "--session", "old"]).contains("[masked: "));
}

#[test]
fn a_dry_run_changes_nothing_and_an_empty_home_is_no_fault() {
    let neap = by_words();
    let none = neap.ok(&["import", "claude-code"]);
    assert!(none.contains("nothing to import"), "{none}");
    claude_code(&neap);
    let told = neap.json(&["import", "claude-code", "--dry-run"]);
    assert_eq!((figures(&told), &told["dry_run"]), ((11, 0), &true.into()));
    assert!(!neap.data().exists());
    neap.ok(&["import", "claude-code"]);
    assert_eq!(figures(&neap.json(&["import", "claude-code", "--dry-run"])), (0, 11));
    for (args, hint) in [
        (&["import", "chatgpt"][..], "name a file"),
        (&["import", "codex", "nowhere"], "name a file"),
        (&["import", "folder", ".claude"], "manifest.yaml"),
    ] {
        let ran = neap.run(args);
        assert!(ran.code == 2 && ran.err.contains("hint:") && ran.err.contains(hint), "{args:?}: {ran:?}");
    }
}

#[test]
fn an_import_that_is_ended_half_way_goes_on_and_two_at_once_take_in_nothing_twice() {
    let neap = by_words();
    claude_code(&neap);
    put(&neap, ".claude/projects/-home-ada-shop", "grown-claude-code.jsonl");
    let spawn = || {
        let mut command = neap.command(&["import", "claude-code", "--json"]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().expect("it runs")
    };
    let mut ended = spawn();
    let _ = ended.kill();
    let _ = ended.wait();
    let (mut one, mut other) = (spawn(), spawn());
    assert!(one.wait().expect("it ends").success() && other.wait().expect("it ends").success());
    let told = neap.json(&["import", "claude-code"]);
    assert_eq!(figures(&told), (0, 16), "{told}");
    let events = neap.events(&format!("claude-code-{CLAUDE}"));
    let begun = events.iter().filter(|event| event["event"]["type"] == "turn_started");
    assert_eq!(begun.filter(|event| event.to_string().contains("Help me fix the checkout timeout")).count(), 1);
    assert_eq!(neap.run(&["store", "doctor"]).code, 0);
}

/// A pipe that nobody writes to, under a name.
#[cfg(unix)]
fn pipe(neap: &Neap, name: &str) -> String {
    let path = neap.place().join(name);
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    path.to_str().expect("a plain path").to_owned()
}

/// Whoever names a pipe is told, and nothing waits for whoever might write to it.
#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let neap = Neap::new();
    let pipe = pipe(&neap, "rollout-pipe.jsonl");
    for (args, code) in [
        (&["import", "codex", &pipe][..], 1),
        (&["import", "claude-code", &pipe], 1),
        (&["import", "chatgpt", &pipe], 1),
        (&["import", "codex", "/dev/zero"], 1),
        (&["session", "import", &pipe], 2),
        (&["session", "import", "/dev/zero"], 2),
        (&["lab", "replay", &pipe], 2),
        (&["memory", "import", &pipe], 2),
        (&["lab", "eval", &pipe], 2),
        (&["--key-file", &pipe, "chat"], 2),
    ] {
        let ran = neap.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains("not a regular file") || said.contains("is not a file"), "{args:?}: {said}");
    }
    // Found in a folder, or in the data directory.
    let folder = neap.place().join("folder");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::rename(&pipe, folder.join("raw.jsonl")).expect("it can be moved");
    let ran = neap.run(&["session", "import", "folder"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("raw.jsonl cannot be read: it is not a regular file"), "{}", ran.err);
    let agent = neap.data().join("agents/default");
    std::fs::create_dir_all(&agent).expect("a folder");
    std::fs::rename(folder.join("raw.jsonl"), agent.join("identity.md")).expect("it can be moved");
    let ran = neap.fed(&["chat"], "hello\n");
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("identity.md: it is not a regular file"), "{}", ran.err);
}

/// Runs it with at most so much memory of its own, in KiB.
#[cfg(target_os = "linux")]
fn within(neap: &Neap, kib: u64, args: &[&str]) -> crate::rig::Ran {
    let plain = neap.command(args);
    let limit = format!("ulimit -d {kib} && exec \"$0\" \"$@\"");
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(limit).arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(neap.place()).stdin(std::process::Stdio::null());
    let output = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    crate::rig::Ran {
        code: output.status.code().unwrap_or(-1),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// A line of 512 MiB took 541 MB. Now it is passed over in the memory that any import takes, and what follows it is taken in.
#[cfg(target_os = "linux")]
#[test]
fn a_line_of_any_length_is_passed_over_in_bounded_memory() {
    use std::io::{Seek, SeekFrom, Write};
    const LONG: u64 = 512 << 20;
    const KIB: u64 = 320 << 10;
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
    let small = neap.file("rollout-small.jsonl", "{}\n");
    let ran = within(&neap, KIB, &["import", "codex", &small]);
    assert_eq!(ran.code, 0, "the limit is enough for any import: {}{}", ran.out, ran.err);
    let record = r#"{"timestamp":"2026-05-01T09:30:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"after the long line"}]}}"#;
    let conversation = r#"[{"id":"a","title":"t","current_node":"n","mapping":{"n":{"parent":null,"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["after the long line"]}}}}}]"#;
    let folder = neap.place().join("folder");
    std::fs::create_dir(&folder).expect("a folder");
    // The file has a hole in the place of its long line, so it takes no room on disk.
    let sparse = |path: &std::path::Path, before: &str, after: &str| {
        let mut file = std::fs::File::create(path).expect("a file");
        file.write_all(before.as_bytes()).expect("it can be written");
        file.seek(SeekFrom::Current(LONG as i64)).expect("it can be long");
        file.write_all(after.as_bytes()).expect("it can be written");
    };
    let codex = neap.place().join("rollout-long.jsonl");
    sparse(&codex, "", &format!("\n{record}\n"));
    let chatgpt = neap.place().join("conversations.json");
    sparse(&chatgpt, "[\"", &format!("\",{}", &conversation[1..]));
    sparse(&folder.join("raw.jsonl"), "", "\n{\"role\":\"user\",\"content\":\"after the long line\"}\n");
    for (args, words) in [
        (&["import", "codex", codex.to_str().expect("plain")][..], "line 1: it has 536870913 bytes"),
        (&["import", "chatgpt", chatgpt.to_str().expect("plain")], "conversation 1: it has 536870914 bytes"),
        (&["session", "import", "folder"], "raw.jsonl: 1 lines are longer than 64 MiB"),
    ] {
        let ran = within(&neap, KIB, args);
        // The rest is imported, and the code says that something was not.
        assert_eq!(ran.code, i32::from(args[0] == "import"), "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(words), "{args:?}: {}", ran.out);
    }
    let found = neap.json(&["search", "after", "the", "long", "line"]);
    assert_eq!(found.as_array().map(Vec::len), Some(3), "{found}");
    let export = neap.run(&["session", "import", codex.to_str().expect("plain"), "--session", "export"]);
    assert_eq!(export.code, 2);
    assert!(
        export.err.contains("line 1 of ") && export.err.contains("the line has 536870913 bytes"),
        "{}",
        export.err
    );
}
