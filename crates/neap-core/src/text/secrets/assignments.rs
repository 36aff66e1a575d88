//! Finds secrets by the name they are assigned to: `DB_PASS=…`, `"api_key": "…"`, `--token …`,
//! `<password>…</password>`.

use std::borrow::Cow;
use std::ops::Range;

use super::FoundSecret;
use super::name_class::{NameClass, classify_name};
use super::prose;
use super::scan_cost::looked_at;
use super::value::{
    entropy, is_code_name, is_identifier, is_mixed, is_non_secret, is_participle, is_prose, is_random,
    is_secret_like, is_uuid,
};

/// Every examined name contains one of these.
pub(super) const NAME_KEYWORDS: &[&str] = &[
    "passw",
    "passphrase",
    "passcode",
    "kennwort",
    "pwd",
    "pass",
    "secret",
    "token",
    "key",
    "credential",
    "creds",
    "psk",
    "_pat",
    "pat=",
    "pat\"",
    "pat'",
    "pat\\",
    "pat:",
    "pat ",
    "_auth",
    "\"auth\"",
];

/// Longest part of a name on each side of its keyword.
const NAME_BYTES_MAX: usize = 80;
/// Longest value inside quotes that also enclose its name, or inside an XML element.
const VALUE_BYTES_MAX: usize = 8_192;
/// A value's first bytes decide whether it is secret; a secret one is masked to its end. Searching the end of
/// every value would be quadratic where values contain names.
const JUDGED_BYTES: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AssignmentForm {
    Equals {
        is_spaced: bool,
    },
    Colon,
    Arrow,
    Flag,
    /// In an XML element, a list of names and values, or a call of `define`.
    Structured,
}

struct AssignedValue {
    range: Range<usize>,
    is_quoted: bool,
    form: AssignmentForm,
}

pub(super) struct AssignmentScanner<'a> {
    text: &'a str,
    /// Everything before this was scanned.
    scanned_to: usize,
    value_bytes_max: usize,
}

