//! What a tool call reads, changes or asks. No client declares it: it is read from the tool's name and arguments.

mod shell;

use serde_json::{Map, Value};

use crate::base::digest::Digest;
use crate::base::message::ToolCall;
use crate::client::canonical::sort_keys;
use shell::{shell_command, shell_files};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::client) struct ToolUse {
    pub(in crate::client) files: Vec<FileUse>,
    /// Stands for the tool and its arguments: the answer to a later call with the same one replaces an earlier answer.
    /// None if each call asks for something new.
    pub(in crate::client) question: Option<Digest>,
    /// Whether it runs a shell command.
    pub(in crate::client) is_command: bool,
    /// Whether it means what it says only in the shell's current directory.
    pub(in crate::client) is_relative: bool,
    /// The directory that the shell is in afterwards, if it changes.
    pub(in crate::client) moves_to: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::client) struct FileUse {
    pub(in crate::client) path: String,
    /// Where the path is valid, if a server or an argument such as a repository says so.
    pub(in crate::client) place: Option<Digest>,
    pub(in crate::client) access: FileAccess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::client) enum FileAccess {
    ReadWhole,
    /// The digest stands for the part that is read.
    ReadPart(Digest),
    /// The call's arguments are the whole file.
    Write,
    Edit,
}

const PATH_KEYS: [&str; 9] = [
    "file_path", "filePath", "path", "notebook_path", "target_file", "filename", "file", "absolute_path",
    "relative_path",
];
/// Arguments that select a part of a file.
const PART_KEYS: [&str; 12] = [
    "offset", "limit", "view_range", "start_line", "end_line", "start", "end", "lines", "line", "range", "pages",
    "cell_id",
];
/// Arguments that say where a path is valid.
const PLACE_KEYS: [&str; 20] = [
    "owner", "repo", "repository", "ref", "branch", "sha", "commit", "revision", "tag", "project", "project_id",
    "host", "server", "machine", "workspace", "container", "bucket", "drive", "namespace", "organization",
];
/// Arguments that continue something: each answer is new.
const CONTINUATION_KEYS: [&str; 14] = [
    "bash_id", "shell_id", "shellId", "task_id", "taskId", "session_id", "sessionId", "process_id", "pid",
    "job_id", "terminal_id", "cursor", "page_token", "chars",
];
const CONTINUATION_WORDS: [&str; 6] = ["output", "poll", "wait", "stdin", "next", "continue"];
/// Words in the names of tools, in the order in which they decide: `edit` before `write` before `read`.
const EDIT_WORDS: [&str; 9] =
    ["edit", "replace", "patch", "insert", "diff", "update", "modify", "append", "delete"];
const WRITE_WORDS: [&str; 4] = ["write", "create", "save", "overwrite"];
const READ_WORDS: [&str; 4] = ["read", "view", "cat", "open"];
const PATCH_BEGIN: &str = "*** Begin Patch";

impl ToolUse {
    pub(in crate::client) fn of(call: &ToolCall) -> Self {
        let value = serde_json::from_str::<Value>(&call.arguments).ok();
        let words = name_words(&call.name);
        let Some(Value::Object(arguments)) = &value else {
            return Self::new(patched_files(&call.arguments), Some(question(call, &call.arguments)));
        };
        if let Some(command) = shell_command(&words, arguments) {
            let patched = patched_files(&command.text);
            let files = if patched.is_empty() { shell_files(&command) } else { patched };
            let question = Digest::of("command", &[&command.identity()]);
            let (is_relative, moves_to) = (command.is_relative(), command.moves_to());
            return Self { is_command: true, is_relative, moves_to, ..Self::new(files, Some(question)) };
        }
        let patch = arguments.values().filter_map(Value::as_str).find(|text| text.contains(PATCH_BEGIN));
        let files = match patch {
            Some(patch) => patched_files(patch),
            None => file_use(&call.name, &words, arguments).into_iter().collect(),
        };
        let continues = words.iter().any(|word| CONTINUATION_WORDS.contains(&word.as_str()))
            || CONTINUATION_KEYS.iter().any(|key| arguments.contains_key(*key));
        let asked =
            || question(call, &value.as_ref().map(|value| sort_keys(value).to_string()).unwrap_or_default());
        Self::new(files, (!continues).then(asked))
    }

    fn new(files: Vec<FileUse>, question: Option<Digest>) -> Self {
        Self { files, question, is_command: false, is_relative: false, moves_to: None }
    }

    /// Whether it replaces a whole file with what is in its arguments.
    pub(in crate::client) fn writes_whole_file(&self) -> bool {
        matches!(self.files.as_slice(), [FileUse { access: FileAccess::Write, .. }])
    }
}

fn question(call: &ToolCall, arguments: &str) -> Digest {
    Digest::of("tool use", &[call.name.as_bytes(), arguments.as_bytes()])
}

