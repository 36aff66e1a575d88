//! Digest chains over histories: each digest covers an item and everything before it.

use super::canonical::canonical_bytes;
use super::request::{ClientRequest, HistoryItem, Speaker};
use crate::base::digest::Digest;
use crate::base::tenant::Tenant;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    start: Digest,
    links: Vec<Digest>,
    stable_len: usize,
}

impl Chain {
    /// A request that names an earlier response starts from it. Leading system items do not count: some formats
    /// keep them beside the history, and programs put the time of day or their version into them.
    pub fn from_request(tenant: &Tenant, request: &ClientRequest) -> Self {
        let start = match &request.signals.previous_response {
            Some(id) => tenant.response_digest(id),
            None => *tenant.digest(),
        };
        let mut links = Vec::with_capacity(request.items.len());
        let mut last = start;
        let mut has_begun = false;
        for item in &request.items {
            has_begun |= item.speaker != Speaker::System;
            if has_begun {
                last = next_link(&last, item);
            }
            links.push(last);
        }
        Self { start, links, stable_len: request.stable_len() }
    }

    pub fn links(&self) -> &[Digest] {
        &self.links
    }

    /// The digest before the first item.
    pub fn start(&self) -> Digest {
        self.start
    }

    pub fn prefix_digest(&self, items: usize) -> Digest {
        items.checked_sub(1).and_then(|at| self.links.get(at)).copied().unwrap_or(self.start)
    }

    /// Number of leading items that do not count.
    pub fn unlinked_len(&self) -> usize {
        self.links.iter().take_while(|link| **link == self.start).count()
    }

    /// Number of items before trailing system items, which may move.
    pub fn stable_len(&self) -> usize {
        self.stable_len
    }

    /// The digest without trailing system items.
    pub fn stable_digest(&self) -> Digest {
        self.prefix_digest(self.stable_len)
    }

    /// The ends of the history after a reply, with and without trailing system items, and all links up to them.
    pub fn reply_digests(&self, reply: &[HistoryItem]) -> (Vec<Digest>, Vec<Digest>) {
        let mut starts = vec![self.stable_digest()];
        if self.prefix_digest(self.links.len()) != self.stable_digest() {
            starts.push(self.prefix_digest(self.links.len()));
        }
        let (mut ends, mut links) = (Vec::new(), Vec::new());
        for start in starts {
            let mut last = start;
            for item in reply {
                last = next_link(&last, item);
                links.push(last);
            }
            ends.push(last);
        }
        (ends, links)
    }
}

/// An item without content adds no link.
fn next_link(last: &Digest, item: &HistoryItem) -> Digest {
    item.blocks.link_digest(last, item.speaker, || match canonical_bytes(item) {
        Some(bytes) => Digest::of("link", &[last.bytes(), &bytes]),
        None => *last,
    })
}
