//! Keeps the token for `/mcp`, and every key of ours, from reaching a provider: whoever has it can read the whole store.

use axum::http::HeaderMap;
use axum::http::request::Parts;
use neap_core::base::access::AccessKey;
use neap_model::caller::percent_decoded;

/// Base64: standard and URL-safe.
const ALPHABETS: [&[u8; 64]; 2] = [
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
];

/// The byte forms of the token: plain, and in base64 (as in `Basic`) at each of the three alignments.
#[derive(Default)]
pub struct TokenGuard {
    forms: Vec<Vec<u8>>,
    /// Of tokens that are looked for in heads only.
    head_forms: Vec<Vec<u8>>,
}

impl TokenGuard {
    pub fn new(token: Option<&str>) -> Self {
        let Some(token) = token.filter(|token| !token.is_empty()) else { return Self::default() };
        Self { forms: forms(token), head_forms: Vec::new() }
    }

    /// Also keeps back heads with this token. Clients send it in no body, and searching each would take time.
    pub fn with_head_only(mut self, token: &str) -> Self {
        self.head_forms.extend(forms(token));
        self
    }

    pub(crate) fn is_disabled(&self) -> bool {
        self.forms.is_empty()
    }

    /// Whether the target or a header contains the token.
    pub(crate) fn has_token_in_head(&self, parts: &Parts) -> bool {
        self.has_token_in_text(&parts.uri.to_string()) || self.has_token_in_headers(&parts.headers)
    }

    fn has_token_in_headers(&self, headers: &HeaderMap) -> bool {
        headers.iter().any(|(name, value)| {
            let value = value.as_bytes();
            self.is_in_head(value)
                || self.is_in_head(name.as_str().as_bytes())
                || self.has_token_in_text(&String::from_utf8_lossy(value))
        })
    }

    /// Also checks the text percent-decoded once and twice.
    fn has_token_in_text(&self, text: &str) -> bool {
        let once = percent_decoded(text);
        let twice = percent_decoded(&once);
        [text, &once, &twice].into_iter().any(|text| self.is_in_head(text.as_bytes()))
    }

    /// How many bytes at the end of a text may be the beginning of the token.
    pub(crate) fn overlap_bytes(&self) -> usize {
        self.forms.iter().map(Vec::len).max().unwrap_or(0).saturating_sub(1)
    }

    fn is_in_head(&self, bytes: &[u8]) -> bool {
        self.has_token(bytes)
            || AccessKey::is_in(bytes)
            || self.head_forms.iter().any(|form| memchr::memmem::find(bytes, form).is_some())
    }

    pub(crate) fn has_token(&self, bytes: &[u8]) -> bool {
        self.forms.iter().any(|form| memchr::memmem::find(bytes, form).is_some())
    }
}

fn forms(token: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![token.as_bytes().to_vec()];
    for alphabet in ALPHABETS {
        forms.extend((0..3).map(|before| base64_core(token.as_bytes(), before, alphabet)));
    }
    forms.sort();
    forms.dedup();
    forms
}

/// The part of the base64 encoding that does not depend on neighbouring bytes, with `before` bytes preceding it.
fn base64_core(bytes: &[u8], before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let padded = [&b"\0\0"[..before], bytes].concat();
    let mut out = Vec::with_capacity(padded.len() * 4 / 3 + 4);
    for group in padded.chunks_exact(3) {
        let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        out.extend((0..4).rev().map(|at| alphabet[(bits >> (6 * at) & 63) as usize]));
    }
    // The first characters also encode bits of the preceding bytes.
    out.split_off([0, 2, 3][before])
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    const TOKEN: &str = "0f3c9a77e1b24d58a6c0";

    fn holds(target: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        TokenGuard::new(Some(TOKEN)).has_token_in_head(&parts)
    }

    #[test]
    fn a_token_of_heads_is_kept_back_there_alone() {
        let guard = TokenGuard::new(None).with_head_only(TOKEN);
        let request = Request::builder().uri("/v1/models").header("authorization", format!("Bearer {TOKEN}"));
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        assert!(guard.has_token_in_head(&parts));
        assert!(guard.is_disabled() && !guard.has_token(TOKEN.as_bytes()), "bodies are not searched for it");
    }

    #[test]
    fn it_is_found_wherever_it_stands() {
        assert!(holds("/v1/models", &[("authorization", &format!("Bearer {TOKEN}"))]));
        assert!(holds("/v1/models", &[("cookie", &format!("a=1; t={TOKEN}"))]));
        assert!(holds(&format!("/v1/models?key={TOKEN}"), &[]));
        assert!(holds("/v1/models?key=%30f3c9a77e1b24d58a6c%30", &[]));
        assert!(holds("/v1/models?key=%25%33%30f3c9a77e1b24d58a6c0", &[]));
        // `Basic` of `a:`, `ab:`, `abc:` followed by the token.
        for basic in [
            "YTowZjNjOWE3N2UxYjI0ZDU4YTZjMA==",
            "YWI6MGYzYzlhNzdlMWIyNGQ1OGE2YzA=",
            "YWJjOjBmM2M5YTc3ZTFiMjRkNThhNmMw",
        ] {
            assert!(holds("/v1/models", &[("authorization", &format!("Basic {basic}"))]), "{basic}");
        }
        assert!(!holds("/v1/models", &[("authorization", "Bearer sk-other"), ("cookie", "a=1")]));
        assert!(TokenGuard::new(Some(TOKEN)).has_token(format!("{{\"note\": \"{TOKEN}\"}}").as_bytes()));
        assert!(TokenGuard::new(None).is_disabled() && !TokenGuard::new(None).has_token(TOKEN.as_bytes()));
    }
}