fn file_use(name: &str, words: &[String], arguments: &Map<String, Value>) -> Option<FileUse> {
    let path = PATH_KEYS.iter().find_map(|key| arguments.get(*key).and_then(Value::as_str))?;
    // One tool for several purposes names the purpose in an argument.
    let verb = arguments.get("command").and_then(Value::as_str).map(name_words);
    let verb = verb.as_deref().unwrap_or(words);
    let has = |list: &[&str]| verb.iter().any(|word| list.contains(&word.as_str()));
    let access = match () {
        () if has(&EDIT_WORDS) => FileAccess::Edit,
        () if has(&WRITE_WORDS) => FileAccess::Write,
        () if has(&READ_WORDS) || (has(&["get"]) && has(&["file", "contents"])) => read_access(arguments),
        () => return None,
    };
    Some(FileUse { path: clean_path(path), place: place_of(name, arguments), access })
}

fn place_of(name: &str, arguments: &Map<String, Value>) -> Option<Digest> {
    let server = name.rsplit_once("__").map(|(server, _)| server.to_owned());
    let named = PLACE_KEYS.iter().filter_map(|key| arguments.get(*key).map(|value| format!("{key} {value}")));
    let parts: Vec<String> = server.into_iter().chain(named).collect();
    (!parts.is_empty()).then(|| Digest::of("place", &[parts.join("\n").as_bytes()]))
}

fn read_access(arguments: &Map<String, Value>) -> FileAccess {
    let part: Vec<String> = PART_KEYS
        .iter()
        .filter_map(|key| {
            arguments.get(*key).filter(|value| !value.is_null()).map(|value| format!("{key} {value}"))
        })
        .collect();
    if part.is_empty() {
        return FileAccess::ReadWhole;
    }
    FileAccess::ReadPart(Digest::of("part", &[part.join("\n").as_bytes()]))
}

pub(in crate::client) fn clean_path(path: &str) -> String {
    path.trim().trim_start_matches("./").to_owned()
}

/// The files that a patch changes, in the format that Codex and others write.
fn patched_files(text: &str) -> Vec<FileUse> {
    if !text.contains(PATCH_BEGIN) {
        return Vec::new();
    }
    let changed = |line: &str| {
        ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "]
            .iter()
            .find_map(|mark| line.strip_prefix(mark).map(clean_path))
    };
    let edit = |path| FileUse { path, place: None, access: FileAccess::Edit };
    text.lines().filter_map(changed).map(edit).collect()
}

