//! Shows long tool results in short on their way to the provider. What is recorded stays as the client sent it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use neap_core::base::tokens::TokenCounter;
use neap_core::client::{ClientRequest, Digest, LongText, TrimmedText, WireApi, trim_results, trim_text};

use super::super::json::{Array, Json, Object};
use super::parts::PartLocation;
use super::{CachedCounter, WireRequest, counted_item, item_parts};

/// Short forms in memory; beyond that, the older half is dropped. Clients resend the same results again and again.
const TEXTS_MAX: usize = 2_048;

type ShortForm = Option<Arc<str>>;

#[derive(Debug, Default)]
pub(super) struct TrimCache(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    new: BTreeMap<Digest, ShortForm>,
    old: BTreeMap<Digest, ShortForm>,
}

impl TrimCache {
    /// The short form of a text; `None` if it stays as it is.
    pub(super) fn trim(&self, counter: &dyn TokenCounter, long: &LongText<'_>) -> ShortForm {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |texts: &Generations| texts.new.get(&long.key).or_else(|| texts.old.get(&long.key)).cloned();
        if let Some(known) = known(&lock()) {
            return known;
        }
        let short: ShortForm = trim_text(counter, long).map(Into::into);
        let mut texts = lock();
        texts.new.insert(long.key, short.clone());
        if texts.new.len() > TEXTS_MAX / 2 {
            texts.old = std::mem::take(&mut texts.new);
        }
        short
    }
}

impl WireRequest {
    /// The request as the client sent it: this is recorded, and identifies its history.
    pub fn received(&self) -> &ClientRequest {
        self.received.as_deref().unwrap_or(&self.parsed)
    }

    /// Shows long tool results in short, and returns how many.
    pub fn trim_results(&mut self, counts: &CachedCounter) -> usize {
        let trimmed = trim_results(&self.parsed.items, |long| counts.trim(long));
        if trimmed.is_empty() {
            return 0;
        }
        self.received = Some(Arc::new(self.parsed.clone()));
        let api = self.parsed.api;
        for texts in trimmed.chunk_by(|one, next| one.at == next.at) {
            let at = texts[0].at;
            let Some(json) = self.items.get(at).and_then(|json| replace_texts(api, json, texts)) else { continue };
            self.parsed.items[at] = counted_item(api, &json, counts);
            self.parsed.trimmed.extend(texts.iter().map(|text| (text.at, text.block)));
            self.items[at] = json;
            self.is_changed = true;
        }
        self.parsed.trimmed.len()
    }
}

/// Replaces texts within the results of an item; the rest keeps its bytes.
fn replace_texts(api: WireApi, json: &Json, texts: &[TrimmedText]) -> Option<Json> {
    let mut object = Object::from_json(json)?;
    let (_, blocks) = item_parts(api, json);
    for TrimmedText { block, part, text, .. } in texts {
        match blocks.get(*block)?.location {
            PartLocation::Member(member) => {
                let content = replace_text(object.get(member)?, *part, text)?;
                object.set(member, content);
            }
            PartLocation::Content(at) => {
                let mut list = object.array("content")?;
                let mut result = Object::from_json(list.get(at)?)?;
                let content = replace_text(result.get("content")?, *part, text)?;
                result.set("content", content);
                list.replace(at, result.to_json());
                object.set("content", list.to_json());
            }
            PartLocation::Call(_) | PartLocation::Item => return None,
        }
    }
    Some(object.to_json())
}

/// Replaces a result that is one text, or one of its parts.
fn replace_text(content: &Json, part: usize, text: &str) -> Option<Json> {
    let Some(mut list) = Array::from_json(content) else { return Some(Json::from_value(text)) };
    let mut object = Object::from_json(list.get(part)?)?;
    object.get("text")?;
    object.set("text", Json::from_value(text));
    list.replace(part, object.to_json());
    Some(list.to_json())
}
