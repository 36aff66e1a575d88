//! Secrets inside JSON, and JSON inside JSON, are masked as in plain text; look-alikes stay, and JSON stays valid.

use serde_json::{Value, json};

use super::super::mask;
use super::formats::FORMATS;
use super::generate::Random;
use super::harmless::HARMLESS;
use super::report::{VALUES, is_hidden, texts};

/// A text as others write it into JSON: compact, with escaped slashes, as a string in another, in a list.
fn wrapped(text: &str) -> Vec<String> {
    let once = json!({"content": text, "n": 3}).to_string();
    let slashes = once.replace('/', "\\/");
    let twice = json!({"body": once}).to_string();
    let listed = json!([{"type": "text", "text": text}, {"name": text, "value": "tim"}]).to_string();
    vec![once, slashes, twice, listed]
}

/// Everything in a JSON text, with escapes decoded at every depth.
fn decoded(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::String(inner)) => decoded(&inner),
        Ok(Value::Array(values)) => values.iter().map(|value| decoded(&value.to_string()) + "\n").collect(),
        Ok(Value::Object(members)) => {
            members.iter().map(|(name, value)| format!("{name} {}\n", decoded(&value.to_string()))).collect()
        }
        Ok(Value::Null | Value::Bool(_) | Value::Number(_)) | Err(_) => text.to_owned(),
    }
}

#[test]
fn secrets_are_found_inside_json_which_stays_json() {
    let (mut hits, mut all, mut missed) = (0, 0, Vec::new());
    for (name, kind) in FORMATS {
        for (context, text, secrets) in texts(name, *kind, 77) {
            for json in wrapped(&text) {
                let (masked, _) = mask(&json);
                assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{name}, {context}: {json}\n{masked}");
                assert_eq!(mask(&masked), (masked.clone(), 0), "{name}, {context}: once is enough");
                let left = super::without_labels(&decoded(&masked));
                for secret in &secrets {
                    all += 1;
                    let is_found =
                        is_hidden(&left, &decoded(&format!("\"{secret}\""))) && is_hidden(&left, secret);
                    hits += usize::from(is_found);
                    missed.extend((!is_found).then(|| format!("{name}, {context}: {json}")));
                }
            }
        }
    }
    assert!(hits * 1_000 >= all * 985, "{hits} of {all}: {missed:#?}");
}

#[test]
fn what_is_harmless_stays_inside_json() {
    let mut masked_ones = Vec::new();
    for (name, form) in HARMLESS {
        for n in 0..VALUES {
            let text = Random::new(4_000 + n).fill(form);
            let json = wrapped(&text).into_iter().filter(|_| mask(&text).1 == 0);
            masked_ones.extend(json.map(|json| mask(&json)).filter(|(_, n)| *n > 0).map(|(text, _)| (name, text)));
        }
    }
    assert!(masked_ones.is_empty(), "{masked_ones:#?}");
}

/// Secrets that are a number, span several strings, or contain a quote are masked completely.
#[test]
fn a_mask_stays_inside_the_text_that_it_is_in() {
    for (text, secret) in [
        ("{\"password\": 1234567890123\n}", "1234567890123"),
        (r#"{"cmd":"machine h\nlogin tim password hun\"ter22","b":"c"}"#, "hun"),
        (r#"{"a":["login tim password hunter22"],"b":{"c":"d"}}"#, "hunter22"),
        (r#"[{"name":"DB_PASSWORD","value":"hunter22"}]"#, "hunter22"),
        (r#"{"cmd":"export DB_PASS=hunter22\\"}"#, "hunter22"),
        (r#"{"DB_PASS=hunter22 x":"y"}"#, "hunter22"),
    ] {
        let (masked, places) = mask(text);
        assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{masked}");
        assert!(places > 0 && !masked.contains(secret), "{masked}");
        assert_eq!(mask(&masked), (masked.clone(), 0), "{masked}");
    }
}
