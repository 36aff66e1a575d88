//! The tools as MCP has them: what the core says of each, and beside it a title, what it answers, and hints.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::tools::ToolSpec;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

/// What is said of the tools beside what the core says.
const BESIDE: &str = include_str!("tools.json");
/// The argument that every tool takes.
pub(super) const SESSION: &str = "session";

/// What is beside a tool.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Beside {
    title: String,
    /// Words that a search for tools finds.
    #[serde(default)]
    also: String,
    /// The shape of what it answers.
    answers: String,
    #[serde(default)]
    hint: Hint,
}

/// What a tool does to what is kept.
#[derive(Deserialize, Default, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Hint {
    /// Nothing.
    Reads,
    /// It adds.
    #[default]
    Adds,
    /// It adds, and nothing more when done again.
    AddsOnce,
    /// It may take something away.
    Removes,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    tools: BTreeMap<String, Beside>,
    answers: BTreeMap<String, JsonObject>,
}

/// All tools, always in the same order.
pub(super) fn all() -> Vec<Tool> {
    let mut sheet: Sheet = serde_json::from_str(BESIDE).expect("tools.json is tested to parse");
    let mut all = Vec::new();
    for spec in ToolSpec::for_hosts() {
        let beside = sheet.tools.remove(&spec.name).expect("tools.json is tested to know every tool");
        all.push(dressed(spec, beside, &sheet.answers));
    }
    all
}

fn dressed(spec: ToolSpec, beside: Beside, answers: &BTreeMap<String, JsonObject>) -> Tool {
    let ToolSpec { name, description, parameters } = spec;
    let description = format!("{description} {}", beside.also);
    let mut input = match parameters {
        Value::Object(input) => input,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => JsonObject::new(),
    };
    if let Some(Value::Object(properties)) = input.get_mut("properties") {
        properties.insert(SESSION.to_owned(), json!({"type": "string"}));
    }
    let hint = beside.hint;
    let hints = ToolAnnotations::new()
        .read_only(hint == Hint::Reads)
        .destructive(hint == Hint::Removes)
        .idempotent(matches!(hint, Hint::Reads | Hint::AddsOnce))
        .open_world(false);
    let answers = answers.get(&beside.answers).cloned().unwrap_or_default();
    Tool::new(name, description.trim_end().to_owned(), Arc::new(input))
        .with_title(beside.title)
        .with_raw_output_schema(Arc::new(answers))
        .with_annotations(hints)
}

/// Whether a tool only looks.
pub(super) fn looks(tool: &Tool) -> bool {
    tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a host pays for all of it in every conversation, in bytes: about four to a token.
    const LIST_BYTES_MAX: usize = 14_000;

    #[test]
    fn every_tool_is_dressed_and_none_besides() {
        let sheet: Sheet = serde_json::from_str(BESIDE).expect("it parses");
        let known: Vec<String> = ToolSpec::for_hosts().into_iter().map(|spec| spec.name).collect();
        assert_eq!(all().len(), known.len());
        assert!(sheet.tools.keys().all(|name| known.contains(name)));
        for beside in sheet.tools.values() {
            assert!(sheet.answers.contains_key(&beside.answers), "{}", beside.answers);
        }
        for tool in all() {
            assert!(tool.title.is_some() && tool.output_schema.is_some_and(|schema| schema["type"] == "object"));
            assert_eq!(tool.input_schema["properties"][SESSION]["type"], "string");
        }
    }

    #[test]
    fn only_forgetting_removes() {
        let removes = |tool: &Tool| tool.annotations.as_ref().is_some_and(ToolAnnotations::is_destructive);
        let names: Vec<String> =
            all().iter().filter(|tool| removes(tool)).map(|tool| tool.name.to_string()).collect();
        assert_eq!(names, ["forget"]);
    }

    #[test]
    fn the_list_is_small_and_always_the_same() {
        let list = serde_json::to_string(&all()).expect("it is written");
        assert!(list.len() <= LIST_BYTES_MAX, "{} bytes", list.len());
        assert_eq!(list, serde_json::to_string(&all()).expect("it is written"));
    }
}
