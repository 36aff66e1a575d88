//! Secrets in events that come from a file: in every text of them, and in the ids that were made of names.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Masking, mask_name};
use crate::event::{Event, Recorded};
use crate::ids::EffortId;

/// Exported events without their secrets, and how many there were. An effort whose name held one gets another id, wherever
/// it is named.
pub fn mask_exported(masking: Masking, events: Vec<Recorded>) -> (Vec<Recorded>, u64) {
    if masking == Masking::Off {
        return (events, 0);
    }
    let renamed = renamed(&events);
    let mut places = 0;
    let events = events.into_iter().map(|recorded| match serde_json::to_value(&recorded) {
        Ok(mut value) => {
            let found = walk(masking, &renamed, &mut value);
            places += found;
            // What was an event still is one: only texts were changed.
            if found == 0 && renamed.is_empty() { recorded } else { serde_json::from_value(value).unwrap_or(recorded) }
        }
        Err(_) => recorded,
    });
    (events.collect(), places)
}

/// Ids that were made of a name with a secret, and those in their place.
fn renamed(events: &[Recorded]) -> BTreeMap<String, String> {
    let opened = events.iter().filter_map(|recorded| match &recorded.event {
        Event::EffortOpened { id, name, .. } => Some((id, name)),
        _ => None,
    });
    let mut taken: Vec<String> = opened.clone().map(|(id, _)| id.to_string()).collect();
    let mut renamed = BTreeMap::new();
    for (id, name) in opened {
        let safe = mask_name(name);
        if safe == *name || renamed.contains_key(id.as_str()) {
            continue;
        }
        let numbered = (2..).map(|n| format!("{safe} {n}"));
        let names = std::iter::once(safe.clone()).chain(numbered.take(taken.len() + 1));
        let unused = names.filter_map(|name| EffortId::from_name(&name).ok()).find(|id| !taken.contains(&id.to_string()));
        if let Some(new) = unused {
            taken.push(new.to_string());
            renamed.insert(id.to_string(), new.to_string());
        }
    }
    renamed
}

fn walk(masking: Masking, renamed: &BTreeMap<String, String>, value: &mut Value) -> u64 {
    match value {
        Value::String(text) => {
            for (old, new) in renamed {
                if text.contains(old.as_str()) {
                    *text = text.replace(old, new);
                }
            }
            let (safe, places) = super::mask_json(masking, text);
            if places > 0 {
                *text = safe.into_owned();
            }
            u64::from(places)
        }
        Value::Array(values) => values.iter_mut().map(|value| walk(masking, renamed, value)).sum(),
        Value::Object(members) => members.values_mut().map(|value| walk(masking, renamed, value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
