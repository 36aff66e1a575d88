//! State machine that executes a [`MemoryCommand`] on an agent's memory: a model's tool call, a person's command,
//! or the end of a turn. It asks its driver for lookups and commits ([`LearnStep`]), and needs no model.

mod command;
mod operations;
mod propagation;
mod response;
mod step;
#[cfg(test)]
mod tests;
mod undo_plan;

pub use command::{Amendment, MemoryCommand, MemoryUse};
pub use operations::HITS_MAX;
pub use response::{MemoryHit, MemoryResponse, SupersededFact, full_record};
pub use step::{LearnInput, LearnStep, MemoryQuery, MemoryQueryResult, MemoryVersion};

use crate::base::ids::{Seq, Stamp};
use crate::base::tokens::TokenCounter;
use crate::memory::{
    AgentHead, Author, Body, DraftOutcome, Memory, MemoryId, MemoryWrite, RecallRequest, RecallResponse,
    RememberPlan, amend, dependants_request, lifecycle, lookup_request, remember,
};
use operations::{
    HitLimits, apply_amendment, count_uses, rank_hits, recall_request, refuse, restore_detail, restore_superseded,
    similar_decisions, superseded_lookup, unknown_memory,
};
use propagation::{Propagation, PropagationStep};
use undo_plan::plan_undo;

/// Records a sweep moves per commit.
const SWEEP_MAX: usize = 64;

pub struct LearnContext<'a> {
    /// `None` if the agent has no memories yet.
    pub head: Option<&'a AgentHead>,
    pub counter: &'a dyn TokenCounter,
    pub now: Stamp,
}

#[derive(Debug)]
pub struct LearnMachine {
    command: MemoryCommand,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Begin,
    /// Looking up records similar to a draft.
    FindSimilar,
    /// Looking up contradictions and dependants of changed facts.
    Settle {
        settling: Box<Propagation>,
    },
    Get,
    History,
    /// Looking up the facts a record superseded, to restore them.
    Replaced {
        by: MemoryId,
        seq: Seq,
        /// When they were superseded, if not when the record was written.
        fell: Option<Stamp>,
        writes: Vec<MemoryWrite>,
        answer: Box<MemoryResponse>,
    },
    /// Fetching the detail of an archived episode.
    Detail {
        of: Box<Memory>,
    },
    /// Looking up what a fact superseded, to show it.
    Shown {
        memory: Box<Memory>,
    },
    Search {
        request: RecallRequest,
    },
    Due {
        moved: u64,
    },
    Commit {
        answer: Box<MemoryResponse>,
    },
    /// Committing a batch of a sweep; more may follow.
    Swept {
        moved: u64,
    },
}

impl LearnMachine {
    pub fn new(command: MemoryCommand) -> Self {
        Self { command, phase: Phase::Begin }
    }

    /// Takes the result of the last step and returns the next one.
    ///
    /// # Panics
    /// If the input does not match the last step, which is a bug in the driver.
    pub fn step(&mut self, context: &LearnContext<'_>, input: LearnInput) -> LearnStep {
        match (std::mem::replace(&mut self.phase, Phase::Begin), input) {
            (_, LearnInput::Begin | LearnInput::Stale) => self.begin(context),
            (Phase::FindSimilar, LearnInput::QueryResult(MemoryQueryResult::Records(found))) => {
                self.plan_write(context, &found.memories)
            }
            (Phase::Settle { mut settling }, LearnInput::QueryResult(MemoryQueryResult::Records(found))) => {
                settling.receive(context, found.memories);
                self.settle(context, *settling)
            }
            (Phase::Get, LearnInput::QueryResult(MemoryQueryResult::Records(found))) => {
                self.receive_records(context, found.memories)
            }
            (Phase::History, LearnInput::QueryResult(MemoryQueryResult::History { versions, damaged })) => {
                self.undo(context, &versions, &damaged)
            }
            (
                Phase::Replaced { by, seq, fell, mut writes, answer },
                LearnInput::QueryResult(MemoryQueryResult::Records(found)),
            ) => {
                writes.extend(
                    found.memories.iter().filter_map(|fact| restore_superseded(fact, by, seq, fell, context)),
                );
                self.settle(context, Propagation::new(writes, answer, None))
            }
            (Phase::Detail { of }, LearnInput::QueryResult(MemoryQueryResult::Records(found))) => {
                restore_detail(&of, &found)
            }
            (Phase::Shown { memory }, LearnInput::QueryResult(MemoryQueryResult::Records(found))) => {
                let supersedes = SupersededFact::by(memory.id, &found.memories);
                LearnStep::Done(Box::new(MemoryResponse::Full { memory, supersedes }))
            }
            (Phase::Search { request }, LearnInput::QueryResult(MemoryQueryResult::Records(found))) => {
                self.finish_search(context, &request, &found)
            }
            (Phase::Due { moved }, LearnInput::QueryResult(MemoryQueryResult::Versions(due))) => {
                self.sweep(context, moved, &due)
            }
            (Phase::Commit { answer }, LearnInput::Committed) => LearnStep::Done(answer),
            (Phase::Swept { moved }, LearnInput::Committed) => self.query_due(context, moved),
            (phase, input) => panic!("the driver answered {phase:?} with {input:?}"),
        }
    }

