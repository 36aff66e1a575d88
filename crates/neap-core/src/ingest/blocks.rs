//! The parts of an item, shared: clients send the same items again and again, and what stands for them is worked out once.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use super::chain::Digest;
use super::heard::{Block, Speaker};

/// What an item is made of. A copy shares it; whoever changes a copy has one of their own from then on.
#[derive(Clone, Default)]
pub struct Blocks(Arc<Inner>);

#[derive(Clone, Default)]
struct Inner {
    all: Vec<Block>,
    known: OnceLock<Known>,
}

/// The link of an item with these blocks, and what it goes on from.
#[derive(Clone)]
struct Known {
    last: Digest,
    speaker: Speaker,
    link: Digest,
}

impl Blocks {
    /// The link of an item that these are the blocks of, after `last`: as `work` says, or as it said before.
    pub(super) fn link(&self, last: &Digest, speaker: Speaker, work: impl Fn() -> Digest) -> Digest {
        let known = self.0.known.get_or_init(|| Known { last: *last, speaker, link: work() });
        if known.last == *last && known.speaker == speaker { known.link } else { work() }
    }
}

impl Deref for Blocks {
    type Target = Vec<Block>;

    fn deref(&self) -> &Vec<Block> {
        &self.0.all
    }
}

impl DerefMut for Blocks {
    fn deref_mut(&mut self) -> &mut Vec<Block> {
        let inner = Arc::make_mut(&mut self.0);
        // It is another item now.
        inner.known = OnceLock::new();
        &mut inner.all
    }
}

impl From<Vec<Block>> for Blocks {
    fn from(all: Vec<Block>) -> Self {
        Self(Arc::new(Inner { all, known: OnceLock::new() }))
    }
}

impl FromIterator<Block> for Blocks {
    fn from_iter<I: IntoIterator<Item = Block>>(blocks: I) -> Self {
        Vec::from_iter(blocks).into()
    }
}

impl<'a> IntoIterator for &'a Blocks {
    type Item = &'a Block;
    type IntoIter = std::slice::Iter<'a, Block>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.all.iter()
    }
}

impl PartialEq for Blocks {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.all == other.0.all
    }
}

impl Eq for Blocks {}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.all.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link that stood for other words would take one history for another.
    #[test]
    fn what_was_changed_is_linked_anew() {
        let digest = |words: &str| Digest::of("test", &[words.as_bytes()]);
        let (start, other) = (digest("start"), digest("other"));
        let link = |blocks: &Blocks, last: &Digest, speaker| {
            blocks.link(last, speaker, || digest(&format!("{last:?} {speaker:?} {:?}", &**blocks)))
        };
        let one = Blocks::from(vec![Block::Text("the port is 8080".to_owned())]);
        let first = link(&one, &start, Speaker::User);
        assert_eq!(first, one.link(&start, Speaker::User, || unreachable!("it is known")));
        assert_ne!(first, link(&one, &other, Speaker::User));
        assert_ne!(first, link(&one, &start, Speaker::Assistant));
        let mut changed = one.clone();
        changed.push(Block::Thinking);
        let fresh = Blocks::from(changed.to_vec());
        assert_eq!(link(&changed, &start, Speaker::User), link(&fresh, &start, Speaker::User));
        assert_ne!(first, link(&changed, &start, Speaker::User));
        assert_eq!(first, link(&one, &start, Speaker::User), "and the other is as it was");
    }
}
