//! Anthropic's client-side memory tool: six commands on files under `/memories`, with the replies models expect.
//!
//! The files are entries of a map, not files on disk; a path that leads out of `/memories` is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;

pub const ROOT: &str = "/memories";

const PATH_BYTES_MAX: usize = 512;
const FILE_BYTES_MAX: usize = 1 << 20;
/// Files with more lines are not shown.
const LINES_MAX: usize = 999_999;
const CONTEXT_LINES: usize = 3;

/// A tool call, as the model writes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum FileCommand {
    /// Show a folder, or a file with line numbers.
    View {
        path: String,
        /// First and last line, from 1, inclusive; -1 is the last line.
        #[serde(default)]
        view_range: Option<(i64, i64)>,
    },
    Create {
        path: String,
        file_text: String,
    },
    /// Replace a text that occurs exactly once.
    StrReplace {
        path: String,
        old_str: String,
        #[serde(default)]
        new_str: String,
    },
    Insert {
        path: String,
        /// Insert after this line; 0 is before the first.
        insert_line: i64,
        #[serde(alias = "new_str")]
        insert_text: String,
    },
    /// Delete a file, or a folder with its contents.
    Delete {
        path: String,
    },
    Rename {
        old_path: String,
        new_path: String,
    },
}

/// File contents by full path.
pub type MemoryFiles = BTreeMap<String, String>;

/// Runs a command; an error is the text for the model, and means that nothing changed.
pub fn perform(files: &mut MemoryFiles, command: &FileCommand) -> Result<String, String> {
    match command {
        FileCommand::View { path, view_range } => view(files, &resolve_path(path)?, *view_range),
        FileCommand::Create { path, file_text } => create(files, resolve_path(path)?, file_text),
        FileCommand::StrReplace { path, old_str, new_str } => {
            replace(files, &resolve_path(path)?, old_str, new_str)
        }
        FileCommand::Insert { path, insert_line, insert_text } => {
            insert(files, &resolve_path(path)?, *insert_line, insert_text)
        }
        FileCommand::Delete { path } => delete(files, &resolve_path(path)?),
        FileCommand::Rename { old_path, new_path } => {
            rename(files, &resolve_path(old_path)?, &resolve_path(new_path)?)
        }
    }
}

/// Normalizes a path; an error if it is not under the root.
pub fn resolve_path(path: &str) -> Result<String, String> {
    let refused = || format!("Error: The path {} is not allowed: it must be under {ROOT}", printable(path));
    let is_odd = |c: char| c.is_control() || c == '\\' || c == '%';
    if path.len() > PATH_BYTES_MAX || path.contains(is_odd) {
        return Err(refused());
    }
    let rest = path.strip_prefix(ROOT).ok_or_else(refused)?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return Err(refused());
    }
    let mut parts = vec![ROOT];
    for part in rest.split('/').filter(|part| !part.is_empty()) {
        if part.chars().all(|c| c == '.') || part.trim() != part {
            return Err(refused());
        }
        parts.push(part);
    }
    Ok(parts.join("/"))
}

fn printable(path: &str) -> String {
    path.chars().take(80).filter(|c| !c.is_control()).collect()
}

fn missing_path_error(path: &str) -> String {
    format!("Error: The path {path} does not exist. Please provide a valid path.")
}

fn is_folder(files: &MemoryFiles, path: &str) -> bool {
    path == ROOT || files.keys().any(|file| is_inside(file, path))
}