impl<'a> AssignmentScanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, scanned_to: 0, value_bytes_max: JUDGED_BYTES }
    }

    pub(super) fn scan_at(&mut self, hit: Range<usize>, found: &mut Vec<FoundSecret>) {
        if hit.start < self.scanned_to {
            return;
        }
        let name = self.name_at(&hit);
        self.scanned_to = name.end;
        let before = self.word_before(name.start);
        let Some((class, label)) = classify_name(&self.text[name.clone()], before) else { return };
        let value = self.value_of(&name).filter(|value| self.is_secret(class, &name, value));
        let value =
            value.map(
                |value| {
                    if value.range.len() + 4 < JUDGED_BYTES { value } else { self.extend_to_end(&name, value) }
                },
            );
        if let Some(range) =
            value.map(|value| value.range).or_else(|| prose::secret_after(self.text, &name, class))
        {
            self.scanned_to = range.end;
            found.push(FoundSecret { range, label: Cow::Borrowed(label), is_by_pattern: false });
        }
    }

    fn extend_to_end(&mut self, name: &Range<usize>, value: AssignedValue) -> AssignedValue {
        self.value_bytes_max = self.text.len();
        let whole = self.value_of(name);
        self.value_bytes_max = JUDGED_BYTES;
        whole.filter(|whole| whole.range.end > value.range.end).unwrap_or(value)
    }

    fn name_at(&self, hit: &Range<usize>) -> Range<usize> {
        let bytes = self.text.as_bytes();
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
        let trimmed = |range: Range<usize>| {
            let quotes = bytes[range.clone()].iter().filter(|byte| b"\"=:'\\ ".contains(byte)).count();
            if quotes == 0 {
                range
            } else {
                let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
                let start = range.start + bytes[range.clone()].iter().position(is_letter).unwrap_or(0);
                start..start + bytes[start..range.end].iter().take_while(|byte| is_letter(byte)).count()
            }
        };
        let hit = trimmed(hit.clone());
        let before = bytes[..hit.start].iter().rev().take(NAME_BYTES_MAX).take_while(is_name).count();
        let after = bytes[hit.end..].iter().take(NAME_BYTES_MAX).take_while(is_name).count();
        hit.start - before..hit.end + after
    }

    /// The word in front, one space away.
    fn word_before(&self, start: usize) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let end = start.checked_sub(1).filter(|at| bytes[*at] == b' ')?;
        let letters = bytes[..end].iter().rev().take(20).take_while(|byte| byte.is_ascii_alphabetic()).count();
        (letters > 1).then(|| &self.text[end - letters..end])
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(b'\n')
    }

    fn skip(&self, from: usize, what: &[u8]) -> usize {
        from + self.text.as_bytes()[from.min(self.text.len())..]
            .iter()
            .take(64)
            .take_while(|byte| what.contains(byte))
            .count()
    }

    fn value_of(&self, name: &Range<usize>) -> Option<AssignedValue> {
        let text = self.text;
        if name.start > 0 && self.byte(name.start - 1) == b'<' && self.byte(name.end) == b'>' {
            let start = name.end + 1;
            let end = start + text[start..].bytes().take(VALUE_BYTES_MAX).position(|byte| byte == b'<')?;
            return Some(AssignedValue { range: start..end, is_quoted: true, form: AssignmentForm::Structured });
        }
        let after_name = self.skip(name.end, b"\\");
        let after_name = if b"\"'`".contains(&self.byte(after_name)) { after_name + 1 } else { name.end };
        let after_name = if self.byte(after_name) == b']' { after_name + 1 } else { after_name };
        let operator = self.skip(after_name, b" \t");
        let rest = &text.as_bytes()[operator.min(text.len())..];
        let is_spaced = operator > after_name;
        let assigned = AssignmentForm::Equals { is_spaced };
        let (length, form) = match rest {
            [b'=', b'>', ..] => (2, AssignmentForm::Arrow),
            [b'=', b'=' | b'~', ..] | [b':', b':', ..] => return None,
            [b'=', ..] => (1, assigned),
            [b':' | b'?' | b'+', b'=', ..] => (2, assigned),
            [b'|', b'|', b'=', ..] => (3, assigned),
            [b':', ..] => (1, AssignmentForm::Colon),
            [b',', ..] | [b'\n' | b'\r', ..] => return self.structured_value(name, after_name, operator),
            _ if is_spaced && text[name.clone()].starts_with("--") => (0, AssignmentForm::Flag),
            _ => return None,
        };
        let mut start = self.skip(operator + length, b" \t");
        if form == AssignmentForm::Colon
            && let Some(after_type) = self.skip_type(start)
        {
            start = after_type;
        }
        self.value_at(start, form, name)
    }

    /// `name: DB_PASSWORD` and `value: …` on the next line or in the same object; `define('DB_PASSWORD', '…')`.
    fn structured_value(&self, name: &Range<usize>, after_name: usize, operator: usize) -> Option<AssignedValue> {
        let before = &self.text[self.text.floor_char_boundary(name.start.saturating_sub(12))..name.start];
        let before = before.trim_end_matches(['"', '\'', '\\']);
        if after_name > name.end && before.ends_with("define(") && self.byte(operator) == b',' {
            let start = self.skip(operator + 1, b" \t");
            return self.value_at(start, AssignmentForm::Structured, name).filter(|value| value.is_quoted);
        }
        let before = before.trim_end_matches([' ', '\t', ':', '"', '\'', '\\']);
        if !before.ends_with("name") && !before.ends_with("key") {
            return None;
        }
        let start = self.skip(operator, b", \t\r\n\"'\\{");
        let rest = self.text.get(start..)?.strip_prefix("value")?;
        let start = self.text.len() - rest.len();
        let colon = self.skip(start, b"\"'\\ \t");
        if self.byte(colon) != b':' {
            return None;
        }
        self.value_at(self.skip(colon + 1, b" \t"), AssignmentForm::Structured, name)
    }

    /// Where the value of `name: type = "value"` begins.
    fn skip_type(&self, from: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let is_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_<>&:'[]?| ".contains(byte);
        let type_len = bytes[from.min(bytes.len())..].iter().take(40).take_while(is_type).count();
        let operator = from + type_len;
        let value_start = self.skip(operator + 1, b" \t");
        let is_assigned = type_len > 0 && self.byte(operator) == b'=' && self.byte(operator + 1) != b'=';
        (is_assigned && b"\"'`".contains(&self.byte(value_start))).then_some(value_start)
    }

    fn value_at(&self, start: usize, form: AssignmentForm, name: &Range<usize>) -> Option<AssignedValue> {
        let bytes = self.text.as_bytes();
        let is_prefixed = b"rbfuL@".contains(&self.byte(start)) && b"\"'".contains(&self.byte(start + 1));
        let start = if is_prefixed { start + 1 } else { start };
        let escapes = self.skip(start, b"\\") - start;
        let quote = self.byte(start + escapes);
        if b"\"'`".contains(&quote) {
            let from = start + escapes + 1;
            let range = from..self.closing_quote(from, quote, escapes);
            return Some(AssignedValue { range, is_quoted: true, form });
        }
        // `-e "NAME=value"`: the quotes enclose both.
        let before = name.start.checked_sub(1).map_or(b'\n', |at| self.byte(at));
        if form == (AssignmentForm::Equals { is_spaced: false }) && b"\"'".contains(&before) {
            let escaped = bytes[..name.start - 1].iter().rev().take(64).take_while(|byte| **byte == b'\\').count();
            let end = self.closing_quote(start, before, escaped);
            let end_quote = self.skip(end, b"\\");
            if self.byte(end_quote) == before && end - start <= VALUE_BYTES_MAX {
                return Some(AssignedValue { range: start..end, is_quoted: true, form });
            }
        }
        // A template, list or tag.
        if escapes > 0 || start >= bytes.len() || b"<{[(".contains(&bytes[start]) {
            return None;
        }
        let is_env = form == AssignmentForm::Equals { is_spaced: false } && self.is_env_line(name);
        let ends: &[u8] = if is_env { b"\"'`" } else { b"\"'`,;&)}]<>|" };
        let mut end = start;
        let limit = bytes.len().min(start.saturating_add(self.value_bytes_max));
        while end < limit && !bytes[end].is_ascii_whitespace() && !ends.contains(&bytes[end]) {
            if bytes[end] == b'\\' {
                // The surrounding quote may be escaped more than once.
                if b"nrtu\"'`".contains(&self.byte(self.skip(end, b"\\"))) {
                    break;
                }
                end += 1;
            }
            end += 1;
        }
        let end = self.text.floor_char_boundary(end.min(bytes.len()));
        looked_at(end - start);
        Some(AssignedValue { range: start..end.max(start), is_quoted: false, form })
    }

    /// The end of a quoted value: its quote, escaped at most as deep as the opening one, or the line's end.
    fn closing_quote(&self, from: usize, quote: u8, escapes: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = from;
        let limit = bytes.len().min(from.saturating_add(self.value_bytes_max));
        while at < limit && bytes[at] != b'\n' {
            let slashes = bytes[at..limit].iter().take_while(|byte| **byte == b'\\').count();
            let next = at + slashes;
            looked_at(slashes + 1);
            if bytes.get(next) == Some(&quote) && slashes <= escapes {
                return at;
            }
            at = if slashes > 0 { next + 1 } else { next.max(at + 1) };
        }
        self.text.floor_char_boundary(at.min(bytes.len()))
    }

    /// Whether a name begins a line, as in an `.env` file.
    fn is_env_line(&self, name: &Range<usize>) -> bool {
        let bytes = self.text.as_bytes();
        let before = bytes[..name.start].iter().rev().take(16).take_while(|byte| **byte != b'\n').count();
        let line = &self.text.get(name.start - before..name.start).unwrap_or("?");
        let is_variable = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        ["", "export", "set", "ENV", "-e", "-"].contains(&line.trim())
            && self.text[name.clone()].bytes().all(is_variable)
    }

    fn is_secret(&self, class: NameClass, name: &Range<usize>, value: &AssignedValue) -> bool {
        let (text, is_quoted) = (&self.text[value.range.clone()], value.is_quoted);
        looked_at(text.len());
        // The text between two quoted words.
        if is_quoted && text.starts_with(char::is_whitespace) {
            return false;
        }
        let text = text.trim();
        let without_slashes = text.contains("\\/").then(|| text.replace('\\', ""));
        let text = without_slashes.as_deref().unwrap_or(text);
        if text.is_empty() || is_non_secret(text) || is_path_or_url(text) {
            return false;
        }
        let is_folder = self.text[name.clone()].to_ascii_lowercase().ends_with("pwd") && text.starts_with('/');
        let is_number = is_quantity(text, if is_quoted { 0 } else { 2 });
        let is_hex = text.strip_prefix("0x").is_some_and(|hex| hex.len() <= 16);
        if !is_quoted && (is_number || is_hex) && b",;".contains(&self.byte(value.range.end)) {
            return false;
        }
        if is_folder || is_number && class != NameClass::Password {
            return false;
        }
        if !is_quoted && value.form == AssignmentForm::Colon && is_participle(text) {
            return false;
        }
        if text.contains(char::is_whitespace) {
            return class == NameClass::Password && text.len() <= 200 && !is_prose(text);
        }
        match class {
            NameClass::Weak => self.is_weak_secret(name, text, value),
            NameClass::Password => is_quoted || self.is_plain_password(name, text, value),
            NameClass::Strong if is_quoted || value.form == AssignmentForm::Structured => is_quoted_secret(text),
            NameClass::Strong => match value.form {
                AssignmentForm::Equals { is_spaced: false } => {
                    !self.is_variable(text, value) && !text.contains('_')
                        || is_mixed(text) && !is_path_of_names(text)
                }
                AssignmentForm::Equals { is_spaced: true } => {
                    let is_code = is_path_of_names(text) || is_code_name(text);
                    text.len() >= 8 && is_secret_like(text) && !is_code && has_digit_or_sign(text)
                }
                AssignmentForm::Colon => {
                    let is_code = is_path_of_names(text) || is_code_name(text) && text.len() >= 12;
                    is_secret_like(text) && has_digit_or_sign(text) && !is_code || is_random(text)
                }
                AssignmentForm::Flag => is_secret_like(text),
                AssignmentForm::Arrow | AssignmentForm::Structured => false,
            },
        }
    }

    fn is_weak_secret(&self, name: &Range<usize>, text: &str, value: &AssignedValue) -> bool {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_env = value.form == AssignmentForm::Equals { is_spaced: false } && self.is_env_line(name);
        match &self.text[name.clone()] {
            name if name.to_ascii_lowercase().ends_with("pass") => is_secret_like(text) && has_digit_or_sign(text),
            _ => text.len() >= 20 && (is_random(text) || is_uuid(text) && is_env) && (!is_hex || is_env),
        }
    }

    fn is_plain_password(&self, name: &Range<usize>, text: &str, value: &AssignedValue) -> bool {
        let is_ended = self.ends_line(value.range.end);
        match value.form {
            AssignmentForm::Equals { is_spaced: false } => !self.is_variable(text, value),
            AssignmentForm::Equals { is_spaced: true } => {
                let is_code =
                    is_path_of_names(text) || text.contains('_') || text.chars().skip(1).any(char::is_uppercase);
                has_digit_or_sign(text) && !is_path_of_names(text)
                    || is_identifier(text) && !is_code && is_ended && self.begins_line(name.start)
            }
            AssignmentForm::Colon => {
                is_secret_like(text) && has_digit_or_sign(text) && !is_path_of_names(text)
                    || is_ended && text.chars().any(char::is_alphanumeric) && !text.contains(['.', '('])
                    || is_ended && is_secret_like(text) && !is_identifier(text)
                    || text.ends_with(['.', '!', '?']) && is_ended
            }
            AssignmentForm::Flag => is_secret_like(text),
            AssignmentForm::Arrow => false,
            AssignmentForm::Structured => true,
        }
    }

    /// Whether the value is a variable: `connect(password=password, token=tok)`.
    fn is_variable(&self, text: &str, value: &AssignedValue) -> bool {
        let is_argument = b",)".contains(&self.byte(value.range.end));
        let is_folder = text.starts_with(['~', '.']);
        is_folder || is_identifier(text) && (is_argument || text.contains(['.', '_']))
    }

    fn ends_line(&self, at: usize) -> bool {
        matches!(self.byte(self.skip(at, b" \t\r")), b'\n' | b'#') || self.text[at..].starts_with("\\n")
    }

    fn begins_line(&self, start: usize) -> bool {
        let before = self.text.as_bytes()[..start].iter().rev().take(64).find(|byte| !b" \t".contains(byte));
        before.is_none_or(|byte| *byte == b'\n')
    }
}

