//! The command by which an agent starts Neap.

use std::path::PathBuf;

use serde_json::Value;

pub(super) struct NeapCommand {
    pub(super) program: PathBuf,
    /// Global options before the command, such as the data directory.
    pub(super) options: Vec<String>,
}

impl NeapCommand {
    pub(super) fn program(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    pub(super) fn args(&self, command: &[&str]) -> Vec<String> {
        self.options.iter().cloned().chain(command.iter().map(|&word| word.to_owned())).collect()
    }

    pub(super) fn shell_line(&self, command: &[&str]) -> String {
        let words = std::iter::once(self.program()).chain(self.args(command));
        words.map(|word| shell_quoted(&word)).collect::<Vec<_>>().join(" ")
    }
}

fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The members of a server's entry, the command before its arguments.
pub(super) fn in_order(server: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let members = || server.as_object().into_iter().flatten();
    members().filter(|(key, _)| *key != "args").chain(members().filter(|(key, _)| *key == "args"))
}

/// The first word of a shell line, without its quotes.
pub(super) fn first_word(line: &str) -> String {
    let mut word = String::new();
    let mut is_quoted = false;
    let mut chars = line.trim_start().chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => word.extend(chars.next()),
            c if c.is_whitespace() && !is_quoted => break,
            c => word.push(c),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_shell_line_is_found_again() {
        for program in ["/usr/bin/neap", "/my programs/neap", "/o'brien/neap", "neap"] {
            let command =
                NeapCommand { program: program.into(), options: vec!["--agent".to_owned(), "a b".to_owned()] };
            assert_eq!(first_word(&command.shell_line(&["hook", "codex"])), program);
        }
    }
}
