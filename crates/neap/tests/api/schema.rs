//! Checks JSON against the schemas of the document: as much of JSON Schema as they use, and nothing unknown.

use serde_json::{Map, Value};

/// Why a value does not fit; `None` if it does.
pub(super) fn misfit(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    check(document, schema, value, "").err()
}

type Fits = Result<(), String>;

fn check(document: &Value, schema: &Value, value: &Value, at: &str) -> Fits {
    let Some(rules) = schema.as_object() else { return Err(format!("{at}: no schema: {schema}")) };
    for (name, rule) in rules {
        match name.as_str() {
            "$ref" => {
                let path = rule.as_str().expect("a reference").trim_start_matches('#');
                let target = document.pointer(path).unwrap_or_else(|| panic!("no {path}"));
                check(document, target, value, at)?;
            }
            "type" => check_type(rule, value, at)?,
            "enum" => {
                ensure(rule.as_array().expect("a list").contains(value), || format!("{at}: not {rule}: {value}"))?
            }
            "const" => ensure(rule == value, || format!("{at}: not {rule}: {value}"))?,
            "anyOf" | "oneOf" => {
                let options = rule.as_array().expect("a list");
                let fits = options.iter().filter(|option| check(document, option, value, at).is_ok()).count();
                let is_fine = if name == "oneOf" { fits == 1 } else { fits > 0 };
                ensure(is_fine, || format!("{at}: fits {fits} of {name}: {value}"))?;
            }
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(document, rule, item, &format!("{at}/{n}"))?;
                }
            }
            "required" => {
                for field in rule.as_array().expect("a list").iter().filter_map(Value::as_str) {
                    ensure(value.as_object().is_none_or(|object| object.contains_key(field)), || {
                        format!("{at}: no {field}: {value}")
                    })?;
                }
            }
            "properties" | "additionalProperties" => {}
            "minimum" => ensure(value.as_f64().is_none_or(|n| n >= rule.as_f64().expect("a number")), || {
                format!("{at}: {value}")
            })?,
            "maximum" => ensure(value.as_f64().is_none_or(|n| n <= rule.as_f64().expect("a number")), || {
                format!("{at}: {value}")
            })?,
            "description" | "minLength" | "maxLength" | "minItems" | "maxItems" => {}
            other => return Err(format!("{at}: the check does not know '{other}'")),
        }
    }
    check_fields(document, rules, value, at)
}

fn check_fields(document: &Value, rules: &Map<String, Value>, value: &Value, at: &str) -> Fits {
    let (Some(object), empty) = (value.as_object(), Map::new()) else { return Ok(()) };
    let known = rules.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    for (name, field) in object {
        let at = format!("{at}/{name}");
        match (known.get(name), rules.get("additionalProperties")) {
            (Some(schema), _) => check(document, schema, field, &at)?,
            (None, Some(Value::Bool(false))) => return Err(format!("{at}: not in the schema")),
            (None, Some(schema)) if schema.is_object() => check(document, schema, field, &at)?,
            (None, _) => {}
        }
    }
    Ok(())
}

fn check_type(rule: &Value, value: &Value, at: &str) -> Fits {
    let is = |name: &str| match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("type {other}"),
    };
    let fits = match rule.as_array() {
        Some(names) => names.iter().filter_map(Value::as_str).any(is),
        None => is(rule.as_str().expect("a type")),
    };
    ensure(fits, || format!("{at}: not {rule}: {value}"))
}

fn ensure(fits: bool, why: impl FnOnce() -> String) -> Fits {
    if fits { Ok(()) } else { Err(why()) }
}
