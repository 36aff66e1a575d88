//! What a new fact does to those that are there.

use super::super::admit::TAGS_MAX;
use super::super::amend::room_to_pin;
use super::super::renew::settled;
use super::super::similar::similarity;
use super::judge::{Verdict, judge, told};
use super::{
    Body, Change, Desk, Learnt, Memory, MemoryDraft, MemoryId, MemoryWrite, Refusal, Stamp, Status, WhatLearnt,
};
use crate::memory::Fact;

/// Contradictions that a record names, at most: the newest.
const CONTESTED_MAX: usize = 16;

impl Desk<'_> {
    pub(super) fn fact(&self, near: &[&Memory], draft: MemoryDraft) -> Result<Learnt, Refusal> {
        let Body::Fact(fact) = &draft.body else { return self.alone(draft) };
        let judged: Vec<(&Memory, Verdict)> = near
            .iter()
            .filter(|old| old.status.is_current())
            .filter_map(|old| as_fact(old).map(|was| (*old, judge(old, was, fact, &draft, self.now))))
            .collect();
        let alike = |old: &Memory| as_fact(old).map_or(0.0, |was| similarity(&told(was), &told(fact)));
        let same = judged.iter().filter(|(_, verdict)| *verdict == Verdict::Same).map(|(old, _)| *old);
        // The likest; of those, the first written.
        match same.reduce(|best, old| if alike(old) > alike(best) { old } else { best }) {
            Some(known) => self.met_again(known, &judged, &draft),
            None => self.beside(&judged, draft),
        }
    }

    /// The fact is there: it is confirmed, and what it was contested by and now clearly contradicts gives way.
    fn met_again(
        &self,
        known: &Memory,
        judged: &[(&Memory, Verdict)],
        draft: &MemoryDraft,
    ) -> Result<Learnt, Refusal> {
        let (was, is) = (&known.provenance, &draft.provenance);
        if was.session.is_some() && was.turn.is_some() && (&was.session, was.turn) == (&is.session, is.turn) {
            return Ok(Learnt::known(known.id, "it was learnt in this turn"));
        }
        let last = as_fact(known).and_then(|fact| fact.last_confirmed_by.as_ref());
        if last.is_some_and(|last| last.is_same_occasion(is)) {
            return Ok(Learnt::known(known.id, "it was confirmed in this turn, or from this file"));
        }
        let mut after = known.clone();
        if draft.pinned && !known.pinned {
            let is_decided = is.author.may_pin();
            if is_decided {
                room_to_pin(self.agent, known.id)?;
            }
            (after.pinned, after.pin_asked) = (is_decided, !is_decided);
        }
        if let Body::Fact(fact) = &mut after.body {
            fact.confirmations = fact.confirmations.saturating_add(1);
            fact.last_confirmed = Some(self.now);
            fact.last_confirmed_by = Some(is.clone());
        }
        after.provenance.trust = was.trust.max(is.trust);
        for tag in &draft.tags {
            if !after.tags.contains(tag) && after.tags.len() < TAGS_MAX {
                after.tags.push(tag.clone());
            }
        }
        let mut writes = settled(self.changed(Change::Confirmed, known, after), self.counter, self.now);
        let mut superseded = Vec::new();
        for (old, verdict) in judged {
            if let Verdict::Supersedes(evidence) = verdict
                && known.contested_with.contains(&old.id)
                && old.id < known.id
            {
                writes.push(self.superseded(old, known.id, evidence)?);
                superseded.push(old.id);
            }
        }
        let count = as_fact(known).map_or(1, |fact| fact.confirmations.saturating_add(1));
        let mut note = format!("{} says it already; confirmed (times: {count}).", known.id);
        note.extend(superseded.iter().map(|old| format!(" {old} gave way to it.")));
        Ok(Learnt { id: known.id, what: WhatLearnt::Confirmed, writes, superseded, note })
    }

    /// A new record, and what it does to others.
    fn beside(&self, judged: &[(&Memory, Verdict)], draft: MemoryDraft) -> Result<Learnt, Refusal> {
        let mut new = self.record(draft)?;
        let mut note = format!("Remembered as {}.", new.id);
        let (mut writes, mut superseded, mut contested) = (Vec::new(), Vec::new(), Vec::new());
        for (old, verdict) in judged {
            match verdict {
                Verdict::Supersedes(evidence) => {
                    note.push_str(&format!(" It takes the place of {}: {evidence}.", old.id));
                    writes.push(self.superseded(old, new.id, evidence)?);
                    superseded.push(old.id);
                }
                Verdict::SupersedesLater(evidence, from) => {
                    note.push_str(&format!(" {} holds until {}: {evidence}.", old.id, from.date()));
                    writes.extend(self.until(old, *from));
                }
                Verdict::Contests(evidence) => {
                    note.push_str(&format!(" It contradicts {}: {evidence}. Say which holds.", old.id));
                    writes.push(self.contested(old, new.id, evidence));
                    contested.push(old.id);
                }
                Verdict::Like(alike) => {
                    note.push_str(&format!(
                        " {} is much like it ({alike:.2}): if they contradict each other, say which holds.",
                        old.id
                    ));
                }
                Verdict::Same | Verdict::Apart => {}
            }
        }
        let what = match (superseded.is_empty(), contested.is_empty()) {
            (false, _) => WhatLearnt::Superseded,
            (true, false) => WhatLearnt::Contested,
            (true, true) => WhatLearnt::New,
        };
        newest(&mut contested);
        new.contested_with = contested;
        new.lines = crate::memory::Lines::of(self.counter, &new);
        let id = new.id;
        writes.insert(0, MemoryWrite::new(new));
        Ok(Learnt { id, what, writes, superseded, note })
    }

    /// An older fact gives way. What takes a place is always younger, so that no chain can close.
    fn superseded(&self, old: &Memory, by: MemoryId, evidence: &str) -> Result<MemoryWrite, Refusal> {
        if by <= old.id {
            return Err(Refusal::new(format!("{by} cannot take the place of {}, which is younger.", old.id))
                .hint("Remember what holds as a new fact."));
        }
        let mut after = old.clone();
        after.status = Status::Superseded;
        if let Body::Fact(fact) = &mut after.body {
            fact.superseded_by = Some(by);
        }
        Ok(self.changed(Change::Superseded { by, evidence: evidence.to_owned() }, old, after))
    }

    fn contested(&self, old: &Memory, with: MemoryId, evidence: &str) -> MemoryWrite {
        let mut after = old.clone();
        after.contested_with.push(with);
        newest(&mut after.contested_with);
        self.changed(Change::Contested { with, evidence: evidence.to_owned() }, old, after)
    }

    /// An older fact holds until the newer one does.
    fn until(&self, old: &Memory, from: Stamp) -> Option<MemoryWrite> {
        if old.valid_until.is_some_and(|until| until <= from) {
            return None;
        }
        Some(self.changed(Change::Edited, old, Memory { valid_until: Some(from), ..old.clone() }))
    }
}

fn as_fact(memory: &Memory) -> Option<&Fact> {
    match &memory.body {
        Body::Fact(fact) => Some(fact),
        Body::Decision(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => None,
    }
}

pub(in crate::memory) fn newest(ids: &mut Vec<MemoryId>) {
    let over = ids.len().saturating_sub(CONTESTED_MAX);
    ids.drain(..over);
}
