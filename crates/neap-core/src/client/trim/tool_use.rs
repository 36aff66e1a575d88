//! Whether a call reads something that its model needs verbatim: a file that it may edit, a memory, another agent's
//! report, or an original from Neap itself.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::base::message::ToolCall;
use crate::client::tool_use::name_words;

/// Words in the name of a tool that returns what is to be read as it is.
const READING_WORDS: [&str; 16] = [
    "agent", "cat", "edit", "memory", "notebook", "original", "patch", "read", "recall", "remember", "replace",
    "skill", "subagent", "view", "viewer", "write",
];
/// Names that are one such word, but ambiguous within others.
const READING_NAMES: [&str; 4] = ["create", "load", "open", "task"];
/// Words in the name of a tool that returns output, though it "reads" it.
const OUTPUT_WORDS: [&str; 7] = ["console", "log", "logs", "output", "outputs", "process", "terminal"];
const FILE_WORDS: [&str; 4] = ["content", "contents", "fetch", "get"];

/// Members of arguments that hold a command.
const COMMAND_KEYS: [&str; 5] = ["action", "cmd", "command", "commands", "script"];
const SHELLS: [&str; 6] = ["bash", "dash", "fish", "pwsh", "sh", "zsh"];
/// Programs that only run another one.
const WRAPPERS: [&str; 6] = ["env", "exec", "nohup", "stdbuf", "sudo", "time"];
/// Programs that print files.
const READERS: [&str; 13] =
    ["bat", "batcat", "cat", "gc", "get-content", "head", "less", "more", "neap", "nl", "sed", "tail", "xxd"];
const READING_GIT: [&str; 4] = ["blame", "cat-file", "diff", "show"];
/// Ends of the names of files that nobody edits.
const OUTPUT_FILES: [&str; 3] = [".err", ".log", ".out"];
/// Arguments nested deeper hold no command.
const DEPTH_MAX: usize = 3;

pub(super) fn needs_verbatim(call: &ToolCall) -> bool {
    is_reading_name(&call.name) || commands(&call.arguments).iter().any(|command| reads_file(command))
}

fn is_reading_name(name: &str) -> bool {
    let words = name_words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let is_one = words.first().is_some_and(|word| words.len() == 1 && READING_NAMES.contains(&word.as_str()));
    let gets_file = has(&["file"]) && has(&FILE_WORDS);
    is_one || ((has(&READING_WORDS) || gets_file) && !has(&OUTPUT_WORDS))
}

/// The commands in a call's arguments, each as its words or as one text.
fn commands(arguments: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str::<Value>(arguments) {
        collect_commands(&value, false, 0, &mut found);
    }
    found
}

fn collect_commands(value: &Value, is_command: bool, depth: usize, found: &mut Vec<Vec<String>>) {
    match value {
        Value::String(text) if is_command => found.push(shell_words(text)),
        Value::Array(words) if is_command => {
            found.push(words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect());
        }
        Value::Object(members) if depth < DEPTH_MAX => {
            for (key, value) in members {
                collect_commands(value, COMMAND_KEYS.contains(&key.as_str()), depth + 1, found);
            }
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {}
    }
}

/// Splits a command into words and separators. Quotes are removed; what they enclose is one word.
fn shell_words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let end = |word: &mut String, words: &mut Vec<String>| {
        if !word.is_empty() {
            words.push(std::mem::take(word));
        }
    };
    for c in command.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.push(c),
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == '\n' || ";|&".contains(c) => {
                end(&mut word, &mut words);
                words.push(if c == '\n' { ';' } else { c }.to_string());
            }
            None if c == '>' => {
                end(&mut word, &mut words);
                words.push(">".to_owned());
            }
            None if c.is_whitespace() => end(&mut word, &mut words),
            None => word.push(c),
        }
    }
    end(&mut word, &mut words);
    words
}

