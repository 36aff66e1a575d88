//! Secrets by the text around them that no single form describes: addresses, cookies, manifests, and tokens in three parts.

use std::borrow::Cow;
use std::ops::Range;

use super::Found;
use super::value::{entropy, is_mixed, is_random, is_stand_in, looks_secret};
use super::work::looked_at;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Address,
    Cookie,
    Manifest,
    Dotted,
}

/// Where to look for it.
pub(super) const WORDS: &[(&str, Kind)] = &[
    ("://", Kind::Address),
    ("cookie:", Kind::Cookie),
    ("cookie\":", Kind::Cookie),
    ("cookie\\\":", Kind::Cookie),
    ("cookie =", Kind::Cookie),
    ("--cookie ", Kind::Cookie),
    ("kind: secret", Kind::Manifest),
    ("kind: \"secret\"", Kind::Manifest),
    ("\"kind\": \"secret\"", Kind::Manifest),
    (".", Kind::Dotted),
];

/// Longest name and password in an address, in bytes.
const ADDRESS_BYTES: usize = 2_000;
/// Longest line of cookies that is looked at, in bytes.
const COOKIE_BYTES: usize = 8_192;
/// How far around its kind a manifest is read, in bytes.
const MANIFEST_BYTES: usize = 65_536;

/// The places of a text, from its beginning on.
pub(super) struct Places<'a> {
    text: &'a str,
    /// Up to here manifests, and cookies, were read.
    manifest_done: usize,
    cookie_done: usize,
}

