//! The real binary, over a data directory of its own.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use neap_core::base::ids::Seq;
use neap_sqlite::SqliteStore;
use neap_store::{EventStore, Maintenance, StoredEvent};
use serde_json::Value;
use tempfile::TempDir;

/// Variables of whoever runs the tests that would change what is tested.
const FORCED: [&str; 42] = [
    "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "NEAP_KEY",
    "NEAP_KEY_FILE", "NEAP_STORE", "NEAP_AGENT", "NEAP_EMBEDDER", "NEAP_EMBEDDER_MODEL", "NEAP_EMBEDDER_KEY",
    "NEAP_MODEL", "NEAP_SUMMARY_MODEL", "NEAP_LISTEN", "NEAP_UPSTREAM", "NEAP_BUDGET", "NEAP_MCP_TOKEN",
    "NEAP_HOOK_LIMIT_MS", "NEAP_MCP_TOKEN_FILE", "NEAP_CALLERS", "NEAP_SESSION", "NEAP_BASE_URL", "NEAP_API",
    "NEAP_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL", // Those that would lead to a person's own files.
    "XDG_CONFIG_HOME", "FLATPAK_XDG_CONFIG_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "CLINE_MCP_SETTINGS_PATH",
    "CLINE_DATA_DIR", "CLINE_DIR", "HERMES_HOME", "OPENCLAW_CONFIG_PATH", "OPENCLAW_STATE_DIR", "NEAP_PROJECT",
];

/// What a run left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A place where the binary is run. The data directory is one level down, so that what leaves it can be seen.
pub(crate) struct Neap {
    place: TempDir,
    variables: Vec<(&'static str, &'static str)>,
}

impl Neap {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// With variables in its environment.
    pub(crate) fn with(variables: &[(&'static str, &'static str)]) -> Self {
        Self { place: tempfile::tempdir().expect("a temporary directory"), variables: variables.to_vec() }
    }

    pub(crate) fn place(&self) -> &Path {
        self.place.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.place().join("data")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.data().join("neap.db")
    }

    pub(crate) fn folder(&self, session: &str) -> PathBuf {
        self.data().join("sessions").join(session)
    }

    /// Puts a file beside the data directory.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.place().join(name);
        std::fs::write(&path, content).expect("a file can be written");
        path.to_str().expect("a plain path").to_owned()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_neap"));
        command.current_dir(self.place()).env("NEAP_DATA_DIR", self.data()).env("TERM", "xterm-256color");
        command.env("HOME", self.place());
        for forced in FORCED {
            command.env_remove(forced);
        }
        command.envs(self.variables.iter().copied());
        command.args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.fed(args, "")
    }

    /// Runs it with something on its standard input.
    pub(crate) fn fed(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.as_ref().to_owned();
        // It may end without reading everything.
        let feeding = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().expect("it ends");
        let _ = feeding.join().expect("feeding does not panic");
        let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
        Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs it, expects success, and gives what it printed.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}: {}", ran.out);
        ran.out
    }

    /// The same with `--json`, parsed.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let out = self.ok(&[args, &["--json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
    }

    /// Says lines in a chat that is a pipe.
    #[track_caller]
    pub(crate) fn chat(&self, lines: &[&str]) -> String {
        let ran = self.fed(&["chat"], lines.join("\n"));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
        ran.out
    }

    /// Replays turns and gives an object for each.
    #[track_caller]
    pub(crate) fn replay(&self, args: &[&str], turns: &[Value]) -> Vec<Value> {
        let ran = self.fed(&[&["lab", "replay", "--json", "-"], args].concat(), lines(turns));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
        objects(&ran.out)
    }

    /// The events of a session.
    #[track_caller]
    pub(crate) fn events(&self, session: &str) -> Vec<Value> {
        objects(&self.ok(&["session", "export", session]))
    }
}

/// Every event of every session in a store, in order.
pub(crate) fn all_events(database: &Path) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = SqliteStore::open(database).expect("it opens");
        let mut events = Vec::new();
        for info in store.sessions().await.expect("sessions") {
            for stored in store.events(&info.session, Seq(1), usize::MAX).await.expect("events") {
                let StoredEvent::Whole(recorded) = stored else { panic!("{stored:?}") };
                events.push(serde_json::to_value(&recorded.event).expect("JSON"));
            }
        }
        events
    })
}

/// The words of every message in a store.
pub(crate) fn all_said(database: &Path) -> Vec<String> {
    let events = all_events(database);
    let said = |event: &Value| {
        let message =
            [&event["message"], &event["reply"]].into_iter().find_map(|message| message["content"].as_str());
        message.map(str::to_owned)
    };
    events.iter().filter_map(said).collect()
}

/// JSON values, one a line.
pub(crate) fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// The objects of a text that has one on each line.
#[track_caller]
pub(crate) fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// Every file under a directory, by its path from there; directories and sockets have no content.
pub(crate) fn tree(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).expect("below the root").to_owned();
            if path.is_dir() && !path.is_symlink() {
                found.insert(name, None);
                open.push(path);
            } else {
                // A socket has nothing to be read.
                found.insert(name, path.is_file().then(|| std::fs::read(&path).expect("a readable file")));
            }
        }
    }
    found
}

/// When agents call `neap hook`.
pub(crate) const MOMENTS: [&str; 8] = [
    "SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "PostCompact", "Stop", "SubagentStop",
    "SessionEnd",
];

/// Files under a directory that have these bytes in them.
pub(crate) fn holding(root: &Path, canary: &str) -> Vec<PathBuf> {
    let has = |bytes: &Vec<u8>| bytes.windows(canary.len()).any(|window| window == canary.as_bytes());
    tree(root).into_iter().filter(|(_, content)| content.as_ref().is_some_and(has)).map(|(path, _)| path).collect()
}