/// Whether a quoted value assigned to a secret's name is one; plain words are more likely names themselves.
fn is_quoted_secret(text: &str) -> bool {
    if text.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-. /".contains(&byte)) {
        let is_word = text.bytes().all(|byte| byte.is_ascii_alphabetic());
        return is_word && text.len() >= 16 && entropy(text) > 3.2;
    }
    !(is_path_of_names(text) || is_code_name(text) && text.len() >= 16 && text.contains(['_', '-', '.']))
}

fn has_digit_or_sign(text: &str) -> bool {
    let inner = text.trim_end_matches(['.', '!', '?', ':', ',']);
    inner.chars().any(|c| c.is_ascii_digit() || "!@#$%^*+~".contains(c))
}

/// `user.password`, `secret/data/shop`, `aws_secret.main.id`: names joined by punctuation.
fn is_path_of_names(text: &str) -> bool {
    let mut parts = text.split(['.', '/', ':', '#', '@']);
    let is_name = |part: &str| {
        let digits = part.bytes().filter(|byte| byte.is_ascii_digit()).count();
        part.len() <= 24
            && digits <= 2
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
            && !part.is_empty()
            && !part.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
            && !part.as_bytes()[0].is_ascii_digit()
    };
    text.contains(['.', '/', ':', '#']) && parts.all(is_name)
}

fn is_quantity(text: &str, unit: usize) -> bool {
    let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || b"_.,".contains(byte)).count();
    digits > 0
        && digits <= 12
        && text.len() - digits <= unit
        && text[digits..].bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_path_or_url(text: &str) -> bool {
    let is_path = text.starts_with("./") || text.starts_with("~/") || text.starts_with("../") || text == "~";
    let is_absolute = text.starts_with('/') && text[1..].contains('/') && !text.ends_with('=');
    let is_key = text.contains('+') || text.len() == 40 && is_random(text);
    is_path || is_absolute && !is_key || text.contains("://")
}
