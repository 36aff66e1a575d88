//! Browsers that were let in by a one-time link, each with a cookie of its own until the server ends.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use neap_core::base::access::KeyId;
use neap_core::client::Digest;

use super::token::digest;

const SECRET_BYTES: usize = 32;
/// How long a link waits to be opened.
const CODE_LIFETIME: Duration = Duration::from_secs(600);
/// Links that wait at once; a further one takes the place of the oldest.
const CODES_MAX: usize = 16;
/// Browsers let in at once; a further one takes the place of the first.
const BROWSERS_MAX: usize = 64;

/// Only digests are kept, each with the key that let the browser in, if it was one.
#[derive(Debug, Default)]
struct Known {
    codes: VecDeque<(Digest, Option<KeyId>, Instant)>,
    browsers: VecDeque<(Digest, Option<KeyId>)>,
}

pub(crate) struct Browsers {
    cookie: String,
    known: Mutex<Known>,
}

impl Browsers {
    pub(super) fn new(port: u16) -> Self {
        Self { cookie: format!("neap_session_{port}"), known: Mutex::default() }
    }

    /// A path with a new code.
    pub(super) fn new_code(&self, key: Option<KeyId>) -> Result<String, getrandom::Error> {
        let code = secret()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.codes.push_back((digest(&code), key, Instant::now()));
        if known.codes.len() > CODES_MAX {
            known.codes.pop_front();
        }
        Ok(format!("/ui/enter?code={code}"))
    }

    /// Uses a code up; gives the value of `Set-Cookie`.
    pub(crate) fn enter(&self, code: &str) -> Option<String> {
        let given = digest(code);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.codes.retain(|(_, _, made)| made.elapsed() < CODE_LIFETIME);
        let at = known.codes.iter().position(|(code, _, _)| *code == given)?;
        let (_, key, _) = known.codes.remove(at)?;
        let secret = secret().ok()?;
        known.browsers.push_back((digest(&secret), key));
        if known.browsers.len() > BROWSERS_MAX {
            known.browsers.pop_front();
        }
        Some(format!("{}={secret}; HttpOnly; SameSite=Strict; Path=/", self.cookie))
    }

    /// The key with which a request's browser was let in (`Some(None)` without one); `None` for an unknown browser.
    pub(super) fn known(&self, headers: &HeaderMap) -> Option<Option<KeyId>> {
        let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut given = pairs.filter(|(name, _)| *name == self.cookie).map(|(_, secret)| digest(secret));
        given.find_map(|secret| {
            let browser = known.browsers.iter().find(|(browser, _)| *browser == secret);
            browser.map(|(_, key)| key.clone())
        })
    }
}

fn secret() -> Result<String, getrandom::Error> {
    let mut random = [0; SECRET_BYTES];
    getrandom::fill(&mut random)?;
    let mut text = String::with_capacity(2 * SECRET_BYTES);
    for byte in random {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
