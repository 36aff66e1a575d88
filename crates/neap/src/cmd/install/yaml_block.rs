//! An MCP server in a YAML file: lines of their own under a key of the outermost mapping.

use serde_json::{Map, Value};

use super::command::in_order;

const INDENT: &str = "  ";

/// What stands at a path. The error completes "FILE …".
pub(super) fn value_at(text: &str, path: &[&str]) -> Result<Option<Value>, String> {
    let value = parse(text)?;
    Ok(path.iter().try_fold(&value, |value, key| value.get(key)).cloned())
}

/// The line of a key that has nothing under it, to be put back later; `None` in it if there is something.
pub(super) fn group_line(text: &str, group: &str) -> Option<Option<String>> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| rest_of(line, group).is_some())?;
    Some(child_indent(&lines, at).is_none().then(|| lines[at].to_owned()))
}

/// The file with the server. The error completes "FILE …".
pub(super) fn with_server(text: &str, path: &[&str], server: &Value) -> Result<String, String> {
    let [group, name] = path else { return Err("has no place for Neap's entry".to_owned()) };
    let before = parse(text)?;
    let odd = || format!("has \"{group}\" in a form that Neap does not edit");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let entry = |indent: &str| {
        let members = in_order(server);
        let members = members.map(|(key, value)| format!("{indent}{INDENT}{key}: {value}{newline}"));
        // Strings and lists of strings in JSON are YAML.
        format!("{indent}{name}:{newline}{}", members.collect::<String>())
    };
    let after = match lines.iter().position(|line| rest_of(line, group).is_some()) {
        None => {
            let block = format!("{group}:{newline}{}", entry(INDENT));
            match text.is_empty() || text.ends_with('\n') {
                true => format!("{text}{block}"),
                false => format!("{text}{newline}{}", without_newline(&block)),
            }
        }
        Some(at) => {
            let key_line = lines[at];
            let (head, tail) = (lines[..at].concat(), lines[at + 1..].concat());
            match (child_indent(&lines, at), rest_of(key_line, group).unwrap_or_default()) {
                (Some(indent), "") => format!("{head}{key_line}{}{tail}", entry(&indent)),
                (None, "") if key_line.ends_with('\n') => format!("{head}{key_line}{}{tail}", entry(INDENT)),
                (None, "" | "{}" | "null" | "~") => {
                    let block = format!("{group}:{newline}{}", entry(INDENT));
                    let block = if key_line.ends_with('\n') { &block } else { without_newline(&block) };
                    format!("{head}{block}{tail}")
                }
                _ => return Err(odd()),
            }
        }
    };
    check_only(&before, &parse(&after).map_err(|_| odd())?, group, name)?;
    Ok(after)
}

/// The file without the server. `group_was`: what is known of the group's line as it was without it.
pub(super) fn without_server(
    text: &str,
    path: &[&str],
    group_was: Option<&Option<String>>,
) -> Result<String, String> {
    let [group, name] = path else { return Ok(text.to_owned()) };
    let before = parse(text)?;
    if before.get(*group).and_then(|servers| servers.get(*name)).is_none() {
        return Ok(text.to_owned());
    }
    let odd = || format!("has \"{group}\" in a form that Neap does not edit");
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let borrowed: Vec<&str> = lines.iter().map(String::as_str).collect();
    let at = borrowed.iter().position(|line| rest_of(line, group).is_some()).ok_or_else(odd)?;
    let indent = child_indent(&borrowed, at).ok_or_else(odd)?;
    let is_entry = |line: &&str| line.strip_prefix(&*indent).is_some_and(|line| rest_of(line, name).is_some());
    let first = at + 1 + borrowed[at + 1..].iter().position(is_entry).ok_or_else(odd)?;
    let belongs = |line: &&&str| !line.trim().is_empty() && indent_of(line).len() > indent.len();
    let count = 1 + borrowed[first + 1..].iter().take_while(belongs).count();
    let is_alone = next_content(&borrowed, at + 1, first, count).is_none_or(|line| indent_of(line).is_empty());
    let ended_open = first + count == lines.len() && !text.ends_with('\n');
    lines.drain(first..first + count);
    let mut restores_line = false;
    if is_alone {
        match group_was {
            None => drop(lines.remove(at)),
            Some(Some(line)) => {
                restores_line = true;
                let needs_end = at + 1 < lines.len() && !line.ends_with('\n');
                lines[at] = if needs_end { format!("{line}\n") } else { line.clone() };
            }
            Some(None) => {}
        }
    }
    let after = lines.concat();
    let after = if ended_open && !restores_line { without_newline(&after).to_owned() } else { after };
    check_only(&parse(&after)?, &before, group, name)?;
    Ok(after)
}

/// The next line that says something, other than some that are skipped.
fn next_content<'a>(lines: &[&'a str], from: usize, skipped: usize, count: usize) -> Option<&'a str> {
    let rest = lines.iter().enumerate().skip(from).filter(|(at, _)| !(skipped..skipped + count).contains(at));
    rest.map(|(_, line)| *line).find(|line| !is_blank(line))
}

/// Says whether two files differ by the server alone.
fn check_only(without: &Value, with: &Value, group: &str, name: &str) -> Result<(), String> {
    let mut rest = with.clone();
    if let Some(servers) = rest.get_mut(group).and_then(Value::as_object_mut) {
        servers.remove(name);
    }
    let plain = |value: &Value| {
        let mut value = value.as_object().cloned().unwrap_or_default();
        let is_empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
        if value.get(group).is_some_and(is_empty) {
            value.remove(group);
        }
        value
    };
    if plain(&rest) == plain(without) {
        Ok(())
    } else {
        Err("would change its meaning if Neap's entry were put in or taken out".to_owned())
    }
}

fn parse(text: &str) -> Result<Value, String> {
    let value: Option<Value> =
        serde_saphyr::from_str(text).map_err(|error| format!("cannot be read as YAML: {}", first_line(&error)))?;
    match value {
        None | Some(Value::Null) => Ok(Value::Object(Map::new())),
        Some(value) if value.is_object() => Ok(value),
        Some(_) => Err("is not a mapping".to_owned()),
    }
}

fn first_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// What follows a key and its colon, without a comment; `None` if the line has another key.
fn rest_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.trim_start_matches('\u{feff}').strip_prefix(key)?.trim_start_matches(' ').strip_prefix(':')?;
    if !rest.is_empty() && !rest.starts_with([' ', '\t', '\r', '\n']) {
        return None;
    }
    let rest = rest.trim();
    let comment = if rest.starts_with('#') { Some(0) } else { rest.find(" #") };
    Some(comment.map_or(rest, |at| rest[..at].trim_end()))
}

/// The indentation of what is under a key.
fn child_indent(lines: &[&str], at: usize) -> Option<String> {
    let child = lines[at + 1..].iter().find(|line| !is_blank(line))?;
    let indent = indent_of(child);
    (!indent.is_empty()).then(|| indent.to_owned())
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches(' ').len()]
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn without_newline(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}
