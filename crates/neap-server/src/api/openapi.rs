//! The document in OpenAPI 3.1, made of the table of routes. Forms are in `schemas/`, written by hand: the tests check
//! every answer against them.

use serde_json::{Map, Value, json};

use super::route::{Form, Kind, Param, Place, Route};
use super::routes::{PREFIX, routes};
use crate::access::Need;

const SCHEMAS: [&str; 4] = [
    include_str!("schemas/sessions.json"),
    include_str!("schemas/turns.json"),
    include_str!("schemas/memories.json"),
    include_str!("schemas/server.json"),
];

/// Answers of a refusal, by status.
const REFUSALS: [(&str, &str); 9] = [
    ("400", "Malformed"),
    ("401", "No token, or a wrong one"),
    ("403", "A wrong Host, a foreign Origin, or a token that may only read"),
    ("404", "There is no such thing"),
    ("409", "Somebody else was first"),
    ("413", "The body is too large"),
    ("415", "The body is not JSON"),
    ("422", "A rule refuses it"),
    ("503", "The store is busy, or does not answer"),
];

pub(crate) fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes() {
        let path = paths.entry(format!("{PREFIX}{}", route.path)).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation(&route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Neap",
            "version": "1",
            "description": "An LLM agent's context, bounded; its past, within reach. See docs/api.md.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "http://127.0.0.1:6327"}],
        "security": [{"token": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "responses": refusals(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "neap_session_6327"},
            },
        },
    })
}

pub(super) fn schemas() -> Map<String, Value> {
    let parsed = SCHEMAS.iter().map(|text| serde_json::from_str::<Map<String, Value>>(text));
    parsed.flat_map(|file| file.expect("the schemas are JSON objects, as a test checks")).collect()
}

fn operation(route: &Route) -> Value {
    let mut answers = Map::new();
    answers.insert("200".to_owned(), json!({"description": "The answer", "content": content(route.form)}));
    if route.method == axum::http::Method::GET && !route.is_live && !matches!(route.form, Form::Stream(_)) {
        answers.insert("304".to_owned(), json!({"description": "As If-None-Match says"}));
    }
    for (status, _) in REFUSALS {
        answers.insert(status.to_owned(), json!({"$ref": format!("#/components/responses/{status}")}));
    }
    if route.id == "health" {
        answers.insert("503".to_owned(), json!({"description": "It does not", "content": content(route.form)}));
    }
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.about,
        "parameters": route.params.iter().map(parameter).collect::<Vec<_>>(),
        "responses": answers,
    });
    if let Some(body) = route.body {
        operation["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": reference(body)}}});
    }
    if route.need == Need::Open {
        operation["security"] = json!([]);
    }
    operation
}

fn refusals() -> Map<String, Value> {
    let content = json!({"application/problem+json": {"schema": reference("Problem")}});
    let answer = |about: &str| json!({"description": about, "content": content});
    REFUSALS.iter().map(|(status, about)| ((*status).to_owned(), answer(about))).collect()
}

fn content(form: Form) -> Value {
    match form {
        Form::One(name) => json!({"application/json": {"schema": reference(name)}}),
        Form::List(name) => json!({"application/json": {"schema": list(name)}}),
        Form::Stream(media_type) => json!({media_type: {"schema": {"type": "string"}}}),
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn list(item: &str) -> Value {
    json!({
        "type": "object",
        "required": ["items", "next"],
        "additionalProperties": false,
        "properties": {
            "items": {"type": "array", "items": reference(item)},
            "next": {"type": ["string", "null"]},
            "note": {"type": ["string", "null"]},
            "clipped": reference("Clipped"),
        },
    })
}

fn parameter(param: &Param) -> Value {
    let place = match param.place {
        Place::Path => "path",
        Place::Query => "query",
        Place::Header => "header",
    };
    let schema = match param.kind {
        Kind::Text(max) => json!({"type": "string", "minLength": 1, "maxLength": max}),
        Kind::Integer(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::OneOf(all) => json!({"type": "string", "enum": all}),
    };
    json!({
        "name": param.name, "in": place, "description": param.about, "required": param.is_required,
        "schema": schema,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                let name = fields.get("$ref").and_then(Value::as_str);
                found.extend(name.and_then(|name| name.strip_prefix("#/components/schemas/")).map(str::to_owned));
                fields.values().for_each(|field| references(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_form_is_defined_and_used() {
        let document = document();
        let mut named = BTreeSet::new();
        references(&document, &mut named);
        let defined: BTreeSet<String> = schemas().into_iter().map(|(name, _)| name).collect();
        assert_eq!(named, defined);
    }

    #[test]
    fn every_route_has_a_name_of_its_own() {
        let ids: Vec<&str> = routes().iter().map(|route| route.id).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        let places: BTreeSet<(String, &str)> =
            routes().iter().map(|route| (route.method.to_string(), route.path)).collect();
        assert_eq!(places.len(), ids.len());
    }
}
