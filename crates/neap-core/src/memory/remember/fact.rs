//! Plans the effects of a new fact on existing ones.

use std::collections::BTreeSet;

use super::super::amend::check_pin_limit;
use super::super::text_similarity::text_similarity;
use super::super::validation::TAGS_MAX;
use super::super::writes::with_transitions;
use super::judge::{FactVerdict, fact_sentence, judge};
use super::{
    Author, Body, Change, DraftOutcome, Memory, MemoryDraft, MemoryId, MemoryWrite, Provenance, Refusal,
    RememberContext, RememberPlan, Stamp, Status,
};
use crate::memory::Fact;
use crate::text::terms::terms;

/// Contradictions a record lists; the newest are kept.
const CONTESTED_MAX: usize = 16;

impl RememberContext<'_> {
    pub(super) fn plan_fact(&self, similar: &[&Memory], draft: MemoryDraft) -> Result<RememberPlan, Refusal> {
        let Body::Fact(fact) = &draft.body else { return self.plan_new(draft) };
        let judged: Vec<(&Memory, FactVerdict)> = similar
            .iter()
            .filter(|old| old.status.is_current())
            .filter_map(|old| as_fact(old).map(|old_fact| (*old, old_fact)))
            .map(|(old, old_fact)| {
                let verdict = judge(old, old_fact, fact, &draft, self.now);
                if verdict != FactVerdict::Same && is_reworded(old, old_fact, fact, &draft) {
                    let reason = "a model had put the same message in its own words".to_owned();
                    return (old, FactVerdict::Supersedes(reason));
                }
                (old, verdict)
            })
            .collect();
        let similarity = |old: &Memory| {
            as_fact(old).map_or(0.0, |old_fact| text_similarity(&fact_sentence(old_fact), &fact_sentence(fact)))
        };
        let same = judged.iter().filter(|(_, verdict)| *verdict == FactVerdict::Same).map(|(old, _)| *old);
        // The most similar; among equals, the oldest.
        match same.reduce(|best, old| if similarity(old) > similarity(best) { old } else { best }) {
            Some(known) => self.confirm_existing(known, &judged, &draft),
            None => self.plan_new_fact(&judged, draft),
        }
    }

    /// Confirms an existing fact. An older fact that contested it and now clearly contradicts it is superseded.
    fn confirm_existing(
        &self,
        known: &Memory,
        judged: &[(&Memory, FactVerdict)],
        draft: &MemoryDraft,
    ) -> Result<RememberPlan, Refusal> {
        let (old, new) = (&known.provenance, &draft.provenance);
        // What a model wrote first is put in force by the person who said it.
        let is_put_in_force = draft.pinned && !known.pinned && new.author.may_pin();
        if is_same_turn(old, new) && !is_put_in_force {
            return Ok(RememberPlan::already_known(known.id, "it was learnt in this turn"));
        }
        let last = as_fact(known).and_then(|fact| fact.last_confirmed_by.as_ref());
        if last.is_some_and(|last| last.is_same_occasion(new)) && !is_put_in_force {
            return Ok(RememberPlan::already_known(known.id, "it was confirmed in this turn, or from this file"));
        }
        let mut after = known.clone();
        if draft.pinned && !known.pinned {
            let is_decided = new.author.may_pin();
            if is_decided {
                check_pin_limit(self.agent, known.id)?;
            }
            (after.pinned, after.pin_asked) = (is_decided, !is_decided);
        }
        if let Body::Fact(fact) = &mut after.body {
            fact.confirmations = fact.confirmations.saturating_add(1);
            fact.last_confirmed = Some(self.now);
            fact.last_confirmed_by = Some(new.clone());
        }
        after.provenance.trust = old.trust.max(new.trust);
        for tag in &draft.tags {
            if !after.tags.contains(tag) && after.tags.len() < TAGS_MAX {
                after.tags.push(tag.clone());
            }
        }
        let mut writes =
            with_transitions(self.memory_write(Change::Confirmed, known, after), self.counter, self.now);
        let mut superseded = Vec::new();
        for (old, verdict) in judged {
            if let FactVerdict::Supersedes(evidence) = verdict
                && known.contested_with.contains(&old.id)
                && old.id < known.id
            {
                writes.push(self.supersede(old, known.id, evidence)?);
                superseded.push(old.id);
            }
        }
        let count = as_fact(known).map_or(1, |fact| fact.confirmations.saturating_add(1));
        let mut note = format!("{} says it already; confirmed (times: {count}).", known.id);
        note.extend(superseded.iter().map(|old| format!(" {old} gave way to it.")));
        Ok(RememberPlan { id: known.id, outcome: DraftOutcome::Confirmed, writes, superseded, note })
    }

    fn plan_new_fact(
        &self,
        judged: &[(&Memory, FactVerdict)],
        draft: MemoryDraft,
    ) -> Result<RememberPlan, Refusal> {
        let mut new = self.build_record(draft)?;
        let mut note = format!("Remembered as {}.", new.id);
        let (mut writes, mut superseded, mut contested) = (Vec::new(), Vec::new(), Vec::new());
        for (old, verdict) in judged {
            match verdict {
                FactVerdict::Supersedes(evidence) => {
                    note.push_str(&format!(" It takes the place of {}: {evidence}.", old.id));
                    writes.push(self.supersede(old, new.id, evidence)?);
                    superseded.push(old.id);
                }
                FactVerdict::SupersedesLater(evidence, from) => {
                    note.push_str(&format!(" {} holds until {}: {evidence}.", old.id, from.date()));
                    writes.extend(self.limit_validity(old, *from));
                }
                FactVerdict::Contests(evidence) => {
                    note.push_str(&format!(" It contradicts {}: {evidence}. Say which holds.", old.id));
                    writes.push(self.contest(old, new.id, evidence));
                    contested.push(old.id);
                }
                FactVerdict::Similar(similarity) => {
                    note.push_str(&format!(
                        " {} is much like it ({similarity:.2}): if they contradict each other, say which holds.",
                        old.id
                    ));
                }
                FactVerdict::Same | FactVerdict::Unrelated => {}
            }
        }
        let outcome = match (superseded.is_empty(), contested.is_empty()) {
            (false, _) => DraftOutcome::Superseded,
            (true, false) => DraftOutcome::Contested,
            (true, true) => DraftOutcome::New,
        };
        truncate_to_newest(&mut contested);
        new.contested_with = contested;
        new.lines = crate::memory::RenderedMemory::render(self.counter, &new);
        let id = new.id;
        writes.insert(0, MemoryWrite::new(new));
        Ok(RememberPlan { id, outcome, writes, superseded, note })
    }

    /// Supersedes an older fact. The replacement is always younger, so chains cannot form a cycle.
    fn supersede(&self, old: &Memory, by: MemoryId, evidence: &str) -> Result<MemoryWrite, Refusal> {
        if by <= old.id {
            return Err(Refusal::new(format!("{by} cannot take the place of {}, which is younger.", old.id))
                .hint("Remember what holds as a new fact."));
        }
        let mut after = old.clone();
        after.status = Status::Superseded;
        if let Body::Fact(fact) = &mut after.body {
            fact.superseded_by = Some(by);
        }
        Ok(self.memory_write(Change::Superseded { by, evidence: evidence.to_owned() }, old, after))
    }

    fn contest(&self, old: &Memory, with: MemoryId, evidence: &str) -> MemoryWrite {
        let mut after = old.clone();
        after.contested_with.push(with);
        truncate_to_newest(&mut after.contested_with);
        self.memory_write(Change::Contested { with, evidence: evidence.to_owned() }, old, after)
    }

    /// Ends the older fact's validity where the newer one's begins.
    fn limit_validity(&self, old: &Memory, from: Stamp) -> Option<MemoryWrite> {
        if old.valid_until.is_some_and(|until| until <= from) {
            return None;
        }
        Some(self.memory_write(Change::Edited, old, Memory { valid_until: Some(from), ..old.clone() }))
    }
}