    fn begin(&mut self, context: &LearnContext<'_>) -> LearnStep {
        match &self.command {
            MemoryCommand::Remember(draft) => match lookup_request(draft) {
                Some(request) => self.query(Phase::FindSimilar, MemoryQuery::Recall(request)),
                None => self.plan_write(context, &[]),
            },
            MemoryCommand::Amend { id, how: Amendment::Undo, .. } => {
                self.query(Phase::History, MemoryQuery::History(*id))
            }
            MemoryCommand::Amend { id, .. } | MemoryCommand::Expand { id } => {
                self.query(Phase::Get, MemoryQuery::Get(vec![*id]))
            }
            MemoryCommand::CountUses(uses) => {
                let ids = uses.iter().map(|(id, _)| *id).collect();
                self.query(Phase::Get, MemoryQuery::Get(ids))
            }
            MemoryCommand::Recall { query, kinds, time, project, superseded: _, lists: _, max: _ } => {
                let request = recall_request(query, kinds, time.as_deref(), context.now);
                match request {
                    Ok(request) => {
                        let request = request.asked_in(project.as_ref());
                        let lookup = MemoryQuery::Search { request: request.clone(), question: query.clone() };
                        self.query(Phase::Search { request }, lookup)
                    }
                    Err(refusal) => refuse(refusal),
                }
            }
            MemoryCommand::Status => {
                LearnStep::Done(Box::new(MemoryResponse::Status(context.head.cloned().unwrap_or_default())))
            }
            MemoryCommand::Sweep => self.query_due(context, 0),
        }
    }

    fn query(&mut self, phase: Phase, lookup: MemoryQuery) -> LearnStep {
        self.phase = phase;
        LearnStep::Query(lookup)
    }

    /// Decides whether a draft is new, known, or replaces another record.
    fn plan_write(&mut self, context: &LearnContext<'_>, candidates: &[Memory]) -> LearnStep {
        let MemoryCommand::Remember(draft) = &self.command else {
            unreachable!("only a new record looks for what is near")
        };
        let head = context.head.cloned().unwrap_or_default();
        match remember(&head, candidates, (**draft).clone(), context.counter, context.now) {
            Ok(RememberPlan { id, outcome, writes, superseded, note }) => {
                let written = writes.iter().map(|write| &write.memory);
                let record = written.chain(candidates).find(|memory| memory.id == id);
                let similar =
                    record.map_or_else(Vec::new, |new| similar_decisions(id, &new.search_text(), candidates));
                let micro = record.map_or_else(String::new, |memory| memory.lines.micro.trim_end().to_owned());
                let awaits_approval = record.is_some_and(Memory::is_proposal);
                let answer =
                    MemoryResponse::Remembered { id, outcome, note, micro, awaits_approval, superseded, similar };
                let by_person = draft.provenance.author == Author::Person;
                let upheld = (by_person && outcome == DraftOutcome::Confirmed).then_some(id);
                self.settle(context, Propagation::new(writes, Box::new(answer), upheld))
            }
            Err(refusal) => refuse(refusal),
        }
    }

    /// Updates the records affected by the writes, then commits.
    fn settle(&mut self, context: &LearnContext<'_>, settling: Propagation) -> LearnStep {
        let (settling, lookup) = match settling.next(context) {
            (Some(settling), PropagationStep::Records(ids)) => (settling, MemoryQuery::Get(ids)),
            (Some(settling), PropagationStep::Dependants(fact)) => {
                (settling, MemoryQuery::Recall(dependants_request(fact)))
            }
            (_, PropagationStep::Commit(writes, answer)) => return self.commit(writes, answer),
            (None, PropagationStep::Records(_) | PropagationStep::Dependants(_)) => {
                unreachable!("it waits for what it needs")
            }
        };
        self.query(Phase::Settle { settling: Box::new(settling) }, lookup)
    }

