//! The tools in MCP's form: the core's definition with a title, an output schema and hints.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use neap_core::base::refusal::Refusal;
use neap_core::context::tools::ToolSpec;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

/// The additions to the core's definitions.
const DETAILS_JSON: &str = include_str!("tools.json");
pub(super) const SESSION: &str = "session";
/// Characters of a client's name for something that an error repeats.
const NAME_CHARS_MAX: usize = 80;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolDetails {
    title: String,
    /// Further words by which hosts find the tool.
    #[serde(default)]
    also: String,
    /// Arguments that only hosts are offered: a chat pays for its schemas in every request.
    #[serde(default)]
    takes: JsonObject,
    /// Name of the output schema.
    answers: String,
    #[serde(default)]
    hint: ToolEffect,
}

#[derive(Deserialize, Default, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum ToolEffect {
    Reads,
    #[default]
    Adds,
    /// Adds; repeating it adds nothing more.
    AddsOnce,
    Removes,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolSheet {
    tools: BTreeMap<String, ToolDetails>,
    answers: BTreeMap<String, JsonObject>,
}

pub(super) fn all_tools() -> Vec<Tool> {
    let mut sheet: ToolSheet = serde_json::from_str(DETAILS_JSON).expect("tools.json is tested to parse");
    let mut all = Vec::new();
    for spec in ToolSpec::for_hosts() {
        let details = sheet.tools.remove(&spec.name).expect("tools.json is tested to know every tool");
        all.push(mcp_tool(spec, details, &sheet.answers));
    }
    all
}

fn mcp_tool(spec: ToolSpec, details: ToolDetails, answers: &BTreeMap<String, JsonObject>) -> Tool {
    let ToolSpec { name, description, parameters } = spec;
    let description = format!("{description} {}", details.also);
    let mut input = match parameters {
        Value::Object(input) => input,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => JsonObject::new(),
    };
    if let Some(Value::Object(properties)) = input.get_mut("properties") {
        properties.extend(details.takes);
        properties.insert(SESSION.to_owned(), json!({"type": "string"}));
    }
    input.insert("additionalProperties".to_owned(), Value::Bool(false));
    let hint = details.hint;
    let hints = ToolAnnotations::new()
        .read_only(hint == ToolEffect::Reads)
        .destructive(hint == ToolEffect::Removes)
        .idempotent(matches!(hint, ToolEffect::Reads | ToolEffect::AddsOnce))
        .open_world(false);
    let answers = answers.get(&details.answers).cloned().unwrap_or_default();
    Tool::new(name, description.trim_end().to_owned(), Arc::new(input))
        .with_title(details.title)
        .with_raw_output_schema(Arc::new(answers))
        .with_annotations(hints)
}

/// Refuses arguments that the schema does not declare: a misspelt one would be ignored, and the call would do
/// something else than was meant.
pub(super) fn check_arguments(tool: &Tool, arguments: &JsonObject) -> Result<(), Refusal> {
    let declared = tool.input_schema.get("properties").and_then(Value::as_object);
    let is_known = |name: &String| declared.is_some_and(|declared| declared.contains_key(name));
    let unknown: Vec<String> =
        arguments.keys().filter(|name| !is_known(name)).map(|name| format!("'{}'", printable(name))).collect();
    let known: Vec<&str> = declared.into_iter().flat_map(JsonObject::keys).map(String::as_str).collect();
    match unknown.as_slice() {
        [] => Ok(()),
        [one] => Err(Refusal::new(format!("{} has no argument {one}.", tool.name))),
        many => Err(Refusal::new(format!("{} has no arguments {}.", tool.name, many.join(", ")))),
    }
    .map_err(|refusal| refusal.hint(format!("its arguments are: {}", known.join(", "))))
}

/// The beginning of a name that somebody else chose.
pub(super) fn printable(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect()
}

/// Whether a tool of this name changes nothing; one that is unknown might.
pub(super) fn is_read_only_name(name: &str) -> bool {
    static READING: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        all_tools().into_iter().filter(is_read_only).map(|tool| tool.name.into_owned()).collect()
    });
    READING.contains(name)
}

pub(super) fn is_read_only(tool: &Tool) -> bool {
    tool.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that a host pays for the list in every conversation; about four per token.
    const LIST_BYTES_MAX: usize = 14_000;

    #[test]
    fn every_tool_is_dressed_and_none_besides() {
        let sheet: ToolSheet = serde_json::from_str(DETAILS_JSON).expect("it parses");
        let known: Vec<String> = ToolSpec::for_hosts().into_iter().map(|spec| spec.name).collect();
        assert_eq!(all_tools().len(), known.len());
        assert!(sheet.tools.keys().all(|name| known.contains(name)));
        for beside in sheet.tools.values() {
            assert!(sheet.answers.contains_key(&beside.answers), "{}", beside.answers);
        }
        for tool in all_tools() {
            assert!(tool.title.is_some() && tool.output_schema.is_some_and(|schema| schema["type"] == "object"));
            assert_eq!(tool.input_schema["properties"][SESSION]["type"], "string");
            assert_eq!(tool.input_schema["additionalProperties"], false);
        }
    }

    #[test]
    fn only_forgetting_removes() {
        let removes = |tool: &Tool| tool.annotations.as_ref().is_some_and(ToolAnnotations::is_destructive);
        let names: Vec<String> =
            all_tools().iter().filter(|tool| removes(tool)).map(|tool| tool.name.to_string()).collect();
        assert_eq!(names, ["forget"]);
    }

    #[test]
    fn the_list_is_small_and_always_the_same() {
        let list = serde_json::to_string(&all_tools()).expect("it is written");
        assert!(list.len() <= LIST_BYTES_MAX, "{} bytes", list.len());
        assert_eq!(list, serde_json::to_string(&all_tools()).expect("it is written"));
    }
}
