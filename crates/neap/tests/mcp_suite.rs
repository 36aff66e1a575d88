//! The protocol's own conformance suite, in both eras, and the inspector's look at the tools. `cargo xtask test` installs them.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use crate::disk::skip;
use crate::wire::Proxy;
use serde_json::Value;

const NODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/mcp/node_modules");
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/mcp_client.py");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/mcp_client.mjs");
/// Scenarios that are expected to fail, each with a reason.
const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/expected.yml");

/// Whether something was installed; says so if not.
fn has(name: &str) -> bool {
    let is_there =
        Path::new(NODE).join(".bin").join(name).exists() && Path::new(NODE).join("node/bin/node").exists();
    if !is_there {
        skip(name, "`cargo xtask test` could not install it");
    }
    is_there
}

fn node(args: &[&str]) -> (bool, String, String) {
    let ran = Command::new(Path::new(NODE).join("node/bin/node")).args(args).output().expect("node runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.success(), text(&ran.stdout), text(&ran.stderr))
}

/// An address of `/mcp` for clients that can send no token: it is added to each request.
fn address_with_token(proxy: &Proxy) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let (server, bearer) = (proxy.address.clone(), proxy.bearer("mcp"));
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (server, bearer) = (server.clone(), bearer.clone());
            // A client that ends early is no fault.
            std::thread::spawn(move || pass_on(client, &server, &bearer).unwrap_or_default());
        }
    });
    url
}

/// One request and its answer; the next comes over another connection.
fn pass_on(mut client: TcpStream, server: &str, bearer: &str) -> io::Result<()> {
    let mut server = TcpStream::connect(server)?;
    let mut request = BufReader::new(client.try_clone()?);
    loop {
        let mut line = String::new();
        request.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if !line.to_ascii_lowercase().starts_with("connection:") {
            server.write_all(line.as_bytes())?;
        }
    }
    server.write_all(format!("authorization: {bearer}\r\nconnection: close\r\n\r\n").as_bytes())?;
    let mut answer = server.try_clone()?;
    let answering = std::thread::spawn(move || {
        let _ = io::copy(&mut answer, &mut client);
        let _ = client.shutdown(Shutdown::Both);
    });
    io::copy(&mut request, &mut server)?;
    let _ = server.shutdown(Shutdown::Both);
    let _ = answering.join();
    Ok(())
}

#[test]
fn the_conformance_suite_passes_in_both_eras() {
    if !has("conformance") {
        return;
    }
    let program = Path::new(NODE).join("@modelcontextprotocol/conformance/dist/index.js");
    let proxy = Proxy::with(&["--upstream", "http://127.0.0.1:9"], &[("NEAP_MCP_FIXTURE", "1")]);
    let url = address_with_token(&proxy);
    for revision in ["2026-07-28", "2025-11-25"] {
        let program = program.to_string_lossy();
        let args =
            [&program, "server", "--url", &url, "--requirements", revision, "--expected-failures", EXPECTED];
        let (is_passed, out, err) = node(&args);
        assert!(is_passed && out.contains("=== SUMMARY ==="), "{revision}: {out}{err}");
    }
}

#[test]
fn the_python_library_calls_the_tools_over_both_transports() {
    let python = Path::new(NODE).with_file_name("venv").join("bin/python");
    let works = Command::new(&python).args(["-c", "import mcp"]).output().is_ok_and(|ran| ran.status.success());
    if !works {
        skip("the Python library of MCP", "`cargo xtask test` could not install it");
        return;
    }
    let proxy = Proxy::start("http://127.0.0.1:9");
    let url = address_with_token(&proxy);
    let mut command = Command::new(&python);
    command.args([CLIENT, env!("CARGO_BIN_EXE_neap"), &url]).env("NEAP_DATA_DIR", proxy.neap.data());
    let ran = command.output().expect("python runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&ran.stdout).trim(), "all hold", "{}", text(&ran.stderr));
}

#[test]
fn the_typescript_library_calls_the_tools_over_both_transports() {
    let library = Path::new(NODE).join("@modelcontextprotocol/sdk");
    if !library.exists() || !Path::new(NODE).join("node/bin/node").exists() {
        skip("the TypeScript library of MCP", "`cargo xtask test` could not install it");
        return;
    }
    let proxy = Proxy::start("http://127.0.0.1:9");
    let url = address_with_token(&proxy);
    let mut command = Command::new(Path::new(NODE).join("node/bin/node"));
    command.args([SCRIPT, &library.to_string_lossy(), env!("CARGO_BIN_EXE_neap"), &url]);
    let ran = command.env("NEAP_DATA_DIR", proxy.neap.data()).output().expect("node runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&ran.stdout).trim(), "all hold", "{}", text(&ran.stderr));
}

#[test]
fn the_inspector_finds_nothing_to_complain_of() {
    if !has("mcp-inspector") {
        return;
    }
    let proxy = Proxy::start("http://127.0.0.1:9");
    let (url, program) = (address_with_token(&proxy), Path::new(NODE).join(".bin/mcp-inspector"));
    let args = [&program.to_string_lossy(), "--cli", url.as_str(), "--method", "tools/list", "--strict"];
    let (is_passed, out, err) = node(&args);
    assert!(is_passed, "{out}{err}");
    let listed: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    assert_eq!(listed["tools"].as_array().map(Vec::len), Some(20));
    assert!(!err.contains("error") && !err.contains("Warning"), "{err}");
}