/// Whether a part of a command prints a file. A file that the same command wrote is output.
fn reads_file(words: &[String]) -> bool {
    if let Some(script) = shell_script(words) {
        return reads_file(&shell_words(script));
    }
    let after_sign = |pair: &[String]| (pair[0] == ">" || pair[0] == "tee").then(|| pair[1].clone());
    let written: BTreeSet<String> = words.windows(2).filter_map(after_sign).collect();
    // Only the first program of a pipe reads a file.
    let pipes = words.split(|word| word == ";" || word == "&");
    pipes.filter_map(|pipe| pipe.split(|word| word == "|").next()).any(|program| prints_file(program, &written))
}

/// The script in `bash -lc SCRIPT`.
fn shell_script(words: &[String]) -> Option<&str> {
    let [shell, option, script, ..] = words else { return None };
    let is_shell = SHELLS.contains(&program_name(shell).as_str());
    (is_shell && option.starts_with('-') && option.ends_with('c')).then_some(script.as_str())
}

fn prints_file(words: &[String], written: &BTreeSet<String>) -> bool {
    let is_setting = |word: &str| word.contains('=') && !word.starts_with('-');
    let is_prefix = |word: &&String| is_setting(word) || WRAPPERS.contains(&program_name(word).as_str());
    let rest: Vec<&String> = words.iter().skip_while(is_prefix).collect();
    let Some((program, arguments)) = rest.split_first() else { return false };
    let name = program_name(program);
    if name == "git" {
        let command = arguments.iter().find(|word| !word.starts_with('-'));
        return command.is_some_and(|command| READING_GIT.contains(&command.as_str()));
    }
    let files: Vec<&&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let is_output =
        |file: &&&String| written.contains(**file) || OUTPUT_FILES.iter().any(|end| file.ends_with(end));
    READERS.contains(&name.as_str()) && (files.is_empty() || !files.iter().any(is_output))
}

fn program_name(word: &str) -> String {
    word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall { id: "c".to_owned(), name: name.to_owned(), arguments: arguments.to_string() }
    }

    #[test]
    fn what_is_read_to_be_edited_stays_verbatim() {
        let names = [
            "Read", "read_file", "readFile", "view", "View", "cat", "open", "str_replace_based_edit_tool",
            "apply_patch", "mcp__fs__read_text_file", "get_file_contents", "mcp__neap__fetch_original", "Task",
            "spawn_agent", "memory",
        ];
        for name in names {
            assert!(needs_verbatim(&call(name, json!({}))), "{name}");
        }
        for name in [
            "run", "Bash", "Grep", "Glob", "list_files", "search_files", "TaskOutput", "read_logs",
            "list_open_issues",
        ] {
            assert!(!needs_verbatim(&call(name, json!({"command": "cargo test"}))), "{name}");
        }
    }

    #[test]
    fn commands_that_print_files_are_recognised() {
        let reading = [
            "cat src/main.rs",
            "cd app && sed -n '1,200p' src/main.rs",
            "nl -ba src/lib.rs | sed -n '10,80p'",
            "LC_ALL=C sudo /bin/cat a.rs",
            "git diff HEAD~1",
            "git --no-pager show HEAD:src/a.rs",
            "neap session original desk r5c09e1a7b2f4",
            "bash -lc \"head -50 'my file.py'\"",
            "ls; cat Cargo.toml",
        ];
        for command in reading {
            assert!(needs_verbatim(&call("Bash", json!({"command": command}))), "{command}");
        }
        let running = [
            "cargo test 2>&1 | tail -100",
            "cargo test > out.txt 2>&1; cat out.txt",
            "cargo test | tee all.txt && cat all.txt",
            "tail -n 500 server.log",
            "ls -R",
            "grep -rn 'cat foo' src",
            "git log --stat",
            "echo concatenate",
        ];
        for command in running {
            assert!(!needs_verbatim(&call("Bash", json!({"command": command}))), "{command}");
        }
        let listed = json!({"command": ["bash", "-lc", "sed -n 1,9p a.rs"]});
        assert!(needs_verbatim(&call("shell", listed)));
        let nested = json!({"action": {"type": "exec", "command": ["cat", "a.rs"]}});
        assert!(needs_verbatim(&call("local_shell_call", nested)));
        assert!(!needs_verbatim(&call("shell", json!({"command": ["bash", "-lc", "make | cat"]}))));
    }
}
