//! Caches parsed histories. A client resends its whole history and appends to it, so a shared beginning is not
//! parsed again.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use neap_core::client::{HistoryItem, WireApi};

/// Parsing shorter requests is as fast as a lookup.
const UNCACHED_BYTES_MAX: usize = 8 << 10;
const REQUESTS_MAX: usize = 64;
const CACHE_BYTES_MAX: usize = 8 << 20;
/// Bytes compared at once.
const BLOCK_BYTES: usize = 4 << 10;

#[derive(Debug)]
pub(super) struct ParsedRequest {
    pub(super) body: Arc<str>,
    pub(super) api: WireApi,
    /// Byte ranges of `items` in `body`.
    pub(super) item_ranges: Vec<Range<usize>>,
    pub(super) items: Vec<HistoryItem>,
}

/// The latest last.
#[derive(Debug, Default)]
pub(super) struct RequestCache {
    requests: VecDeque<Arc<ParsedRequest>>,
    bytes: usize,
}

impl RequestCache {
    pub(super) fn all(&self) -> Vec<Arc<ParsedRequest>> {
        self.requests.iter().cloned().collect()
    }

    /// Number of requests, and their total bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.requests.len(), self.bytes)
    }

    /// Adds a request in place of the one that it continues.
    pub(super) fn insert(&mut self, request: ParsedRequest, previous: Option<&Arc<ParsedRequest>>) {
        if request.body.len() < UNCACHED_BYTES_MAX || request.body.len() > CACHE_BYTES_MAX {
            return;
        }
        if let Some(at) =
            previous.and_then(|previous| self.requests.iter().position(|one| Arc::ptr_eq(one, previous)))
        {
            self.bytes -= self.requests.remove(at).map_or(0, |one| one.body.len());
        }
        self.bytes += request.body.len();
        self.requests.push_back(Arc::new(request));
        while self.requests.len() > REQUESTS_MAX || self.bytes > CACHE_BYTES_MAX {
            self.bytes -= self.requests.pop_front().map_or(0, |one| one.body.len());
        }
    }
}

/// The request that shares the most leading items with `whole`, and their number.
pub(super) fn longest_prefix(
    all: &[Arc<ParsedRequest>],
    api: WireApi,
    whole: &str,
) -> Option<(Arc<ParsedRequest>, usize)> {
    let prefix = |request: &Arc<ParsedRequest>| {
        let same = common_prefix_len(request.body.as_bytes(), whole.as_bytes());
        // A number may continue where the common text ends, so one more byte must match.
        (request.item_ranges.partition_point(|place| place.end < same), request.clone())
    };
    let (items, request) =
        all.iter().rev().filter(|request| request.api == api).map(prefix).max_by_key(|(items, _)| *items)?;
    (items > 0).then_some((request, items))
}

fn common_prefix_len(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.chunks_exact(BLOCK_BYTES).zip(other.chunks_exact(BLOCK_BYTES));
    let whole = blocks.take_while(|(one, other)| one == other).count() * BLOCK_BYTES;
    let rest = one[whole..].iter().zip(&other[whole..]).take(BLOCK_BYTES);
    whole + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use neap_core::base::testing::WordCounter;
    use neap_core::client::ClientRequest;
    use proptest::prelude::*;

    use super::super::{CachedCounter, WireRequest};
    use super::*;

    const PATH: &str = "/v1/messages";

    fn read(text: &str, counts: &CachedCounter) -> Option<(ClientRequest, String)> {
        let request = WireRequest::read(PATH, &[], text, counts).ok()??;
        Some((request.parsed().clone(), request.render_all()))
    }

    fn counts() -> CachedCounter {
        CachedCounter::new(Arc::new(WordCounter))
    }

    /// Long enough to be cached.
    fn request(items: &[&str]) -> String {
        let long = format!(r#"{{"role":"user","content":"{}"}}"#, "long ".repeat(UNCACHED_BYTES_MAX / 5));
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
        let text = |parsed: &ClientRequest, at: usize| parsed.items[at].blocks.as_ptr();
        assert_eq!((text(&first, 0), text(&first, 1)), (text(&second, 0), text(&second, 1)));
        // An item at the end of the common prefix is parsed again.
        assert_ne!(text(&first, 2), text(&second, 2));
        assert_eq!(counts.longest_prefix(WireApi::Messages, &longer).map(|(_, items)| items), Some(4));
        assert_eq!(counts.longest_prefix(WireApi::Chat, &longer).map(|(_, items)| items), None);
    }

    proptest! {
        /// The cache never changes the result.
        #[test]
        fn what_was_read_before_changes_nothing(
            before in prop::collection::vec(item(), 0..6),
            after in prop::collection::vec(item(), 0..6),
            shared in 0..6_usize,
            (at, with) in (0..120_usize, prop::sample::select(vec!["", "x", "\"", "]", "}", ",", "1", "[", "\\"])),
            is_broken in any::<bool>(),
        ) {
            let counts = counts();
            let earlier = request(&before);
            let known = read(&earlier, &counts);
            prop_assert!(known.is_some());
            let items: Vec<&str> = before.iter().take(shared).chain(&after).copied().collect();
            let mut later = request(&items);
            if is_broken {
                // Near the end, where the cached prefix ends as well.
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
            assert_eq!(common_prefix_len(long.as_bytes(), other.as_bytes()), length);
            assert_eq!(common_prefix_len(long.as_bytes(), &long.as_bytes()[..length]), length);
        }
    }
}
