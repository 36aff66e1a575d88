//! Edits JSON text in place: inserted values get lines of their own, all other bytes stay unchanged.

use std::ops::Range;

use neap_model::wire::json::MemberRange;
use serde_json::Value;

/// Used where the file has no indentation.
const DEFAULT_INDENT: &str = "  ";

/// Sets the value at a path of keys, creating missing objects. `None` if something on the path is not an object.
pub(super) fn set_value(text: &str, path: &[&str], value: &Value) -> Option<String> {
    let (key, parents) = path.split_last()?;
    let mut at = root_range(text);
    for (depth, step) in parents.iter().enumerate() {
        let found = MemberRange::all_in(text, &at)?.into_iter().find(|member| member.key.as_deref() == Some(step));
        match found {
            Some(member) => at = member.value,
            None => {
                let nested = path[depth + 1..].iter().rev().fold(value.clone(), |inner, key| {
                    Value::Object([((*key).to_owned(), inner)].into_iter().collect())
                });
                return insert(text, &at, Some(step), &nested, depth + 1);
            }
        }
    }
    match MemberRange::all_in(text, &at)?.into_iter().find(|member| member.key.as_deref() == Some(key)) {
        Some(member) => Some(splice(text, member.value, &pretty(value, &indent_unit(text), path.len()))),
        None => insert(text, &at, Some(key), value, path.len()),
    }
}

/// Appends an item to the array at a path, creating what is missing.
pub(super) fn push_item(text: &str, path: &[&str], value: &Value) -> Option<String> {
    match find(text, path) {
        Some(at) if text[at.clone()].starts_with('[') => insert(text, &at, None, value, path.len() + 1),
        Some(_) => None,
        None => set_value(text, path, &Value::Array(vec![value.clone()])),
    }
}

pub(super) fn remove(text: &str, path: &[&str]) -> String {
    let Some((key, parents)) = path.split_last() else { return text.to_owned() };
    let Some(at) = find(text, parents) else { return text.to_owned() };
    remove_where(text, &at, |member| member.key.as_deref() == Some(key))
}

pub(super) fn remove_items(text: &str, path: &[&str], is_removed: impl Fn(&Value) -> bool) -> String {
    let Some(at) = find(text, path).filter(|at| text[at.clone()].starts_with('[')) else { return text.to_owned() };
    remove_where(text, &at, |member| {
        serde_json::from_str(&text[member.value.clone()]).is_ok_and(|value| is_removed(&value))
    })
}

pub(super) fn find(text: &str, path: &[&str]) -> Option<Range<usize>> {
    path.iter().try_fold(root_range(text), |at, key| {
        let found = MemberRange::all_in(text, &at)?.into_iter().find(|member| member.key.as_deref() == Some(key));
        found.map(|member| member.value)
    })
}

fn remove_where(text: &str, at: &Range<usize>, is_removed: impl Fn(&MemberRange) -> bool) -> String {
    let all = MemberRange::all_in(text, at).unwrap_or_default();
    let remaining: Vec<&MemberRange> = all.iter().filter(|member| !is_removed(member)).collect();
    if remaining.len() == all.len() {
        return text.to_owned();
    }
    if remaining.is_empty() {
        return splice(text, at.start + 1..at.end - 1, "");
    }
    // From last to first, so that ranges stay valid.
    let mut result = text.to_owned();
    for (index, member) in all.iter().enumerate().rev().filter(|(_, member)| is_removed(member)) {
        let before = all[..index].iter().rfind(|member| !is_removed(member));
        let gap = match before {
            Some(before) if all[index - 1].whole.end == before.whole.end => before.whole.end..member.whole.end,
            Some(_) => all[index - 1].whole.end..member.whole.end,
            None => member.whole.start..all[index + 1].whole.start,
        };
        result.replace_range(gap, "");
    }
    result
}

