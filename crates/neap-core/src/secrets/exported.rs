//! Secrets in events that come from a file: in every text of them, and in the ids that were made of names.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};

use super::fresh::FreshIds;
use super::{Masking, mask_name};
use crate::event::{Event, Recorded};

/// Exported events without their secrets, and how many there were. An effort whose name held one gets another id, wherever
/// it is named. Where an event cannot be read without its secret, none is taken in: the reason names it.
pub fn mask_exported(masking: Masking, events: Vec<Recorded>) -> Result<(Vec<Recorded>, u64), String> {
    if masking == Masking::Off {
        return Ok((events, 0));
    }
    let renamed = Renamed::of(&events)?;
    let (mut out, mut places) = (Vec::with_capacity(events.len()), 0);
    for recorded in events {
        let (seq, name) = (recorded.seq, recorded.event.kind());
        let unread = |error| format!("event {seq} ({name}) cannot be read without its secrets: {error}");
        let mut value = serde_json::to_value(&recorded).map_err(unread)?;
        let found = walk(masking, &renamed, &mut value);
        places += found.places;
        out.push(if found.is_changed { serde_json::from_value(value).map_err(unread)? } else { recorded });
    }
    Ok((out, places))
}

/// Ids that were made of a name with a secret, and those in their place.
struct Renamed {
    old: Option<AhoCorasick>,
    new: Vec<String>,
}

impl Renamed {
    fn of(events: &[Recorded]) -> Result<Self, String> {
        let opened = events.iter().filter_map(|recorded| {
            if let Event::EffortOpened { id, name, .. } = &recorded.event { Some((id, name)) } else { None }
        });
        let mut fresh = FreshIds::new(opened.clone().map(|(id, _)| id.clone()));
        let mut renamed: BTreeMap<&str, String> = BTreeMap::new();
        for (id, name) in opened {
            let safe = mask_name(name);
            if safe == *name || renamed.contains_key(id.as_str()) {
                continue;
            }
            let new = fresh.take(&safe).ok_or_else(|| format!("no id can be made of an effort's name: {safe}"))?;
            renamed.insert(id.as_str(), new.to_string());
        }
        // One pass for all of them, the longest first: an id may begin with another.
        let mut builder = AhoCorasick::builder();
        let build = || builder.match_kind(MatchKind::LeftmostLongest).build(renamed.keys());
        let old = (!renamed.is_empty()).then(build).transpose().map_err(|error| error.to_string())?;
        Ok(Self { old, new: renamed.into_values().collect() })
    }

    /// The text with new ids, if it had old ones.
    fn text(&self, text: &str) -> Option<String> {
        let old = self.old.as_ref().filter(|old| old.is_match(text))?;
        Some(old.replace_all(text, &self.new))
    }
}

#[derive(Default)]
struct Found {
    places: u64,
    is_changed: bool,
}

impl Found {
    fn and(self, other: Self) -> Self {
        Self { places: self.places + other.places, is_changed: self.is_changed || other.is_changed }
    }
}

fn safe(masking: Masking, renamed: &Renamed, text: &mut String) -> Found {
    let new = renamed.text(text);
    let is_renamed = new.is_some();
    *text = new.unwrap_or_else(|| std::mem::take(text));
    let (safe, places) = masking.text(text);
    let safe = (places > 0).then(|| safe.into_owned());
    *text = safe.unwrap_or_else(|| std::mem::take(text));
    Found { places: u64::from(places), is_changed: is_renamed || places > 0 }
}

fn walk(masking: Masking, renamed: &Renamed, value: &mut Value) -> Found {
    match value {
        Value::String(text) => safe(masking, renamed, text),
        Value::Array(values) => {
            values.iter_mut().map(|value| walk(masking, renamed, value)).fold(Found::default(), Found::and)
        }
        Value::Object(members) => {
            let mut found = Found::default();
            let mut kept = Map::new();
            for (mut name, mut value) in std::mem::take(members) {
                found = found.and(walk(masking, renamed, &mut value)).and(safe(masking, renamed, &mut name));
                kept.insert(name, value);
            }
            *members = kept;
            found
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Found::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{EffortId, Seq, Stamp, TurnNo};
    use crate::message::{Counted, Message};
    use crate::tokens::Tokens;

    fn recorded(seq: u64, event: Event) -> Recorded {
        Recorded { seq: Seq(seq), at: Stamp(1), event }
    }

    fn opened(seq: u64, id: &str, name: &str) -> Recorded {
        let id = EffortId::parse(id).expect("an id");
        recorded(seq, Event::EffortOpened { id, name: name.to_owned(), turn: TurnNo(1) })
    }

    #[test]
    fn efforts_that_a_secret_parted_stay_apart() {
        let long = "a long name ".repeat(6);
        let mut events = vec![
            opened(1, "db-password-alpha1", "db password=alpha1"),
            opened(2, "db-password-alpha12", "db password=alpha12"),
        ];
        events.extend((3..40).map(|n| opened(n, &format!("x{n}"), &format!("{long} password=alpha{n}"))));
        let message = Counted { message: Message::user("see db-password-alpha12"), tokens: Tokens(9) };
        events.push(recorded(40, Event::MessageAdded { turn: TurnNo(1), message }));
        let (safe, places) = mask_exported(Masking::On, events).expect("it can be read");
        let shown = format!("{safe:?}");
        assert!(places >= 39 && !shown.contains("alpha"), "{shown}");
        let ids = safe.iter().filter_map(|recorded| {
            if let Event::EffortOpened { id, .. } = &recorded.event { Some(id.to_string()) } else { None }
        });
        assert_eq!(ids.collect::<std::collections::BTreeSet<_>>().len(), 39);
        assert!(shown.contains("see db-password-masked-password-2"), "{shown}");
    }

    /// What cannot be masked is refused by its name, and never taken in as it is.
    #[test]
    fn an_event_that_cannot_be_masked_is_refused() {
        let key = format!("gl{}-{}", "pat", "ab3de6gh9jk2mn5pq8st");
        let error = mask_exported(Masking::On, vec![opened(7, &key, "harmless")]).expect_err("its id is a key");
        assert!(error.contains('7') && error.contains("effort_opened") && !error.contains("ab3de6"), "{error}");
        assert!(mask_exported(Masking::Off, vec![opened(7, &key, "harmless")]).is_ok());
    }
}
