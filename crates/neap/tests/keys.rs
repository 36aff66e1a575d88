//! The keys that sign what tools answer: made once, private, rotated, and never shown.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use crate::rig::{Neap, Ran};
use async_trait::async_trait;
use neap_core::base::ids::SessionId;
use neap_core::base::message::ToolCall;
use neap_core::context::tools::ToolSpec;
use neap_engine::{Author, Engine, HostTools, NullObserver, SessionOptions, ToolAnswer};
use neap_model::envelope::Keyring;
use neap_model::scripted::ScriptedModel;
use neap_sqlite::SqliteStore;
use serde_json::{Value, json};

const SECRET: &str = "00112233445566778899aabbccddeeff";
const OTHER: &str = "ffeeddccbbaa99887766554433221100";

fn own_file(neap: &Neap) -> PathBuf {
    neap.data().join("keys").join("envelope.key")
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

/// A key file beside the data directory.
fn key_file(neap: &Neap, content: &str, mode: u32) -> String {
    let path = neap.file("some.key", content);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("it is ours");
    path
}

fn ids(told: &Value) -> Vec<&str> {
    told["keys"].as_array().expect("a list").iter().filter_map(|key| key["id"].as_str()).collect()
}

fn talk(neap: &Neap) {
    neap.replay(&["--session", "work"], &[json!({"user": "Hello."})]);
}

#[track_caller]
fn refused(ran: &Ran, error: &str, hint: &str) {
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains(error) && ran.err.contains(hint), "{}", ran.err);
}

#[test]
fn a_key_is_made_on_first_use_for_its_owner_alone() {
    let neap = Neap::new();
    assert_eq!(ids(&neap.json(&["store", "keys", "list"])), [""; 0]);
    assert!(!neap.data().exists(), "looking makes nothing");
    talk(&neap);
    let made = std::fs::read_to_string(own_file(&neap)).expect("a key");
    assert!(made.len() == 65 && made.trim_end().chars().all(|c| c.is_ascii_hexdigit()), "32 bytes in one line");
    assert_eq!((mode(&own_file(&neap)), mode(&neap.data().join("keys"))), (0o600, 0o700));
    talk(&neap);
    assert_eq!(std::fs::read_to_string(own_file(&neap)).expect("a key"), made, "and stays");
    assert_eq!(ids(&neap.json(&["store", "keys", "list"])).len(), 1);
}

#[test]
fn many_processes_at_once_end_with_one_key() {
    let neap = Neap::new();
    let start = |_| {
        let mut command = neap.command(&["store", "keys", "rotate", "--json"]);
        command.stdout(Stdio::piped()).spawn().expect("it runs")
    };
    let children: Vec<_> = (0..8).map(start).collect();
    let mut rotated: Vec<String> = Vec::new();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        rotated.push(told["current"].as_str().expect("an id").to_owned());
    }
    let told = neap.json(&["store", "keys", "list"]);
    let kept = ids(&told);
    assert_eq!(kept.len(), 9, "the first one, made once, and eight rotations");
    assert!(rotated.iter().all(|id| kept.contains(&id.as_str())), "none is lost");
    let files: Vec<_> = std::fs::read_dir(neap.data().join("keys")).expect("a folder").collect();
    assert_eq!(files.len(), 2, "the keys and their lock: {files:?}");
}

#[test]
fn rotation_puts_a_new_key_before_the_old_ones() {
    let neap = Neap::new();
    talk(&neap);
    let first = neap.json(&["store", "keys", "list"]);
    let told = neap.json(&["store", "keys", "rotate"]);
    let both = neap.json(&["store", "keys", "list"]);
    assert_eq!(ids(&both), [told["current"].as_str().expect("an id"), ids(&first)[0]]);
    assert_eq!(both["keys"][0]["current"], true);
    assert_eq!(both["keys"][1]["current"], false);
    assert_eq!(mode(&own_file(&neap)), 0o600);
    let shown = neap.ok(&["store", "keys", "list"]);
    assert!(shown.contains("signs and verifies") && shown.contains("envelope.key"), "{shown}");
    talk(&neap);
}

