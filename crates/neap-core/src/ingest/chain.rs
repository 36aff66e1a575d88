//! What was said before, as a chain of digests: each stands for its item and for all before it.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::canon::canonical;
use super::heard::{Heard, Item, Speaker};
use crate::ids::TurnNo;

/// Bytes of a digest.
const BYTES: usize = 16;

/// Stands for an item and all before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; BYTES]);

impl Digest {
    /// Of a label and some parts; no two different lists of parts are hashed alike.
    pub fn of(label: &str, parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in std::iter::once(&label.as_bytes()).chain(parts) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&hash.finalize()[..BYTES]);
        Self(bytes)
    }

    /// As it is stored.
    pub fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// As it was stored.
    pub fn stored(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Its first characters, for a name.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("'{}' is no digest", text.chars().take(40).collect::<String>());
        let mut bytes = [0; BYTES];
        if text.len() != 2 * BYTES || !text.is_ascii() {
            return Err(wrong());
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

/// Whose requests: a digest of what a caller shows, never the key itself. Every chain begins with it, so that two of
/// them never share a link (I11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tenant(Digest);

impl Tenant {
    /// The one caller of one's own machine, whatever key or sign-in token a client shows.
    pub fn local() -> Self {
        Self::of_key(None)
    }

    /// Of a key alone, as callers were told apart before all that looks like a credential counted.
    pub fn of_key(key: Option<&str>) -> Self {
        Self(Digest::of("tenant", &[key.unwrap_or_default().as_bytes()]))
    }

    /// Of all credentials that a caller shows, each as its place, its name and its value; their order does not matter.
    pub(super) fn of_credentials(mut parts: Vec<[&str; 3]>) -> Self {
        parts.sort_unstable();
        parts.dedup();
        let parts: Vec<&[u8]> = parts.iter().flatten().map(|part| part.as_bytes()).collect();
        Self(Digest::of("caller", &parts))
    }

    /// The digest.
    pub fn digest(&self) -> &Digest {
        &self.0
    }

    /// What stands for an answer that a later request names in place of the history.
    pub fn response(&self, id: &str) -> Digest {
        Digest::of("response", &[self.0.bytes(), id.as_bytes()])
    }
}

/// An item that was heard, and the turn it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Stands for it and for all before it.
    pub digest: Digest,
    /// The turn in which it was said.
    pub turn: TurnNo,
}

/// Where a session's history ends, as far as it was heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The end of what was last asked.
    pub asked: Digest,
    /// The end with what was answered, as a client may send it back; empty while there is no answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<Digest>,
}

impl Line {
    /// Ends that are kept of one question: whoever has it answered again and again goes on from one of the last.
    pub const ANSWERED_MAX: usize = 16;

    /// With these ends as well, the newest last.
    pub fn answered_with(mut self, ends: &[Digest]) -> Self {
        for end in ends {
            if !self.answered.contains(end) {
                self.answered.push(*end);
            }
        }
        let surplus = self.answered.len().saturating_sub(Self::ANSWERED_MAX);
        self.answered.drain(..surplus);
        self
    }
}

/// The digests of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    start: Digest,
    links: Vec<Digest>,
    stem: usize,
}

impl Chain {
    /// Of a request. One that names an earlier answer goes on from there. The instructions that it begins with do not count: in
    /// some formats they stand beside the history, and programs put the time of day, or their own version, into them.
    pub fn of(tenant: &Tenant, heard: &Heard) -> Self {
        let start = match &heard.signals.response {
            Some(id) => tenant.response(id),
            None => *tenant.digest(),
        };
        let mut links = Vec::with_capacity(heard.items.len());
        let mut last = start;
        let mut has_begun = false;
        for item in &heard.items {
            has_begun |= item.speaker != Speaker::System;
            if has_begun {
                last = next(&last, item);
            }
            links.push(last);
        }
        Self { start, links, stem: heard.stem() }
    }

    /// The digests, one for each item.
    pub fn links(&self) -> &[Digest] {
        &self.links
    }

    /// What it begins with, before the first item.
    pub fn start(&self) -> Digest {
        self.start
    }

    /// What stands for the first `items`.
    pub fn upto(&self, items: usize) -> Digest {
        items.checked_sub(1).and_then(|at| self.links.get(at)).copied().unwrap_or(self.start)
    }

    /// How many items there are before the first that counts.
    pub fn unlinked(&self) -> usize {
        self.links.iter().take_while(|link| **link == self.start).count()
    }

    /// How many items there are before those at the end that may move.
    pub fn stem(&self) -> usize {
        self.stem
    }

    /// The end of what is asked, without what may move.
    pub fn asked(&self) -> Digest {
        self.upto(self.stem)
    }

    /// The ends that the history has with an answer: after all of it, and after what does not move. With each, the
    /// links on the way.
    pub fn answered(&self, answer: &[Item]) -> (Vec<Digest>, Vec<Digest>) {
        let mut starts = vec![self.asked()];
        if self.upto(self.links.len()) != self.asked() {
            starts.push(self.upto(self.links.len()));
        }
        let (mut ends, mut all) = (Vec::new(), Vec::new());
        for start in starts {
            let mut last = start;
            for item in answer {
                last = next(&last, item);
                all.push(last);
            }
            ends.push(last);
        }
        (ends, all)
    }
}

/// The link of an item; one in which nothing counts adds none.
fn next(last: &Digest, item: &Item) -> Digest {
    item.blocks.link(last, item.speaker, || match canonical(item) {
        Some(bytes) => Digest::of("link", &[last.bytes(), &bytes]),
        None => *last,
    })
}
