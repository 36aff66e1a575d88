//! Masks secrets in exported events: in every string, and in ids made from names.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};

use super::event::{EffortEvent, Event, RecordedEvent};
use crate::text::secrets::{Masking, UniqueIds, mask_name};

/// Masks exported events and counts the secrets. An effort whose name contains a secret gets a new id, replaced
/// wherever it occurs. If a masked event no longer parses, the whole import fails and the error names it.
pub fn mask_exported(masking: Masking, events: Vec<RecordedEvent>) -> Result<(Vec<RecordedEvent>, u64), String> {
    if masking == Masking::Off {
        return Ok((events, 0));
    }
    let renames = IdRenames::new(&events)?;
    let (mut out, mut places) = (Vec::with_capacity(events.len()), 0);
    for recorded in events {
        let (seq, name) = (recorded.seq, recorded.event.kind());
        let unreadable = |error| format!("event {seq} ({name}) cannot be read without its secrets: {error}");
        let mut value = serde_json::to_value(&recorded).map_err(unreadable)?;
        let found = mask_value(masking, &renames, &mut value);
        places += found.places;
        out.push(if found.is_changed { serde_json::from_value(value).map_err(unreadable)? } else { recorded });
    }
    Ok((out, places))
}

/// Ids made from a name with a secret, and their replacements.
struct IdRenames {
    matcher: Option<AhoCorasick>,
    replacements: Vec<String>,
}

impl IdRenames {
    fn new(events: &[RecordedEvent]) -> Result<Self, String> {
        let opened = events.iter().filter_map(|recorded| {
            let Event::Effort(EffortEvent::Opened { id, name, .. }) = &recorded.event else { return None };
            Some((id, name))
        });
        let mut unique_ids = UniqueIds::new(opened.clone().map(|(id, _)| id.clone()));
        let mut renamed: BTreeMap<&str, String> = BTreeMap::new();
        for (id, name) in opened {
            let safe = mask_name(name);
            if safe == *name || renamed.contains_key(id.as_str()) {
                continue;
            }
            let new = unique_ids
                .allocate(&safe)
                .ok_or_else(|| format!("no id can be made of an effort's name: {safe}"))?;
            renamed.insert(id.as_str(), new.to_string());
        }
        // One pass for all, longest match first: an id may be the prefix of another.
        let mut builder = AhoCorasick::builder();
        let build = || builder.match_kind(MatchKind::LeftmostLongest).build(renamed.keys());
        let matcher = (!renamed.is_empty()).then(build).transpose().map_err(|error| error.to_string())?;
        Ok(Self { matcher, replacements: renamed.into_values().collect() })
    }

    fn replace(&self, text: &str) -> Option<String> {
        let matcher = self.matcher.as_ref().filter(|matcher| matcher.is_match(text))?;
        Some(matcher.replace_all(text, &self.replacements))
    }
}

#[derive(Default)]
struct MaskCount {
    places: u64,
    is_changed: bool,
}

impl MaskCount {
    fn merge(self, other: Self) -> Self {
        Self { places: self.places + other.places, is_changed: self.is_changed || other.is_changed }
    }
}

fn mask_string(masking: Masking, renames: &IdRenames, text: &mut String) -> MaskCount {
    let new = renames.replace(text);
    let is_renamed = new.is_some();
    *text = new.unwrap_or_else(|| std::mem::take(text));
    let (safe, places) = masking.mask(text);
    let safe = (places > 0).then(|| safe.into_owned());
    *text = safe.unwrap_or_else(|| std::mem::take(text));
    MaskCount { places: u64::from(places), is_changed: is_renamed || places > 0 }
}

fn mask_value(masking: Masking, renames: &IdRenames, value: &mut Value) -> MaskCount {
    match value {
        Value::String(text) => mask_string(masking, renames, text),
        Value::Array(values) => values
            .iter_mut()
            .map(|value| mask_value(masking, renames, value))
            .fold(MaskCount::default(), MaskCount::merge),
        Value::Object(members) => {
            let mut found = MaskCount::default();
            let mut masked = Map::new();
            for (mut name, mut value) in std::mem::take(members) {
                found = found
                    .merge(mask_value(masking, renames, &mut value))
                    .merge(mask_string(masking, renames, &mut name));
                masked.insert(name, value);
            }
            *members = masked;
            found
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => MaskCount::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{EffortId, Seq, Stamp, TurnNo};
    use crate::base::message::{CountedMessage, Message};
    use crate::base::tokens::Tokens;
    use crate::session::event::TurnEvent;

    fn recorded(seq: u64, event: Event) -> RecordedEvent {
        RecordedEvent { seq: Seq(seq), at: Stamp(1), event }
    }

    fn opened(seq: u64, id: &str, name: &str) -> RecordedEvent {
        let id = EffortId::parse(id).expect("an id");
        recorded(seq, Event::Effort(EffortEvent::Opened { id, name: name.to_owned(), turn: TurnNo(1) }))
    }

    #[test]
    fn efforts_that_a_secret_parted_stay_apart() {
        let long = "a long name ".repeat(6);
        let mut events = vec![
            opened(1, "db-password-alpha1", "db password=alpha1"),
            opened(2, "db-password-alpha12", "db password=alpha12"),
        ];
        events.extend((3..40).map(|n| opened(n, &format!("x{n}"), &format!("{long} password=alpha{n}"))));
        let message = CountedMessage { message: Message::user("see db-password-alpha12"), tokens: Tokens(9) };
        events.push(recorded(40, Event::Turn(TurnEvent::MessageAdded { turn: TurnNo(1), message })));
        let (safe, places) = mask_exported(Masking::On, events).expect("it can be read");
        let shown = format!("{safe:?}");
        assert!(places >= 39 && !shown.contains("alpha"), "{shown}");
        let ids = safe.iter().filter_map(|recorded| {
            let Event::Effort(EffortEvent::Opened { id, .. }) = &recorded.event else { return None };
            Some(id.to_string())
        });
        assert_eq!(ids.collect::<std::collections::BTreeSet<_>>().len(), 39);
        assert!(shown.contains("see db-password-masked-password-2"), "{shown}");
    }

    /// An event that cannot be masked is refused by name, never imported as it is.
    #[test]
    fn an_event_that_cannot_be_masked_is_refused() {
        let key = format!("gl{}-{}", "pat", "ab3de6gh9jk2mn5pq8st");
        let error = mask_exported(Masking::On, vec![opened(7, &key, "harmless")]).expect_err("its id is a key");
        assert!(error.contains('7') && error.contains("effort_opened") && !error.contains("ab3de6"), "{error}");
        assert!(mask_exported(Masking::Off, vec![opened(7, &key, "harmless")]).is_ok());
    }
}
