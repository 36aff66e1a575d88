//! Finds the memories a reply used (003, Key Metrics: recall precision).
//!
//! An item counts as used if the reply names its id, or has at least 40 % of its distinctive terms and at least
//! two. Distinctive terms are those not in the question, which a reply repeats anyway; if an item has fewer than
//! two, all of its terms count.

use std::collections::BTreeSet;

use super::Knowledge;
use crate::memory::MemoryId;
use crate::text::reference::folded_words;
use crate::text::terms::terms;

/// Percentage of the distinctive terms a reply must have.
const SHARE_PERCENT_MIN: usize = 40;
const SHARED_MIN: usize = 2;

/// The items a reply used, in context order.
pub fn used_memories(knowledge: &Knowledge, reply: &str) -> Vec<MemoryId> {
    let reply_terms: BTreeSet<String> = terms(reply).into_iter().collect();
    let reply_words: BTreeSet<String> = folded_words(reply).into_iter().collect();
    let is_used = |id: MemoryId, record_terms: &BTreeSet<String>| {
        let distinctive: BTreeSet<&String> = record_terms.difference(&knowledge.question_terms).collect();
        let required = if distinctive.len() < SHARED_MIN { record_terms.iter().collect() } else { distinctive };
        let shared = required.iter().filter(|term| reply_terms.contains(**term)).count();
        reply_words.contains(&id.to_string())
            || (shared >= SHARED_MIN && shared * 100 >= required.len() * SHARE_PERCENT_MIN)
    };
    knowledge
        .page_terms()
        .by_record
        .iter()
        .filter(|(id, record_terms)| is_used(*id, record_terms))
        .map(|(id, _)| *id)
        .collect()
}
