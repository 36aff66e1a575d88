//! Bearer tokens, compared by their digests, so that no timing tells how much of one is right.

use axum::http::{HeaderMap, header};
use neap_core::client::Digest;

/// What a token's holder may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenScope {
    Read,
    /// Reading included.
    Write,
    /// `/mcp` alone.
    Mcp,
}

/// A token and its scope; the token itself is not kept.
#[derive(Debug, Clone, Copy)]
pub struct ApiToken {
    digest: Digest,
    scope: TokenScope,
}

impl ApiToken {
    pub fn new(token: &str, scope: TokenScope) -> Self {
        Self { digest: digest(token), scope }
    }

    pub(crate) fn is(&self, given: &str) -> bool {
        digest(given) == self.digest
    }

    pub(crate) fn scope(&self) -> TokenScope {
        self.scope
    }
}

/// The bearer token of a request.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ').unwrap_or((given, ""));
    Some(if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" })
}

pub(crate) fn digest(text: &str) -> Digest {
    Digest::of("neap access", &[text.as_bytes()])
}
