//! Checks the dependencies between crates, which are the architecture.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::root;

/// Our crates, and those of ours that each may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("neap-core", &[]),
    ("neap-store", &["neap-core"]),
    ("neap-tokens", &[]),
    ("neap-model", &["neap-core", "neap-tokens"]),
    ("neap-sqlite", &["neap-core", "neap-store"]),
    ("neap-postgres", &["neap-core", "neap-store"]),
    ("neap-engine", &["neap-core", "neap-store", "neap-model"]),
    ("neap-server", &["neap-core", "neap-store", "neap-model", "neap-engine"]),
    ("neap-lab", &["neap-core", "neap-store", "neap-sqlite", "neap-model", "neap-engine", "neap-server"]),
    (
        "neap",
        &[
            "neap-core", "neap-store", "neap-sqlite", "neap-postgres", "neap-model", "neap-engine", "neap-server",
            "neap-lab",
        ],
    ),
    ("neap-sim", &["neap-core", "neap-store", "neap-sqlite", "neap-model", "neap-engine"]),
    ("xtask", &[]),
];

/// Tests of a crate may use these too.
const ALLOWED_IN_TESTS: &[(&str, &str)] = &[("neap-engine", "neap-sqlite")];

/// External crates that the core may use: none that does I/O, reads a clock or spawns.
const CORE_MAY_USE: &[&str] =
    &["serde", "serde_json", "thiserror", "rust-stemmers", "regex", "aho-corasick", "sha2"];

pub(crate) fn violations() -> Result<Vec<String>> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root())
        .output()
        .context("cannot run cargo metadata")?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            found.push(format!("{name}: not in the list of crates in xtask/src/edges.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"].as_str() == Some("dev");
            let is_ours = ALLOWED.iter().any(|(known, _)| *known == target);
            let is_allowed =
                allowed.contains(&target) || (for_tests && ALLOWED_IN_TESTS.contains(&(name, target)));
            if is_ours && !is_allowed {
                found.push(format!("{name} → {target}: this arrow is not allowed"));
            }
            if name == "neap-core" && !for_tests && !CORE_MAY_USE.contains(&target) {
                found.push(format!("neap-core → {target}: the core stays pure"));
            }
        }
    }
    Ok(found)
}
