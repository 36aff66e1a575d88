//! Compares a new fact with an existing one.

use super::super::contradiction::{compare, with_subject};
use super::super::text_similarity::text_similarity;
use super::super::{Fact, Memory, MemoryDraft};
use crate::base::ids::Stamp;
use crate::text::reference::folded_words;
use crate::text::terms::terms;

/// Above this similarity, two facts with no differing value are the same (SOURCES, Facts).
pub(super) const CONFIRMS_ABOVE: f64 = 0.95;
/// Above this context similarity, a newer fact about the same subject supersedes the older (SOURCES, Facts).
pub(super) const SUPERSEDES_ABOVE: f64 = 0.80;
/// From this similarity on, a contradiction is reported (SOURCES, Facts).
pub(super) const WARNS_FROM: f64 = 0.85;
/// From this similarity on, facts about the same subject can contest each other, however they are worded.
pub(super) const CONTESTS_FROM: f64 = 0.50;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum FactVerdict {
    /// Both say the same.
    Same,
    /// The new fact replaces the old one.
    Supersedes(String),
    /// The new fact replaces the old one from this time on.
    SupersedesLater(String, Stamp),
    /// They contradict each other, with no clear winner.
    Contests(String),
    /// Similar; the author may know whether they contradict each other.
    Similar(f64),
    /// Both remain valid.
    Unrelated,
}

pub(super) fn judge(
    old: &Memory,
    old_fact: &Fact,
    new_fact: &Fact,
    draft: &MemoryDraft,
    now: Stamp,
) -> FactVerdict {
    let relation = subject_relation(old_fact, new_fact);
    let (old_period, new_period) = (
        Period::new(old.valid_from, old.valid_until, old.created),
        Period::new(draft.valid_from, draft.valid_until, now),
    );
    if relation == SubjectRelation::Unrelated
        || !old_period.overlaps(new_period)
        || new_period.until <= now
        || (old_period.from > now && new_period.from <= now)
    {
        return FactVerdict::Unrelated;
    }
    let (old_text, new_text) = (fact_sentence(old_fact), fact_sentence(new_fact));
    let compared = compare(&old_text, &new_text);
    let similarity = if compared.is_same { 1.0 } else { text_similarity(&old_text, &new_text) };
    if !compared.values_differ && similarity > CONFIRMS_ABOVE {
        return FactVerdict::Same;
    }
    let same = relation == SubjectRelation::Same;
    if let Some(contradiction) = compared.contradiction {
        let trusted = draft.provenance.trust >= old.provenance.trust;
        let newer = new_period.from >= old_period.from;
        let clear = contradiction.is_clear && same && !compared.prefix_differs;
        // If the words before the value differ, only a named subject shows that both are about the same thing.
        let named = !compared.prefix_differs || !(old_fact.subject.is_empty() || new_fact.subject.is_empty());
        let contests_from = if same && !compared.prefix_differs { CONTESTS_FROM } else { WARNS_FROM };
        match () {
            () if clear && compared.context_similarity > SUPERSEDES_ABOVE && trusted && newer => {
                return if new_period.from > now {
                    FactVerdict::SupersedesLater(contradiction.evidence, new_period.from)
                } else {
                    FactVerdict::Supersedes(contradiction.evidence)
                };
            }
            () if named && compared.context_similarity >= contests_from => {
                return FactVerdict::Contests(contradiction.evidence);
            }
            () => {}
        }
    }
    if similarity >= WARNS_FROM { FactVerdict::Similar(similarity) } else { FactVerdict::Unrelated }
}

/// Validity of a fact, `from` inclusive, `until` exclusive.
#[derive(Debug, Clone, Copy)]
struct Period {
    from: Stamp,
    until: Stamp,
}

impl Period {
    fn new(from: Option<Stamp>, until: Option<Stamp>, written: Stamp) -> Self {
        let until = until.unwrap_or(Stamp(i64::MAX));
        // A fact that ended before it was written began at an unknown earlier time.
        let default_from = if until <= written { Stamp(i64::MIN) } else { written };
        Self { from: from.unwrap_or(default_from), until }
    }

    fn overlaps(self, other: Period) -> bool {
        self.from < other.until && other.from < self.until
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SubjectRelation {
    Same,
    /// Their subjects share words.
    Overlapping,
    Unrelated,
}

/// A fact without a subject is about what its own words name.
fn subject_relation(old: &Fact, new: &Fact) -> SubjectRelation {
    let (a, b) = (folded_words(&old.subject), folded_words(&new.subject));
    if a == b {
        return SubjectRelation::Same;
    }
    let (given, other) = if a.is_empty() { (&new.subject, &old.content) } else { (&old.subject, &new.content) };
    let one_unnamed = a.is_empty() || b.is_empty();
    let (given, other) =
        if one_unnamed { (terms(given), terms(other)) } else { (terms(&old.subject), terms(&new.subject)) };
    let shared = given.iter().filter(|term| other.contains(term)).count();
    match () {
        () if one_unnamed && shared == given.len() && shared > 0 => SubjectRelation::Same,
        () if shared > 0 => SubjectRelation::Overlapping,
        () => SubjectRelation::Unrelated,
    }
}

/// A fact as one sentence that names its subject once.
pub(super) fn fact_sentence(fact: &Fact) -> String {
    let content = terms(&fact.content);
    let named = terms(&fact.subject).iter().all(|term| content.contains(term));
    if named { fact.content.clone() } else { with_subject(&fact.subject, &fact.content) }
}
