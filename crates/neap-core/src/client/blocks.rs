//! Content blocks, shared between copies of an item. Clients resend the same items with every request, so each
//! item's digest, and what its calls do, is computed once and cached here.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use super::request::{ContentBlock, Speaker};
use super::tool_use::ToolUse;
use crate::base::digest::Digest;

/// An item's blocks. Clones share them; mutation copies on write.
#[derive(Clone, Default)]
pub struct ContentBlocks(Arc<Inner>);

#[derive(Clone, Default)]
struct Inner {
    blocks: Vec<ContentBlock>,
    cached_link: OnceLock<CachedLink>,
    tool_uses: OnceLock<Vec<(usize, ToolUse)>>,
}

impl Inner {
    fn new(blocks: Vec<ContentBlock>) -> Self {
        Self { blocks, ..Self::default() }
    }
}

/// The item's link digest, valid only after `previous` and for `speaker`.
#[derive(Clone)]
struct CachedLink {
    previous: Digest,
    speaker: Speaker,
    link: Digest,
}

impl ContentBlocks {
    /// The item's link digest after `last`; calls `compute` unless it is cached.
    pub(super) fn link_digest(&self, last: &Digest, speaker: Speaker, compute: impl Fn() -> Digest) -> Digest {
        let cached = self.0.cached_link.get_or_init(|| CachedLink { previous: *last, speaker, link: compute() });
        if cached.previous == *last && cached.speaker == speaker { cached.link } else { compute() }
    }

    /// What the call at a block does.
    pub(super) fn tool_use(&self, nth: usize) -> Option<&ToolUse> {
        let uses = self.0.tool_uses.get_or_init(|| {
            let use_of = |(nth, block): (usize, &ContentBlock)| match block {
                ContentBlock::ToolCall(call) => Some((nth, ToolUse::of(call))),
                ContentBlock::Text(_)
                | ContentBlock::ToolResult { .. }
                | ContentBlock::Thinking
                | ContentBlock::Other { .. } => None,
            };
            self.0.blocks.iter().enumerate().filter_map(use_of).collect()
        });
        uses.binary_search_by_key(&nth, |(at, _)| *at).ok().map(|found| &uses[found].1)
    }
}

impl Deref for ContentBlocks {
    type Target = Vec<ContentBlock>;

    fn deref(&self) -> &Vec<ContentBlock> {
        &self.0.blocks
    }
}

impl DerefMut for ContentBlocks {
    fn deref_mut(&mut self) -> &mut Vec<ContentBlock> {
        let inner = Arc::make_mut(&mut self.0);
        // Mutation invalidates what is cached.
        inner.cached_link = OnceLock::new();
        inner.tool_uses = OnceLock::new();
        &mut inner.blocks
    }
}

impl From<Vec<ContentBlock>> for ContentBlocks {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        Self(Arc::new(Inner::new(blocks)))
    }
}

impl FromIterator<ContentBlock> for ContentBlocks {
    fn from_iter<I: IntoIterator<Item = ContentBlock>>(blocks: I) -> Self {
        Vec::from_iter(blocks).into()
    }
}

impl<'a> IntoIterator for &'a ContentBlocks {
    type Item = &'a ContentBlock;
    type IntoIter = std::slice::Iter<'a, ContentBlock>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.blocks.iter()
    }
}

impl PartialEq for ContentBlocks {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.blocks == other.0.blocks
    }
}

impl Eq for ContentBlocks {}

impl fmt::Debug for ContentBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.blocks.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stale link would take one history for another.
    #[test]
    fn what_was_changed_is_linked_anew() {
        let digest = |words: &str| Digest::of("test", &[words.as_bytes()]);
        let (start, other) = (digest("start"), digest("other"));
        let link = |blocks: &ContentBlocks, last: &Digest, speaker| {
            blocks.link_digest(last, speaker, || digest(&format!("{last:?} {speaker:?} {:?}", &**blocks)))
        };
        let one = ContentBlocks::from(vec![ContentBlock::Text("the port is 8080".to_owned())]);
        let first = link(&one, &start, Speaker::User);
        assert_eq!(first, one.link_digest(&start, Speaker::User, || unreachable!("it is known")));
        assert_ne!(first, link(&one, &other, Speaker::User));
        assert_ne!(first, link(&one, &start, Speaker::Assistant));
        let mut changed = one.clone();
        changed.push(ContentBlock::Thinking);
        let fresh = ContentBlocks::from(changed.to_vec());
        assert_eq!(link(&changed, &start, Speaker::User), link(&fresh, &start, Speaker::User));
        assert_ne!(first, link(&changed, &start, Speaker::User));
        assert_eq!(first, link(&one, &start, Speaker::User), "and the other is as it was");
    }
}
