//! Decisions, procedures, episodes and censors that are there already.

use super::super::admit::{LIST_MAX, admit};
use super::super::clash::compare;
use super::super::similar::similarity;
use super::judge::CONFIRMS_ABOVE;
use super::{Body, Change, Desk, Learnt, Memory, MemoryDraft, Outcome, Refusal, Status, WhatLearnt, says_same};
use crate::reference::words;

/// An episode that is told again within this is the same one, in milliseconds.
const SAME_EPISODE: i64 = 24 * 60 * 60 * 1_000;

impl Desk<'_> {
    /// The same choice is not recorded twice while its outcome is open.
    pub(super) fn decision(&self, near: &[&Memory], draft: MemoryDraft) -> Result<Learnt, Refusal> {
        let Body::Decision(decision) = &draft.body else { return self.alone(draft) };
        let known = near.iter().find(|old| match &old.body {
            Body::Decision(was) => match was.outcome {
                Outcome::Pending => is_same(&was.description, &decision.description),
                // It is told with its outcome, as it was before.
                Outcome::Success | Outcome::Partial | Outcome::Failure => {
                    was.outcome == decision.outcome && says_same(old, &draft)
                }
            },
            Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => false,
        });
        match known {
            None => self.alone(draft),
            Some(known) if known.status == Status::Reviewed => Ok(Learnt::known(known.id, "with this outcome")),
            Some(known) => Ok(Learnt::known(
                known.id,
                &format!("it waits for its outcome. Review {} or say what is chosen differently", known.id),
            )),
        }
    }

    /// One procedure of a name: what is new in the draft is added to it.
    pub(super) fn procedure(&self, near: &[&Memory], draft: MemoryDraft) -> Result<Learnt, Refusal> {
        let Body::Procedure(procedure) = &draft.body else { return self.alone(draft) };
        for old in near.iter().filter(|old| old.status.is_current()) {
            let mut after = (*old).clone();
            let Body::Procedure(was) = &mut after.body else { continue };
            if words(&was.name) != words(&procedure.name) {
                continue;
            }
            merge(&mut was.core_patterns, &procedure.core_patterns);
            merge(&mut was.steps, &procedure.steps);
            return self.added(old, after, &draft);
        }
        self.alone(draft)
    }

    /// One episode for an effort of a session: what is told anew takes the place of what was told before.
    pub(super) fn episode(&self, near: &[&Memory], draft: MemoryDraft) -> Result<Learnt, Refusal> {
        let Body::Episode(episode) = &draft.body else { return self.alone(draft) };
        for old in near {
            let mut after = (*old).clone();
            let Body::Episode(was) = &mut after.body else { continue };
            let of_one_effort =
                was.effort.is_some() && (&was.session, &was.effort) == (&episode.session, &episode.effort);
            if of_one_effort && was.session.is_some() {
                was.summary.clone_from(&episode.summary);
                for (old, new) in [(&mut was.detail, &episode.detail), (&mut was.outcome, &episode.outcome)] {
                    if !new.is_empty() {
                        old.clone_from(new);
                    }
                }
                was.minutes = episode.minutes.or(was.minutes);
                merge(&mut was.participants, &episode.participants);
                merge(&mut was.lessons, &episode.lessons);
                return self.added(old, after, &draft);
            }
            let recent = self.now.0.saturating_sub(old.created.0) < SAME_EPISODE;
            if was.session == episode.session && recent && says_same(old, &draft) {
                return Ok(Learnt::known(old.id, "it was told before"));
            }
        }
        self.alone(draft)
    }

    /// A rule that is in force is not made again; one of someone more trusted takes the place of a weaker one.
    pub(super) fn censor(&self, draft: MemoryDraft) -> Result<Learnt, Refusal> {
        let Body::Censor(censor) = &draft.body else { return self.alone(draft) };
        let same = self.agent.censors.values().filter_map(|old| match &old.body {
            Body::Censor(was) => {
                ((&was.pattern, was.side) == (&censor.pattern, censor.side)).then_some((old, was.action))
            }
            Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) => None,
        });
        let trust = draft.provenance.trust;
        let (strong, weak): (Vec<_>, Vec<_>) =
            same.partition(|(old, action)| *action >= censor.action && old.provenance.trust >= trust);
        let known = strong.first().map(|(old, _)| *old);
        let wanted = censor.action;
        match known {
            Some(known) if known.is_proposal() => {
                Ok(Learnt::known(known.id, "the rule waits for a person to accept it"))
            }
            Some(known) => Ok(Learnt::known(known.id, "the rule is in force")),
            None => {
                let mut learnt = self.alone(draft)?;
                let capped = learnt.writes.iter().any(|write| match &write.memory.body {
                    Body::Censor(made) => made.action != wanted,
                    Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) => false,
                });
                if capped {
                    learnt.note.push_str(" It is milder than asked: only a person may set a stricter one.");
                }
                for (old, action) in weak {
                    if action <= wanted && old.provenance.trust < trust {
                        let reason = format!("{} took its place", learnt.id);
                        let change = Change::Moved { from: old.status, reason };
                        let after = Memory { status: Status::Retired, ..old.clone() };
                        learnt.writes.push(self.changed(change, old, after));
                        learnt.note.push_str(&format!(" It takes the place of {}.", old.id));
                    }
                }
                Ok(learnt)
            }
        }
    }

    /// A record that was added to, by someone who may.
    fn added(&self, old: &Memory, mut after: Memory, draft: &MemoryDraft) -> Result<Learnt, Refusal> {
        if after.body == old.body {
            return Ok(Learnt::known(old.id, "there is nothing new in it"));
        }
        if draft.provenance.trust < old.provenance.trust {
            return Err(Refusal::new(format!("{} was written by someone more trusted.", old.id))
                .hint("Remember it under another name, or ask the person to add it."));
        }
        // Together they may be too long.
        admit(MemoryDraft { body: after.body.clone(), ..draft.clone() })?;
        after.masked = after.masked.saturating_add(self.masked);
        let write = self.changed(Change::Edited, old, after);
        let note = format!("Added to {}.", old.id);
        let (id, what) = (old.id, WhatLearnt::Confirmed);
        Ok(Learnt { id, what, writes: vec![write], superseded: Vec::new(), note })
    }
}

fn is_same(old: &str, new: &str) -> bool {
    !compare(old, new).differs && similarity(old, new) > CONFIRMS_ABOVE
}

/// Adds what is not there yet.
fn merge(list: &mut Vec<String>, more: &[String]) {
    for entry in more {
        if list.len() <= LIST_MAX && !list.iter().any(|old| is_same(old, entry)) {
            list.push(entry.clone());
        }
    }
}
