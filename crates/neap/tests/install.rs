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

/// The arguments that start the server; before them are those that lead to the data.
fn args(value: &Value) -> Vec<&str> {
    let all: Vec<&str> = value.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    all.into_iter().skip_while(|arg| *arg != "mcp").collect()
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
            assert_eq!(args(&servers.json()["mcpServers"]["neap"]["args"]), ["mcp", "--for", "claude-code"]);
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
        ("opencode", ".config/opencode/opencode.jsonc", "{ // mine\n", "not closed (line 2)"),
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": []}", "another value"),
        ("gemini", ".gemini/settings.json", "{\"a\": 1, // mine\n}", "a comma has nothing after it (line 2)"),
        ("zed", ".config/zed/settings.json", "{\"context_servers\" {}}", "a colon is missing (line 1)"),
        (
            "cline",
            ".cline/data/settings/cline_mcp_settings.json",
            "{\"mcpServers\": {},}",
            "cannot be read as JSON",
        ),
        ("hermes", ".hermes/config.yaml", "a: [1\n", "cannot be read as YAML"),
        ("hermes", ".hermes/config.yaml", "mcp_servers: {a: {command: x}}\n", "in a form that Neap does not edit"),
        ("openclaw", ".openclaw/openclaw.json", "{mcp: {servers: 'none'}}", "another value"),
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

/// Where each agent's servers are, by what key, and a file as its user may have it.
const OTHERS: [(&str, &str, &str, &str); 9] = [
    ("cursor", ".cursor/mcp.json", "/mcpServers/neap", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}"),
    (
        "gemini",
        ".gemini/settings.json",
        "/mcpServers/neap",
        "{\n  // dark\n  \"ui\": {\"theme\": \"x\"} // mine\n}\n",
    ),
    ("cline", ".cline/data/settings/cline_mcp_settings.json", "/mcpServers/neap", "{\n  \"mcpServers\": {}\n}"),
    (
        "roo",
        ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        "/mcpServers/neap",
        "{\r\n\t\"mcpServers\": {\r\n\t}\r\n}",
    ),
    ("windsurf", ".codeium/windsurf/mcp_config.json", "/mcpServers/neap", "{}"),
    (
        "zed",
        ".config/zed/settings.json",
        "/context_servers/neap",
        "// Zed settings\n//\n{\n  \"vim_mode\": true,\n}\n",
    ),
    ("vscode", ".config/Code/User/mcp.json", "/servers/neap", "{\n\t\"servers\": {},\n\t\"inputs\": []\n}"),
    (
        "hermes",
        ".hermes/config.yaml",
        "/mcp_servers/neap",
        "model: x # mine\n\nmcp_servers:\n  a:\n    command: x\n",
    ),
    ("openclaw", ".openclaw/openclaw.json", "/mcp/servers/neap", "{\n  // mine\n  gateway: { port: 1 },\n}\n"),
];

#[test]
fn every_other_agent_gets_the_server_where_it_looks_for_it() {
    for (agent, path, place, text) in OTHERS {
        for before in [None, Some(text)] {
            let neap = Neap::new();
            let file = File::new(&neap, path, before);
            check(&neap, agent, &[(&file, before)], || {
                let text = file.text().expect("a file");
                assert!(text.contains("\"--for\"") && text.contains(agent), "{text}");
                if before.is_none() && !path.ends_with("yaml") {
                    let entry = file.json().pointer(place).cloned().unwrap_or_else(|| panic!("{place}: {text}"));
                    assert_eq!(args(&entry["args"]), ["mcp", "--for", agent]);
                }
            });
        }
    }
}

/// Makes the folder of each agent, and the file of some.
fn everybody() -> (Neap, Vec<(File, Option<String>)>) {
    let neap = Neap::new();
    let files = OTHERS.map(|(agent, path, _, text)| {
        let text = (agent != "windsurf").then(|| text.to_owned());
        (File::new(&neap, path, text.as_deref()), text)
    });
    let settings = File::new(&neap, ".claude/settings.json", Some(SETTINGS));
    let files = files.into_iter().chain([(settings, Some(SETTINGS.to_owned()))]).collect();
    (neap, files)
}

