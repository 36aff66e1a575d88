//! Lossless JSON, parsed only as deep as needed: objects and arrays hold their parts as text.
//!
//! A parsed tree would lose member order, spacing, the spelling of numbers and escapes, and duplicate members.
//! Here everything is written back byte for byte. Parts are slices of the source text; nothing is copied.

mod indexed_object;
mod scanner;
mod shared_str;

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

pub(crate) use indexed_object::IndexedObject;
use scanner::Scanner;
use shared_str::SharedStr;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotJson {
    #[error("not JSON: {0}")]
    Malformed(String),
    #[error("JSON, but not {0}")]
    Unexpected(&'static str),
}

/// One JSON value as text. It keeps its whole source text in memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(SharedStr);

impl Json {
    /// Drops surrounding white space.
    pub fn parse(text: &str) -> Result<Self, NotJson> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| NotJson::Malformed(error.to_string()))?;
        Ok(Self(raw.get().into()))
    }

    pub fn from_value(value: &(impl Serialize + ?Sized)) -> Self {
        // Only text, numbers and maps with text keys are ever written here.
        Self(serde_json::to_string(value).expect("plain data can be written as JSON").into())
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// `None` if the value has another type.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.0).ok()
    }

    pub fn is_null(&self) -> bool {
        &*self.0 == "null"
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Finds a member's value in an object's text without parsing the rest. On invalid JSON the result is arbitrary.
pub fn find_member<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    Scanner::find_member(object, key)
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Element {
    /// Everything since the bracket or comma: space, and in an object the key and the colon.
    before: SharedStr,
    /// The byte range of the quoted key in `before`.
    key: (usize, usize),
    value: Json,
    /// Space up to the following comma or bracket.
    after: SharedStr,
}

impl Element {
    fn key(&self) -> Cow<'_, str> {
        let quoted = &self.before[self.key.0..self.key.1];
        unquoted(quoted)
    }
}

fn unquoted(quoted: &str) -> Cow<'_, str> {
    let plain = quoted.trim_matches('"');
    if !plain.contains('\\') {
        return Cow::Borrowed(plain);
    }
    serde_json::from_str(quoted).map_or(Cow::Borrowed(plain), Cow::Owned)
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Object {
    elements: Vec<Element>,
    /// Space inside empty braces.
    inner_space: SharedStr,
}

impl Object {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn parse(text: &str) -> Result<Self, NotJson> {
        Self::from_json(&Json::parse(text)?).ok_or(NotJson::Unexpected("an object"))
    }

    pub fn from_json(json: &Json) -> Option<Self> {
        let (elements, inner_space) = Scanner::elements(&json.0, b'{')?;
        Some(Self { elements, inner_space })
    }

    /// Of duplicate keys, the last wins, as in most parsers.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.elements.iter().rev().find(|part| part.key() == key).map(|part| &part.value)
    }

    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.get(key)?.read()
    }

    pub fn text_of(&self, key: &str) -> Option<String> {
        self.read(key)
    }

    pub fn object(&self, key: &str) -> Option<Object> {
        Object::from_json(self.get(key)?)
    }

    pub fn array(&self, key: &str) -> Option<Array> {
        Array::from_json(self.get(key)?)
    }

    pub fn keys(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.elements.iter().map(Element::key)
    }

    /// Replaces the value that [`get`](Self::get) returns, or appends the member.
    pub fn set(&mut self, key: &str, value: Json) {
        if let Some(part) = self.elements.iter_mut().rev().find(|part| part.key() == key) {
            part.value = value;
            return;
        }
        let quoted = Json::from_value(key);
        let key = (0, quoted.text().len());
        self.elements.push(Element {
            before: format!("{}:", quoted.text()).into(),
            key,
            value,
            after: SharedStr::default(),
        });
    }

    pub fn with(mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.set(key, Json::from_value(value));
        self
    }

    pub fn with_json(mut self, key: &str, value: Json) -> Self {
        self.set(key, value);
        self
    }

    /// Removes every member with this key; returns whether there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        let before = self.elements.len();
        self.elements.retain(|part| part.key() != key);
        self.elements.len() != before
    }

    pub fn to_json(&self) -> Json {
        Json(self.to_text().into())
    }

    pub fn to_text(&self) -> String {
        render('{', &self.elements, &self.inner_space, '}')
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Array {
    elements: Vec<Element>,
    inner_space: SharedStr,
}

impl Array {
    pub fn parse(text: &str) -> Result<Self, NotJson> {
        Self::from_json(&Json::parse(text)?).ok_or(NotJson::Unexpected("an array"))
    }

    pub fn from_json(json: &Json) -> Option<Self> {
        let (elements, inner_space) = Scanner::elements(&json.0, b'[')?;
        Some(Self { elements, inner_space })
    }

    pub fn items(&self) -> impl DoubleEndedIterator<Item = &Json> + ExactSizeIterator {
        self.elements.iter().map(|part| &part.value)
    }

    pub fn get(&self, at: usize) -> Option<&Json> {
        self.elements.get(at).map(|part| &part.value)
    }

    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Skips items that are not objects.
    pub fn objects(&self) -> impl Iterator<Item = Object> {
        self.items().filter_map(Object::from_json)
    }

    pub fn push(&mut self, value: Json) {
        self.elements.push(Element {
            before: SharedStr::default(),
            key: (0, 0),
            value,
            after: SharedStr::default(),
        });
    }

    /// Keeps the space around the item.
    pub fn replace(&mut self, at: usize, value: Json) {
        if let Some(part) = self.elements.get_mut(at) {
            part.value = value;
        }
    }

    pub fn to_json(&self) -> Json {
        Json(render('[', &self.elements, &self.inner_space, ']').into())
    }
}

impl FromIterator<Json> for Array {
    fn from_iter<I: IntoIterator<Item = Json>>(values: I) -> Self {
        let mut array = Array::default();
        values.into_iter().for_each(|value| array.push(value));
        array
    }
}

fn render(open: char, elements: &[Element], inner_space: &str, close: char) -> String {
    let inside: usize = elements
        .iter()
        .map(|element| element.before.len() + element.value.0.len() + element.after.len() + 1)
        .sum();
    let mut out = String::with_capacity(inside + inner_space.len() + 2);
    out.push(open);
    if elements.is_empty() {
        out.push_str(inner_space);
    }
    for (at, element) in elements.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&element.before);
        out.push_str(&element.value.0);
        out.push_str(&element.after);
    }
    out.push(close);
    out
}
