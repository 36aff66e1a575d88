//! `neap install`: an agent's own files, changed and changed back, with all that others wrote in them.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::path::PathBuf;

use crate::rig::{MOMENTS, Neap};
use serde_json::Value;

const SETTINGS: &str = "{\n    \"model\": \"opus\",\n    \"permissions\": {\"allow\": [\"Bash(ls:*)\"]},\n    \"hooks\": {\n        \"Stop\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"notify-send done\"}]}\n        ]\n    }\n}\n";
const CONFIG: &str =
    "# mine\nmodel = \"gpt-5-codex\"   # the good one\n\n[mcp_servers.other]\ncommand = \"other\"\n";

struct File(PathBuf);

impl File {
    fn new(neap: &Neap, path: &str, content: Option<&str>) -> Self {
        let path = neap.place().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        if let Some(content) = content {
            std::fs::write(&path, content).expect("a file");
        }
        Self(path)
    }

    fn text(&self) -> Option<String> {
        std::fs::read_to_string(&self.0).ok()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text().expect("a file")).expect("JSON")
    }
}

/// Installs, installs again and takes it out; every file is as it was.
#[track_caller]
fn check(neap: &Neap, agent: &str, files: &[(&File, Option<&str>)], installed: impl Fn()) {
    let printed = neap.ok(&["install", agent, "--print"]);
    assert!(printed.contains("+ ") && printed.contains("nothing was changed"), "{printed}");
    files.iter().for_each(|(file, before)| assert_eq!(file.text().as_deref(), *before));
    let asked = neap.run(&["install", agent]);
    assert!(asked.code == 2 && asked.err.contains("--yes"), "{asked:?}");
    neap.ok(&["install", agent, "--yes"]);
    installed();
    let once: Vec<Option<String>> = files.iter().map(|(file, _)| file.text()).collect();
    assert!(neap.ok(&["install", agent, "--yes"]).contains("already installed"));
    assert_eq!(files.iter().map(|(file, _)| file.text()).collect::<Vec<_>>(), once);
    neap.ok(&["install", agent, "--uninstall", "--yes"]);
    files.iter().for_each(|(file, before)| assert_eq!(file.text().as_deref(), *before, "{}", file.0.display()));
    assert!(neap.ok(&["install", agent, "--uninstall", "--yes"]).contains("nothing to remove"));
}

#[test]
fn claude_code_gets_hooks_and_a_server_and_is_left_as_it_was() {
    let neap = Neap::new();
    let settings = File::new(&neap, ".claude/settings.json", Some(SETTINGS));
    let servers = File::new(&neap, ".claude.json", Some("{\"numStartups\":3,\"big\":1.0e5}"));
    check(
        &neap,
        "claude-code",
        &[(&settings, Some(SETTINGS)), (&servers, Some("{\"numStartups\":3,\"big\":1.0e5}"))],
        || {
            let value = settings.json();
            for moment in MOMENTS {
                let groups = value["hooks"][moment].as_array().expect("groups");
                let command = groups.last().expect("ours")["hooks"][0]["command"].as_str().expect("a command");
                assert!(command.contains("neap") && command.ends_with("hook claude-code"), "{command}");
            }
            assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "notify-send done");
            assert_eq!(
                servers.json()["mcpServers"]["neap"]["args"].as_array().and_then(|args| args.last()),
                Some(&"mcp".into())
            );
        },
    );
}

#[test]
fn codex_copilot_and_opencode_too_whether_or_not_there_were_files() {
    let neap = Neap::new();
    let hooks = File::new(&neap, ".codex/hooks.json", None);
    let config = File::new(&neap, ".codex/config.toml", Some(CONFIG));
    check(&neap, "codex", &[(&hooks, None), (&config, Some(CONFIG))], || {
        assert!(
            hooks.json()["hooks"].get("SessionEnd").is_none() && hooks.json()["hooks"].get("PreCompact").is_some()
        );
        let text = config.text().expect("a file");
        assert!(text.starts_with(CONFIG) && text.contains("[mcp_servers.neap]"), "{text}");
    });
    let copilot = File::new(&neap, ".copilot/mcp-config.json", None);
    check(&neap, "copilot", &[(&copilot, None)], || {
        assert_eq!(copilot.json()["mcpServers"]["neap"]["tools"][0], "*");
    });
    let opencode = File::new(&neap, ".config/opencode/opencode.json", Some("{\n  \"theme\": \"x\"\n}"));
    check(&neap, "opencode", &[(&opencode, Some("{\n  \"theme\": \"x\"\n}"))], || {
        assert_eq!(opencode.json()["mcp"]["neap"]["type"], "local");
    });
}