impl<'a> Places<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, manifest_done: 0, cookie_done: 0 }
    }

    pub(super) fn look(&mut self, kind: Kind, hit: Range<usize>, found: &mut Vec<Found>) {
        match kind {
            Kind::Address => self.address(hit.end, found),
            Kind::Cookie if hit.start >= self.cookie_done => self.cookies(hit.end, found),
            Kind::Manifest if hit.start >= self.manifest_done => self.manifest(hit, found),
            Kind::Dotted => self.dotted(hit.start, found),
            Kind::Cookie | Kind::Manifest => {}
        }
    }

    fn push(found: &mut Vec<Found>, range: Range<usize>, label: &'static str) {
        found.push(Found { range, label: Cow::Borrowed(label), is_by_form: false });
    }

    /// `scheme://name:password@host`, `scheme://token@host`.
    fn address(&self, start: usize, found: &mut Vec<Found>) {
        let bytes = self.text.as_bytes();
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'`<>\\?,".contains(byte);
        let (mut colon, mut sign, mut read) = (None, None, 0);
        for (at, byte) in bytes[start..].iter().enumerate().take(ADDRESS_BYTES) {
            read = at;
            match *byte {
                // A password may have one, too.
                b'@' => sign = Some(start + at),
                b':' if colon.is_none() && sign.is_none() => colon = Some(start + at),
                byte if ends(&byte) => break,
                _ => {}
            }
        }
        looked_at(read);
        let Some(sign) = sign else { return };
        let name = start..colon.unwrap_or(sign);
        let password = colon.map(|colon| colon + 1..sign);
        let is_host = bytes.get(sign + 1).is_some_and(|byte| !ends(byte));
        self.user(name, password.filter(|_| is_host), is_host, found);
    }

    fn user(&self, name: Range<usize>, password: Option<Range<usize>>, is_host: bool, found: &mut Vec<Found>) {
        let user = &self.text[name.clone()];
        if is_host && user.len() >= 20 && is_random(user) {
            Self::push(found, name, "token in an address");
        }
        if let Some(range) = password {
            let value = &self.text[range.clone()];
            let is_usual = ["pass", "pwd", "pw", "user", "username", "x-oauth-basic"].contains(&value);
            if !value.is_empty() && !is_usual && !is_stand_in(value) {
                Self::push(found, range, "password in an address");
            }
        }
    }

    /// `Cookie: a=b; c=d`, up to the end of the line or of what quotes it.
    fn cookies(&mut self, start: usize, found: &mut Vec<Found>) {
        let bytes = self.text.as_bytes();
        let start = start + bytes[start..].iter().take(8).take_while(|byte| b" \t\"'\\".contains(byte)).count();
        let ends = |byte: &u8| b"\n\"'\\".contains(byte);
        let length = bytes[start..].iter().take(COOKIE_BYTES).position(ends);
        let end = self.text.floor_char_boundary(start + length.unwrap_or(COOKIE_BYTES.min(bytes.len() - start)));
        self.cookie_done = end;
        looked_at(end - start);
        let mut at = start;
        for pair in self.text[start..end].split(';') {
            let value_at = pair.find('=').map(|sign| (at + sign + 1, &pair[..sign], pair[sign + 1..].trim_end()));
            at += pair.len() + 1;
            let Some((from, name, value)) = value_at else { continue };
            // Code may have a variable of that name.
            if name.ends_with(' ') || value.starts_with(' ') {
                continue;
            }
            let name = name.trim().to_ascii_lowercase();
            let holds = ["sess", "sid", "auth", "token", "jwt", "login", "remember", "user", "csrf", "xsrf", "id"];
            let is_held = holds.iter().any(|word| name.contains(word)) && value.len() >= 8 && looks_secret(value);
            let is_attribute = ["expires", "max-age", "domain", "path", "samesite"].contains(&name.as_str());
            let is_secret =
                is_held || is_random(value) || value.len() >= 24 && is_mixed(value) && entropy(value) > 3.5;
            if is_secret && !is_attribute && !is_stand_in(value) {
                Self::push(found, from..from + value.len(), "cookie");
            }
        }
    }

    /// The values of a Kubernetes secret: what is below `data:` or `stringData:` in the same document.
    fn manifest(&mut self, hit: Range<usize>, found: &mut Vec<Found>) {
        let text = self.text;
        let rest = &text.as_bytes()[hit.end..];
        // `kind: SecretProviderClass` is another.
        if rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric()) {
            return;
        }
        let low = text.ceil_char_boundary(hit.start.saturating_sub(MANIFEST_BYTES).max(self.manifest_done));
        let high = text.floor_char_boundary(text.len().min(hit.end + MANIFEST_BYTES));
        let start = text[low..hit.start].rfind("\n---").map_or(low, |at| low + at + 1);
        let end = text[hit.end..high].find("\n---").map_or(high, |at| hit.end + at);
        self.manifest_done = end;
        looked_at(end - low);
        let mut block: Option<usize> = None;
        let mut at = start;
        for line in text[start..end].split_inclusive('\n') {
            let indent = line.len() - line.trim_start_matches(' ').len();
            let body = line.trim();
            let is_data = ["data:", "stringData:", "\"data\": {", "\"stringData\": {"].contains(&body);
            if is_data {
                block = Some(indent);
            } else if let Some(of) = block {
                if indent <= of && !body.is_empty() {
                    block = None;
                } else if let Some((from, value)) = entry(line) {
                    Self::push(found, at + from..at + from + value.len(), "kubernetes secret");
                }
            }
            at += line.len();
        }
    }

    /// A token in three parts of which the first is a number in base64, as Discord's are.
    fn dotted(&self, dot: usize, found: &mut Vec<Found>) {
        let bytes = self.text.as_bytes();
        let is_token = |byte: &&u8| super::is_word(**byte);
        if !bytes[..dot].last().is_some_and(|byte| super::is_word(*byte)) {
            return;
        }
        let first = bytes[..dot].iter().rev().take(32).take_while(is_token).count();
        if !(17..=30).contains(&first) || !b"MNO".contains(&bytes[dot - first]) {
            return;
        }
        let second = bytes[dot + 1..].iter().take(10).take_while(is_token).count();
        let third = dot + 1 + second;
        if !(5..=7).contains(&second) || bytes.get(third) != Some(&b'.') {
            return;
        }
        let length = bytes[third + 1..].iter().take(64).take_while(is_token).count();
        let whole = dot - first..third + 1 + length;
        if (25..=45).contains(&length) && is_mixed(&self.text[whole.clone()]) {
            found.push(Found { range: whole, label: Cow::Borrowed("discord bot token"), is_by_form: true });
        }
    }
}

/// The value of `key: value` in a line, if it has one.
fn entry(line: &str) -> Option<(usize, &str)> {
    let sign = line.find(':')?;
    let value = line[sign + 1..].trim_matches(|c: char| c.is_whitespace() || "\"',".contains(c));
    let is_template = value.starts_with(['{', '$', '<']) || value == "|" || value.len() < 3;
    let from = sign + 1 + line[sign + 1..].find(value)?;
    (!is_template).then_some((from, value))
}
