//! Drafts that a caller sends under a key of its own, so that sending one again changes nothing.

use serde::{Deserialize, Serialize};

use super::MemoryId;
use crate::base::digest::Digest;
use crate::base::ids::Seq;
use crate::text::secrets::mask;

/// Events of the agent for which a key is known.
const KNOWN_FOR: u64 = 2_000;

/// A caller's key, and what was sent under it, as digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentDraft {
    key: Digest,
    draft: Digest,
}

/// What became of a draft with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedKey {
    #[serde(flatten)]
    sent: SentDraft,
    seq: Seq,
    pub id: MemoryId,
}

impl SentDraft {
    /// `draft` is all that was sent, as text.
    pub fn new(key: &str, draft: &str) -> Self {
        // Nobody shall try out secrets on a digest.
        let masked = |text: &str| mask(text).0.into_bytes();
        Self {
            key: Digest::of("memory key", &[key.as_bytes()]),
            draft: Digest::of("memory draft", &[&masked(draft)]),
        }
    }

    /// The earlier use of the key among these, and whether the same was sent.
    pub fn find(self, used: &[UsedKey]) -> Option<(MemoryId, bool)> {
        let earlier = used.iter().find(|used| used.sent.key == self.key)?;
        Some((earlier.id, earlier.sent.draft == self.draft))
    }
}

impl UsedKey {
    /// Notes a use, and forgets those of long ago. By their place in the stream, so that an erasure changes nothing else.
    pub(super) fn note(all: &mut Vec<Self>, sent: Option<SentDraft>, seq: Seq, id: MemoryId) {
        all.retain(|used| used.seq.0 + KNOWN_FOR > seq.0);
        if let Some(sent) = sent.filter(|sent| sent.find(all).is_none()) {
            all.push(Self { sent, seq, id });
        }
    }
}
