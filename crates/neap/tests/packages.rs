//! The plugin, the bundle's manifest and the registry's entry say what the program does.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::path::Path;

use crate::rig::Neap;
use serde_json::Value;

fn read(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
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
    let (space, name) = text(&server, "name").split_once('/').expect("a name in a space");
    let is_plain =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    assert!(is_plain(space) && is_plain(name) && space.contains('.') && !name.contains('/'));
    let length = text(&server, "description").chars().count();
    assert!((1..=100).contains(&length) && text(&server, "title").chars().count() <= 100);
    assert!(text(&server, "$schema").ends_with("/server.schema.json"));
    let known = [
        "$schema", "name", "title", "description", "version", "packages", "remotes", "repository", "websiteUrl",
        "icons", "_meta",
    ];
    assert!(server.as_object().expect("an object").keys().all(|key| known.contains(&key.as_str())));
}
