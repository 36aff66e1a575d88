//! Which memories a reply made use of (003, Key Metrics: recall precision).
//!
//! An item counts as used when the reply names its id, or has at least 40 % of its distinctive terms, and two at the
//! least. Distinctive are the terms of its line that were not in the question, since a reply repeats those anyway; of an
//! item that has nothing else, all of them are.

use std::collections::BTreeSet;

use super::Knowledge;
use crate::memory::MemoryId;
use crate::reference::words;
use crate::terms::terms;

/// The share of its distinctive terms that a reply must have, in per cent.
const SHARE_PERCENT_MIN: usize = 40;
/// How many of them it must have at least.
const SHARED_MIN: usize = 2;

/// The items that a reply made use of, in the order of the context.
pub fn used(known: &Knowledge, reply: &str) -> Vec<MemoryId> {
    let said: BTreeSet<String> = terms(reply).into_iter().collect();
    let named: BTreeSet<String> = words(reply).into_iter().collect();
    let is_used = |id: MemoryId, own: &BTreeSet<String>| {
        let distinctive: BTreeSet<&String> = own.difference(&known.asked).collect();
        let telling = if distinctive.len() < SHARED_MIN { own.iter().collect() } else { distinctive };
        let shared = telling.iter().filter(|term| said.contains(**term)).count();
        named.contains(&id.to_string())
            || (shared >= SHARED_MIN && shared * 100 >= telling.len() * SHARE_PERCENT_MIN)
    };
    known.said().own.iter().filter(|(id, own)| is_used(*id, own)).map(|(id, _)| *id).collect()
}
