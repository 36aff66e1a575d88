//! Finds secrets by surrounding text that no single pattern describes: URLs, cookies, Kubernetes manifests, and
//! tokens in three parts.

use std::borrow::Cow;
use std::ops::Range;

use super::FoundSecret;
use super::scan_cost::looked_at;
use super::value::{entropy, is_mixed, is_non_secret, is_random, is_secret_like};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContextKind {
    Url,
    Cookie,
    Manifest,
    DottedToken,
}

pub(super) const CONTEXT_KEYWORDS: &[(&str, ContextKind)] = &[
    ("://", ContextKind::Url),
    ("cookie:", ContextKind::Cookie),
    ("cookie\":", ContextKind::Cookie),
    ("cookie\\\":", ContextKind::Cookie),
    ("cookie =", ContextKind::Cookie),
    ("--cookie ", ContextKind::Cookie),
    ("kind: secret", ContextKind::Manifest),
    ("kind: \"secret\"", ContextKind::Manifest),
    ("\"kind\": \"secret\"", ContextKind::Manifest),
    (".", ContextKind::DottedToken),
];

const USERINFO_BYTES_MAX: usize = 2_000;
/// Longest `Cookie` line that is read.
const COOKIE_BYTES_MAX: usize = 8_192;
/// How far around `kind: Secret` a manifest is read.
const MANIFEST_BYTES_MAX: usize = 65_536;

pub(super) struct ContextScanner<'a> {
    text: &'a str,
    /// Manifests, and cookies, were read up to here.
    manifest_done: usize,
    cookie_done: usize,
}

