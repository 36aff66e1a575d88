//! Sees to it that the token for `/mcp` never leaves: who has it reads everything that is kept here.

use axum::http::HeaderMap;
use axum::http::request::Parts;
use neap_core::ingest::percent_decoded;

/// The standard alphabet, and the one for addresses.
const ALPHABETS: [&[u8; 64]; 2] = [
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
];

/// What must not leave: the token, as it is and as it stands in base64 (`Basic`), wherever it begins there.
#[derive(Default)]
pub(crate) struct Guard {
    forms: Vec<Vec<u8>>,
}

impl Guard {
    /// Without a token there is nothing to guard.
    pub(crate) fn new(token: Option<&str>) -> Self {
        let Some(token) = token.filter(|token| !token.is_empty()) else { return Self::default() };
        let mut forms = vec![token.as_bytes().to_vec()];
        for alphabet in ALPHABETS {
            forms.extend((0..3).map(|before| in_base64(token.as_bytes(), before, alphabet)));
        }
        forms.sort();
        forms.dedup();
        Self { forms }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.forms.is_empty()
    }

    /// Whether a request's target or one of its headers holds it.
    pub(crate) fn is_in_head(&self, parts: &Parts) -> bool {
        !self.is_off() && (self.is_in_text(&parts.uri.to_string()) || self.is_in_headers(&parts.headers))
    }

    fn is_in_headers(&self, headers: &HeaderMap) -> bool {
        headers.iter().any(|(name, value)| {
            let value = value.as_bytes();
            self.is_in(value)
                || self.is_in(name.as_str().as_bytes())
                || self.is_in_text(&String::from_utf8_lossy(value))
        })
    }

    /// A text may be encoded for an address, more than once.
    fn is_in_text(&self, text: &str) -> bool {
        let once = percent_decoded(text);
        let twice = percent_decoded(&once);
        [text, &once, &twice].into_iter().any(|text| self.is_in(text.as_bytes()))
    }

    /// Whether bytes hold it. Nothing is searched for where there is no token.
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        self.forms.iter().any(|form| memchr::memmem::find(bytes, form).is_some())
    }
}

/// What of a text in base64 depends on nothing around it, where so many bytes of a group come before.
fn in_base64(bytes: &[u8], before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let padded = [&b"\0\0"[..before], bytes].concat();
    let mut out = Vec::with_capacity(padded.len() * 4 / 3 + 4);
    for group in padded.chunks_exact(3) {
        let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        out.extend((0..4).rev().map(|at| alphabet[(bits >> (6 * at) & 63) as usize]));
    }
    // The first signs hold bits of what comes before.
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
        Guard::new(Some(TOKEN)).is_in_head(&parts)
    }

    #[test]
    fn it_is_found_wherever_it_stands() {
        assert!(holds("/v1/models", &[("authorization", &format!("Bearer {TOKEN}"))]));
        assert!(holds("/v1/models", &[("cookie", &format!("a=1; t={TOKEN}"))]));
        assert!(holds(&format!("/v1/models?key={TOKEN}"), &[]));
        assert!(holds("/v1/models?key=%30f3c9a77e1b24d58a6c%30", &[]));
        assert!(holds("/v1/models?key=%25%33%30f3c9a77e1b24d58a6c0", &[]));
        // `Basic` of `a:`, `ab:`, `abc:` and the token.
        for basic in [
            "YTowZjNjOWE3N2UxYjI0ZDU4YTZjMA==",
            "YWI6MGYzYzlhNzdlMWIyNGQ1OGE2YzA=",
            "YWJjOjBmM2M5YTc3ZTFiMjRkNThhNmMw",
        ] {
            assert!(holds("/v1/models", &[("authorization", &format!("Basic {basic}"))]), "{basic}");
        }
        assert!(!holds("/v1/models", &[("authorization", "Bearer sk-other"), ("cookie", "a=1")]));
        assert!(Guard::new(Some(TOKEN)).is_in(format!("{{\"note\": \"{TOKEN}\"}}").as_bytes()));
        assert!(Guard::new(None).is_off() && !Guard::new(None).is_in(TOKEN.as_bytes()));
    }
}
