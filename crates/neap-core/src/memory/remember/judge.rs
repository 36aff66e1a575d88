//! How a new fact stands to one that is there.

use super::super::clash::{compare, numbers_differ};
use super::super::similar::{cosine, similarity};
use super::super::{Fact, Memory, MemoryDraft};
use crate::ids::Stamp;
use crate::reference::words;
use crate::terms::terms;

/// Above this, two facts that differ in no value are the same one (SOURCES, Facts).
pub(super) const CONFIRMS_ABOVE: f64 = 0.95;
/// Above this around a differing value, a newer fact about the same takes the older one's place (SOURCES, Facts).
pub(super) const SUPERSEDES_ABOVE: f64 = 0.80;
/// From here on, a contradiction is warned of (SOURCES, Facts).
pub(super) const WARNS_FROM: f64 = 0.85;
/// From here on, a contradiction about the same is seen, however it is worded.
pub(super) const CONTESTS_FROM: f64 = 0.50;

/// How a new fact stands to one that is there.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// They say the same.
    Same,
    /// It takes the older one's place.
    Supersedes(String),
    /// It will, from this moment on.
    SupersedesLater(String, Stamp),
    /// They contradict each other, and it is not clear which is right.
    Contests(String),
    /// They are much alike; whoever wrote it may know whether they contradict each other.
    Like(f64),
    /// They stand side by side.
    Apart,
}

/// How a draft of a fact stands to a fact that is there.
pub(super) fn judge(old: &Memory, old_fact: &Fact, new_fact: &Fact, draft: &MemoryDraft, now: Stamp) -> Verdict {
    let relation = relation(old_fact, new_fact);
    let (then, at) = (
        Period::of(old.valid_from, old.valid_until, old.created),
        Period::of(draft.valid_from, draft.valid_until, now),
    );
    if relation == Relation::Apart || !then.overlaps(at) || at.until <= now || (then.from > now && at.from <= now)
    {
        return Verdict::Apart;
    }
    let (old_text, new_text) = (told(old_fact), told(new_fact));
    let compared = compare(&old_text, &new_text);
    let alike = if compared.is_same { 1.0 } else { similarity(&old_text, &new_text) };
    if !compared.differs && alike > CONFIRMS_ABOVE {
        return Verdict::Same;
    }
    let same = relation == Relation::Same;
    if let Some(clash) = compared.clash {
        let trusted = draft.provenance.trust >= old.provenance.trust;
        let newer = at.from >= then.from;
        let clear = clash.is_clear && same && !compared.leads_differ;
        // With other words before it, only a subject that is named tells that both are about the same.
        let named = !compared.leads_differ || !(old_fact.subject.is_empty() || new_fact.subject.is_empty());
        let contests_from = if same && !compared.leads_differ { CONTESTS_FROM } else { WARNS_FROM };
        match () {
            () if clear && compared.around > SUPERSEDES_ABOVE && trusted && newer => {
                return if at.from > now {
                    Verdict::SupersedesLater(clash.evidence, at.from)
                } else {
                    Verdict::Supersedes(clash.evidence)
                };
            }
            () if named && compared.around >= contests_from => return Verdict::Contests(clash.evidence),
            () => {}
        }
    }
    if same
        && let Some(evidence) = numbers_differ(&old_text, &new_text)
        && without_numbers(&old_text, &new_text) >= CONTESTS_FROM
    {
        return Verdict::Contests(evidence);
    }
    if alike >= WARNS_FROM { Verdict::Like(alike) } else { Verdict::Apart }
}

/// When a fact holds: from the first moment on, until before the last.
#[derive(Debug, Clone, Copy)]
struct Period {
    from: Stamp,
    until: Stamp,
}

impl Period {
    fn of(from: Option<Stamp>, until: Option<Stamp>, written: Stamp) -> Self {
        let until = until.unwrap_or(Stamp(i64::MAX));
        // What held until before it was written began at some time before that.
        let unsaid = if until <= written { Stamp(i64::MIN) } else { written };
        Self { from: from.unwrap_or(unsaid), until }
    }

    fn overlaps(self, other: Period) -> bool {
        self.from < other.until && other.from < self.until
    }
}

/// Whether two facts are about the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Same,
    /// Their subjects share words.
    Near,
    Apart,
}

/// A fact without a subject is about what its own words name.
fn relation(old: &Fact, new: &Fact) -> Relation {
    let (a, b) = (words(&old.subject), words(&new.subject));
    if a == b {
        return Relation::Same;
    }
    let (given, other) = if a.is_empty() { (&new.subject, &old.content) } else { (&old.subject, &new.content) };
    let either_is_unsaid = a.is_empty() || b.is_empty();
    let (given, other) =
        if either_is_unsaid { (terms(given), terms(other)) } else { (terms(&old.subject), terms(&new.subject)) };
    let shared = given.iter().filter(|term| other.contains(term)).count();
    match () {
        () if either_is_unsaid && shared == given.len() && shared > 0 => Relation::Same,
        () if shared > 0 => Relation::Near,
        () => Relation::Apart,
    }
}

/// A fact in one sentence: its subject is named once.
pub(super) fn told(fact: &Fact) -> String {
    let content = terms(&fact.content);
    let named = terms(&fact.subject).iter().all(|term| content.contains(term));
    if named { fact.content.clone() } else { format!("{} {}", fact.subject, fact.content) }
}

fn without_numbers(old: &str, new: &str) -> f64 {
    let plain = |text: &str| {
        terms(text).into_iter().filter(|term| !term.chars().any(|c| c.is_ascii_digit())).collect::<Vec<_>>()
    };
    cosine(&plain(old), &plain(new))
}
