//! Changing a JSON file and nothing else of it: what is put in stands on lines of its own, all other bytes stay.

use std::ops::Range;

use serde_json::Value;

/// Space for each level where the file does not say.
const UNIT: &str = "  ";

/// A member of an object, or an item of an array.
struct Part {
    key: Option<String>,
    /// All of it, key included.
    whole: Range<usize>,
    value: Range<usize>,
}

/// Puts a value at a path of keys; objects on the way are made. What is there under the same key is replaced. None where something on the way is no
/// object.
pub(super) fn put(text: &str, path: &[&str], value: &Value) -> Option<String> {
    let (key, way) = path.split_last()?;
    let mut at = root(text);
    for (depth, step) in way.iter().enumerate() {
        let known = parts(text, &at)?.into_iter().find(|part| part.key.as_deref() == Some(step));
        match known {
            Some(part) => at = part.value,
            None => {
                let nested = path[depth + 1..].iter().rev().fold(value.clone(), |inner, key| {
                    Value::Object([((*key).to_owned(), inner)].into_iter().collect())
                });
                return insert(text, &at, Some(step), &nested, depth + 1);
            }
        }
    }
    match parts(text, &at)?.into_iter().find(|part| part.key.as_deref() == Some(key)) {
        Some(part) => Some(replaced(text, part.value, &pretty(value, &unit(text), path.len()))),
        None => insert(text, &at, Some(key), value, path.len()),
    }
}

/// Puts an item at the end of the array at a path; the array and objects on the way are made.
pub(super) fn push(text: &str, path: &[&str], value: &Value) -> Option<String> {
    match find(text, path) {
        Some(at) if text[at.clone()].starts_with('[') => insert(text, &at, None, value, path.len() + 1),
        Some(_) => None,
        None => put(text, path, &Value::Array(vec![value.clone()])),
    }
}

/// Takes the value at a path out; the text as it is where there is none.
pub(super) fn remove(text: &str, path: &[&str]) -> String {
    let Some((key, way)) = path.split_last() else { return text.to_owned() };
    let Some(at) = find(text, way) else { return text.to_owned() };
    remove_where(text, &at, |part| part.key.as_deref() == Some(key))
}

/// Takes those items of the array at a path out for which this is so.
pub(super) fn remove_items(text: &str, path: &[&str], is_out: impl Fn(&Value) -> bool) -> String {
    let Some(at) = find(text, path).filter(|at| text[at.clone()].starts_with('[')) else { return text.to_owned() };
    remove_where(text, &at, |part| {
        serde_json::from_str(&text[part.value.clone()]).is_ok_and(|value| is_out(&value))
    })
}

/// Where the value at a path stands.
pub(super) fn find(text: &str, path: &[&str]) -> Option<Range<usize>> {
    path.iter().try_fold(root(text), |at, key| {
        let known = parts(text, &at)?.into_iter().find(|part| part.key.as_deref() == Some(key));
        known.map(|part| part.value)
    })
}

fn remove_where(text: &str, at: &Range<usize>, is_out: impl Fn(&Part) -> bool) -> String {
    let all = parts(text, at).unwrap_or_default();
    let kept: Vec<&Part> = all.iter().filter(|part| !is_out(part)).collect();
    if kept.len() == all.len() {
        return text.to_owned();
    }
    if kept.is_empty() {
        return replaced(text, at.start + 1..at.end - 1, "");
    }
    // From the last to the first, so that places stay right.
    let mut out = text.to_owned();
    for (place, part) in all.iter().enumerate().rev().filter(|(_, part)| is_out(part)) {
        let before = all[..place].iter().rfind(|part| !is_out(part));
        let gap = match before {
            Some(before) if all[place - 1].whole.end == before.whole.end => before.whole.end..part.whole.end,
            Some(_) => all[place - 1].whole.end..part.whole.end,
            None => part.whole.start..all[place + 1].whole.start,
        };
        out.replace_range(gap, "");
    }
    out
}