#[test]
fn a_file_that_had_little_in_it_is_left_as_it_was() {
    let all = [
        "",
        "\n",
        "{}",
        "{ }\n",
        "{\"a\": 1,  \"hooks\": { } , \"mcpServers\": {}}",
        "{ \"hooks\": {\"Stop\": []}, \"a\":2 }",
        "{\"hooks\": {\"Stop\": [ ], \"PreCompact\": [{\"hooks\": []}]}}",
        "{\"mcpServers\": {\n}}\n",
    ];
    for text in all {
        let neap = Neap::new();
        let settings = File::new(&neap, ".claude/settings.json", Some(text));
        let servers = File::new(&neap, ".claude.json", Some(text));
        check(&neap, "claude-code", &[(&settings, Some(text)), (&servers, Some(text))], || {});
    }
    for text in ["", "\n", "# mine", "a = 1\n\n"] {
        let neap = Neap::new();
        let config = File::new(&neap, ".codex/config.toml", Some(text));
        check(&neap, "codex", &[(&config, Some(text))], || {});
    }
}

#[test]
fn what_others_wrote_meanwhile_stays() {
    let neap = Neap::new();
    let servers = File::new(&neap, ".claude.json", Some("{\"mcpServers\": {}, \"n\": 1}"));
    neap.ok(&["install", "claude-code", "--yes"]);
    let text = servers.text().expect("a file").replace("\"n\": 1", "\"n\": 2");
    std::fs::write(&servers.0, text).expect("a file");
    neap.ok(&["install", "claude-code", "--uninstall", "--yes"]);
    assert_eq!(servers.text().as_deref(), Some("{\"mcpServers\": {}, \"n\": 2}"));
    assert!(!neap.place().join(".claude/settings.json").exists(), "it was Neap's own");
}

#[test]
fn what_cannot_be_read_is_refused_and_left_alone() {
    for (agent, path, content, words) in [
        ("claude-code", ".claude/settings.json", "{ // mine\n}", "cannot be read as JSON"),
        ("claude-code", ".claude/settings.json", "[1]", "not an object"),
        ("claude-code", ".claude/settings.json", "{\"hooks\": 7}", "another value"),
        ("codex", ".codex/config.toml", "model = ", "cannot be read as TOML"),
        ("codex", ".codex/config.toml", "[mcp_servers.neap]\ncommand = \"x\"\n", "not written by `neap install`"),
        ("codex", ".codex/config.toml", "mcp_servers = { other = { command = \"x\" } }\n", ""),
        ("opencode", ".config/opencode/opencode.jsonc", "{}", "comments"),
    ] {
        let neap = Neap::new();
        let file = File::new(&neap, path, Some(content));
        let ran = neap.run(&["install", agent, "--yes"]);
        assert!(ran.code == 2 && ran.err.contains("hint:") && ran.err.contains(words), "{content}: {ran:?}");
        assert_eq!(file.text().as_deref(), Some(content));
    }
}

#[cfg(unix)]
#[test]
fn who_may_read_a_file_stays_and_a_link_stays_one() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let neap = Neap::new();
    let kept = File::new(&neap, "dotfiles/settings.json", Some("{}"));
    std::fs::set_permissions(&kept.0, std::fs::Permissions::from_mode(0o644)).expect("its mode");
    std::fs::create_dir_all(neap.place().join(".claude")).expect("a folder");
    let link = neap.place().join(".claude/settings.json");
    symlink(&kept.0, &link).expect("a link");
    neap.ok(&["install", "claude-code", "--yes"]);
    assert!(link.is_symlink() && kept.text().expect("a file").contains("hook claude-code"));
    assert_eq!(std::fs::metadata(&kept.0).expect("a file").permissions().mode() & 0o777, 0o644);
}