fn insert(text: &str, at: &Range<usize>, key: Option<&str>, value: &Value, depth: usize) -> Option<String> {
    let all = MemberRange::all_in(text, at)?;
    let unit = indent_unit(text);
    let indent = unit.repeat(depth);
    let key = key.map_or_else(String::new, |key| format!("{}: ", Value::from(key)));
    let member = format!("{key}{}", pretty(value, &unit, depth));
    Some(match all.last() {
        Some(last) => splice(text, last.whole.end..last.whole.end, &format!(",\n{indent}{member}")),
        None => {
            let end = unit.repeat(depth.saturating_sub(1));
            splice(text, at.start + 1..at.end - 1, &format!("\n{indent}{member}\n{end}"))
        }
    })
}

fn splice(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

fn pretty(value: &Value, unit: &str, depth: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let line = |line: &str| {
        let inner = line.trim_start_matches(' ');
        format!("{}{inner}", unit.repeat(depth + (line.len() - inner.len()) / 2))
    };
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |out, next| format!("{out}\n{}", line(next)))
}

/// One level of the file's indentation.
fn indent_unit(text: &str) -> String {
    let space = text.lines().skip(1).map(|line| &line[..line.len() - line.trim_start().len()]);
    space.filter(|space| !space.is_empty()).min_by_key(|space| space.len()).unwrap_or(DEFAULT_INDENT).to_owned()
}

fn root_range(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start().len();
    start..text.trim_end().len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FILE: &str = "{\n    \"model\": \"opus\",\n    \"n\": 1.50,\n    \"hooks\": {\n        \"Stop\": [ {\"hooks\": [{\"type\": \"command\", \"command\": \"say \\\"]}\\\"\"}]} ]\n    }\n}\n";

    #[test]
    fn what_is_put_in_and_taken_out_again_leaves_every_byte_as_it_was() {
        let ours = json!({"hooks": [{"type": "command", "command": "neap hook"}]});
        for text in [FILE, "{\"a\":[1, 2],\"b\":{}}", "{\"hooks\":{\"Stop\":[]}}", "  {\"x\" : null}\n\n"] {
            let pushed = push_item(text, &["hooks", "Stop"], &ours).expect("an array");
            let value: Value = serde_json::from_str(&pushed).expect("JSON");
            assert_eq!(value["hooks"]["Stop"].as_array().and_then(|all| all.last()), Some(&ours), "{pushed}");
            let is_ours = |value: &Value| *value == ours;
            let mut back = remove_items(&pushed, &["hooks", "Stop"], is_ours);
            let before: Value = serde_json::from_str(text).expect("JSON");
            if before["hooks"].get("Stop").is_none() {
                back = remove(&back, &["hooks"]);
            }
            assert_eq!(back, text);
            let put_in = set_value(text, &["mcpServers", "neap"], &json!({"command": "neap"})).expect("an object");
            assert_eq!(remove(&put_in, &["mcpServers"]), text, "{put_in}");
        }
    }

    #[test]
    fn what_is_put_in_stands_as_the_file_does() {
        let put_in = set_value(FILE, &["hooks", "Start"], &json!([1])).expect("an object");
        assert!(put_in.contains(",\n        \"Start\": [\n            1\n        ]\n    }\n}\n"), "{put_in}");
        assert_eq!(
            set_value("{}", &["a", "b"], &json!(1)).as_deref(),
            Some("{\n  \"a\": {\n    \"b\": 1\n  }\n}")
        );
        assert_eq!(set_value("{\"a\": 7}", &["a"], &json!(8)).as_deref(), Some("{\"a\": 8}"));
        assert_eq!(set_value("{\"a\": 7}", &["a", "b"], &json!(8)), None);
        assert_eq!(push_item("{\"a\": 7}", &["a"], &json!(8)), None);
    }

    #[test]
    fn several_are_taken_out_wherever_they_stand() {
        for (text, want) in [
            ("[1, 9, 2]", "[1, 2]"),
            ("[9, 1]", "[1]"),
            ("[1, 9]", "[1]"),
            ("[9]", "[]"),
            ("[9, 9, 1, 9, 9, 2, 9]", "[1, 2]"),
        ] {
            assert_eq!(remove_items(text, &[], |value| *value == json!(9)), want, "{text}");
        }
    }
}