fn insert(text: &str, at: &Range<usize>, key: Option<&str>, value: &Value, depth: usize) -> Option<String> {
    let all = parts(text, at)?;
    let unit = unit(text);
    let indent = unit.repeat(depth);
    let key = key.map_or_else(String::new, |key| format!("{}: ", Value::from(key)));
    let member = format!("{key}{}", pretty(value, &unit, depth));
    Some(match all.last() {
        Some(last) => replaced(text, last.whole.end..last.whole.end, &format!(",\n{indent}{member}")),
        None => {
            let end = unit.repeat(depth.saturating_sub(1));
            replaced(text, at.start + 1..at.end - 1, &format!("\n{indent}{member}\n{end}"))
        }
    })
}

fn replaced(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

/// A value over several lines, as deep as it stands.
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

/// How the file sets its levels apart.
fn unit(text: &str) -> String {
    let space = text.lines().skip(1).map(|line| &line[..line.len() - line.trim_start().len()]);
    space.filter(|space| !space.is_empty()).min_by_key(|space| space.len()).unwrap_or(UNIT).to_owned()
}

fn root(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start().len();
    start..text.trim_end().len()
}

/// The parts of an object or array in text that is known to be JSON; none of anything else.
fn parts(text: &str, at: &Range<usize>) -> Option<Vec<Part>> {
    let bytes = text.as_bytes();
    let is_object = match bytes.get(at.start)? {
        b'{' => true,
        b'[' => false,
        _ => return None,
    };
    let mut out = Vec::new();
    let mut place = skip_space(bytes, at.start + 1);
    while place < at.end - 1 {
        let start = place;
        let key = if is_object {
            let end = skip_value(bytes, place);
            let key = serde_json::from_str(&text[place..end]).ok()?;
            place = skip_space(bytes, skip_space(bytes, end) + 1);
            Some(key)
        } else {
            None
        };
        let end = skip_value(bytes, place);
        out.push(Part { key, whole: start..end, value: place..end });
        place = skip_space(bytes, end);
        if bytes.get(place) == Some(&b',') {
            place = skip_space(bytes, place + 1);
        }
    }
    Some(out)
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Where the value ends that begins here.
fn skip_value(bytes: &[u8], from: usize) -> usize {
    let (mut depth, mut at) = (0_usize, from);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b',' | b':' if depth == 0 => return at,
            byte if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {}
        }
        at += 1;
        if depth == 0 && matches!(bytes[at - 1], b'"' | b'}' | b']') {
            return at;
        }
    }
    at
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
            let pushed = push(text, &["hooks", "Stop"], &ours).expect("an array");
            let value: Value = serde_json::from_str(&pushed).expect("JSON");
            assert_eq!(value["hooks"]["Stop"].as_array().and_then(|all| all.last()), Some(&ours), "{pushed}");
            let is_ours = |value: &Value| *value == ours;
            let mut back = remove_items(&pushed, &["hooks", "Stop"], is_ours);
            let before: Value = serde_json::from_str(text).expect("JSON");
            if before["hooks"].get("Stop").is_none() {
                back = remove(&back, &["hooks"]);
            }
            assert_eq!(back, text);
            let put_in = put(text, &["mcpServers", "neap"], &json!({"command": "neap"})).expect("an object");
            assert_eq!(remove(&put_in, &["mcpServers"]), text, "{put_in}");
        }
    }

    #[test]
    fn what_is_put_in_stands_as_the_file_does() {
        let put_in = put(FILE, &["hooks", "Start"], &json!([1])).expect("an object");
        assert!(put_in.contains(",\n        \"Start\": [\n            1\n        ]\n    }\n}\n"), "{put_in}");
        assert_eq!(put("{}", &["a", "b"], &json!(1)).as_deref(), Some("{\n  \"a\": {\n    \"b\": 1\n  }\n}"));
        assert_eq!(put("{\"a\": 7}", &["a"], &json!(8)).as_deref(), Some("{\"a\": 8}"));
        assert_eq!(put("{\"a\": 7}", &["a", "b"], &json!(8)), None);
        assert_eq!(push("{\"a\": 7}", &["a"], &json!(8)), None);
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