#[test]
fn all_agents_that_are_found_are_connected_and_taken_back_at_once() {
    let (neap, files) = everybody();
    let unchanged = || files.iter().all(|(file, before)| file.text() == *before);
    assert!(neap.ok(&["install", "--all", "--print"]).contains("nothing was changed") && unchanged());
    let asked = neap.run(&["install", "--all"]);
    assert!(asked.code == 2 && asked.err.contains("--yes") && asked.out.contains("+ "), "{asked:?}");
    assert!(unchanged());
    let told = neap.ok(&["install", "--all", "--yes"]);
    assert!(told.contains("installed into Claude Code, Cursor, Gemini CLI, Cline, Roo Code, Windsurf, Zed, VS Code, Hermes, OpenClaw"), "{told}");
    assert!(told.contains("Cursor: restart Cursor") && !told.contains("Codex"), "{told}");
    assert!(files.iter().all(|(file, before)| file.text() != *before));
    let again = neap.ok(&["install", "--all", "--yes"]);
    assert!(again.contains("already installed: Claude Code, Cursor") && !again.contains("+ "), "{again}");
    let removed = neap.json(&["install", "--all", "--uninstall", "--yes"]);
    assert_eq!((&removed["applied"], removed["agents"].as_array().map(Vec::len)), (&true.into(), Some(10)));
    for (file, before) in &files {
        assert_eq!(file.text(), *before, "{}", file.0.display());
    }
    assert!(neap.ok(&["install", "--all", "--uninstall", "--yes"]).contains("nothing to remove"));
}

#[test]
fn one_agents_unreadable_file_does_not_stop_the_others() {
    let (neap, _) = everybody();
    let cursor = File::new(&neap, ".cursor/mcp.json", Some("{ oh"));
    let ran = neap.run(&["install", "--all", "--yes"]);
    assert!(ran.code == 2 && ran.out.contains("Cursor: ") && ran.out.contains("hint:"), "{ran:?}");
    assert!(ran.out.contains("installed into Claude Code, Gemini CLI"), "{ran:?}");
    assert_eq!(cursor.text().as_deref(), Some("{ oh"));
}

