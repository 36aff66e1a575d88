//! The makers' own libraries in front of `neap run`: whatever they can read of a provider, they can read through the proxy.

mod rig;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use rig::{Neap, skip};

/// `cargo xtask test` installs the libraries here.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/sdk/bin/python");
const PROVIDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/provider.py");
const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/clients.py");

#[test]
fn the_makers_own_libraries_read_what_comes_through() {
    let works = Command::new(PYTHON)
        .args(["-c", "import anthropic, openai"])
        .output()
        .is_ok_and(|ran| ran.status.success());
    if !works {
        skip("the libraries of OpenAI and Anthropic", "`cargo xtask test` could not install them");
        return;
    }
    let mut provider = Command::new(PYTHON).arg(PROVIDER).stdout(Stdio::piped()).spawn().expect("python runs");
    let mut port = String::new();
    BufReader::new(provider.stdout.take().expect("a pipe")).read_line(&mut port).expect("a port");
    let upstream = format!("http://127.0.0.1:{}", port.trim());
    assert!(Path::new(CLIENTS).exists());
    let ran = Neap::new().run(&["run", "--upstream", &upstream, "--", PYTHON, CLIENTS]);
    let _ = provider.kill();
    let _ = provider.wait();
    assert_eq!((ran.code, ran.out.trim()), (0, "all hold"), "{}", ran.err);
}
