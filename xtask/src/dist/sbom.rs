//! What the program is made of, as CycloneDX: each crate that it is linked with, with its version, licence and digest.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use toml::Table;

use super::program::{TARGET, printed};
use super::{Release, sha256};
use crate::root;

const PROGRAM: &str = "neap";

pub(super) fn write(release: &Release) -> Result<()> {
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET];
    let metadata: Value =
        serde_json::from_str(&printed("cargo", &arguments)?).context("cargo metadata is no JSON")?;
    let linked = linked()?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let packages: BTreeMap<&str, &Value> = packages
        .filter(|package| linked.contains(&name_and_version(package)))
        .map(|package| (text(package, "id"), package))
        .collect();
    let digests = digests()?;
    let (program, parts): (Vec<&Value>, Vec<&Value>) =
        packages.values().partition(|package| package["name"] == PROGRAM);
    let mut whole = component(program.first().context("there is no package neap")?, "application", &digests);
    whole["hashes"] = json!([{"alg": "SHA-256", "content": sha256(&release.program)}]);
    let parts: Vec<Value> = parts.iter().map(|package| component(package, "library", &digests)).collect();
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let dependencies: Vec<Value> = nodes
        .filter_map(|node| {
            let others = node["dependencies"].as_array()?.iter().filter_map(|id| packages.get(id.as_str()?));
            let others: Vec<String> = others.map(|other| purl(other)).collect();
            Some(json!({"ref": purl(packages.get(text(node, "id"))?), "dependsOn": others}))
        })
        .collect();
    let sbom = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": release.time()?.to_string(),
            "tools": {"components": [{"type": "application", "name": "cargo xtask dist"}]},
            "component": whole,
        },
        "components": parts,
        "dependencies": dependencies,
    });
    release.write(&release.name(".cdx.json"), format!("{sbom:#}\n").as_bytes())
}

/// Names and versions of the crates in the program: not what only builds it or tests it.
fn linked() -> Result<BTreeSet<(String, String)>> {
    let arguments = ["tree", "--locked", "--package", PROGRAM, "--target", TARGET, "--prefix", "none"];
    let edges = ["--edges", "normal,no-proc-macro", "--format", "{p}"];
    let tree = printed("cargo", &[&arguments[..], &edges].concat())?;
    let pair = |line: &str| {
        let mut words = line.split(' ');
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    Ok(tree.lines().filter_map(pair).collect())
}

fn name_and_version(package: &Value) -> (String, String) {
    (text(package, "name").to_owned(), text(package, "version").to_owned())
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn component(package: &Value, kind: &str, digests: &BTreeMap<(String, String), String>) -> Value {
    let mut component = json!({
        "type": kind,
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
    });
    if let Some(license) = package["license"].as_str() {
        // An older way to say `OR`.
        component["licenses"] =
            json!([{"expression": license.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")}]);
    }
    if let Some(digest) = digests.get(&name_and_version(package)) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": digest}]);
    }
    component
}

fn purl(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(package, "name"), text(package, "version"))
}

/// Of the crates as they were downloaded, by name and version.
fn digests() -> Result<BTreeMap<(String, String), String>> {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let lock: Table = lock.parse().context("cannot read Cargo.lock")?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let entry = |package: &toml::Value| {
        let text = |key: &str| Some(package.get(key)?.as_str()?.to_owned());
        Some(((text("name")?, text("version")?), text("checksum")?))
    };
    Ok(packages.filter_map(entry).collect())
}