#[test]
fn where_there_is_no_agent_nothing_is_made() {
    let neap = Neap::new();
    assert!(neap.ok(&["install", "--all", "--yes"]).contains("no agent was found"));
    assert_eq!(std::fs::read_dir(neap.place()).expect("a folder").count(), 0);
    for wrong in [&["install", "--yes"][..], &["install", "--all", "cursor"], &["install", "--list", "--all"]] {
        assert_eq!(neap.run(wrong).code, 2, "{wrong:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_read_only_file_and_a_link_to_nothing_are_refused() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let neap = Neap::new();
    let file = File::new(&neap, ".cursor/mcp.json", Some("{}"));
    std::fs::set_permissions(&file.0, std::fs::Permissions::from_mode(0o444)).expect("its mode");
    let ran = neap.run(&["install", "cursor", "--yes"]);
    assert!(ran.code == 2 && ran.err.contains("is read-only") && ran.err.contains("hint:"), "{ran:?}");
    assert_eq!(file.text().as_deref(), Some("{}"));
    let link = File::new(&neap, ".gemini/settings.json", None).0;
    symlink(neap.place().join("gone"), &link).expect("a link");
    let ran = neap.run(&["install", "gemini", "--yes"]);
    assert!(ran.code == 2 && ran.err.contains("a link to nothing"), "{ran:?}");
    assert!(link.is_symlink() && !neap.place().join("gone").exists());
}

fn status(neap: &Neap, agent: &str) -> Value {
    let all = neap.json(&["install"]);
    let found = all.as_array().expect("a list").iter().find(|one| one["agent"] == agent);
    found.expect("every agent is listed").clone()
}

#[test]
fn the_list_says_who_is_found_connected_and_heard() {
    let neap = Neap::new();
    assert!(neap.ok(&["install", "--list"]).contains("OpenClaw"));
    let before = status(&neap, "gemini");
    assert_eq!(
        (&before["found"], &before["connected"], &before["heard"]),
        (&false.into(), &"no".into(), &Value::Null)
    );
    File::new(&neap, ".gemini/settings.json", Some("{}"));
    neap.ok(&["install", "gemini", "--yes"]);
    let after = status(&neap, "gemini");
    assert_eq!(
        (&after["found"], &after["connected"], &after["heard"]),
        (&true.into(), &"yes".into(), &Value::Null)
    );
    assert_eq!((&after["program"], &after["problem"]), (&env!("CARGO_BIN_EXE_neap").into(), &Value::Null));
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let talk = format!("{initialize}\n{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}\n{list}\n");
    assert!(neap.fed(&["mcp", "--for", "gemini"], talk).out.contains("get_context"));
    let heard = status(&neap, "gemini")["heard"].as_i64().expect("a time");
    assert!(heard > 1_700_000_000_000);
    assert!(neap.ok(&["install"]).contains("Gemini CLI"));
}

#[test]
fn a_hook_is_heard_too() {
    let neap = Neap::new();
    let event = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"hello","cwd":"/tmp"}"#;
    assert_eq!(neap.fed(&["hook", "claude-code"], event).code, 0);
    assert!(status(&neap, "claude-code")["heard"].is_i64());
    assert!(status(&neap, "codex")["heard"].is_null());
}

#[test]
fn doctor_names_each_agent_and_a_program_that_is_gone() {
    let neap = Neap::new();
    neap.replay(&["--session", "work"], &[serde_json::json!({"user": "Hello."})]);
    File::new(&neap, ".claude/settings.json", Some("{}"));
    let servers = File::new(&neap, ".cursor/mcp.json", Some("{}"));
    neap.ok(&["install", "cursor", "--yes"]);
    let told = neap.ok(&["store", "doctor"]);
    assert!(told.contains("Claude Code: not connected: `neap install claude-code` connects it"), "{told}");
    assert!(told.contains(&format!("Cursor: connected to {}, never heard", env!("CARGO_BIN_EXE_neap"))), "{told}");
    assert!(!told.contains("Zed"), "{told}");
    let moved = servers.text().expect("a file").replace(env!("CARGO_BIN_EXE_neap"), "/gone/neap");
    std::fs::write(&servers.0, moved).expect("a file");
    let ran = neap.run(&["doctor"]);
    assert!(
        ran.code == 0
            && ran.out.contains(
                "Cursor: its files name /gone/neap, which is not there; run `neap install cursor` again"
            ),
        "{ran:?}"
    );
    assert_eq!(status(&neap, "cursor")["connected"], "broken");
    neap.ok(&["install", "cursor", "--yes"]);
    assert!(!neap.ok(&["store", "doctor"]).contains("/gone/neap"));
}

/// Runs the program on a terminal and answers its questions; nothing where there is no python3.
#[cfg(unix)]
fn answered(neap: &Neap, answers: &str, args: &[&str]) -> Option<String> {
    use std::process::Command;
    let works = Command::new("python3").args(["-c", "import pty"]).output().is_ok_and(|ran| ran.status.success());
    if !works {
        crate::disk::skip("the questions of `neap install`", "python3 with its pty module is not here");
        return None;
    }
    let program = neap.command(args);
    let mut command = Command::new("python3");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/install_asked.py")).arg(answers);
    command.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.env("NO_COLOR", "1").env("COLUMNS", "200").output().expect("python3 runs");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(unix)]
#[test]
fn all_are_asked_about_once_or_one_by_one() {
    let neap = Neap::new();
    let [cursor, gemini, windsurf] =
        [".cursor/mcp.json", ".gemini/settings.json", ".codeium/windsurf/mcp_config.json"]
            .map(|path| File::new(&neap, path, None));
    let are_there = || [&cursor, &gemini, &windsurf].map(|file| file.text().is_some());
    let Some(told) = answered(&neap, "no", &["install", "--all"]) else { return };
    assert!(told.contains("nothing was changed") && are_there() == [false; 3], "{told}");
    let told = answered(&neap, "o,y,n,y", &["install", "--all"]).expect("python3");
    assert!(told.contains("installed into Cursor, Windsurf;") && are_there() == [true, false, true], "{told}");
    let told = answered(&neap, "y", &["install", "--all"]).expect("python3");
    assert!(told.contains("installed into Gemini CLI;") && are_there() == [true; 3], "{told}");
    let told = answered(&neap, "y", &["install", "--all", "--uninstall"]).expect("python3");
    assert!(told.contains("removed from Cursor, Gemini CLI, Windsurf;") && are_there() == [false; 3], "{told}");
}
