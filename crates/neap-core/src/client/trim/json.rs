//! JSON documents: their shape, with the first and last elements of lists, the beginning of texts, and every error.

use serde_json::{Map, Value};

use super::lines::{ERRORS_SHOWN_MAX, clip};
use super::problems::{Severity, may_have_problems, severity};
use crate::base::prompt;
use crate::text::render::escape_marks;

/// How much is shown of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    /// Longest text, in characters.
    chars: usize,
    /// Elements of a list, at its beginning and end.
    first: usize,
    last: usize,
    members: usize,
    depth: usize,
}

/// From mild to harsh.
pub(super) const DETAILS: [Detail; 8] = [
    Detail { chars: 400, first: 6, last: 2, members: 60, depth: 8 },
    Detail { chars: 200, first: 4, last: 2, members: 40, depth: 7 },
    Detail { chars: 120, first: 3, last: 1, members: 30, depth: 6 },
    Detail { chars: 80, first: 2, last: 1, members: 24, depth: 5 },
    Detail { chars: 48, first: 2, last: 1, members: 16, depth: 4 },
    Detail { chars: 32, first: 1, last: 1, members: 12, depth: 3 },
    Detail { chars: 24, first: 1, last: 1, members: 8, depth: 2 },
    Detail { chars: 16, first: 1, last: 1, members: 4, depth: 1 },
];

/// A text within a document is shown by its own kind if it has at least this share of the bytes.
const EMBEDDED_PERCENT: usize = 60;
const EMBEDDED_DEPTH_MAX: usize = 4;
/// A value that is a mere status tells nothing without its object.
const STATUS_CHARS_MAX: usize = 16;
const PROBLEM_CHARS: (usize, usize) = (48, 200);
const PROBLEM_KEYS: [&str; 9] =
    ["error", "errors", "exception", "exceptions", "failure", "failures", "fatal", "stderr", "traceback"];

/// A document or a list; other JSON is text.
pub(super) fn parse(text: &str) -> Option<Value> {
    let text = text.trim();
    let is_nested = text.starts_with(['{', '[']);
    is_nested.then(|| serde_json::from_str(text).ok()).flatten()
}

/// The document in this detail, and its errors.
pub(super) fn render(value: &Value, problems: &[Problem], detail: Detail) -> String {
    let mut out = escape_marks(&shape(value, detail, 0).to_string()).into_owned();
    if !problems.is_empty() {
        let max = problems.len().min(ERRORS_SHOWN_MAX);
        let (first, last) = (&problems[..max.div_ceil(2)], &problems[problems.len() - max / 2..]);
        let counts = [("shown", &*max.to_string()), ("count", &*problems.len().to_string())];
        out.push('\n');
        out.push_str(&prompt::fill(prompt::TRIMMED_PROBLEMS, &counts));
        for Problem { path, text } in first.iter().chain(last) {
            let width = detail.chars.clamp(PROBLEM_CHARS.0, PROBLEM_CHARS.1);
            let line = format!("{}: {}", path.trim_start_matches('.'), clip(text, width));
            out.push('\n');
            out.push_str(&escape_marks(&line));
        }
    }
    out
}

