//! Plans decisions, procedures, episodes and censors that may exist already.

use super::super::contradiction::compare;
use super::super::text_similarity::text_similarity;
use super::super::validation::{LIST_MAX, validate_draft};
use super::judge::CONFIRMS_ABOVE;
use super::{
    Body, Change, DraftOutcome, Memory, MemoryDraft, Outcome, Refusal, RememberContext, RememberPlan, Status,
    has_same_text,
};
use crate::text::reference::folded_words;

/// An identical episode within this many milliseconds is the same one.
const SAME_EPISODE_MS: i64 = 24 * 60 * 60 * 1_000;

impl RememberContext<'_> {
    /// Does not record the same choice twice while its outcome is open.
    pub(super) fn plan_decision(&self, similar: &[&Memory], draft: MemoryDraft) -> Result<RememberPlan, Refusal> {
        let Body::Decision(decision) = &draft.body else { return self.plan_new(draft) };
        let known = similar.iter().find(|old| match &old.body {
            Body::Decision(was) => match was.outcome {
                Outcome::Pending => is_same_text(&was.description, &decision.description),
                // Recorded again with the same outcome.
                Outcome::Success | Outcome::Partial | Outcome::Failure => {
                    was.outcome == decision.outcome && has_same_text(old, &draft)
                }
            },
            Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => false,
        });
        match known {
            None => self.plan_new(draft),
            Some(known) if known.status == Status::Reviewed => {
                Ok(RememberPlan::already_known(known.id, "with this outcome"))
            }
            Some(known) => Ok(RememberPlan::already_known(
                known.id,
                &format!("it waits for its outcome. Review {} or say what is chosen differently", known.id),
            )),
        }
    }

    /// Keeps one procedure per name and adds what is new.
    pub(super) fn plan_procedure(&self, similar: &[&Memory], draft: MemoryDraft) -> Result<RememberPlan, Refusal> {
        let Body::Procedure(procedure) = &draft.body else { return self.plan_new(draft) };
        for old in similar.iter().filter(|old| old.status.is_current()) {
            let mut after = (*old).clone();
            let Body::Procedure(was) = &mut after.body else { continue };
            if folded_words(&was.name) != folded_words(&procedure.name) {
                continue;
            }
            merge_entries(&mut was.core_patterns, &procedure.core_patterns);
            merge_entries(&mut was.steps, &procedure.steps);
            return self.plan_addition(old, after, &draft);
        }
        self.plan_new(draft)
    }

    /// Keeps one episode per effort of a session; the newer account replaces the older.
    pub(super) fn plan_episode(&self, similar: &[&Memory], draft: MemoryDraft) -> Result<RememberPlan, Refusal> {
        let Body::Episode(episode) = &draft.body else { return self.plan_new(draft) };
        for old in similar {
            let mut after = (*old).clone();
            let Body::Episode(was) = &mut after.body else { continue };
            let same_effort =
                was.effort.is_some() && (&was.session, &was.effort) == (&episode.session, &episode.effort);
            if same_effort && was.session.is_some() {
                was.summary.clone_from(&episode.summary);
                for (old, new) in [(&mut was.detail, &episode.detail), (&mut was.outcome, &episode.outcome)] {
                    if !new.is_empty() {
                        old.clone_from(new);
                    }
                }
                was.minutes = episode.minutes.or(was.minutes);
                merge_entries(&mut was.participants, &episode.participants);
                merge_entries(&mut was.lessons, &episode.lessons);
                return self.plan_addition(old, after, &draft);
            }
            let recent = self.now.0.saturating_sub(old.created.0) < SAME_EPISODE_MS;
            if was.session == episode.session && recent && has_same_text(old, &draft) {
                return Ok(RememberPlan::already_known(old.id, "it was told before"));
            }
        }
        self.plan_new(draft)
    }

    /// Skips a rule that exists already. A rule by a more trusted author retires a weaker one.
    pub(super) fn plan_censor(&self, draft: MemoryDraft) -> Result<RememberPlan, Refusal> {
        let Body::Censor(censor) = &draft.body else { return self.plan_new(draft) };
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
                Ok(RememberPlan::already_known(known.id, "the rule waits for a person to accept it"))
            }
            Some(known) => Ok(RememberPlan::already_known(known.id, "the rule is in force")),
            None => {
                let mut plan = self.plan_new(draft)?;
                let capped = plan.writes.iter().any(|write| match &write.memory.body {
                    Body::Censor(made) => made.action != wanted,
                    Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) => false,
                });
                if capped {
                    plan.note.push_str(" It is milder than asked: only a person may set a stricter one.");
                }
                for (old, action) in weak {
                    if action <= wanted && old.provenance.trust < trust {
                        let reason = format!("{} took its place", plan.id);
                        let change = Change::Moved { from: old.status, reason };
                        let after = Memory { status: Status::Retired, ..old.clone() };
                        plan.writes.push(self.memory_write(change, old, after));
                        plan.note.push_str(&format!(" It takes the place of {}.", old.id));
                    }
                }
                Ok(plan)
            }
        }
    }

    /// Extends a record, if the author is trusted enough.
    fn plan_addition(
        &self,
        old: &Memory,
        mut after: Memory,
        draft: &MemoryDraft,
    ) -> Result<RememberPlan, Refusal> {
        if after.body == old.body {
            return Ok(RememberPlan::already_known(old.id, "there is nothing new in it"));
        }
        if draft.provenance.trust < old.provenance.trust {
            return Err(Refusal::new(format!("{} was written by someone more trusted.", old.id))
                .hint("Remember it under another name, or ask the person to add it."));
        }
        // Together they may exceed the limits.
        validate_draft(MemoryDraft { body: after.body.clone(), ..draft.clone() })?;
        after.masked = after.masked.saturating_add(self.masked);
        let write = self.memory_write(Change::Edited, old, after);
        let note = format!("Added to {}.", old.id);
        let (id, outcome) = (old.id, DraftOutcome::Confirmed);
        Ok(RememberPlan { id, outcome, writes: vec![write], superseded: Vec::new(), note })
    }
}

fn is_same_text(old: &str, new: &str) -> bool {
    !compare(old, new).values_differ && text_similarity(old, new) > CONFIRMS_ABOVE
}

fn merge_entries(list: &mut Vec<String>, more: &[String]) {
    for entry in more {
        if list.len() <= LIST_MAX && !list.iter().any(|old| is_same_text(old, entry)) {
            list.push(entry.clone());
        }
    }
}