/// The words of a tool's own name, in lower case, without the server that offers it: `readFile`, `read_file` and
/// `mcp__files__read-file` have the same.
pub(in crate::client) fn name_words(name: &str) -> Vec<String> {
    let own = name.rsplit("__").next().unwrap_or(name);
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for c in own.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(name: &str, arguments: &str) -> Vec<(String, &'static str)> {
        let call = ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() };
        let access = |access: FileAccess| match access {
            FileAccess::ReadWhole => "read",
            FileAccess::ReadPart(_) => "part",
            FileAccess::Write => "write",
            FileAccess::Edit => "edit",
        };
        ToolUse::of(&call).files.into_iter().map(|file| (file.path, access(file.access))).collect()
    }

    /// Tools of Claude Code, Codex, opencode, Copilot CLI, Anthropic's text editor and MCP's file server.
    #[test]
    fn what_tools_do_with_files_is_read_from_their_calls() {
        let table = [
            ("Read", r#"{"file_path": "/r/a.rs"}"#, "/r/a.rs", "read"),
            ("Read", r#"{"file_path": "/r/a.rs", "offset": 10, "limit": 5}"#, "/r/a.rs", "part"),
            ("Read", r#"{"file_path": "/r/a.rs", "offset": null}"#, "/r/a.rs", "read"),
            ("read", r#"{"filePath": "a.rs"}"#, "a.rs", "read"),
            ("Write", r#"{"file_path": "a.rs", "content": "x"}"#, "a.rs", "write"),
            ("MultiEdit", r#"{"file_path": "a.rs", "edits": []}"#, "a.rs", "edit"),
            ("NotebookEdit", r#"{"notebook_path": "a.ipynb", "new_source": ""}"#, "a.ipynb", "edit"),
            ("str_replace_based_edit_tool", r#"{"command": "view", "path": "./a.rs"}"#, "a.rs", "read"),
            ("str_replace_based_edit_tool", r#"{"command": "create", "path": "a.rs"}"#, "a.rs", "write"),
            ("str_replace_based_edit_tool", r#"{"command": "str_replace", "path": "a.rs"}"#, "a.rs", "edit"),
            ("mcp__edit__read_file", r#"{"path": "a.rs"}"#, "a.rs", "read"),
            ("mcp__github__get_file_contents", r#"{"path": "a.rs"}"#, "a.rs", "read"),
            (
                "apply_patch",
                "*** Begin Patch\n*** Update File: src/a.rs\n-x\n+y\n*** End Patch",
                "src/a.rs",
                "edit",
            ),
            (
                "apply_patch",
                r#"{"input": "*** Begin Patch\n*** Add File: b.rs\n+y\n*** End Patch"}"#,
                "b.rs",
                "edit",
            ),
            ("Bash", r#"{"command": "cat src/a.rs", "description": "look"}"#, "src/a.rs", "read"),
            ("exec_command", r#"{"cmd": "sed -n '1,50p' src/a.rs"}"#, "src/a.rs", "part"),
            ("exec_command", r#"{"cmd": "cat a.rs", "workdir": "/r"}"#, "/r/a.rs", "read"),
            ("shell", r#"{"command": ["bash", "-lc", "sed -i s/a/b/ a.rs"]}"#, "a.rs", "edit"),
            ("bash", r#"{"command": "cat > a.rs <<'EOF'\nfn main() { 1 > 2 }\nEOF"}"#, "a.rs", "edit"),
        ];
        for (name, arguments, path, access) in table {
            assert_eq!(used(name, arguments), [(path.to_owned(), access)], "{name} {arguments}");
        }
    }

    #[test]
    fn other_calls_touch_no_file() {
        for (name, arguments) in [
            ("Grep", r#"{"pattern": "x", "path": "src"}"#),
            ("list_dir", r#"{"path": "src"}"#),
            ("Bash", r#"{"command": "cargo test | tail -n 20"}"#),
            ("Bash", r#"{"command": "cat a.rs b.rs"}"#),
            ("Bash", r#"{"command": "cat $(ls)"}"#),
            ("Bash", r#"{"command": "make 2>/dev/null"}"#),
            ("TodoWrite", r#"{"todos": []}"#),
            ("run", "not JSON"),
        ] {
            assert_eq!(used(name, arguments), [], "{name} {arguments}");
        }
    }

    #[test]
    fn a_path_is_another_file_at_another_place() {
        let place = |name: &str, arguments: &str| {
            ToolUse::of(&ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() }).files[0]
                .place
        };
        let read =
            |repo: &str| place("mcp__github__get_file_contents", &format!(r#"{{"repo": "{repo}", "path": "a"}}"#));
        assert_eq!(read("one"), read("one"));
        assert_ne!(read("one"), read("two"));
        assert_ne!(place("mcp__a__read_file", r#"{"path": "a"}"#), place("mcp__b__read_file", r#"{"path": "a"}"#));
        assert_eq!(
            place("Read", r#"{"file_path": "a"}"#),
            place("Edit", r#"{"file_path": "a", "old_string": "x"}"#)
        );
    }

    #[test]
    fn what_continues_asks_nothing_twice() {
        let used = |name: &str, arguments: &str| {
            ToolUse::of(&ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() })
        };
        for (name, arguments) in [
            ("BashOutput", r#"{"bash_id": "b1"}"#),
            ("TaskOutput", r#"{"task": "t"}"#),
            ("write_stdin", r#"{"session_id": 7, "chars": ""}"#),
            ("read_logs", r#"{"cursor": "x"}"#),
        ] {
            assert_eq!(used(name, arguments).question, None, "{name}");
        }
        assert!(used("Grep", r#"{"pattern": "x"}"#).question.is_some());
    }

    #[test]
    fn a_shell_command_tells_where_it_runs_and_where_it_ends() {
        let command = |text: &str| {
            let arguments = serde_json::json!({"command": text}).to_string();
            let used = ToolUse::of(&ToolCall { id: "c".into(), name: "Bash".into(), arguments });
            (used.is_relative, used.moves_to)
        };
        assert_eq!(command("cargo test"), (true, None));
        assert_eq!(command("cd src && cargo test"), (true, Some("src".to_owned())));
        assert_eq!(command("cd /r/src && cargo test"), (false, Some("/r/src".to_owned())));
        assert_eq!(command("make; cd \"../a\""), (true, Some("../a".to_owned())));
        assert_eq!(command("echo cd"), (true, None));
    }

    #[test]
    fn a_command_is_the_same_whatever_is_said_about_it() {
        let question = |name: &str, arguments: &str| {
            ToolUse::of(&ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() }).question
        };
        let one = question("Bash", r#"{"command": "cargo test", "description": "Run tests"}"#);
        assert_eq!(one, question("Bash", r#"{"description": "Run tests again", "command": "cargo  test "}"#));
        assert_ne!(one, question("Bash", r#"{"command": "cargo test", "cwd": "/other"}"#));
        assert_ne!(one, question("Bash", r#"{"command": "cargo test x"}"#));
        let grep = question("Grep", r#"{"pattern": "a", "path": "b"}"#);
        assert_eq!(grep, question("Grep", r#"{"path": "b", "pattern": "a"}"#));
        assert_ne!(grep, question("Glob", r#"{"path": "b", "pattern": "a"}"#));
    }
}
