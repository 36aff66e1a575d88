//! Secrets by the name that they are given to: `DB_PASS=…`, `"api_key": "…"`, `--token …`, `<password>…</password>`.

use std::borrow::Cow;
use std::ops::Range;

use super::Found;
use super::name::{Class, class};
use super::told;
use super::value::{
    entropy, is_identifier, is_mixed, is_name, is_participle, is_prose, is_random, is_stand_in, is_uuid,
    looks_secret,
};
use super::work::looked_at;

/// One of these is in every name that is looked at.
pub(super) const WORDS: &[&str] = &[
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

/// Longest part of a name on each side of its keyword, in bytes.
const NAME_BYTES: usize = 80;
/// Longest value that has its quotes before its name, or stands in an element, in bytes.
const VALUE_BYTES: usize = 8_192;
/// So much of a value tells whether it is secret, in bytes; one that is is masked up to its end. To look for the end of each
/// would take the square of a text's length, where values hold names again.
const JUDGED: usize = 256;

/// How a value is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    /// `name=value`, `name = value`.
    Assigned { is_spaced: bool },
    /// `name: value`.
    Colon,
    /// `name => value`.
    Arrow,
    /// `--name value`.
    Flag,
    /// In an element, a list of names and values, a call of `define`.
    Placed,
}

struct Value {
    range: Range<usize>,
    is_quoted: bool,
    given: Given,
}

/// The names of a text, from its beginning on.
pub(super) struct Names<'a> {
    text: &'a str,
    /// Up to here all was looked at.
    done: usize,
    /// So far the end of a value is looked for, in bytes.
    far: usize,
}

