//! What a shell command reads or changes, as far as a glance tells. A command that is not understood touches no file:
//! then only the same command again replaces its output.

use serde_json::{Map, Value};

use super::{FileAccess, FileUse, clean_path};
use crate::base::digest::Digest;

const SHELL_WORDS: [&str; 11] =
    ["bash", "shell", "sh", "zsh", "exec", "execute", "terminal", "powershell", "command", "cmd", "run"];
/// Characters by which a command is more than a program with arguments.
const SYNTAX: [char; 13] = ['|', ';', '&', '<', '>', '`', '$', '(', ')', '{', '}', '*', '\n'];

pub(super) struct ShellCommand {
    pub(super) text: String,
    directory: String,
}

impl ShellCommand {
    /// The same for the same command in the same place, whatever its spaces.
    pub(super) fn identity(&self) -> Vec<u8> {
        let words: Vec<&str> = self.text.split_whitespace().collect();
        format!("{}\n{}", self.directory, words.join(" ")).into_bytes()
    }

    /// Whether it means something else in another directory.
    pub(super) fn is_relative(&self) -> bool {
        let begins_with_move = self.moves().next().is_some_and(|(at, target)| at == 0 && is_absolute(target));
        self.directory.is_empty() && !begins_with_move
    }

    /// The directory that it leaves the shell in; a tool that names a directory for each call does not keep it.
    pub(super) fn moves_to(&self) -> Option<String> {
        let last = self.moves().last().filter(|_| self.directory.is_empty());
        last.map(|(_, target)| target.to_owned())
    }

    /// Where it changes the directory, by the number of the command in its line, and where to.
    fn moves(&self) -> impl Iterator<Item = (usize, &str)> {
        let commands = self.text.split([';', '&', '|', '\n', '(', ')']).enumerate();
        commands.filter_map(|(nth, command)| {
            let (program, target) =
                command.trim().split_once(char::is_whitespace).unwrap_or((command.trim(), "~"));
            let is_move = matches!(program, "cd" | "pushd" | "popd");
            is_move.then(|| (nth, target.trim().trim_matches(['"', '\''])))
        })
    }

    fn path(&self, word: &str) -> String {
        let path = clean_path(word.trim_matches(['"', '\'']));
        let is_relative = !is_absolute(&path) && !self.directory.is_empty();
        if is_relative { format!("{}/{path}", self.directory.trim_end_matches('/')) } else { path }
    }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '~'])
}

/// The command of a tool that runs commands; `words` are those of the tool's name.
pub(super) fn shell_command(words: &[String], arguments: &Map<String, Value>) -> Option<ShellCommand> {
    if !words.iter().any(|word| SHELL_WORDS.contains(&word.as_str())) {
        return None;
    }
    let text = match ["command", "cmd", "script"].iter().find_map(|key| arguments.get(*key))? {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let parts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            match parts.as_slice() {
                [shell, option, text] if shell.ends_with("sh") && option.starts_with('-') => (*text).to_owned(),
                parts => parts.join(" "),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let directory = ["workdir", "cwd", "working_directory"].iter().find_map(|key| arguments.get(*key)?.as_str());
    Some(ShellCommand { text, directory: directory.unwrap_or_default().to_owned() })
}

pub(super) fn shell_files(command: &ShellCommand) -> Vec<FileUse> {
    let text = command.text.trim();
    let written = redirected_files(command, text.lines().next().unwrap_or_default());
    if !written.is_empty() || text.contains(SYNTAX) {
        return written;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let [program, rest @ ..] = words.as_slice() else { return Vec::new() };
    let options: Vec<&&str> = rest.iter().filter(|word| word.starts_with('-')).collect();
    let operands: Vec<&&str> = rest.iter().filter(|word| !word.starts_with('-')).collect();
    let part = || FileAccess::ReadPart(Digest::of("part", &[&command.identity()]));
    let (file, access) = match (*program, operands.as_slice()) {
        ("cat" | "nl" | "bat" | "less" | "more" | "type", [file]) => (file, FileAccess::ReadWhole),
        ("sed", [.., file]) if options.iter().any(|option| option.starts_with("-i")) => (file, FileAccess::Edit),
        ("sed", [_, file]) | ("head" | "tail", [.., file]) => (file, part()),
        _ => return Vec::new(),
    };
    vec![FileUse { path: command.path(file), place: None, access }]
}

/// The files that the output of a line goes to.
fn redirected_files(command: &ShellCommand, line: &str) -> Vec<FileUse> {
    let mut words = line.split_whitespace();
    let mut files = Vec::new();
    while let Some(word) = words.next() {
        let Some(target) = word.strip_prefix('>') else { continue };
        let target = target.trim_start_matches('>');
        let target = if target.is_empty() { words.next().unwrap_or_default() } else { target };
        if !target.is_empty() && !target.starts_with(['&', '$']) && target != "/dev/null" {
            files.push(FileUse { path: command.path(target), place: None, access: FileAccess::Edit });
        }
    }
    files
}