    fn receive_records(&mut self, context: &LearnContext<'_>, found: Vec<Memory>) -> LearnStep {
        match &self.command {
            MemoryCommand::CountUses(uses) => {
                let writes = count_uses(uses, found, context);
                self.commit(writes, Box::new(MemoryResponse::Counted))
            }
            MemoryCommand::Amend { id, how, by } => {
                let Some(memory) = found.into_iter().next() else { return refuse(unknown_memory(*id)) };
                match apply_amendment(how, by, &memory, context) {
                    Ok(writes) => {
                        let after = writes.last().map_or(memory, |write| write.memory.clone());
                        let by_person = matches!(how, Amendment::Confirm) && by.author == Author::Person;
                        let upheld = (by_person && !writes.is_empty()).then_some(*id);
                        let answer = changed_response(after, how.as_str());
                        self.settle(context, Propagation::new(writes, answer, upheld))
                    }
                    Err(refusal) => refuse(refusal),
                }
            }
            MemoryCommand::Expand { id } => {
                let Some(memory) = found.into_iter().next() else { return refuse(unknown_memory(*id)) };
                match &memory.body {
                    Body::Episode(episode) if episode.detail.is_empty() && episode.detail_at.is_some() => {
                        let seq = episode.detail_at.unwrap_or_default();
                        self.query(Phase::Detail { of: Box::new(memory) }, MemoryQuery::AsOf(seq))
                    }
                    Body::Fact(_) => {
                        let lookup = superseded_lookup(&memory);
                        self.query(Phase::Shown { memory: Box::new(memory) }, lookup)
                    }
                    Body::Decision(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => {
                        let (memory, supersedes) = (Box::new(memory), Vec::new());
                        LearnStep::Done(Box::new(MemoryResponse::Full { memory, supersedes }))
                    }
                }
            }
            MemoryCommand::Remember(_)
            | MemoryCommand::Recall { .. }
            | MemoryCommand::Status
            | MemoryCommand::Sweep => {
                unreachable!("these fetch no record by its id")
            }
        }
    }

    /// Writes the record as it was before its last change that is not undone.
    fn undo(&mut self, context: &LearnContext<'_>, versions: &[MemoryVersion], damaged: &[Seq]) -> LearnStep {
        let MemoryCommand::Amend { id, .. } = self.command else { unreachable!("only an amendment is undone") };
        let Some(last) = versions.last() else { return refuse(unknown_memory(id)) };
        let plan = match plan_undo(id, versions, damaged, context) {
            Ok(plan) => plan,
            Err(refusal) => return refuse(refusal),
        };
        let head = context.head.cloned().unwrap_or_default();
        let seq = plan.change.seq;
        match amend::undo(&head, &last.memory, plan.before.as_ref(), seq, context.counter, context.now) {
            Ok(writes) => {
                let after = writes.last().map_or(&last.memory, |write| &write.memory).clone();
                let answer = changed_response(after, Amendment::Undo.as_str());
                if let Some(lookup) = plan.superseded_query() {
                    let fell = plan.superseded_at();
                    return self.query(Phase::Replaced { by: id, seq, fell, writes, answer }, lookup);
                }
                self.settle(context, Propagation::new(writes, answer, None))
            }
            Err(refusal) => refuse(refusal),
        }
    }

    fn finish_search(
        &mut self,
        context: &LearnContext<'_>,
        request: &RecallRequest,
        found: &RecallResponse,
    ) -> LearnStep {
        let MemoryCommand::Recall { query, project, max, superseded, lists, .. } = &self.command else {
            unreachable!("only a recall searches")
        };
        let limits = HitLimits { max: *max, project: project.as_ref(), superseded: *superseded, lists: *lists };
        let hits = rank_hits(query, request, found, limits, context.now);
        LearnStep::Done(Box::new(MemoryResponse::Found { hits }))
    }

    fn query_due(&mut self, context: &LearnContext<'_>, moved: u64) -> LearnStep {
        let lookup = MemoryQuery::Due { now: context.now, max: SWEEP_MAX };
        self.query(Phase::Due { moved }, lookup)
    }

    fn sweep(&mut self, context: &LearnContext<'_>, moved: u64, due: &[MemoryVersion]) -> LearnStep {
        let moves = due.iter().filter_map(|version| {
            lifecycle::transition_write(&version.memory, version.seq, context.counter, context.now)
        });
        let writes: Vec<MemoryWrite> = moves.collect();
        if writes.is_empty() {
            return LearnStep::Done(Box::new(MemoryResponse::Swept { moved }));
        }
        let moved = moved + writes.len() as u64;
        self.phase = Phase::Swept { moved };
        LearnStep::Commit(writes)
    }

    fn commit(&mut self, writes: Vec<MemoryWrite>, answer: Box<MemoryResponse>) -> LearnStep {
        if writes.is_empty() {
            return LearnStep::Done(answer);
        }
        self.phase = Phase::Commit { answer };
        LearnStep::Commit(writes)
    }
}

fn changed_response(memory: Memory, how: &'static str) -> Box<MemoryResponse> {
    Box::new(MemoryResponse::Changed { memory: Box::new(memory), how, note: String::new() })
}