impl<'a> Names<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, done: 0, far: JUDGED }
    }

    /// Looks at the name that a keyword is in.
    pub(super) fn look(&mut self, hit: Range<usize>, found: &mut Vec<Found>) {
        if hit.start < self.done {
            return;
        }
        let name = self.name(&hit);
        self.done = name.end;
        let before = self.word_before(name.start);
        let Some((class, label)) = class(&self.text[name.clone()], before) else { return };
        let value = self.value(&name).filter(|value| self.is_secret(class, &name, value));
        let value =
            value.map(|value| if value.range.len() + 4 < JUDGED { value } else { self.whole(&name, value) });
        if let Some(range) = value.map(|value| value.range).or_else(|| told::after(self.text, &name, class)) {
            self.done = range.end;
            found.push(Found { range, label: Cow::Borrowed(label), is_by_form: false });
        }
    }

    /// A value that is secret, up to its end.
    fn whole(&mut self, name: &Range<usize>, value: Value) -> Value {
        self.far = self.text.len();
        let whole = self.value(name);
        self.far = JUDGED;
        whole.filter(|whole| whole.range.end > value.range.end).unwrap_or(value)
    }

    fn name(&self, hit: &Range<usize>) -> Range<usize> {
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
        let before = bytes[..hit.start].iter().rev().take(NAME_BYTES).take_while(is_name).count();
        let after = bytes[hit.end..].iter().take(NAME_BYTES).take_while(is_name).count();
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

    /// The value that is given to a name.
    fn value(&self, name: &Range<usize>) -> Option<Value> {
        let text = self.text;
        if name.start > 0 && self.byte(name.start - 1) == b'<' && self.byte(name.end) == b'>' {
            let start = name.end + 1;
            let end = start + text[start..].bytes().take(VALUE_BYTES).position(|byte| byte == b'<')?;
            return Some(Value { range: start..end, is_quoted: true, given: Given::Placed });
        }
        let after_name = self.skip(name.end, b"\\");
        let after_name = if b"\"'`".contains(&self.byte(after_name)) { after_name + 1 } else { name.end };
        let after_name = if self.byte(after_name) == b']' { after_name + 1 } else { after_name };
        let sign = self.skip(after_name, b" \t");
        let rest = &text.as_bytes()[sign.min(text.len())..];
        let is_spaced = sign > after_name;
        let assigned = Given::Assigned { is_spaced };
        let (length, given) = match rest {
            [b'=', b'>', ..] => (2, Given::Arrow),
            [b'=', b'=' | b'~', ..] | [b':', b':', ..] => return None,
            [b'=', ..] => (1, assigned),
            [b':' | b'?' | b'+', b'=', ..] => (2, assigned),
            [b'|', b'|', b'=', ..] => (3, assigned),
            [b':', ..] => (1, Given::Colon),
            [b',', ..] | [b'\n' | b'\r', ..] => return self.placed(name, after_name, sign),
            _ if is_spaced && text[name.clone()].starts_with("--") => (0, Given::Flag),
            _ => return None,
        };
        let mut start = self.skip(sign + length, b" \t");
        if given == Given::Colon
            && let Some(after_type) = self.after_type(start)
        {
            start = after_type;
        }
        self.at(start, given, name)
    }

    /// `name: DB_PASSWORD` and `value: …` in the next line, or in the same object; `define('DB_PASSWORD', '…')`.
    fn placed(&self, name: &Range<usize>, after_name: usize, sign: usize) -> Option<Value> {
        let before = &self.text[self.text.floor_char_boundary(name.start.saturating_sub(12))..name.start];
        let before = before.trim_end_matches(['"', '\'', '\\']);
        if after_name > name.end && before.ends_with("define(") && self.byte(sign) == b',' {
            let start = self.skip(sign + 1, b" \t");
            return self.at(start, Given::Placed, name).filter(|value| value.is_quoted);
        }
        let before = before.trim_end_matches([' ', '\t', ':', '"', '\'', '\\']);
        if !before.ends_with("name") && !before.ends_with("key") {
            return None;
        }
        let start = self.skip(sign, b", \t\r\n\"'\\{");
        let rest = self.text.get(start..)?.strip_prefix("value")?;
        let start = self.text.len() - rest.len();
        let colon = self.skip(start, b"\"'\\ \t");
        if self.byte(colon) != b':' {
            return None;
        }
        self.at(self.skip(colon + 1, b" \t"), Given::Placed, name)
    }

    /// Where the value of `name: type = "value"` begins.
    fn after_type(&self, from: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let is_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_<>&:'[]?| ".contains(byte);
        let of = bytes[from.min(bytes.len())..].iter().take(40).take_while(is_type).count();
        let sign = from + of;
        let follows = self.skip(sign + 1, b" \t");
        let is_assigned = of > 0 && self.byte(sign) == b'=' && self.byte(sign + 1) != b'=';
        (is_assigned && b"\"'`".contains(&self.byte(follows))).then_some(follows)
    }

    /// The value that begins here.
    fn at(&self, start: usize, given: Given, name: &Range<usize>) -> Option<Value> {
        let bytes = self.text.as_bytes();
        let is_prefixed = b"rbfuL@".contains(&self.byte(start)) && b"\"'".contains(&self.byte(start + 1));
        let start = if is_prefixed { start + 1 } else { start };
        let escapes = self.skip(start, b"\\") - start;
        let quote = self.byte(start + escapes);
        if b"\"'`".contains(&quote) {
            let from = start + escapes + 1;
            let range = from..self.closing(from, quote, escapes);
            return Some(Value { range, is_quoted: true, given });
        }
        // `-e "NAME=value"`: the quotes are around both.
        let before = name.start.checked_sub(1).map_or(b'\n', |at| self.byte(at));
        if given == (Given::Assigned { is_spaced: false }) && b"\"'".contains(&before) {
            let escaped = bytes[..name.start - 1].iter().rev().take(64).take_while(|byte| **byte == b'\\').count();
            let end = self.closing(start, before, escaped);
            let end_quote = self.skip(end, b"\\");
            if self.byte(end_quote) == before && end - start <= VALUE_BYTES {
                return Some(Value { range: start..end, is_quoted: true, given });
            }
        }
        // A variable, a template, a list, a comment, a tag.
        if escapes > 0 || start >= bytes.len() || b"<{[(".contains(&bytes[start]) {
            return None;
        }
        let is_of_env = given == Given::Assigned { is_spaced: false } && self.is_env(name);
        let ends: &[u8] = if is_of_env { b"\"'`" } else { b"\"'`,;&)}]<>|" };
        let mut end = start;
        let far = bytes.len().min(start.saturating_add(self.far));
        while end < far && !bytes[end].is_ascii_whitespace() && !ends.contains(&bytes[end]) {
            if bytes[end] == b'\\' {
                // What ends the text around it may be escaped more than once.
                if b"nrtu\"'`".contains(&self.byte(self.skip(end, b"\\"))) {
                    break;
                }
                end += 1;
            }
            end += 1;
        }
        let end = self.text.floor_char_boundary(end.min(bytes.len()));
        looked_at(end - start);
        Some(Value { range: start..end.max(start), is_quoted: false, given })
    }

    /// Where a quoted value ends: before its quote, with as many backslashes as the first had; or with its line.
    fn closing(&self, from: usize, quote: u8, escapes: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = from;
        let far = bytes.len().min(from.saturating_add(self.far));
        while at < far && bytes[at] != b'\n' {
            let slashes = bytes[at..far].iter().take_while(|byte| **byte == b'\\').count();
            let next = at + slashes;
            looked_at(slashes + 1);
            if bytes.get(next) == Some(&quote) && slashes <= escapes {
                return at;
            }
            at = if slashes > 0 { next + 1 } else { next.max(at + 1) };
        }
        self.text.floor_char_boundary(at.min(bytes.len()))
    }

    /// Whether a name stands at the beginning of a line, as in a file of variables.
    fn is_env(&self, name: &Range<usize>) -> bool {
        let bytes = self.text.as_bytes();
        let before = bytes[..name.start].iter().rev().take(16).take_while(|byte| **byte != b'\n').count();
        let line = &self.text.get(name.start - before..name.start).unwrap_or("?");
        let is_variable = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        ["", "export", "set", "ENV", "-e", "-"].contains(&line.trim())
            && self.text[name.clone()].bytes().all(is_variable)
    }

    fn is_secret(&self, class: Class, name: &Range<usize>, value: &Value) -> bool {
        let (text, is_quoted) = (&self.text[value.range.clone()], value.is_quoted);
        looked_at(text.len());
        // Between two quoted words.
        if is_quoted && text.starts_with(char::is_whitespace) {
            return false;
        }
        let text = text.trim();
        let with_slashes = text.contains("\\/").then(|| text.replace('\\', ""));
        let text = with_slashes.as_deref().unwrap_or(text);
        if text.is_empty() || is_stand_in(text) || is_place(text) {
            return false;
        }
        let is_folder = self.text[name.clone()].to_ascii_lowercase().ends_with("pwd") && text.starts_with('/');
        let is_number = is_count(text, if is_quoted { 0 } else { 2 });
        let is_hex = text.strip_prefix("0x").is_some_and(|hex| hex.len() <= 16);
        if !is_quoted && (is_number || is_hex) && b",;".contains(&self.byte(value.range.end)) {
            return false;
        }
        if is_folder || is_number && class != Class::Password {
            return false;
        }
        if !is_quoted && value.given == Given::Colon && is_participle(text) {
            return false;
        }
        if text.contains(char::is_whitespace) {
            return class == Class::Password && text.len() <= 200 && !is_prose(text);
        }
        match class {
            Class::Weak => self.is_weak_secret(name, text, value),
            Class::Password => is_quoted || self.is_plain_password(name, text, value),
            Class::Strong if is_quoted || value.given == Given::Placed => is_quoted_secret(text),
            Class::Strong => match value.given {
                Given::Assigned { is_spaced: false } => {
                    !self.is_variable(text, value) && !text.contains('_')
                        || is_mixed(text) && !is_path_of_names(text)
                }
                Given::Assigned { is_spaced: true } => {
                    let is_code = is_path_of_names(text) || is_name(text);
                    text.len() >= 8 && looks_secret(text) && !is_code && has_digit_or_sign(text)
                }
                Given::Colon => {
                    let is_code = is_path_of_names(text) || is_name(text) && text.len() >= 12;
                    looks_secret(text) && has_digit_or_sign(text) && !is_code || is_random(text)
                }
                Given::Flag => looks_secret(text),
                Given::Arrow | Given::Placed => false,
            },
        }
    }

    fn is_weak_secret(&self, name: &Range<usize>, text: &str, value: &Value) -> bool {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_of_env = value.given == Given::Assigned { is_spaced: false } && self.is_env(name);
        match &self.text[name.clone()] {
            name if name.to_ascii_lowercase().ends_with("pass") => looks_secret(text) && has_digit_or_sign(text),
            _ => text.len() >= 20 && (is_random(text) || is_uuid(text) && is_of_env) && (!is_hex || is_of_env),
        }
    }

    /// A password that is not quoted.
    fn is_plain_password(&self, name: &Range<usize>, text: &str, value: &Value) -> bool {
        let is_ended = self.ends_line(value.range.end);
        match value.given {
            Given::Assigned { is_spaced: false } => !self.is_variable(text, value),
            Given::Assigned { is_spaced: true } => {
                let is_code =
                    is_path_of_names(text) || text.contains('_') || text.chars().skip(1).any(char::is_uppercase);
                has_digit_or_sign(text) && !is_path_of_names(text)
                    || is_identifier(text) && !is_code && is_ended && self.begins_line(name.start)
            }
            Given::Colon => {
                looks_secret(text) && has_digit_or_sign(text) && !is_path_of_names(text)
                    || is_ended && text.chars().any(char::is_alphanumeric) && !text.contains(['.', '('])
                    || is_ended && looks_secret(text) && !is_identifier(text)
                    || text.ends_with(['.', '!', '?']) && is_ended
            }
            Given::Flag => looks_secret(text),
            Given::Arrow => false,
            Given::Placed => true,
        }
    }

    /// Whether what is given is a variable: `connect(password=password, token=tok)`.
    fn is_variable(&self, text: &str, value: &Value) -> bool {
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

/// What is quoted and given to a name of a secret: words of small letters are more likely names themselves.
fn is_quoted_secret(text: &str) -> bool {
    if text.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-. /".contains(&byte)) {
        let is_word = text.bytes().all(|byte| byte.is_ascii_alphabetic());
        return is_word && text.len() >= 16 && entropy(text) > 3.2;
    }
    !(is_path_of_names(text) || is_name(text) && text.len() >= 16 && text.contains(['_', '-', '.']))
}

fn has_digit_or_sign(text: &str) -> bool {
    let inner = text.trim_end_matches(['.', '!', '?', ':', ',']);
    inner.chars().any(|c| c.is_ascii_digit() || "!@#$%^*+~".contains(c))
}

/// `user.password`, `secret/data/shop`, `aws_secret.main.id`: words with signs between them.
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

/// Numbers, with a unit of some letters at most.
fn is_count(text: &str, unit: usize) -> bool {
    let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || b"_.,".contains(byte)).count();
    digits > 0
        && digits <= 12
        && text.len() - digits <= unit
        && text[digits..].bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// A file, a folder or an address.
fn is_place(text: &str) -> bool {
    let is_path = text.starts_with("./") || text.starts_with("~/") || text.starts_with("../") || text == "~";
    let is_absolute = text.starts_with('/') && text[1..].contains('/') && !text.ends_with('=');
    let is_key = text.contains('+') || text.len() == 40 && is_random(text);
    is_path || is_absolute && !is_key || text.contains("://")
}
