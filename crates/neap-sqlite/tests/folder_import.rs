//! A session folder as another tool leaves it, read with all its warts.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]
#![allow(clippy::disallowed_methods, reason = "tests set the scene by hand")]

use std::path::Path;

use crate::scene;
use neap_core::base::ids::Stamp;
use neap_core::session::effort::EffortStatus;
use neap_store::folder::{ImportError, read_folder};

fn fixture() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ccm-session"))
}

#[test]
fn a_folder_of_another_tool_is_read() {
    let before = scene::tree(fixture());
    let folder = read_folder(fixture()).unwrap();
    assert_eq!(scene::tree(fixture()), before, "the originals are untouched");
    let said: Vec<_> = folder.ambient.iter().map(|line| line.content.as_str()).collect();
    assert_eq!(said, ["good morning", "Good morning! 你好", "still here"]);
    assert_eq!(folder.ambient[0].ts, Some(Stamp(1_771_176_540_000)));
    assert_eq!(folder.ambient[1].ts, Some(Stamp(1_771_176_545_000)));
    assert_eq!(folder.ambient[2].ts, None);
    let efforts: Vec<_> = folder
        .efforts
        .iter()
        .map(|e| (e.id.as_str(), e.name.as_str(), e.status, e.active, e.lines.len()))
        .collect();
    assert_eq!(
        efforts,
        [
            ("auth-bug", "auth-bug", EffortStatus::Concluded, false, 4),
            ("guild-feature", "guild_feature", EffortStatus::Open, true, 1),
            ("evil-name", "../../evil name", EffortStatus::Open, false, 1),
            ("unlisted", "unlisted", EffortStatus::Open, false, 1),
        ]
    );
    let auth = &folder.efforts[0];
    assert!(auth.summary.as_ref().unwrap().starts_with("Fixed the 401 after login: "));
    assert_eq!(auth.updated, Some(Stamp(1_771_177_512_250)));
    assert_eq!(auth.lines[1].content, "");
    assert_eq!(folder.efforts[1].created, Some(Stamp(1_771_177_800_000)));
    assert_eq!(folder.efforts[1].updated, Some(Stamp(1_771_178_400_000)));
    assert_eq!(folder.efforts[2].lines[0].content, "evil words");
    assert_eq!(folder.turn_count, Some(14));
    let referenced: Vec<_> = folder.last_referenced.iter().map(|(id, turn)| (id.as_str(), *turn)).collect();
    assert_eq!(referenced, [("auth-bug", 14), ("guild-feature", 3)]);
    let notes = folder.notes.join("\n");
    for part in ["3 lines cannot be parsed", "(first: line 3)", "outside the folder", "no id", "unlisted"] {
        assert!(notes.contains(part), "{part} in {notes}");
    }
}

#[test]
fn what_is_no_session_folder_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(read_folder(dir.path()), Err(ImportError::NotASession(_))));
    assert!(matches!(read_folder(&dir.path().join("none")), Err(ImportError::NotAFolder(_))));
    std::fs::write(dir.path().join("raw.jsonl"), "").unwrap();
    assert!(read_folder(dir.path()).unwrap().ambient.is_empty());
}

#[test]
fn a_manifest_too_large_or_unfolding_without_end_is_not_parsed() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = dir.path().join("manifest.yaml");
    std::fs::write(&manifest, "#".repeat((16 << 20) + 1)).unwrap();
    assert!(matches!(read_folder(dir.path()), Err(ImportError::Unreadable { .. })));
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        let before = format!("*a{}, ", n - 1).repeat(10);
        bomb.push_str(&format!("a{n}: &a{n} [{before}]\n"));
    }
    bomb.push_str("efforts: *a11\n");
    std::fs::write(&manifest, bomb).unwrap();
    let folder = read_folder(dir.path()).unwrap();
    assert!(folder.efforts.is_empty() && folder.notes.len() == 1, "{:?}", folder.notes);
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.jsonl"), "{\"role\":\"user\",\"content\":\"secret\"}\n").unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("efforts")).unwrap();
    let link = |name: &str| {
        std::os::unix::fs::symlink(outside.path().join("secret.jsonl"), dir.path().join(name)).unwrap();
    };
    link("raw.jsonl");
    link("efforts/a.jsonl");
    std::fs::write(dir.path().join("manifest.yaml"), "efforts:\n- {id: a, status: open}\n").unwrap();
    let folder = read_folder(dir.path()).unwrap();
    assert!(folder.ambient.is_empty());
    assert!(folder.efforts[0].lines.is_empty());
}
