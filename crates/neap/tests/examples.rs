//! The example of a shell script runs as a person runs it.

use std::path::Path;
use std::process::Command;

use crate::rig::Neap;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const TALK: &str = "crates/neap-model/tests/transcripts/7f3c1a52-9b1e-4c0d-8f61-2d5e7a9b4c10.jsonl";

#[test]
fn import_and_search_finds_what_was_said_and_imports_it_once() {
    let neap = Neap::new();
    let program = Path::new(env!("CARGO_BIN_EXE_neap"));
    let folder = program.parent().expect("a folder").display();
    let run = || {
        let mut shell = Command::new("/bin/sh");
        shell.current_dir(ROOT).args(["examples/shell/import_and_search.sh", TALK, "raised it to 45"]);
        shell.env("PATH", format!("{folder}:/usr/bin:/bin")).env("NEAP_EMBEDDER", "none");
        let ran = shell.env("NEAP_DATA_DIR", neap.data()).output().expect("a shell");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).expect("words")
    };
    let (first, second) = (run(), run());
    assert!(first.starts_with("imported 11 records") && first.contains("checkout-7Q"), "{first}");
    assert!(second.starts_with("imported 0 records") && second.contains("checkout-7Q"), "{second}");
}
