//! Records that bear on a choice though they share no word with the question: past decisions about the things that the
//! facts found first are about, and the procedure for such work (003, the worked example).
//!
//! "Should we use Redis for caching?" finds that Redis has to be monitored and backed up. A decision for one database,
//! "one backup, one monitor", shares two words with that, and so bears on the question. Two steps are taken; each needs
//! [`SHARED_MIN`] words that are neither the question's nor common in the store. What is found so counts as just similar
//! enough to be loaded, and not at all beside decisions that are about the question itself.

use std::collections::{BTreeMap, BTreeSet};

use super::score::{QuestionScorer, similarity_floor, to_confidence};
use crate::memory::{
    Body, Confidence, Memory, MemoryId, MemoryKind, RecallRequest, RecallResponse, RelatedSearch,
};
use crate::text::terms::terms;

/// Steps from what the question's own words find.
pub const STEPS_MAX: usize = 2;
const SHARED_MIN: usize = 2;
/// Decisions added in one step.
const ADDED_MAX: usize = 4;
const PROCEDURES_MAX: usize = 2;
const TERMS_MAX: usize = 64;
/// A word in more records than this, or than one in eight, says nothing.
const FREQUENT: u64 = 8;
/// Of a decision that shares all its words; one that shares two counts little more than the floor.
const SIMILARITY_MAX: f64 = 0.6;
/// Stems by which any decision is told.
const OF_DECISIONS: &str = "chose|choos|chosen|decid|decis|reject|use|adopt|keep|kept|instead|favor|favour|prefer|go|went|move|need|first|one|two|new";

/// The search for records related to what was found: by the words of those that are similar to the question, and by
/// the frame's name; `None` if there is nothing to search for.
pub fn related_request(request: &RecallRequest, recalled: &RecallResponse) -> Option<RecallRequest> {
    let search = request.related.as_ref()?;
    let mut words: Vec<String> = terms(&search.frame);
    if search.decides {
        let seeds = seeds(request, recalled);
        words.extend(seeds.iter().flat_map(|(_, words)| words).cloned());
    }
    let mut seen = BTreeSet::new();
    words.retain(|word| seen.insert(word.clone()));
    words.truncate(TERMS_MAX);
    let limits = vec![(MemoryKind::Decision, ADDED_MAX * 5), (MemoryKind::Procedure, PROCEDURES_MAX * 5)];
    (!words.is_empty()).then(|| RecallRequest::new(words, limits))
}

/// Adds what such a search found to the candidates, with its similarity. Returns whether anything was added.
pub fn add_related(
    request: &RecallRequest,
    recalled: &mut RecallResponse,
    words: &[String],
    found: RecallResponse,
) -> bool {
    let Some(search) = request.related.as_ref() else { return false };
    let common = common_words(words, &found);
    let seeds = seeds(request, recalled);
    let mut related: Vec<(Confidence, Memory)> = Vec::new();
    for memory in found.memories.into_iter().filter(|memory| request.matches_status(memory)) {
        let similarity = if memory.kind() == MemoryKind::Procedure {
            is_for_frame(&memory, search).then(|| to_confidence(SIMILARITY_MAX))
        } else {
            similarity_to_seeds(&memory, &seeds, &common).filter(|_| search.decides)
        };
        let known = recalled.similarities.get(&memory.id);
        related.extend(similarity.filter(|new| known.is_none_or(|known| new > known)).map(|new| (new, memory)));
    }
    related.sort_by_key(|(similarity, memory)| (std::cmp::Reverse(*similarity), memory.id));
    let mut left = BTreeMap::from([(MemoryKind::Decision, ADDED_MAX), (MemoryKind::Procedure, PROCEDURES_MAX)]);
    let mut has_added = false;
    for (similarity, memory) in related {
        let Some(left) = left.get_mut(&memory.kind()).filter(|left| **left > 0) else { continue };
        *left -= 1;
        has_added = true;
        recalled.similarities.insert(memory.id, similarity);
        if !recalled.memories.iter().any(|known| known.id == memory.id) {
            recalled.memories.push(memory);
        }
    }
    has_added
}

/// The records that are similar enough to the question, with their own words.
fn seeds(request: &RecallRequest, recalled: &RecallResponse) -> Vec<(MemoryId, BTreeSet<String>)> {
    // By all terms at once: which sentence of a long message asks does not matter here.
    let question = QuestionScorer::new("", &request.terms, recalled);
    let is_similar = |memory: &&Memory| {
        memory.kind() != MemoryKind::Procedure
            && question.similarity(memory) >= similarity_floor(memory.kind())
            && request.matches_status(memory)
    };
    let asked: BTreeSet<&String> = request.terms.iter().collect();
    let mut seeds: Vec<&Memory> = recalled.memories.iter().filter(is_similar).collect();
    seeds.sort_by_key(|memory| (std::cmp::Reverse(question.similarity(memory)), memory.id));
    let own_words = |memory: &Memory| own_words(memory).filter(|word| !asked.contains(word)).collect();
    seeds.into_iter().map(|memory| (memory.id, own_words(memory))).collect()
}

fn own_words(memory: &Memory) -> impl Iterator<Item = String> {
    let is_telling = |word: &String| !OF_DECISIONS.split('|').any(|common| common == word);
    terms(&memory.search_text()).into_iter().filter(is_telling)
}

fn common_words<'a>(words: &'a [String], found: &RecallResponse) -> BTreeSet<&'a String> {
    let most = FREQUENT.max(found.text_count / 8);
    let frequent = words.iter().zip(&found.document_frequencies).filter(|(_, count)| **count > most);
    frequent.map(|(word, _)| word).collect()
}

/// By the seed that shares the largest part of the words of the shorter of the two.
fn similarity_to_seeds(
    memory: &Memory,
    seeds: &[(MemoryId, BTreeSet<String>)],
    common: &BTreeSet<&String>,
) -> Option<Confidence> {
    let words: BTreeSet<String> = own_words(memory).filter(|word| !common.contains(word)).collect();
    let share = |(_, of_seed): &(MemoryId, BTreeSet<String>)| {
        let shared = words.intersection(of_seed).count();
        let shorter = words.len().min(of_seed.len()).max(1);
        (shared >= SHARED_MIN).then(|| shared as f64 / shorter as f64)
    };
    let best = seeds.iter().filter(|(id, _)| *id != memory.id).filter_map(share).max_by(f64::total_cmp)?;
    let floor = similarity_floor(memory.kind()).value();
    Some(to_confidence(floor + (SIMILARITY_MAX - floor) * best))
}

/// Whether a procedure is named after the work that the frame is for.
fn is_for_frame(memory: &Memory, search: &RelatedSearch) -> bool {
    let Body::Procedure(procedure) = &memory.body else { return false };
    let name = terms(&procedure.name);
    let frame = terms(&search.frame);
    !frame.is_empty() && frame.iter().all(|word| name.contains(word))
}
