//! What `--help` and `--version` say, as a user reads it.

use crate::rig::Neap;

#[track_caller]
fn check(args: &[&str]) -> String {
    Neap::new().ok(args)
}

#[test]
fn the_program_explains_itself() {
    insta::assert_snapshot!(check(&["--help"]));
}

#[test]
fn chat_explains_itself() {
    insta::assert_snapshot!(check(&["chat", "--help"]));
}

#[test]
fn replay_explains_itself() {
    insta::assert_snapshot!(check(&["lab", "replay", "--help"]));
}

#[test]
fn session_explains_itself() {
    insta::assert_snapshot!(check(&["session", "--help"]));
}

#[test]
fn keys_explain_themselves() {
    insta::assert_snapshot!(check(&["store", "keys", "--help"]));
}

#[test]
fn proof_explains_itself() {
    insta::assert_snapshot!(check(&["lab", "proof", "--help"]));
}

#[test]
fn original_explains_itself() {
    insta::assert_snapshot!(check(&["session", "original", "--help"]));
}

#[test]
fn receipts_explain_themselves() {
    insta::assert_snapshot!(check(&["session", "receipts", "--help"]));
}

#[test]
fn search_explains_itself() {
    insta::assert_snapshot!(check(&["search", "--help"]));
}

#[test]
fn what_is_known_is_explained() {
    for command in ["remember", "recall", "context", "report"] {
        insta::assert_snapshot!(command, check(&[command, "--help"]));
    }
    for command in ["decide", "review", "censor", "frames"] {
        insta::assert_snapshot!(command, check(&["memory", command, "--help"]));
    }
    insta::assert_snapshot!("memory", check(&["memory", "--help"]));
    insta::assert_snapshot!("memory_edit", check(&["memory", "edit", "--help"]));
}

#[test]
fn eval_explains_itself() {
    insta::assert_snapshot!(check(&["lab", "eval", "--help"]));
}

#[test]
fn the_help_fits_one_screen() {
    let (long, short) = (check(&["--help"]), check(&["-h"]));
    assert!(long.lines().count() <= 40 && short.lines().count() <= 40, "{long}");
    assert!(check(&["chat", "-h"]).len() < check(&["chat", "--help"]).len());
    let wide: Vec<&str> = long.lines().filter(|line| line.chars().count() > 100).collect();
    assert_eq!(wide, [""; 0]);
}

#[test]
fn former_names_work_and_say_the_present_one() {
    let neap = Neap::new();
    let (former, now) = (neap.run(&["settings"]), neap.run(&["store", "settings"]));
    assert_eq!((former.code, &former.out), (now.code, &now.out));
    assert_eq!(former.err, format!("`neap settings` is now `neap store settings`\n{}", now.err));
    for (name, now) in [
        ("watch", "report --live"),
        ("replay", "lab replay"),
        ("proof", "lab proof"),
        ("eval", "lab eval"),
        ("bench", "lab bench"),
        ("efforts", "session efforts"),
        ("original", "session original"),
        ("receipts", "session receipts"),
        ("decide", "memory decide"),
        ("review", "memory review"),
        ("censor", "memory censor"),
        ("frames", "memory frames"),
        ("settings", "store settings"),
        ("doctor", "store doctor"),
        ("rebuild", "store rebuild"),
        ("keys", "store keys"),
    ] {
        let listed = check(&["--help"]).lines().any(|line| line.trim_start().starts_with(name));
        assert!(!listed, "{name}");
        let now: Vec<&str> = now.split(' ').chain(["--help"]).collect();
        assert_eq!(neap.ok(&[name, "--help"]), neap.ok(&now), "{name}");
    }
    let as_value = neap.run(&["--agent", "eval", "settings", "--help"]);
    assert_eq!(as_value.out, neap.ok(&["store", "settings", "--help"]));
}

#[test]
fn the_version_names_its_commit() {
    let said = check(&["--version"]);
    let (version, commit) = said.trim_end().split_once(" (").expect("a version and a commit");
    assert_eq!(version, format!("neap {}", env!("CARGO_PKG_VERSION")));
    let commit = commit.strip_suffix(')').expect("in parentheses");
    let is_commit = commit.len() >= 12 && commit.chars().all(|c| c.is_ascii_hexdigit());
    assert!(is_commit || commit == "unknown", "{said}");
    assert_eq!(said, check(&["chat", "--version"]).replace("neap-chat", "neap"));
}

#[test]
fn without_a_command_the_help_is_shown_and_nothing_is_made() {
    let neap = Neap::new();
    let ran = neap.run(&[]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("Usage: neap [OPTIONS] <COMMAND>"), "{}", ran.err);
    assert!(!neap.data().exists());
}