impl<'a> ContextScanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, manifest_done: 0, cookie_done: 0 }
    }

    pub(super) fn scan_at(&mut self, kind: ContextKind, hit: Range<usize>, found: &mut Vec<FoundSecret>) {
        match kind {
            ContextKind::Url => self.scan_url(hit.end, found),
            ContextKind::Cookie if hit.start >= self.cookie_done => self.scan_cookies(hit.end, found),
            ContextKind::Manifest if hit.start >= self.manifest_done => self.scan_manifest(hit, found),
            ContextKind::DottedToken => self.scan_dotted(hit.start, found),
            ContextKind::Cookie | ContextKind::Manifest => {}
        }
    }

    fn push(found: &mut Vec<FoundSecret>, range: Range<usize>, label: &'static str) {
        found.push(FoundSecret { range, label: Cow::Borrowed(label), is_by_pattern: false });
    }

    /// `scheme://name:password@host`, `scheme://token@host`.
    fn scan_url(&self, start: usize, found: &mut Vec<FoundSecret>) {
        let bytes = self.text.as_bytes();
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"/\"'`<>\\?,".contains(byte);
        let (mut colon, mut at_sign, mut read) = (None, None, 0);
        for (at, byte) in bytes[start..].iter().enumerate().take(USERINFO_BYTES_MAX) {
            read = at;
            match *byte {
                // The last `@` counts: a password may contain one.
                b'@' => at_sign = Some(start + at),
                b':' if colon.is_none() && at_sign.is_none() => colon = Some(start + at),
                byte if is_end(&byte) => break,
                _ => {}
            }
        }
        looked_at(read);
        let Some(at_sign) = at_sign else { return };
        let name = start..colon.unwrap_or(at_sign);
        let password = colon.map(|colon| colon + 1..at_sign);
        let is_host = bytes.get(at_sign + 1).is_some_and(|byte| !is_end(byte));
        self.scan_userinfo(name, password.filter(|_| is_host), is_host, found);
    }

    fn scan_userinfo(
        &self,
        name: Range<usize>,
        password: Option<Range<usize>>,
        is_host: bool,
        found: &mut Vec<FoundSecret>,
    ) {
        let user = &self.text[name.clone()];
        if is_host && user.len() >= 20 && is_random(user) {
            Self::push(found, name, "token in an address");
        }
        if let Some(range) = password {
            let value = &self.text[range.clone()];
            let is_placeholder = ["pass", "pwd", "pw", "user", "username", "x-oauth-basic"].contains(&value);
            if !value.is_empty() && !is_placeholder && !is_non_secret(value) {
                Self::push(found, range, "password in an address");
            }
        }
    }

    /// `Cookie: a=b; c=d`, up to the end of the line or of the quotes around it.
    fn scan_cookies(&mut self, start: usize, found: &mut Vec<FoundSecret>) {
        let bytes = self.text.as_bytes();
        let start = start + bytes[start..].iter().take(8).take_while(|byte| b" \t\"'\\".contains(byte)).count();
        let is_end = |byte: &u8| b"\n\"'\\".contains(byte);
        let length = bytes[start..].iter().take(COOKIE_BYTES_MAX).position(is_end);
        let end =
            self.text.floor_char_boundary(start + length.unwrap_or(COOKIE_BYTES_MAX.min(bytes.len() - start)));
        self.cookie_done = end;
        looked_at(end - start);
        let mut at = start;
        for pair in self.text[start..end].split(';') {
            let value_at =
                pair.find('=').map(|equals| (at + equals + 1, &pair[..equals], pair[equals + 1..].trim_end()));
            at += pair.len() + 1;
            let Some((from, name, value)) = value_at else { continue };
            // Code may have a variable of that name.
            if name.ends_with(' ') || value.starts_with(' ') {
                continue;
            }
            let name = name.trim().to_ascii_lowercase();
            let credential_words =
                ["sess", "sid", "auth", "token", "jwt", "login", "remember", "user", "csrf", "xsrf", "id"];
            let has_credential_name = credential_words.iter().any(|word| name.contains(word))
                && value.len() >= 8
                && is_secret_like(value);
            let is_attribute = ["expires", "max-age", "domain", "path", "samesite"].contains(&name.as_str());
            let is_secret = has_credential_name
                || is_random(value)
                || value.len() >= 24 && is_mixed(value) && entropy(value) > 3.5;
            if is_secret && !is_attribute && !is_non_secret(value) {
                Self::push(found, from..from + value.len(), "cookie");
            }
        }
    }

    /// The values under `data:` or `stringData:` of a Kubernetes secret, in the same document.
    fn scan_manifest(&mut self, hit: Range<usize>, found: &mut Vec<FoundSecret>) {
        let text = self.text;
        let rest = &text.as_bytes()[hit.end..];
        // Not `kind: SecretProviderClass`.
        if rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric()) {
            return;
        }
        let low = text.ceil_char_boundary(hit.start.saturating_sub(MANIFEST_BYTES_MAX).max(self.manifest_done));
        let high = text.floor_char_boundary(text.len().min(hit.end + MANIFEST_BYTES_MAX));
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
            } else if let Some(block_indent) = block {
                if indent <= block_indent && !body.is_empty() {
                    block = None;
                } else if let Some((from, value)) = yaml_value(line) {
                    Self::push(found, at + from..at + from + value.len(), "kubernetes secret");
                }
            }
            at += line.len();
        }
    }

    /// A token in three parts, the first a number in base64: Discord's.
    fn scan_dotted(&self, dot: usize, found: &mut Vec<FoundSecret>) {
        let bytes = self.text.as_bytes();
        let is_token = |byte: &&u8| super::is_word_byte(**byte);
        if !bytes[..dot].last().is_some_and(|byte| super::is_word_byte(*byte)) {
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
        let range = dot - first..third + 1 + length;
        if (25..=45).contains(&length) && is_mixed(&self.text[range.clone()]) {
            found.push(FoundSecret { range, label: Cow::Borrowed("discord bot token"), is_by_pattern: true });
        }
    }
}

/// The value of `key: value` in a line, and its offset.
fn yaml_value(line: &str) -> Option<(usize, &str)> {
    let colon = line.find(':')?;
    let value = line[colon + 1..].trim_matches(|c: char| c.is_whitespace() || "\"',".contains(c));
    let is_template = value.starts_with(['{', '$', '<']) || value == "|" || value.len() < 3;
    let from = colon + 1 + line[colon + 1..].find(value)?;
    (!is_template).then_some((from, value))
}
