//! Runs the tests of the Python client, its adapters and the examples against `neap`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::root;
use crate::test::{make_once, run_ok, run_timed};

const TOOLS: &str = "target/python-libraries";
const CLIENT: &str = "clients/python";
/// The libraries are those that the adapters were written for.
const PACKAGES: [&str; 14] = [
    "httpx==0.28.1",
    "pytest==9.2.0",
    "typing_extensions==4.16.0",
    "pyright==1.1.414",
    "openai==3.51.0",
    "openai-agents==0.24.0",
    "langgraph==1.2.22",
    "langgraph-checkpoint==4.3.2",
    "langgraph-checkpoint-conformance==0.0.2",
    "anthropic==2.10.0",
    "claude-agent-sdk==0.2.184",
    "mcp==2.3.0",
    "pydantic-ai-slim==2.66.0",
    "llama-index-core==0.14.25",
];
/// Its wheels have a program of 370 MB, which the tests do not need.
const FROM_SOURCE: &str = "--no-binary=claude-agent-sdk";

/// It pins other versions of what the libraries above need; the tests use the part that needs nothing.
const HERMES: [&str; 2] = ["--no-deps", "hermes-agent==0.19.0"];

/// It pins other versions, too, and wants databases; this is what its agents and memory import besides.
const CREWAI: [&str; 25] = [
    "--no-deps",
    "crewai==1.15.30",
    "crewai-core==1.15.30",
    "aiofiles==25.1.0",
    "appdirs==1.4.4",
    "chromadb==1.5.9",
    "googleapis-common-protos==1.76.0",
    "json-repair==0.64.4",
    "json5==0.17.3",
    "jsonref==1.1.0",
    "opentelemetry-exporter-http-transport==0.66b1",
    "opentelemetry-exporter-otlp-common==0.66b1",
    "opentelemetry-exporter-otlp-proto-common==1.45.1",
    "opentelemetry-exporter-otlp-proto-http==1.45.1",
    "opentelemetry-proto==1.45.1",
    "opentelemetry-sdk==1.45.2",
    "opentelemetry-semantic-conventions==0.66b2",
    "overrides==7.7.0",
    "portalocker==4.4.2",
    "protobuf==7.36.2",
    "pybase64==1.5.1",
    "pydantic-settings==2.16.3",
    "python-dotenv==1.2.4",
    "rich==15.0.0",
    "tomli==2.5.0",
];

/// Runs once.
pub(crate) fn install() {
    let folder = root().join(TOOLS);
    let path = folder.to_string_lossy();
    let install = ["-m", "pip", "install", "--quiet", FROM_SOURCE];
    make_once(&folder, || {
        run_ok(Path::new("python3"), &["-m", "venv", &path])
            && run_ok(&folder.join("bin/python"), &[&install[..], &PACKAGES].concat())
            && run_ok(&folder.join("bin/python"), &[&install[..], &HERMES].concat())
            && run_ok(&folder.join("bin/python"), &[&install[..], &CREWAI].concat())
    });
}

/// `neap` must be built. Counts a skip in `skips` where the tools are missing.
#[allow(clippy::disallowed_methods, reason = "a folder in target/ that only the tests use")]
pub(crate) fn run(skips: &Path) -> Result<()> {
    let tools = root().join(TOOLS);
    if !tools.join("ready").exists() {
        return std::fs::write(skips.join("python"), "the Python client and its adapters: need Python")
            .context("cannot count a skipped test");
    }
    let mut pytest = Command::new(tools.join("bin/python"));
    // What is installed here must be tested: without this, a library that is missing only skips its tests.
    pytest
        .args(["-m", "pytest", CLIENT, "--quiet"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NEAP_TEST_STRICT", "1");
    run_timed("pytest", pytest.env("NEAP_BIN", root().join("target/debug/neap")))
}
