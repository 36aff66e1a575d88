//! Histories that were read before. A client sends all of its history each time, and more at its end: what begins as a request
//! did that was read before is not read again.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use neap_core::ingest::{Api, Item};

/// Requests that are shorter are read as fast as they are looked up.
const SHORT_BYTES: usize = 8 << 10;
/// Requests that are kept, at most, and their bytes.
const KEPT_MAX: usize = 64;
const KEPT_BYTES_MAX: usize = 8 << 20;
/// What is compared at once.
const BLOCK_BYTES: usize = 4 << 10;

/// A request as it was read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) whole: Arc<str>,
    pub(super) api: Api,
    /// Where its items are, and what they are.
    pub(super) places: Vec<Range<usize>>,
    pub(super) items: Vec<Item>,
}

/// Requests that were read, the latest last.
#[derive(Debug, Default)]
pub(super) struct Readings {
    kept: VecDeque<Arc<Reading>>,
    bytes: usize,
}

impl Readings {
    /// All of them.
    pub(super) fn all(&self) -> Vec<Arc<Reading>> {
        self.kept.iter().cloned().collect()
    }

    /// How many there are, and how long they are.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.kept.len(), self.bytes)
    }

    /// Keeps one, in the place of the one that it goes on from.
    pub(super) fn keep(&mut self, reading: Reading, from: Option<&Arc<Reading>>) {
        if reading.whole.len() < SHORT_BYTES || reading.whole.len() > KEPT_BYTES_MAX {
            return;
        }
        if let Some(at) = from.and_then(|from| self.kept.iter().position(|one| Arc::ptr_eq(one, from))) {
            self.bytes -= self.kept.remove(at).map_or(0, |one| one.whole.len());
        }
        self.bytes += reading.whole.len();
        self.kept.push_back(Arc::new(reading));
        while self.kept.len() > KEPT_MAX || self.bytes > KEPT_BYTES_MAX {
            self.bytes -= self.kept.pop_front().map_or(0, |one| one.whole.len());
        }
    }
}

/// The one that has the most items at its beginning in common with a request, and how many.
pub(super) fn nearest(all: &[Arc<Reading>], api: Api, whole: &str) -> Option<(Arc<Reading>, usize)> {
    let of = |reading: &Arc<Reading>| {
        let same = common(reading.whole.as_bytes(), whole.as_bytes());
        // A value may go on where its text ends, so that one byte more has to be the same.
        (reading.places.partition_point(|place| place.end < same), reading.clone())
    };
    let (items, reading) =
        all.iter().rev().filter(|reading| reading.api == api).map(of).max_by_key(|(items, _)| *items)?;
    (items > 0).then_some((reading, items))
}

/// How many bytes are the same at the beginning.
fn common(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.chunks_exact(BLOCK_BYTES).zip(other.chunks_exact(BLOCK_BYTES));
    let whole = blocks.take_while(|(one, other)| one == other).count() * BLOCK_BYTES;
    let rest = one[whole..].iter().zip(&other[whole..]).take(BLOCK_BYTES);
    whole + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use neap_core::ingest::Heard;
    use neap_core::testing::WordCounter;
    use proptest::prelude::*;

    use super::super::{Counts, Request};
    use super::*;

    const PATH: &str = "/v1/messages";

    /// What is read, and what is written of it.
    fn read(text: &str, counts: &Counts) -> Option<(Heard, String)> {
        let request = Request::read(PATH, &[], text, counts).ok()??;
        Some((request.heard().clone(), request.whole()))
    }

    fn counts() -> Counts {
        Counts::new(Arc::new(WordCounter))
    }

    /// A request that is long enough to be kept.
    fn request(items: &[&str]) -> String {
        let long = format!(r#"{{"role":"user","content":"{}"}}"#, "long ".repeat(SHORT_BYTES / 5));
        let items: Vec<&str> = std::iter::once(long.as_str()).chain(items.iter().copied()).collect();
        format!(r#"{{"model":"m","messages":[{}],"system":"s"}}"#, items.join(", "))
    }

    fn item() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            r#"{"role":"user","content":"one"}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"two"},{"type":"tool_use","id":"c","name":"n","input":{"a":[1]}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a \"b\" ]}"}]}"#,
            r#"{"role":"user","content":"one","cache_control":{"type":"ephemeral"}}"#,
            "12",
            "null",
            " [ ] ",
        ])
    }

    #[test]
    fn a_history_that_goes_on_shares_what_was_read() {
        let counts = counts();
        let one = r#"{"role":"user","content":"one"}"#;
        let (first, _) = read(&request(&[one, one]), &counts).expect("a request");
        let longer = request(&[one, one, one]);
        let (second, _) = read(&longer, &counts).expect("a request");
        let text = |heard: &Heard, at: usize| heard.items[at].blocks.as_ptr();
        assert_eq!((text(&first, 0), text(&first, 1)), (text(&second, 0), text(&second, 1)));
        // Where one ends and the other goes on, it is looked at again.
        assert_ne!(text(&first, 2), text(&second, 2));
        assert_eq!(counts.nearest(Api::Messages, &longer).map(|(_, items)| items), Some(4));
        assert_eq!(counts.nearest(Api::Chat, &longer).map(|(_, items)| items), None);
    }

    proptest! {
        /// Whatever was read before, a request says what it says by itself.
        #[test]
        fn what_was_read_before_changes_nothing(
            before in prop::collection::vec(item(), 0..6),
            after in prop::collection::vec(item(), 0..6),
            kept in 0..6_usize,
            (at, with) in (0..120_usize, prop::sample::select(vec!["", "x", "\"", "]", "}", ",", "1", "[", "\\"])),
            is_broken in any::<bool>(),
        ) {
            let counts = counts();
            let earlier = request(&before);
            let known = read(&earlier, &counts);
            prop_assert!(known.is_some());
            let items: Vec<&str> = before.iter().take(kept).chain(&after).copied().collect();
            let mut later = request(&items);
            if is_broken {
                // Somewhere near the end, where what was read before ends as well.
                let place = later.len().saturating_sub(at);
                let until = (place + 1).min(later.len());
                later.replace_range(place..until, with);
            }
            prop_assert_eq!(read(&later, &counts), read(&later, &self::counts()));
            prop_assert_eq!(read(&earlier, &counts), known);
        }
    }

    #[test]
    fn what_two_texts_have_in_common_is_counted() {
        let long = "a".repeat(3 * BLOCK_BYTES);
        for length in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES + 7, long.len()] {
            let other = format!("{}b", &long[..length]);
            assert_eq!(common(long.as_bytes(), other.as_bytes()), length);
            assert_eq!(common(long.as_bytes(), &long.as_bytes()[..length]), length);
        }
    }
}
