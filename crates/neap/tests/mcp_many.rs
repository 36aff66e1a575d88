//! Several `neap mcp` processes on one store, half of them killed on the way: every acknowledged turn is there once.
//! `bench/mcp/many.py` does the same at length, and tells how long calls wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::client::Client;
use crate::rig::Neap;
use serde_json::{Value, json};

const PROCESSES: usize = 8;
const TURNS: usize = 40;

/// Records turns; half-way, an odd one dies with a call in flight, and whoever comes after it sends that turn again.
fn record(neap: &Neap, at: usize) -> Vec<String> {
    let args = ["--session", "shared"];
    let mut client = Client::greeted(neap, &args, "2025-11-25", json!({}));
    let mut acknowledged = Vec::new();
    for turn in 0..TURNS {
        let id = format!("p{at}t{turn}");
        let call = json!({"user": format!("process {at} says {turn}"), "assistant": "noted", "turn_id": id});
        if at % 2 == 1 && turn == TURNS / 2 + at {
            client.begin("tools/call", json!({"name": "record_turn", "arguments": call.clone()}));
            client.kill();
            client = Client::greeted(neap, &args, "2025-11-25", json!({}));
        }
        assert_eq!(client.tool("record_turn", call)["status"], "recorded");
        acknowledged.push(id);
    }
    assert_eq!(client.hang_up(), 0);
    acknowledged
}

#[test]
fn every_acknowledged_turn_is_there_once() {
    let neap = Arc::new(Neap::new());
    let threads: Vec<_> = (0..PROCESSES)
        .map(|at| {
            let neap = neap.clone();
            std::thread::spawn(move || record(&neap, at))
        })
        .collect();
    let acknowledged: Vec<String> =
        threads.into_iter().flat_map(|thread| thread.join().expect("every call is answered")).collect();
    assert_eq!(acknowledged.len(), PROCESSES * TURNS);
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut turns = Vec::new();
    for event in neap.events("shared") {
        collect(&event, &mut found, &mut turns);
    }
    for id in &acknowledged {
        assert_eq!(found.get(id), Some(&1), "{id}");
    }
    assert_eq!(found.len(), acknowledged.len(), "nothing else was recorded");
    let whole = neap.run(&["store", "doctor"]);
    assert_eq!(whole.code, 0, "{}{}", whole.out, whole.err);
}

/// Counts ids of turns wherever an event has one.
fn collect(value: &Value, found: &mut BTreeMap<String, usize>, turns: &mut Vec<u64>) {
    match value {
        Value::Object(object) => {
            if let Some(id) = object.get("turn_id").and_then(Value::as_str) {
                *found.entry(id.to_owned()).or_default() += 1;
                turns.extend(object.get("turn").and_then(Value::as_u64));
            }
            object.values().for_each(|value| collect(value, found, turns));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found, turns)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
