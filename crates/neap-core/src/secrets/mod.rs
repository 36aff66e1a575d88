//! Secrets are masked before anything is stored, named or embedded.
//!
//! Three kinds of knowledge find them: forms (`gitleaks.txt`, a maintained set of rules, and `ours.txt`), names that
//! secrets are given to (`named`), and the text around them (`around`). One pass over a text looks for the keywords of
//! all of them at once; only the neighbourhood of a keyword is looked at more closely, and a rule is compiled when its
//! keyword first turns up. What only looks like a secret stays: hashes of commits, ids, prose about passwords, code that
//! reads a variable, placeholders.
//!
//! A place that was masked says so, and what it was: `[masked: groq api key]`. Such a place is never looked at again and
//! parts the text around it: masking a masked text changes nothing.

mod around;
mod escaped;
mod event;
mod exported;
mod fresh;
mod json;
mod keywords;
mod message;
mod name;
mod named;
mod rule;
mod told;
mod value;
mod work;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

pub(crate) use event::mask_event;
pub use exported::mask_exported;
pub(crate) use fresh::FreshIds;
pub use json::mask_json;
pub use message::{mask_call, mask_item, mask_key, mask_message};

use keywords::Finder;

/// Whether what is stored is masked. The owner of a store may turn it off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Masking {
    /// Secrets are masked.
    #[default]
    On,
    /// Everything is kept as it was said.
    Off,
}

impl Masking {
    /// A text as it may be stored, and how many places were masked in it.
    pub fn text<'a>(self, text: &'a str) -> (Cow<'a, str>, u32) {
        match self {
            Masking::Off => (Cow::Borrowed(text), 0),
            Masking::On => masked(text),
        }
    }
}

/// A text without its secrets, and how many there were.
pub fn mask(text: &str) -> (String, u32) {
    let (text, places) = masked(text);
    (text.into_owned(), places)
}

/// A name as it may be kept, and be made an id of. A key or token in it leaves a digest behind: names that differ stay
/// apart. Names are masked whatever the owner of a store wants, since they become names of files.
pub fn mask_name(name: &str) -> String {
    let (masked, places) = masked(name);
    if places > 0 && holds_key(name) {
        return format!("{masked} {}", message::digest(name));
    }
    masked.into_owned()
}

/// How many places of a text were masked when it was stored.
pub fn masked_places(text: &str) -> usize {
    if text.contains(MASK_BEGINS) { PLACE.find_iter(text).count() } else { 0 }
}

/// Whether what stands in square brackets is a mask that says what it was.
pub(crate) fn is_mask(inner: &str) -> bool {
    let is_of_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b" .-".contains(&byte);
    let label = inner.strip_prefix("masked: ").filter(|label| (1..=LABEL_BYTES_MAX).contains(&label.len()));
    label.is_some_and(|label| label.bytes().all(is_of_label))
}

/// Whether a text holds a key or token by its form alone, whatever stands before it.
pub(crate) fn holds_key(text: &str) -> bool {
    Finder::get().find(text).iter().any(|found| found.is_by_form)
}

/// Longest name of what was masked.
const LABEL_BYTES_MAX: usize = 60;
/// What begins every mask.
const MASK_BEGINS: &str = "[masked";

/// A place that was masked; older ones do not say what they were.
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[masked(?:: [a-z0-9 .-]{1,60})?\]").expect("a form of ours is valid"));

/// How often the text beside a mask is looked at again: a secret may have hidden another from the rules. What still holds
/// one then is masked whole, so that the work is bounded.
const AGAIN_MAX: usize = 6;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    range: Range<usize>,
    /// What it is, for people.
    label: Cow<'static, str>,
    /// Whether its own form tells it.
    is_by_form: bool,
}

fn masked(text: &str) -> (Cow<'_, str>, u32) {
    let mut cover = Cover { text, secrets: Vec::new() };
    let finder = Finder::get();
    let mut start = 0;
    if text.contains(MASK_BEGINS) {
        for place in PLACE.find_iter(text) {
            cover.part(finder, start..place.start(), 0);
            start = place.end();
        }
    }
    cover.part(finder, start..text.len(), 0);
    let secrets = cover.secrets;
    if secrets.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    let masks: Vec<_> = secrets.iter().map(|secret| (secret.range.clone(), secret.mask())).collect();
    let masked = with_masks(text, &masks);
    if !json::is_json(text) || json::is_json(&masked) {
        return (Cow::Owned(masked), masks.len() as u32);
    }
    let masks = json::fitted(text, &secrets);
    (Cow::Owned(with_masks(text, &masks)), masks.len() as u32)
}

/// A text with masks over some places of it, which are in order.
fn with_masks(text: &str, masks: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (place, mask) in masks {
        out.push_str(&text[copied..place.start]);
        out.push_str(mask);
        copied = place.end;
    }
    out.push_str(&text[copied..]);
    out
}

/// A place that is masked.
struct Secret {
    range: Range<usize>,
    label: Cow<'static, str>,
}

impl Secret {
    fn mask(&self) -> String {
        format!("{MASK_BEGINS}: {}]", self.label)
    }
}

/// A text whose secrets are covered.
struct Cover<'t> {
    text: &'t str,
    /// In the order of the text.
    secrets: Vec<Secret>,
}

impl Cover<'_> {
    /// Covers what is secret in a part of the text. The part is looked at by itself, as it will be when it is masked again.
    fn part(&mut self, finder: &Finder, part: Range<usize>, again: usize) {
        let found = merged(&self.text[part.clone()], finder.find(&self.text[part.clone()]));
        let Some(first) = found.first() else { return };
        if again >= AGAIN_MAX {
            let label = first.label.clone();
            return self.secrets.push(Secret { range: part, label });
        }
        let mut start = part.start;
        for Found { range, label, .. } in found {
            let secret = part.start + range.start..part.start + range.end;
            self.part(finder, start..secret.start, again + 1);
            start = secret.end;
            self.secrets.push(Secret { range: secret, label });
        }
        self.part(finder, start..part.end, again + 1);
    }
}

/// The secrets in order, none overlapping another, each up to the end of its word: half a secret is not left behind.
fn merged(text: &str, mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by(|a, b| (a.range.start, b.range.end).cmp(&(b.range.start, a.range.end)));
    let mut out: Vec<Found> = Vec::with_capacity(found.len());
    for next in found {
        let covered = out.last().map_or(0, |last| last.range.end);
        if next.range.start < covered {
            if let Some(last) = out.last_mut().filter(|last| next.range.end > last.range.end) {
                last.range.end = word_end(text, next.range.end);
            }
            continue;
        }
        let end = word_end(text, next.range.end);
        out.push(Found { range: next.range.start..end, ..next });
    }
    out
}

fn word_end(text: &str, from: usize) -> usize {
    let bytes = &text.as_bytes()[from..];
    let begins_inside = from > 0 && is_word(text.as_bytes()[from - 1]);
    from + if begins_inside { bytes.iter().take_while(|byte| is_word(**byte)).count() } else { 0 }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
