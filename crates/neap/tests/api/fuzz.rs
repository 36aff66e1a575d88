//! A fuzzer that reads the document: no request of any form makes the server fail, and every answer fits its schema.

use std::path::Path;
use std::process::Command;

use super::Api;
use crate::disk::skip;

/// `cargo xtask test` installs it here.
const FUZZER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/schemathesis/bin/schemathesis");
const SEED: &str = "20260501";
/// Requests of each kind for each route.
const EXAMPLES: &str = "12";

#[test]
fn no_request_makes_it_fail() {
    if !Path::new(FUZZER).exists() {
        skip("schemathesis", "`cargo xtask test` could not install it");
        return;
    }
    let api = Api::with_data();
    let url = format!("http://{}", api.server.address);
    let mut command = Command::new(FUZZER);
    command.current_dir(api.server.neap.place()).env("HOME", api.server.neap.place());
    command.args(["run", concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json"), "--url", &url]);
    command.args(["--header", &format!("Authorization: Bearer {}", api.token)]);
    command.args(["--seed", SEED, "--max-examples", EXAMPLES, "--generation-deterministic", "--no-color"]);
    command.args(["--phases", "examples,coverage,fuzzing", "--mode", "all", "--suppress-health-check", "all"]);
    command.args([
        "--checks",
        "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
    ]);
    // A stream of events does not end, and a download is text.
    command.args(["--exclude-path", "/api/v1/events", "--request-timeout", "20"]);
    let ran = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
}
