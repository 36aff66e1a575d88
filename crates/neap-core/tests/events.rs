//! The JSON of every kind of event, as stores have it: `events.jsonl` has each kind with all of its optional fields and
//! without. Stores are read for years, so a line that changes here is a change of the format.

#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::collections::BTreeSet;

use neap_core::session::event::Event;
use serde_json::{Map, Value};

const STORED: &str = include_str!("events.jsonl");
const KINDS: usize = 29;

#[test]
fn every_kind_is_read_and_written_as_it_is_stored() {
    let mut kinds = BTreeSet::new();
    for line in STORED.lines() {
        let event: Event = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
        assert!(
            line.starts_with(&format!("{{\"type\":\"{}\"", event.kind())),
            "{} is no kind of {line}",
            event.kind()
        );
        kinds.insert(event.kind());
    }
    assert_eq!(kinds.len(), KINDS);
}

/// Other programs may write the fields in another order, and later versions may add some.
#[test]
fn the_kind_may_come_after_the_fields_and_unknown_fields_are_skipped() {
    for line in STORED.lines() {
        let event: Event = serde_json::from_str(line).unwrap();
        let mut fields: Map<String, Value> = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::from_value::<Event>(Value::Object(fields.clone())).unwrap(), event, "{line}");
        fields.insert("later".to_owned(), Value::from(vec![1]));
        let kind = fields.remove("type").unwrap();
        let rest = serde_json::to_string(&fields).unwrap();
        let kind_last = format!("{},\"type\":{kind}}}", &rest[..rest.len() - 1]);
        assert_eq!(serde_json::from_str::<Event>(&kind_last).unwrap(), event, "{kind_last}");
    }
}

#[test]
fn what_is_no_event_is_refused_with_its_reason() {
    for (text, reason) in [
        (r#"{"type":"turn_paused","turn":1}"#, "unknown variant `turn_paused`, expected one of `"),
        (r#"{"turn":1,"type":"turn_paused"}"#, "unknown variant `turn_paused`, expected one of `"),
        (r#"{"turn":1}"#, "missing field `type`"),
        (r"{}", "missing field `type`"),
        (r#"{"type":"scrubbed"}"#, "missing field `events`"),
        (r#"{"type":"scrubbed","events":1,"type":"scrubbed"}"#, "duplicate field `type`"),
        (r#"{"type":"scrubbed","events":1,"events":2}"#, "duplicate field `events`"),
        (r#"{"events":1,"events":2,"type":"scrubbed"}"#, "duplicate field `events`"),
        (r#"{"type":7,"events":1}"#, "invalid type: integer `7`"),
        (r#"{"type":"scrubbed","events":-1}"#, "invalid value: integer `-1`, expected u64"),
        ("7", "invalid type: integer `7`"),
    ] {
        let error = serde_json::from_str::<Event>(text).unwrap_err().to_string();
        assert!(error.starts_with(reason), "{text}: {error}");
    }
}
