//! Finds the concluded efforts that a text mentions, without scanning all efforts.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::ids::EffortId;
use crate::session::effort::Effort;
use crate::text::reference::{each_keyword, folded_words, is_unspaced, keywords};

/// Ids of concluded efforts, and the keywords of their summaries.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KeywordIndex {
    by_keyword: BTreeMap<String, BTreeSet<EffortId>>,
    ids: BTreeSet<String>,
}

impl KeywordIndex {
    pub(super) fn insert(&mut self, effort: &Effort) {
        if !effort.is_concluded() {
            return;
        }
        self.ids.insert(effort.id.as_str().to_owned());
        let Some(summary) = &effort.summary else { return };
        for keyword in keywords(&summary.text) {
            self.by_keyword.entry(keyword).or_default().insert(effort.id.clone());
        }
    }

    pub(super) fn remove(&mut self, effort: &Effort) {
        self.ids.remove(effort.id.as_str());
        let Some(summary) = &effort.summary else { return };
        for keyword in keywords(&summary.text) {
            if let Some(ids) = self.by_keyword.get_mut(&keyword) {
                ids.remove(&effort.id);
                if ids.is_empty() {
                    self.by_keyword.remove(&keyword);
                }
            }
        }
    }

    /// Efforts that the text names, or that share `overlap_min` or more summary keywords with it. A keyword found
    /// in more than `efforts_max` summaries is ignored: an everyday word would otherwise bring back a year of
    /// efforts.
    pub(crate) fn mentioned_efforts(&self, text: &str, overlap_min: u64, efforts_max: u64) -> BTreeSet<EffortId> {
        let mut found = self.named_efforts(text);
        let mut overlap: BTreeMap<&EffortId, u64> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for keyword in each_keyword(text) {
            let Some((keyword, ids)) = self.by_keyword.get_key_value(&keyword) else { continue };
            if ids.len() as u64 > efforts_max || !seen.insert(keyword) {
                continue;
            }
            for id in ids {
                *overlap.entry(id).or_default() += 1;
            }
        }
        found.extend(overlap.into_iter().filter(|(_, n)| *n >= overlap_min).map(|(id, _)| id.clone()));
        found
    }

    /// Efforts whose whole id occurs in the text, word by word; ignores case and treats `-`, `_` and spaces alike.
    fn named_efforts(&self, text: &str) -> BTreeSet<EffortId> {
        let words = folded_words(text);
        let mut found = BTreeSet::new();
        for start in 0..words.len() {
            let mut phrase = String::new();
            for word in &words[start..] {
                if !phrase.is_empty() {
                    phrase.push('-');
                }
                phrase.push_str(word);
                let Some(nearest) = self.ids.range(phrase.clone()..).next() else { break };
                if *nearest == phrase {
                    found.extend(EffortId::parse(&phrase));
                }
                if !nearest.starts_with(&phrase) {
                    break;
                }
            }
        }
        // In a script without spaces, a name is not delimited by spaces.
        if text.chars().any(is_unspaced) {
            let folded = text.to_lowercase();
            let inside = |id: &&String| id.chars().any(is_unspaced) && folded.contains(id.as_str());
            found.extend(self.ids.iter().filter(inside).filter_map(|id| EffortId::parse(id).ok()));
        }
        found
    }
}