#[test]
fn a_key_file_that_others_can_read_is_refused() {
    let neap = Neap::new();
    for wide in [0o640, 0o604, 0o644, 0o660] {
        let path = key_file(&neap, SECRET, wide);
        let ran = neap.run(&["store", "keys", "list", "--key-file", &path]);
        refused(&ran, "can be read by others", "chmod 600");
        let ran = neap.run(&["chat", "--key-file", &path]);
        refused(&ran, "can be read by others", "chmod 600");
    }
    for private in [0o600, 0o400] {
        let path = key_file(&neap, SECRET, private);
        assert_eq!(ids(&neap.json(&["store", "keys", "list", "--key-file", &path])).len(), 1);
        std::fs::remove_file(path).expect("it is ours");
    }
}

#[test]
fn a_file_that_is_no_key_file_is_refused() {
    let neap = Neap::new();
    for (content, error) in [
        ("", "there is no key in"),
        ("# nothing\n\n", "there is no key in"),
        ("0011", "line 1 of"),
        ("# ours\n00112233445566778899aabbccddeeff\nnot a key", "line 3 of"),
        (&"0".repeat(70_000), "too long"),
    ] {
        let path = key_file(&neap, content, 0o600);
        refused(&neap.run(&["store", "keys", "list", "--key-file", &path]), error, "hint:");
    }
    refused(
        &neap.run(&["store", "keys", "list", "--key-file", "nowhere"]),
        "there is no key file nowhere",
        "hint:",
    );
    refused(
        &neap.run(&["store", "keys", "rotate", "--key-file", "nowhere"]),
        "there is no key file nowhere",
        "hint:",
    );
    refused(&neap.run(&["store", "keys", "list", "--key-file", "."]), "is not a file", "hint:");
}

#[test]
fn a_key_can_come_from_the_environment() {
    let neap = Neap::new();
    let with = |args: &[&str], key: &str| {
        let output = neap.command(args).env("NEAP_KEY", key).output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    };
    let told: Value = serde_json::from_str(&with(&["store", "keys", "list", "--json"], SECRET).out).expect("JSON");
    let file = key_file(&neap, &format!("# the same, in capitals\n{}\n", SECRET.to_uppercase()), 0o600);
    let same = neap.json(&["store", "keys", "list", "--key-file", &file]);
    assert_eq!((&told["source"], &told["keys"]), (&json!("NEAP_KEY"), &same["keys"]));
    refused(&with(&["store", "keys", "rotate"], SECRET), "comes from NEAP_KEY", "NEAP_KEY_FILE");
    for wrong in ["secret-word-of-mine", "0011", &SECRET[1..]] {
        let ran = with(&["store", "keys", "list"], wrong);
        refused(&ran, "NEAP_KEY is not a key", "openssl");
        assert!(!ran.err.contains(wrong), "{}", ran.err);
    }
    assert!(!neap.data().exists(), "no key of our own is made beside it");
}

/// Everything that is under a place, but for the key files themselves.
fn contents(place: &Path, out: &mut Vec<u8>) {
    for entry in std::fs::read_dir(place).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            contents(&path, out);
        } else if path.extension().is_none_or(|ending| ending != "key") {
            out.extend(std::fs::read(&path).expect("a file"));
        }
    }
}

