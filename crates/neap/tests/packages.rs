//! The plugin, the bundle's manifest and the registry's entry say what the program does.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::path::Path;

use crate::rig::Neap;
use serde_json::Value;

fn file(path: &str) -> String {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn read(path: &str) -> Value {
    serde_json::from_str(&file(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What the program itself would write into a file of an agent.
fn installed(ending: &str) -> Value {
    let told = Neap::new().json(&["install", "claude-code", "--print"]);
    let changes = told["changes"].as_array().expect("a list");
    let text = changes.iter().find(|change| change["path"].as_str().is_some_and(|path| path.ends_with(ending)));
    serde_json::from_str(text.expect(ending)["text"].as_str().expect("words")).expect("JSON")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// Who publishes, as `Cargo.toml` says.
fn publisher() -> toml::Table {
    let manifest: toml::Table = file("Cargo.toml").parse().expect("TOML");
    manifest["workspace"]["metadata"]["publisher"].as_table().expect("a table").clone()
}

#[test]
fn every_manifest_names_the_author_and_the_version() {
    let author = publisher()["author"].as_str().expect("a name").to_owned();
    for path in ["plugin/.claude-plugin/plugin.json", "packaging/mcpb/manifest.json"] {
        assert_eq!(text(&read(path)["author"], "name"), author, "{path}");
    }
    assert_eq!(text(&read("clients/typescript/package.json"), "version"), env!("CARGO_PKG_VERSION"));
    let python = format!("\nVERSION = \"{}\"\n", env!("CARGO_PKG_VERSION"));
    assert!(file("clients/python/src/neap/version.py").contains(&python), "the Python client has another version");
}

/// As <https://keepachangelog.com> asks: newest first, groups of known names, dated versions.
#[test]
fn the_changelog_has_its_form() {
    let changelog = file("CHANGELOG.md");
    let mut headings = changelog.lines().filter(|line| line.starts_with('#'));
    assert_eq!((headings.next(), headings.next()), (Some("# Changelog"), Some("## [Unreleased]")));
    let groups = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
    for heading in headings {
        match heading.strip_prefix("### ") {
            Some(group) => assert!(groups.contains(&group), "{heading}"),
            None => {
                let (version, date) =
                    heading.strip_prefix("## [").and_then(|rest| rest.split_once("] - ")).expect(heading);
                assert_eq!(version.split('.').filter(|part| part.parse::<u32>().is_ok()).count(), 3, "{heading}");
                assert!(date.parse::<jiff::civil::Date>().is_ok(), "{heading}");
            }
        }
    }
    let (_, first) = changelog.split_once("## [Unreleased]\n").expect("what is unreleased");
    assert!(first.trim_start().starts_with("### "), "what is unreleased has no groups");
}

#[test]
fn the_plugin_has_the_hooks_that_are_installed() {
    let plugin = read("plugin/.claude-plugin/plugin.json");
    assert_eq!((text(&plugin, "name"), text(&plugin, "version")), ("neap", env!("CARGO_PKG_VERSION")));
    assert!(text(&plugin["author"], "name").len() > 2 && text(&plugin, "description").len() > 10);
    let mut written = installed("settings.json")["hooks"].clone();
    for groups in written.as_object_mut().expect("an object").values_mut() {
        groups[0]["hooks"][0]["command"] = "neap hook claude-code".into();
    }
    assert_eq!(read("plugin/hooks/hooks.json")["hooks"], written);
    let server = &read("plugin/.mcp.json")["mcpServers"]["neap"];
    assert_eq!((text(server, "command"), &server["args"]), ("neap", &serde_json::json!(["mcp"])));
}

#[test]
fn the_bundle_has_all_that_a_bundle_must_have() {
    let bundle = read("packaging/mcpb/manifest.json");
    assert_eq!((text(&bundle, "manifest_version"), text(&bundle, "name")), ("0.3", "neap"));
    assert_eq!(text(&bundle, "version"), env!("CARGO_PKG_VERSION"));
    assert!(!text(&bundle, "description").is_empty() && !text(&bundle["author"], "name").is_empty());
    let server = &bundle["server"];
    assert_eq!((text(server, "type"), text(server, "entry_point")), ("binary", "server/neap"));
    let config = &server["mcp_config"];
    assert_eq!(
        (text(config, "command"), &config["args"]),
        ("${__dirname}/server/neap", &serde_json::json!(["mcp"]))
    );
    // Whatever a place is filled from must be asked for.
    for value in config["env"].as_object().expect("an object").values() {
        let name = value
            .as_str()
            .and_then(|value| value.strip_prefix("${user_config.")?.strip_suffix('}'))
            .expect("a place");
        assert!(bundle["user_config"][name]["type"].is_string(), "{name}");
    }
}

#[test]
fn the_registry_is_told_what_it_asks_for() {
    let server = read("packaging/server.json");
    assert_eq!(text(&server, "version"), env!("CARGO_PKG_VERSION"));
    let publisher = publisher();
    let domain = publisher["domain"].as_str().expect("a domain");
    let reversed = domain.split('.').rev().collect::<Vec<_>>().join(".");
    assert_eq!(text(&server, "name"), format!("{reversed}/neap"));
    let length = text(&server, "description").chars().count();
    assert!((1..=100).contains(&length) && text(&server, "title").chars().count() <= 100);
    assert!(text(&server, "$schema").ends_with("/server.schema.json"));
    let known = [
        "$schema", "name", "title", "description", "version", "packages", "remotes", "repository", "websiteUrl",
        "icons", "_meta",
    ];
    assert!(server.as_object().expect("an object").keys().all(|key| known.contains(&key.as_str())));
}