fn is_inside(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn view(files: &MemoryFiles, path: &str, range: Option<(i64, i64)>) -> Result<String, String> {
    if let Some(text) = files.get(path) {
        let lines: Vec<&str> = text.split('\n').collect();
        if lines.len() > LINES_MAX {
            return Err(format!("File {path} exceeds maximum line limit of {LINES_MAX} lines."));
        }
        let (first, last) = line_range(range, lines.len())?;
        return Ok(format!(
            "Here's the content of {path} with line numbers:\n{}",
            number_lines(&lines, first, last)
        ));
    }
    if !is_folder(files, path) {
        return Err(format!("The path {path} does not exist. Please provide a valid path."));
    }
    let mut out = format!(
        "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
    );
    for (name, bytes) in list_folder(files, path) {
        let _ = write!(out, "\n{}\t{name}", format_size(bytes));
    }
    Ok(out)
}

fn line_range(range: Option<(i64, i64)>, lines: usize) -> Result<(usize, usize), String> {
    let Some((first, last)) = range else { return Ok((1, lines)) };
    let last = if last == -1 { lines as i64 } else { last.min(lines as i64) };
    if first < 1 || first > lines as i64 || last < first {
        return Err(format!(
            "Error: Invalid `view_range` parameter: it should be within the lines of the file: [1, {lines}]"
        ));
    }
    Ok((first as usize, last as usize))
}

fn number_lines(lines: &[&str], first: usize, last: usize) -> String {
    let shown = lines.iter().enumerate().skip(first - 1).take(last + 1 - first);
    shown.map(|(at, line)| format!("{:6}\t{line}", at + 1)).collect::<Vec<_>>().join("\n")
}

/// A folder and its entries two levels deep, with their sizes in bytes.
fn list_folder(files: &MemoryFiles, folder: &str) -> Vec<(String, usize)> {
    let mut names: BTreeSet<String> = BTreeSet::from([folder.to_owned()]);
    for file in files.keys().filter(|file| is_inside(file, folder)) {
        let parts: Vec<&str> = file[folder.len() + 1..].split('/').collect();
        if parts.iter().any(|part| part.starts_with('.') || *part == "node_modules") {
            continue;
        }
        names.extend((1..=parts.len().min(2)).map(|depth| format!("{folder}/{}", parts[..depth].join("/"))));
    }
    let bytes = |name: &String| {
        files.iter().filter(|(file, _)| *file == name || is_inside(file, name)).map(|(_, text)| text.len()).sum()
    };
    names.iter().map(|name| (name.clone(), bytes(name))).collect()
}

fn format_size(bytes: usize) -> String {
    let kib = bytes.div_ceil(512) as f64 / 2.0;
    if kib < 1_024.0 { format!("{kib:.1}K") } else { format!("{:.1}M", kib / 1_024.0) }
}

fn create(files: &mut MemoryFiles, path: String, text: &str) -> Result<String, String> {
    let is_under_file = files.keys().any(|file| is_inside(&path, file));
    if files.contains_key(&path) || is_folder(files, &path) || is_under_file {
        return Err(format!("Error: File {path} already exists"));
    }
    check_size(text.len())?;
    let reply = format!("File created successfully at: {path}");
    files.insert(path, text.to_owned());
    Ok(reply)
}

fn check_size(bytes: usize) -> Result<(), String> {
    if bytes > FILE_BYTES_MAX {
        return Err(format!("Error: a file may have {FILE_BYTES_MAX} bytes, this one would have {bytes}"));
    }
    Ok(())
}

fn replace(files: &mut MemoryFiles, path: &str, old: &str, new: &str) -> Result<String, String> {
    let text = files.get_mut(path).ok_or_else(|| missing_path_error(path))?;
    let places: Vec<usize> =
        if old.is_empty() { Vec::new() } else { text.match_indices(old).map(|(at, _)| at).collect() };
    match places[..] {
        [] => Err(format!("No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")),
        [at] => {
            check_size(text.len() - old.len() + new.len())?;
            text.replace_range(at..at + old.len(), new);
            let line = text[..at].matches('\n').count() + 1;
            let lines: Vec<&str> = text.split('\n').collect();
            let last = (line + new.matches('\n').count() + CONTEXT_LINES).min(lines.len());
            Ok(format!(
                "The memory file has been edited.\n{}",
                number_lines(&lines, line.saturating_sub(CONTEXT_LINES).max(1), last)
            ))
        }
        [_, _, ..] => {
            let lines: Vec<String> =
                places.iter().map(|at| (text[..*at].matches('\n').count() + 1).to_string()).collect();
            Err(format!(
                "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it is unique",
                lines.join(", ")
            ))
        }
    }
}

fn insert(files: &mut MemoryFiles, path: &str, after: i64, new: &str) -> Result<String, String> {
    let text = files.get_mut(path).ok_or_else(|| format!("Error: The path {path} does not exist"))?;
    let mut lines: Vec<&str> = text.split('\n').collect();
    let count = lines.len();
    let Some(at) = usize::try_from(after).ok().filter(|at| *at <= count) else {
        return Err(format!(
            "Error: Invalid `insert_line` parameter: {after}. It should be within the range of lines of the file: [0, {count}]"
        ));
    };
    check_size(text.len() + new.len() + 1)?;
    lines.insert(at, new.strip_suffix('\n').unwrap_or(new));
    *text = lines.join("\n");
    Ok(format!("The file {path} has been edited."))
}

fn delete(files: &mut MemoryFiles, path: &str) -> Result<String, String> {
    if path == ROOT {
        return Err(format!("Error: {ROOT} itself cannot be deleted"));
    }
    let before = files.len();
    files.retain(|file, _| file != path && !is_inside(file, path));
    if files.len() == before {
        return Err(format!("Error: The path {path} does not exist"));
    }
    Ok(format!("Successfully deleted {path}"))
}

fn rename(files: &mut MemoryFiles, old: &str, new: &str) -> Result<String, String> {
    if old == ROOT || is_inside(new, old) {
        return Err(format!("Error: {old} cannot be renamed to {new}"));
    }
    if !files.contains_key(old) && !is_folder(files, old) {
        return Err(format!("Error: The path {old} does not exist"));
    }
    if files.contains_key(new) || is_folder(files, new) || files.keys().any(|file| is_inside(new, file)) {
        return Err(format!("Error: The destination {new} already exists"));
    }
    let moved: Vec<String> = files.keys().filter(|file| *file == old || is_inside(file, old)).cloned().collect();
    for file in moved {
        if let Some(text) = files.remove(&file) {
            files.insert(format!("{new}{}", &file[old.len()..]), text);
        }
    }
    Ok(format!("Successfully renamed {old} to {new}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(files: &mut MemoryFiles, json: &str) -> Result<String, String> {
        perform(files, &serde_json::from_str(json).expect("a command"))
    }

    fn some() -> MemoryFiles {
        let files =
            [("/memories/a.md", "one\ntwo\ntwo"), ("/memories/deep/er/x.md", "x"), ("/memories/.hidden", "h")];
        files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect()
    }

    #[track_caller]
    fn check(json: &str, want: Result<&str, &str>) -> MemoryFiles {
        let mut files = some();
        let got = call(&mut files, json);
        assert_eq!(got.as_ref().map(String::as_str).map_err(String::as_str), want, "{json}");
        if want.is_err() {
            assert_eq!(files, some(), "nothing has changed");
        }
        files
    }

    #[test]
    fn every_command_answers_as_models_expect() {
        check(
            r#"{"command":"view","path":"/memories"}"#,
            Ok(
                "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0.5K\t/memories\n0.5K\t/memories/a.md\n0.5K\t/memories/deep\n0.5K\t/memories/deep/er",
            ),
        );
        check(
            r#"{"command":"view","path":"/memories/a.md","view_range":[2,-1]}"#,
            Ok("Here's the content of /memories/a.md with line numbers:\n     2\ttwo\n     3\ttwo"),
        );
        let files = check(
            r#"{"command":"create","path":"/memories/new.md","file_text":"n"}"#,
            Ok("File created successfully at: /memories/new.md"),
        );
        assert_eq!(files["/memories/new.md"], "n");
        let files = check(
            r#"{"command":"str_replace","path":"/memories/a.md","old_str":"one","new_str":"1"}"#,
            Ok("The memory file has been edited.\n     1\t1\n     2\ttwo\n     3\ttwo"),
        );
        assert_eq!(files["/memories/a.md"], "1\ntwo\ntwo");
        let files = check(
            r#"{"command":"insert","path":"/memories/a.md","insert_line":0,"insert_text":"zero\n"}"#,
            Ok("The file /memories/a.md has been edited."),
        );
        assert_eq!(files["/memories/a.md"], "zero\none\ntwo\ntwo");
        let files =
            check(r#"{"command":"delete","path":"/memories/deep"}"#, Ok("Successfully deleted /memories/deep"));
        assert_eq!(files.len(), 2);
        let files = check(
            r#"{"command":"rename","old_path":"/memories/deep","new_path":"/memories/d2"}"#,
            Ok("Successfully renamed /memories/deep to /memories/d2"),
        );
        assert_eq!(files["/memories/d2/er/x.md"], "x");
    }

    #[test]
    fn what_cannot_be_is_told_in_words_and_changes_nothing() {
        check(
            r#"{"command":"view","path":"/memories/no"}"#,
            Err("The path /memories/no does not exist. Please provide a valid path."),
        );
        check(
            r#"{"command":"create","path":"/memories/a.md","file_text":""}"#,
            Err("Error: File /memories/a.md already exists"),
        );
        check(
            r#"{"command":"create","path":"/memories/a.md/b","file_text":""}"#,
            Err("Error: File /memories/a.md/b already exists"),
        );
        check(
            r#"{"command":"str_replace","path":"/memories/a.md","old_str":"two","new_str":""}"#,
            Err(
                "No replacement was performed. Multiple occurrences of old_str `two` in lines: 2, 3. Please ensure it is unique",
            ),
        );
        check(
            r#"{"command":"str_replace","path":"/memories/a.md","old_str":"ten","new_str":""}"#,
            Err("No replacement was performed, old_str `ten` did not appear verbatim in /memories/a.md."),
        );
        check(
            r#"{"command":"insert","path":"/memories/a.md","insert_line":4,"insert_text":"x"}"#,
            Err(
                "Error: Invalid `insert_line` parameter: 4. It should be within the range of lines of the file: [0, 3]",
            ),
        );
        check(r#"{"command":"delete","path":"/memories/no"}"#, Err("Error: The path /memories/no does not exist"));
        check(r#"{"command":"delete","path":"/memories"}"#, Err("Error: /memories itself cannot be deleted"));
        check(
            r#"{"command":"rename","old_path":"/memories/deep","new_path":"/memories/a.md"}"#,
            Err("Error: The destination /memories/a.md already exists"),
        );
    }

    #[test]
    fn nothing_leads_out() {
        for path in [
            "/etc/passwd", "/memories/../etc/passwd", "/memories/a/../../x", "/memoriesx", "memories/a", "",
            "/memories/./a", "/memories/..%2f..%2fetc", "/memories/\\..\\x", "/memories/a\0b", "/memories/ a",
        ] {
            assert!(resolve_path(path).is_err(), "{path:?}");
        }
        assert_eq!(resolve_path("/memories//a/").as_deref(), Ok("/memories/a"));
        assert_eq!(resolve_path("/memories/").as_deref(), Ok(ROOT));
    }
}
