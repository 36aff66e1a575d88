//! Reads events. The kind tells the family, and is the first field of all that we write.

use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::Event;
use crate::base::event_family::KIND;

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EventVisitor)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Type,
    Field(String),
}

struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let mut fields: Vec<(String, Value)> = Vec::new();
        let kind: String = loop {
            match map.next_key()? {
                Some(Key::Type) => break map.next_value()?,
                Some(Key::Field(name)) => fields.push((name, map.next_value()?)),
                None => return Err(de::Error::missing_field(KIND)),
            }
        };
        if fields.is_empty() {
            return Event::read(&kind, map);
        }
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        let fields = MapDeserializer::<_, serde_json::Error>::new(fields.into_iter());
        Event::read(&kind, fields).map_err(de::Error::custom)
    }
}