/// Whether an older fact is a model's wording of what a person asked to be remembered in the same turn: it shares most
/// words, and every figure. Beside a preference said in passing, a model's wording may tell more, and stays.
fn is_reworded(old: &Memory, old_fact: &Fact, new: &Fact, draft: &MemoryDraft) -> bool {
    if old.provenance.author != Author::Model
        || !draft.provenance.author.may_pin()
        || !draft.pinned
        || !new.subject.is_empty()
        || !is_same_turn(&old.provenance, &draft.provenance)
    {
        return false;
    }
    let words = |fact: &Fact| terms(&fact_sentence(fact)).into_iter().collect::<BTreeSet<String>>();
    let (old_words, new_words) = (words(old_fact), words(new));
    let is_figure = |word: &&String| word.contains(|c: char| c.is_ascii_digit());
    let shared = old_words.intersection(&new_words).count();
    shared * 2 >= old_words.len().min(new_words.len())
        && old_words.iter().filter(is_figure).eq(new_words.iter().filter(is_figure))
}

fn is_same_turn(a: &Provenance, b: &Provenance) -> bool {
    a.session.is_some() && a.turn.is_some() && (&a.session, a.turn) == (&b.session, b.turn)
}

fn as_fact(memory: &Memory) -> Option<&Fact> {
    match &memory.body {
        Body::Fact(fact) => Some(fact),
        Body::Decision(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => None,
    }
}

pub(in crate::memory) fn truncate_to_newest(ids: &mut Vec<MemoryId>) {
    let over = ids.len().saturating_sub(CONTESTED_MAX);
    ids.drain(..over);
}