#[test]
fn a_key_is_never_shown() {
    let neap = Neap::new();
    let path = key_file(&neap, &format!("{SECRET}\n{OTHER}\n"), 0o600);
    let wrong = neap.file("wrong.key", format!("{SECRET}x\n{OTHER}\n"));
    std::fs::set_permissions(&wrong, PermissionsExt::from_mode(0o600)).expect("it is ours");
    neap.file("script.jsonl", "{\"user\": \"Hello.\"}\n");
    let mut shown = Vec::new();
    for args in [
        &["store", "keys", "list"][..],
        &["store", "keys", "list", "--json"],
        &["store", "keys", "--help"],
        &["lab", "replay", "script.jsonl", "--session", "work", "--json"],
        &["store", "doctor"],
        &["session", "show", "work", "--json"],
        &["session", "export", "work"],
        &["store", "settings"],
        &["store", "keys", "rotate"],
        &["store", "keys", "rotate", "--json"],
    ] {
        for file in [&path, &wrong] {
            let ran = neap.run(&[args, &["--key-file", file]].concat());
            shown.extend([ran.out, ran.err].concat().into_bytes());
            let output = neap.command(args).env("NEAP_KEY", SECRET).output().expect("it runs");
            shown.extend([output.stdout, output.stderr].concat());
        }
    }
    contents(neap.place(), &mut shown);
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("Hello.") && shown.contains("is not a key"), "the outputs were looked at");
    let made = std::fs::read_to_string(&path).expect("the rotated keys");
    assert_eq!(made.lines().count(), 4);
    for secret in made.lines() {
        let secret = secret.trim_end_matches('x');
        for spelling in [secret.to_owned(), secret.to_uppercase(), secret[..16].to_owned()] {
            assert!(!shown.contains(&spelling), "a key is shown");
        }
    }
}

struct Pages;

#[async_trait]
impl HostTools for Pages {
    fn specs(&self) -> Vec<ToolSpec> {
        let parameters = json!({"type": "object"});
        vec![ToolSpec { name: "fetch".into(), description: "Fetches.".into(), parameters }]
    }

    async fn call(&self, _call: &ToolCall) -> ToolAnswer {
        "the pump takes 12 Nm".into()
    }
}

/// A result rewritten in an export, counts and checksums made anew by the import: the seal still tells.
#[tokio::test]
async fn doctor_tells_a_result_that_is_not_the_one_that_was_sealed() {
    let (here, there) = (Neap::new(), Neap::new());
    let path = key_file(&here, SECRET, 0o600);
    std::fs::create_dir(here.data()).expect("a folder");
    let secret: Vec<u8> = (0..16).map(|at| at * 0x11).collect();
    let (model, store) = (Arc::new(ScriptedModel::new()), SqliteStore::open(&here.database()).expect("a store"));
    let keyring = Arc::new(Keyring::from_secret(&secret).expect("long enough"));
    let builder = Engine::builder(Arc::new(store)).model(model.clone());
    let engine = builder.host_tools(Arc::new(Pages)).keyring(keyring).build();
    let id = SessionId::parse("work").expect("an id");
    let mut session = engine.resume(&id, &SessionOptions::default()).await.expect("a session");
    model.push_turn(vec![("fetch".to_owned(), "{}".to_owned())], "12 it is.");
    session.turn(Author::Person, "What torque?", &mut NullObserver).await.expect("a reply");
    drop((session, engine));
    here.ok(&["store", "rebuild"]);

    let key = ["--key-file", &path];
    let whole = here.ok(&[&["store", "doctor"][..], &key].concat());
    assert!(whole.ends_with(": clean\n") && !whole.contains("sealed"), "what is whole verifies: {whole}");
    // Without the key nothing can be said against it.
    let unknown = here.ok(&["store", "doctor"]);
    let note = "note work: 1 tool result is sealed with key ";
    assert!(unknown.contains(note) && unknown.contains("which is missing: not verified"), "{unknown}");

    let export = here.ok(&["session", "export", "work"]);
    assert!(export.contains("takes 12 Nm"));
    let altered = there.file("altered.jsonl", export.replace("takes 12 Nm", "takes 13 Nm"));
    there.ok(&["session", "import", &altered]);
    let ran = there.run(&[&["store", "doctor"][..], &key].concat());
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("does not match its seal"), "{}", ran.out);
    assert_eq!(there.run(&["store", "doctor"]).code, 0, "its own key does not know");

    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("it is ours");
    let ran = there.run(&[&["store", "doctor"][..], &key].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("sealed tool results are not verified"), "{}", ran.out);
}
