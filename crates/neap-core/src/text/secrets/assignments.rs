//! Finds secrets by the name they are assigned to: `DB_PASS=…`, `"api_key": "…"`, `--token …`,
//! `<password>…</password>`.

use std::borrow::Cow;
use std::ops::Range;

use super::FoundSecret;
use super::name_class::classify_name;
use super::prose;
use super::scan_cost::looked_at;

/// Every examined name contains one of these.
pub(super) const NAME_KEYWORDS: &[&str] = &[
    "passw", "passphrase", "passcode", "kennwort", "pwd", "pass", "secret", "token", "key", "credential", "creds",
    "psk", "_pat", "pat=", "pat\"", "pat'", "pat\\", "pat:", "pat ", "_auth", "\"auth\"",
];

/// Longest part of a name on each side of its keyword.
const NAME_BYTES_MAX: usize = 80;
/// Longest value inside quotes that also enclose its name, or inside an XML element.
const VALUE_BYTES_MAX: usize = 8_192;
/// A value's first bytes decide whether it is secret; a secret one is masked to its end. Searching the end of
/// every value would be quadratic where values contain names.
const JUDGED_BYTES: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AssignmentForm {
    Equals {
        is_spaced: bool,
    },
    Colon,
    Arrow,
    Flag,
    /// In an XML element, a list of names and values, or a call of `define`.
    Structured,
}

pub(super) struct AssignedValue {
    pub(super) range: Range<usize>,
    pub(super) is_quoted: bool,
    pub(super) form: AssignmentForm,
}

pub(super) struct AssignmentScanner<'a> {
    pub(super) text: &'a str,
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

    pub(super) fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(b'\n')
    }

    pub(super) fn skip(&self, from: usize, what: &[u8]) -> usize {
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
    pub(super) fn is_env_line(&self, name: &Range<usize>) -> bool {
        let bytes = self.text.as_bytes();
        let before = bytes[..name.start].iter().rev().take(16).take_while(|byte| **byte != b'\n').count();
        let line = &self.text.get(name.start - before..name.start).unwrap_or("?");
        let is_variable = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        ["", "export", "set", "ENV", "-e", "-"].contains(&line.trim())
            && self.text[name.clone()].bytes().all(is_variable)
    }
}