fn shape(value: &Value, detail: Detail, depth: usize) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(detail.chars) {
            Some((at, _)) => format!("{}… ({} characters)", &text[..at], text.chars().count()).into(),
            None => value.clone(),
        },
        Value::Array(items) if depth >= detail.depth && !items.is_empty() => {
            format!("… {} elements", items.len()).into()
        }
        Value::Object(members) if depth >= detail.depth && !members.is_empty() => {
            format!("… {} members", members.len()).into()
        }
        Value::Array(items) => {
            let shaped =
                |items: &[Value]| items.iter().map(|item| shape(item, detail, depth + 1)).collect::<Vec<_>>();
            let Detail { first, last, .. } = detail;
            if items.len() <= first + last + 1 {
                return shaped(items).into();
            }
            let gap = format!("… {} of {} elements left out", items.len() - first - last, items.len());
            let mut all = shaped(&items[..first]);
            all.push(gap.into());
            all.extend(shaped(&items[items.len() - last..]));
            all.into()
        }
        Value::Object(members) => {
            let shown = members.iter().take(detail.members);
            let mut all: Map<String, Value> =
                shown.map(|(key, value)| (clip(key, detail.chars), shape(value, detail, depth + 1))).collect();
            if members.len() > detail.members {
                let rest = members.len() - detail.members;
                all.insert("…".to_owned(), format!("{rest} more members").into());
            }
            all.into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

pub(super) struct Problem {
    path: String,
    text: String,
}

/// Members that are named as errors, and texts that report one.
pub(super) fn problems(value: &Value) -> Vec<Problem> {
    let mut found = Vec::new();
    collect_problems(value, None, &mut String::new(), &mut found);
    found
}

fn collect_problems(value: &Value, parent: Option<&Value>, path: &mut String, found: &mut Vec<Problem>) {
    let start = path.len();
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                path.push('.');
                path.push_str(key);
                if PROBLEM_KEYS.contains(&key.to_ascii_lowercase().as_str()) && !is_nothing(member) {
                    let text = member.as_str().map_or_else(|| member.to_string(), one_line);
                    found.push(Problem { path: path.clone(), text });
                } else {
                    collect_problems(member, Some(value), path, found);
                }
                path.truncate(start);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push_str(&format!("[{at}]"));
                collect_problems(item, None, path, found);
                path.truncate(start);
            }
        }
        Value::String(text) if may_have_problems(text) => {
            let is_status = text.chars().count() <= STATUS_CHARS_MAX;
            let reports = text.lines().filter(|line| severity(line) == Some(Severity::Error));
            for line in reports {
                let whole = parent.filter(|_| is_status).map(Value::to_string);
                found.push(Problem { path: path.clone(), text: whole.unwrap_or_else(|| one_line(line)) });
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_set) => !is_set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// The output in a document such as `{"exit_code": 1, "output": "…"}`, and the document without it. `None` if no text
/// is most of it.
pub(super) fn take_embedded(mut document: Value, bytes: usize) -> Option<(String, Wrapper)> {
    let mut path = Vec::new();
    find_embedded(&document, bytes * EMBEDDED_PERCENT / 100, &mut path).then_some(())?;
    let Value::String(output) = step_to(&mut document, &path)?.take() else { return None };
    Some((output, Wrapper { document, path }))
}

/// A document without the output in it.
pub(super) struct Wrapper {
    document: Value,
    path: Vec<Step>,
}

enum Step {
    Member(String),
    Element(usize),
}

impl Wrapper {
    /// The document with this output.
    pub(super) fn with(&mut self, output: &str) -> String {
        if let Some(place) = step_to(&mut self.document, &self.path) {
            *place = output.into();
        }
        self.document.to_string()
    }
}

fn step_to<'v>(document: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(document, |value, step| match step {
        Step::Member(key) => value.get_mut(key),
        Step::Element(at) => value.get_mut(at),
    })
}

fn find_embedded(value: &Value, bytes_min: usize, path: &mut Vec<Step>) -> bool {
    let mut is_in = |step: Step, value: &Value| {
        path.push(step);
        let is_found = path.len() <= EMBEDDED_DEPTH_MAX && find_embedded(value, bytes_min, path);
        if !is_found {
            path.pop();
        }
        is_found
    };
    match value {
        Value::String(text) => text.len() >= bytes_min,
        Value::Object(members) => members.iter().any(|(key, value)| is_in(Step::Member(key.clone()), value)),
        Value::Array(items) => items.iter().enumerate().any(|(at, value)| is_in(Step::Element(at), value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_keeps_its_shape_and_its_errors() {
        let items: Vec<Value> = (0..300)
            .map(|n| json!({"id": n, "name": format!("item {n}"), "error": if n == 137 { json!("disk full") } else { json!(null) }}))
            .collect();
        let value = json!({"items": items, "next": null, "body": "word ".repeat(500)});
        let text = render(&value, &problems(&value), DETAILS[3]);
        let (document, errors) = text.split_once('\n').expect("lines");
        let document: Value = serde_json::from_str(document).expect("JSON");
        assert_eq!(document["items"][0]["name"], "item 0");
        assert_eq!(document["items"][2], "… 297 of 300 elements left out");
        assert_eq!(document["items"][3]["id"], 299);
        assert!(document["body"].as_str().is_some_and(|body| body.ends_with("… (2500 characters)")));
        assert_eq!(errors, "§[errors and failures in it, 1 of 1:]\nitems[137].error: disk full");
    }

    #[test]
    fn a_status_is_told_with_its_object() {
        let value = json!([{"level": "info", "msg": "a"}, {"level": "error", "msg": "no disk"}]);
        let found = problems(&value);
        assert_eq!(found.len(), 1);
        assert_eq!((&*found[0].path, &*found[0].text), ("[1].level", r#"{"level":"error","msg":"no disk"}"#));
    }

    #[test]
    fn the_output_in_a_document_is_found() {
        let output = "line\n".repeat(100);
        let value = json!({"metadata": [{"exit_code": 1}], "result": [{"output": output}]});
        let (found, mut around) = take_embedded(value.clone(), value.to_string().len()).expect("it is most of it");
        assert_eq!(found, output);
        assert_eq!(around.with("short"), r#"{"metadata":[{"exit_code":1}],"result":[{"output":"short"}]}"#);
        let list = json!(["a".repeat(40), "b".repeat(40)]);
        assert!(take_embedded(list, 90).is_none());
    }
}
