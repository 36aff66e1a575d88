//! The makers' own libraries in front of `neap run`: whatever they can read of a provider, they can read through the proxy.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::disk::skip;
use crate::rig::Neap;

/// `cargo xtask test` installs the libraries here.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/sdk/bin/python");
const MODULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/sdk-js");
const PROVIDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/provider.py");
const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/clients.py");
const CLIENTS_JS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/clients.mjs");

/// A provider that ends with its test.
struct Provider(Child);

impl Provider {
    fn start(python: &str) -> (Self, String) {
        let mut provider = Command::new(python).arg(PROVIDER).stdout(Stdio::piped()).spawn().expect("python runs");
        let mut port = String::new();
        BufReader::new(provider.stdout.take().expect("a pipe")).read_line(&mut port).expect("a port");
        (Self(provider), format!("http://127.0.0.1:{}", port.trim()))
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn runs(command: &mut Command) -> bool {
    command.output().is_ok_and(|ran| ran.status.success())
}

fn check(python: &str, client: &[&str]) {
    let (_provider, upstream) = Provider::start(python);
    assert!(Path::new(client[1]).exists());
    let ran = Neap::new().run(&[&["run", "--upstream", &upstream, "--"], client].concat());
    assert_eq!((ran.code, ran.out.trim()), (0, "all hold"), "{}", ran.err);
}

#[test]
fn the_makers_own_libraries_read_what_comes_through() {
    if !runs(Command::new(PYTHON).args(["-c", "import anthropic, openai"])) {
        skip("the libraries of OpenAI and Anthropic", "`cargo xtask test` could not install them");
        return;
    }
    check(PYTHON, &[PYTHON, CLIENTS]);
}

#[test]
fn the_makers_own_libraries_for_javascript_read_what_comes_through() {
    let script = "require('openai'); require('@anthropic-ai/sdk')";
    let has_libraries = Path::new(MODULES).join("ready").exists()
        && runs(Command::new("node").current_dir(MODULES).args(["-e", script]))
        && runs(Command::new("python3").arg("--version"));
    if !has_libraries {
        skip("the libraries of OpenAI and Anthropic for JavaScript", "`cargo xtask test` could not install them");
        return;
    }
    check("python3", &["node", CLIENTS_JS, MODULES]);
}
