//! Token counts of requests as they are written. Clients resend the same text again and again, so counts are
//! cached.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use neap_core::base::digest::Digest;
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::client::{ClientRequest, ContentBlock, LongText, WireApi};

use super::super::json::Json;
use super::request_cache::{ParsedRequest, RequestCache, longest_prefix};
use super::trim::TrimCache;

/// Counting shorter texts is as fast as a lookup.
const UNCACHED_BYTES_MAX: usize = 64;

/// The least that an image or a file costs.
const MEDIA_TOKENS_MIN: Tokens = Tokens(2_000);
/// Bytes per token of a large one.
const MEDIA_BYTES_PER_TOKEN: u64 = 400;
/// JSON around a part that is counted by its text alone.
const PART_OVERHEAD: Tokens = Tokens(24);

#[derive(Clone)]
pub struct CachedCounter {
    counter: Arc<dyn TokenCounter>,
    counts: Arc<Mutex<CountGenerations>>,
    requests: Arc<Mutex<RequestCache>>,
    trims: Arc<TrimCache>,
}

impl fmt::Debug for CachedCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts").field("encoding", &self.counter.encoding()).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct CountGenerations {
    new: BTreeMap<Digest, Tokens>,
    old: BTreeMap<Digest, Tokens>,
}

impl CachedCounter {
    /// Most cached counts; beyond that, the older half is dropped.
    pub const COUNTS_MAX: usize = 65_536;

    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter, counts: Arc::default(), requests: Arc::default(), trims: Arc::default() }
    }

    pub fn counter(&self) -> &dyn TokenCounter {
        self.counter.as_ref()
    }

    /// The short form of a tool result; `None` if it stays as it is.
    pub(super) fn trim(&self, long: &LongText<'_>) -> Option<Arc<str>> {
        self.trims.trim(self.counter(), long)
    }

    pub(super) fn longest_prefix(&self, api: WireApi, whole: &str) -> Option<(Arc<ParsedRequest>, usize)> {
        let all = self.requests.lock().unwrap_or_else(PoisonError::into_inner).all();
        longest_prefix(&all, api, whole)
    }

    pub(super) fn store_request(&self, request: ParsedRequest, nearest: Option<(Arc<ParsedRequest>, usize)>) {
        // With less than half in common, they are two conversations that begin alike.
        let previous =
            nearest.filter(|(previous, items)| 2 * items >= previous.items.len()).map(|(previous, _)| previous);
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).insert(request, previous.as_ref());
    }

    pub fn cached_texts(&self) -> usize {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.new.len() + counts.old.len()
    }

    /// Number of cached requests, and their total bytes.
    pub fn cached_requests(&self) -> (usize, usize) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).size()
    }

    pub fn count(&self, text: &str) -> Tokens {
        if text.len() <= UNCACHED_BYTES_MAX {
            return self.counter.count(text);
        }
        let digest = Digest::of("text", &[text.as_bytes()]);
        let known =
            |counts: &mut CountGenerations| counts.new.get(&digest).or_else(|| counts.old.get(&digest)).copied();
        if let Some(tokens) = known(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner)) {
            return tokens;
        }
        let tokens = self.counter.count(text);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.new.insert(digest, tokens);
        if counts.new.len() > Self::COUNTS_MAX / 2 {
            counts.old = std::mem::take(&mut counts.new);
        }
        tokens
    }
}

impl CachedCounter {
    /// The cost of the whole body; `None` if it holds media, which do not count as text.
    pub fn count_body(&self, body: &str, request: &ClientRequest) -> Option<Tokens> {
        let has_media = request.items.iter().any(|item| item.blocks.iter().any(has_media));
        (!has_media).then(|| self.counter.count(body))
    }
}

/// The cost of an item as written, except for images and files, which no model reads as text.
pub(super) fn item_tokens(counts: &CachedCounter, json: &Json, blocks: &[ContentBlock]) -> Tokens {
    if !blocks.iter().any(has_media) {
        return counts.count(json.text()) + Tokens(1);
    }
    blocks.iter().map(|block| block_tokens(counts, block)).sum::<Tokens>() + PART_OVERHEAD
}

fn block_tokens(counts: &CachedCounter, block: &ContentBlock) -> Tokens {
    match block {
        ContentBlock::Other { json, .. } if block.is_media() => {
            MEDIA_TOKENS_MIN.max(Tokens(json.to_string().len() as u64 / MEDIA_BYTES_PER_TOKEN))
        }
        ContentBlock::Other { json, .. } => counts.count(&json.to_string()) + PART_OVERHEAD,
        ContentBlock::ToolResult { id, content, .. } => {
            content.iter().map(|block| block_tokens(counts, block)).sum::<Tokens>()
                + counts.count(id)
                + PART_OVERHEAD
        }
        ContentBlock::ToolCall(call) => {
            counts.count(Json::from_value(&call.arguments).text()) + counts.count(&call.id) + PART_OVERHEAD
        }
        ContentBlock::Text(text) => counts.count(Json::from_value(text).text()) + PART_OVERHEAD,
        ContentBlock::Thinking => PART_OVERHEAD,
    }
}

fn has_media(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::ToolResult { content, .. } => content.iter().any(has_media),
        ContentBlock::Text(_)
        | ContentBlock::Thinking
        | ContentBlock::ToolCall(_)
        | ContentBlock::Other { .. } => block.is_media(),
    }
}
