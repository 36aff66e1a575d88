//! Masks secrets before anything is stored, named or embedded.
//!
//! Three kinds of detectors find them: patterns (`gitleaks.txt`, a maintained rule set, and `ours.txt`), names
//! that secrets are assigned to (`assignments`), and surrounding text (`context`). One pass finds the keywords of
//! all detectors; only text near a keyword is examined, and a rule is compiled when its keyword first appears.
//! Look-alikes stay: commit hashes, ids, prose about passwords, code that reads a variable, placeholders.
//!
//! A mask names what it replaced: `[masked: groq api key]`. Existing masks are skipped and split the text around
//! them, so masking is idempotent.

mod assigned_secret;
mod assignments;
mod context;
mod finder;
mod json;
mod message;
mod name_class;
mod prose;
mod rule;
mod scan_cost;
mod unescape;
mod unique_ids;
mod value;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

pub use message::{mask_call, mask_id, mask_message};
pub(crate) use unique_ids::UniqueIds;

use finder::SecretFinder;

/// Whether stored text is masked. The owner of a store may turn it off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Masking {
    #[default]
    On,
    Off,
}

impl Masking {
    /// The text with secrets masked, and how many there were.
    pub fn mask<'a>(self, text: &'a str) -> (Cow<'a, str>, u32) {
        match self {
            Masking::Off => (Cow::Borrowed(text), 0),
            Masking::On => mask_cow(text),
        }
    }
}

pub fn mask(text: &str) -> (String, u32) {
    let (text, places) = mask_cow(text);
    (text.into_owned(), places)
}

/// A name that may be stored and turned into an id. If it contains a key or token, a digest is appended, so
/// different names stay different. Names are masked even if masking is off, since they become file names.
pub fn mask_name(name: &str) -> String {
    let (masked, places) = mask_cow(name);
    if places > 0 && has_key(name) {
        return format!("{masked} {}", message::hex_digest(name));
    }
    masked.into_owned()
}

pub fn count_masks(text: &str) -> usize {
    if text.contains(MASK_BEGINS) { MASK_PATTERN.find_iter(text).count() } else { 0 }
}

/// Whether the text in square brackets is a mask with a label.
pub(crate) fn is_mask(inner: &str) -> bool {
    let is_label_byte = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b" .-".contains(&byte);
    let label = inner.strip_prefix("masked: ").filter(|label| (1..=LABEL_BYTES_MAX).contains(&label.len()));
    label.is_some_and(|label| label.bytes().all(is_label_byte))
}

/// Whether a text contains a key or token by its pattern alone, whatever surrounds it.
pub(crate) fn has_key(text: &str) -> bool {
    SecretFinder::get().find(text).iter().any(|found| found.is_by_pattern)
}

const LABEL_BYTES_MAX: usize = 60;
const MASK_BEGINS: &str = "[masked";

/// Masks of older versions have no label.
static MASK_PATTERN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[masked(?:: [a-z0-9 .-]{1,60})?\]").expect("a form of ours is valid"));

/// How often the text beside a mask is scanned again: one secret may have hidden another from the rules. A part
/// that still has one after that is masked whole, so the work is bounded.
const RESCANS_MAX: usize = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
struct FoundSecret {
    range: Range<usize>,
    label: Cow<'static, str>,
    is_by_pattern: bool,
}

fn mask_cow(text: &str) -> (Cow<'_, str>, u32) {
    let mut redactor = Redactor { text, secrets: Vec::new() };
    let finder = SecretFinder::get();
    let mut start = 0;
    if text.contains(MASK_BEGINS) {
        for existing in MASK_PATTERN.find_iter(text) {
            redactor.redact(finder, start..existing.start(), 0);
            start = existing.end();
        }
    }
    redactor.redact(finder, start..text.len(), 0);
    let secrets = redactor.secrets;
    if secrets.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    let masks: Vec<_> = secrets.iter().map(|secret| (secret.range.clone(), secret.mask())).collect();
    let masked = apply_masks(text, &masks);
    if !json::is_json(text) || json::is_json(&masked) {
        return (Cow::Owned(masked), masks.len() as u32);
    }
    let masks = json::fit_masks(text, &secrets);
    (Cow::Owned(apply_masks(text, &masks)), masks.len() as u32)
}

/// Replaces ranges, which must be in order, by their masks.
fn apply_masks(text: &str, masks: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (range, mask) in masks {
        out.push_str(&text[copied..range.start]);
        out.push_str(mask);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    out
}

struct MaskedRange {
    range: Range<usize>,
    label: Cow<'static, str>,
}

impl MaskedRange {
    fn mask(&self) -> String {
        format!("{MASK_BEGINS}: {}]", self.label)
    }
}

struct Redactor<'t> {
    text: &'t str,
    secrets: Vec<MaskedRange>,
}

impl Redactor<'_> {
    /// Masks the secrets in a part of the text. The part is scanned alone, as it will be when masked again.
    fn redact(&mut self, finder: &SecretFinder, part: Range<usize>, depth: usize) {
        let found = merge_overlapping(&self.text[part.clone()], finder.find(&self.text[part.clone()]));
        let Some(first) = found.first() else { return };
        if depth >= RESCANS_MAX {
            let label = first.label.clone();
            return self.secrets.push(MaskedRange { range: part, label });
        }
        let mut start = part.start;
        for FoundSecret { range, label, .. } in found {
            let secret = part.start + range.start..part.start + range.end;
            self.redact(finder, start..secret.start, depth + 1);
            start = secret.end;
            self.secrets.push(MaskedRange { range: secret, label });
        }
        self.redact(finder, start..part.end, depth + 1);
    }
}

/// Secrets in order, without overlaps, each extended to the end of its word: no half of a secret stays behind.
fn merge_overlapping(text: &str, mut found: Vec<FoundSecret>) -> Vec<FoundSecret> {
    found.sort_by(|a, b| (a.range.start, b.range.end).cmp(&(b.range.start, a.range.end)));
    let mut out: Vec<FoundSecret> = Vec::with_capacity(found.len());
    for next in found {
        let covered = out.last().map_or(0, |last| last.range.end);
        if next.range.start < covered {
            if let Some(last) = out.last_mut().filter(|last| next.range.end > last.range.end) {
                last.range.end = word_end(text, next.range.end);
            }
            continue;
        }
        let end = word_end(text, next.range.end);
        out.push(FoundSecret { range: next.range.start..end, ..next });
    }
    out
}

fn word_end(text: &str, from: usize) -> usize {
    let bytes = &text.as_bytes()[from..];
    let begins_inside = from > 0 && is_word_byte(text.as_bytes()[from - 1]);
    from + if begins_inside { bytes.iter().take_while(|byte| is_word_byte(**byte)).count() } else { 0 }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
