//! An MCP server in a TOML file: a block at its end, between two comments.

use serde_json::Value;

use super::command::in_order;

/// Enclose our part of the file.
const BEGIN: &str = "# neap: begin, written by `neap install codex`";
const END: &str = "# neap: end";

pub(super) fn has_neap(text: &str) -> bool {
    text.contains(BEGIN)
}

/// What stands at a path, whoever wrote it. The error completes "FILE …".
pub(super) fn value_at(text: &str, path: &[&str]) -> Result<Option<Value>, String> {
    let value = serde_json::to_value(parse(text)?).map_err(|error| error.to_string())?;
    Ok(path.iter().try_fold(&value, |value, key| value.get(key)).cloned())
}

fn parse(text: &str) -> Result<toml::Table, String> {
    toml::from_str(text).map_err(|error| format!("cannot be read as TOML: {}", error.message()))
}

/// The file with the server, or without it if there is none; the error completes "FILE …".
pub(super) fn updated(before: &str, path: &[&str], server: Option<&Value>) -> Result<String, String> {
    parse(before)?;
    let line = if before.contains("\r\n") { "\r\n" } else { "\n" };
    let without = match (before.find(BEGIN), before.find(END)) {
        (Some(begin), Some(end)) if begin < end => {
            let rest = &before[end + END.len()..];
            let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(rest);
            let head = before[..begin].strip_suffix(line).unwrap_or(&before[..begin]);
            format!("{head}{rest}")
        }
        _ => before.to_owned(),
    };
    let Some(server) = server else { return Ok(without) };
    let foreign = parse(&without)?;
    let [group, name] = path else { return Err("has no place for Neap's entry".to_owned()) };
    if foreign.get(*group).and_then(|servers| servers.get(*name)).is_some() {
        return Err("has an MCP server called neap that was not written by `neap install`".to_owned());
    }
    let gap = if without.is_empty() { "" } else { line };
    // Strings and lists of strings look the same in JSON and TOML.
    let members = in_order(server).map(|(key, value)| format!("{key} = {value}{line}"));
    let members: String = members.collect();
    let after = format!("{without}{gap}{BEGIN}{line}[{group}.{name}]{line}{members}{END}{line}");
    // Verify that everything else is unchanged.
    let mut updated = parse(&after)?;
    if let Some(servers) = updated.get_mut(*group).and_then(toml::Value::as_table_mut) {
        servers.remove(*name);
        if servers.is_empty() && foreign.get(*group).is_none() {
            updated.remove(*group);
        }
    }
    if updated == foreign {
        Ok(after)
    } else {
        Err("would change its meaning if Neap's entry were appended".to_owned())
    }
}
