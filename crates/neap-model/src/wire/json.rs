//! JSON that is not taken apart further than needed: objects and arrays as their parts, every part as its text.
//!
//! Reading a value into a tree and writing it again loses what matters between programs: the order of members, spaces, how a
//! number or an escape was written, members that are there twice. Here nothing is lost: what is read is written back byte
//! for byte, whatever is in it. Nor is anything copied: parts are stretches of the text that they were read from.

mod listing;
mod scan;
mod stretch;

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

pub(crate) use listing::Listing;
use scan::Scan;
use stretch::Stretch;

/// Text that is not what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotJson {
    /// No JSON at all.
    #[error("not JSON: {0}")]
    Malformed(String),
    /// JSON of another kind.
    #[error("JSON, but not {0}")]
    Unexpected(&'static str),
}

/// One JSON value, as its text. It keeps all of the text in memory that it was read from.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Stretch);

impl Json {
    /// Reads a value; space around it is dropped.
    pub fn parse(text: &str) -> Result<Self, NotJson> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| NotJson::Malformed(error.to_string()))?;
        Ok(Self(raw.get().into()))
    }

    /// Writes a value.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Self {
        // Text, numbers and maps with text for keys are all that is ever written here.
        Self(serde_json::to_string(value).expect("plain data can be written as JSON").into())
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Its value, if it is of this type.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.0).ok()
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        &*self.0 == "null"
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text of a member's value, in the text of an object; found without reading what else there is. Of what is no JSON it may find
/// something, or nothing.
pub fn member<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    Scan::member(object, key)
}

/// What stands around a value, and the value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// All before it since the bracket or comma: space; in an object also the key and the colon.
    before: Stretch,
    /// Where the key ends and begins in that.
    key: (usize, usize),
    value: Json,
    /// Space between it and the comma or bracket after it.
    after: Stretch,
}

impl Part {
    fn key(&self) -> Cow<'_, str> {
        let quoted = &self.before[self.key.0..self.key.1];
        unquoted(quoted)
    }
}

/// A key without its quotes.
fn unquoted(quoted: &str) -> Cow<'_, str> {
    let plain = quoted.trim_matches('"');
    if !plain.contains('\\') {
        return Cow::Borrowed(plain);
    }
    serde_json::from_str(quoted).map_or(Cow::Borrowed(plain), Cow::Owned)
}

/// An object as its members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Object {
    parts: Vec<Part>,
    /// Space inside of braces that hold nothing.
    hollow: Stretch,
}

impl Object {
    /// One without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, NotJson> {
        Self::of(&Json::parse(text)?).ok_or(NotJson::Unexpected("an object"))
    }

    /// The value as an object, if it is one.
    pub fn of(json: &Json) -> Option<Self> {
        let (parts, hollow) = Scan::parts(&json.0, b'{')?;
        Some(Self { parts, hollow })
    }

    /// The value of a member. Where a key is there twice, the last counts, as for most readers.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.parts.iter().rev().find(|part| part.key() == key).map(|part| &part.value)
    }

    /// The value of a member, if it is there and of this type.
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.get(key)?.read()
    }

    /// A member as text.
    pub fn text_of(&self, key: &str) -> Option<String> {
        self.read(key)
    }

    /// The member's object.
    pub fn object(&self, key: &str) -> Option<Object> {
        Object::of(self.get(key)?)
    }

    /// The member's array.
    pub fn array(&self, key: &str) -> Option<Array> {
        Array::of(self.get(key)?)
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.parts.iter().map(Part::key)
    }

    /// Puts a value in the place of the one that counts, or at the end.
    pub fn set(&mut self, key: &str, value: Json) {
        if let Some(part) = self.parts.iter_mut().rev().find(|part| part.key() == key) {
            part.value = value;
            return;
        }
        let quoted = Json::of(key);
        let key = (0, quoted.text().len());
        self.parts.push(Part {
            before: format!("{}:", quoted.text()).into(),
            key,
            value,
            after: Stretch::default(),
        });
    }

    /// The same, to be chained.
    pub fn with(mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.set(key, Json::of(value));
        self
    }

    /// The same with a value that is JSON already.
    pub fn with_json(mut self, key: &str, value: Json) -> Self {
        self.set(key, value);
        self
    }

    /// Takes a member out, however often it is there; says whether it was.
    pub fn remove(&mut self, key: &str) -> bool {
        let before = self.parts.len();
        self.parts.retain(|part| part.key() != key);
        self.parts.len() != before
    }

    /// As JSON text.
    pub fn to_json(&self) -> Json {
        Json(self.to_text().into())
    }

    /// The same, for whoever needs nothing but the text.
    pub fn to_text(&self) -> String {
        written('{', &self.parts, &self.hollow, '}')
    }
}

/// An array as its items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Array {
    parts: Vec<Part>,
    hollow: Stretch,
}

impl Array {
    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, NotJson> {
        Self::of(&Json::parse(text)?).ok_or(NotJson::Unexpected("an array"))
    }

    /// The value as an array, if it is one.
    pub fn of(json: &Json) -> Option<Self> {
        let (parts, hollow) = Scan::parts(&json.0, b'[')?;
        Some(Self { parts, hollow })
    }

    /// The items, in order.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = &Json> + ExactSizeIterator {
        self.parts.iter().map(|part| &part.value)
    }

    /// An item.
    pub fn get(&self, at: usize) -> Option<&Json> {
        self.parts.get(at).map(|part| &part.value)
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The items that are objects.
    pub fn objects(&self) -> impl Iterator<Item = Object> {
        self.items().filter_map(Object::of)
    }

    /// Adds an item at the end.
    pub fn push(&mut self, value: Json) {
        self.parts.push(Part { before: Stretch::default(), key: (0, 0), value, after: Stretch::default() });
    }

    /// Puts another value in an item's place; the space around it stays.
    pub fn replace(&mut self, at: usize, value: Json) {
        if let Some(part) = self.parts.get_mut(at) {
            part.value = value;
        }
    }

    /// As JSON text.
    pub fn to_json(&self) -> Json {
        Json(written('[', &self.parts, &self.hollow, ']').into())
    }
}

impl FromIterator<Json> for Array {
    fn from_iter<I: IntoIterator<Item = Json>>(values: I) -> Self {
        let mut array = Array::default();
        values.into_iter().for_each(|value| array.push(value));
        array
    }
}

fn written(open: char, parts: &[Part], hollow: &str, close: char) -> String {
    let inside: usize =
        parts.iter().map(|part| part.before.len() + part.value.0.len() + part.after.len() + 1).sum();
    let mut out = String::with_capacity(inside + hollow.len() + 2);
    out.push(open);
    if parts.is_empty() {
        out.push_str(hollow);
    }
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&part.before);
        out.push_str(&part.value.0);
        out.push_str(&part.after);
    }
    out.push(close);
    out
}
