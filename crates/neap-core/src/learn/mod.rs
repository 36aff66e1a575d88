//! Carrying out what is asked of an agent's memory, over as many steps as it takes: by a model's tool call, a person's
//! command, or the end of a turn. Nothing here needs a model.

mod answer;
mod contests;
mod rules;
mod step;
#[cfg(test)]
mod tests;
mod undoing;
mod wish;

pub use answer::{Answer, Hit};
pub use rules::HITS_MAX;
pub use step::{LearnInput, LearnStep, MemoryAsk, MemoryGiven, Version};
pub use wish::{Amendment, Use, Wish};

use crate::ids::{Seq, SessionId, Stamp};
use crate::memory::{
    Author, Body, Learnt, Memory, MemoryId, MemoryWrite, RecallRequest, Recalled, WhatLearnt, amend, dependants,
    lifecycle, remember, wanted,
};
use crate::state::SessionState;
use crate::tokens::TokenCounter;
use contests::{Needed, Settling};
use rules::{
    amendment, brought_back, count_uses, detail, head, ranked, recall, record, refused, similar_decisions, unknown,
};
use undoing::undoing;

/// Records that one sweep moves before it commits.
const SWEEP_MAX: usize = 64;

/// What the machine works on.
pub struct AgentDesk<'a> {
    /// The id of the agent's stream, which begins with the first thing it learns.
    pub id: &'a SessionId,
    /// The agent's stream; decisions are applied to it at once.
    pub agent: &'a mut SessionState,
    /// How tokens are counted.
    pub counter: &'a dyn TokenCounter,
    /// The time.
    pub now: Stamp,
}

/// A wish in progress.
#[derive(Debug)]
pub struct Learning {
    wish: Wish,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Begin,
    /// What is near a new record is being looked up.
    Near,
    /// What contradicts facts that changed, and what rests on them, is being looked up.
    Settle {
        settling: Box<Settling>,
    },
    /// Records are being fetched.
    Get,
    /// A record's history is being fetched.
    History,
    /// Records that gave way to one are being looked up, to bring them back.
    Replaced {
        by: MemoryId,
        seq: Seq,
        /// When they did, if that was not with its writing.
        fell: Option<Stamp>,
        writes: Vec<MemoryWrite>,
        answer: Box<Answer>,
    },
    /// An archived detail is being fetched.
    Detail {
        of: Box<Memory>,
    },
    /// Candidates are being fetched.
    Search {
        request: RecallRequest,
    },
    /// What time calls for is being fetched.
    Due {
        moved: u64,
    },
    /// Changes are being made durable.
    Commit {
        answer: Box<Answer>,
    },
    /// Moves are being made durable; there may be more.
    Swept {
        moved: u64,
    },
}

impl Learning {
    /// A wish to carry out.
    pub fn new(wish: Wish) -> Self {
        Self { wish, phase: Phase::Begin }
    }

    /// Takes what the last step gave, and says what to do next.
    ///
    /// # Panics
    /// If the input does not answer the last step: that is a fault of the driver.
    pub fn step(&mut self, desk: &mut AgentDesk<'_>, input: LearnInput) -> LearnStep {
        match (std::mem::replace(&mut self.phase, Phase::Begin), input) {
            (_, LearnInput::Begin | LearnInput::Stale) => self.begin(desk),
            (Phase::Near, LearnInput::Given(MemoryGiven::Recalled(near))) => self.write(desk, &near.memories),
            (Phase::Settle { mut settling }, LearnInput::Given(MemoryGiven::Recalled(found))) => {
                settling.take(desk, found.memories);
                self.settle(desk, *settling)
            }
            (Phase::Get, LearnInput::Given(MemoryGiven::Recalled(found))) => self.got(desk, found.memories),
            (Phase::History, LearnInput::Given(MemoryGiven::History { versions, damaged })) => {
                self.undo(desk, &versions, &damaged)
            }
            (
                Phase::Replaced { by, seq, fell, mut writes, answer },
                LearnInput::Given(MemoryGiven::Recalled(found)),
            ) => {
                writes.extend(found.memories.iter().filter_map(|fact| brought_back(fact, by, seq, fell, desk)));
                self.settle(desk, Settling::new(writes, answer, None))
            }
            (Phase::Detail { of }, LearnInput::Given(MemoryGiven::Recalled(found))) => detail(&of, &found),
            (Phase::Search { request }, LearnInput::Given(MemoryGiven::Recalled(found))) => {
                self.found(desk, &request, &found)
            }
            (Phase::Due { moved }, LearnInput::Given(MemoryGiven::Versions(due))) => self.sweep(desk, moved, &due),
            (Phase::Commit { answer }, LearnInput::Committed) => LearnStep::Done(answer),
            (Phase::Swept { moved }, LearnInput::Committed) => self.ask_due(desk, moved),
            (phase, input) => panic!("the driver answered {phase:?} with {input:?}"),
        }
    }

    fn begin(&mut self, desk: &mut AgentDesk<'_>) -> LearnStep {
        match &self.wish {
            Wish::Remember(draft) => match wanted(draft) {
                Some(request) => self.ask(Phase::Near, MemoryAsk::Recall(request)),
                None => self.write(desk, &[]),
            },
            Wish::Amend { id, how: Amendment::Undo, .. } => self.ask(Phase::History, MemoryAsk::History(*id)),
            Wish::Amend { id, .. } | Wish::Expand { id } => self.ask(Phase::Get, MemoryAsk::Get(vec![*id])),
            Wish::Use(uses) => {
                let ids = uses.iter().map(|(id, _)| *id).collect();
                self.ask(Phase::Get, MemoryAsk::Get(ids))
            }
            Wish::Recall { query, kinds, time, superseded, max: _ } => {
                let request = recall(query, kinds, time.as_deref(), *superseded, desk.now);
                match request {
                    Ok(request) => {
                        let ask = MemoryAsk::Search { request: request.clone(), question: query.clone() };
                        self.ask(Phase::Search { request }, ask)
                    }
                    Err(refusal) => refused(refusal),
                }
            }
            Wish::Status => LearnStep::Done(Box::new(Answer::Status(head(desk).cloned().unwrap_or_default()))),
            Wish::Sweep => self.ask_due(desk, 0),
        }
    }

    fn ask(&mut self, phase: Phase, ask: MemoryAsk) -> LearnStep {
        self.phase = phase;
        LearnStep::Ask(ask)
    }

    /// Decides what a new record is: new, known already, or in the place of another.
    fn write(&mut self, desk: &mut AgentDesk<'_>, near: &[Memory]) -> LearnStep {
        let Wish::Remember(draft) = &self.wish else { unreachable!("only a new record looks for what is near") };
        let known = head(desk).cloned().unwrap_or_default();
        match remember(&known, near, (**draft).clone(), desk.counter, desk.now) {
            Ok(Learnt { id, what, writes, superseded, note }) => {
                let written = writes.iter().map(|write| &write.memory);
                let record = written.chain(near).find(|memory| memory.id == id);
                let similar = record.map_or_else(Vec::new, |new| similar_decisions(id, &new.text(), near));
                let micro = record.map_or_else(String::new, |memory| memory.lines.micro.trim_end().to_owned());
                let waits = record.is_some_and(Memory::is_proposal);
                let answer = Answer::Learnt { id, what, note, micro, waits, superseded, similar };
                let by_person = draft.provenance.author == Author::Person;
                let holds = (by_person && what == WhatLearnt::Confirmed).then_some(id);
                self.settle(desk, Settling::new(writes, Box::new(answer), holds))
            }
            Err(refusal) => refused(refusal),
        }
    }

    /// Sees to it that other records agree with what is written; then commits.
    fn settle(&mut self, desk: &mut AgentDesk<'_>, settling: Settling) -> LearnStep {
        let (settling, ask) = match settling.next(desk) {
            (Some(settling), Needed::Records(ids)) => (settling, MemoryAsk::Get(ids)),
            (Some(settling), Needed::Dependants(fact)) => (settling, MemoryAsk::Recall(dependants(fact))),
            (_, Needed::Commit(writes, answer)) => return self.commit(desk, writes, answer),
            (None, Needed::Records(_) | Needed::Dependants(_)) => unreachable!("it waits for what it needs"),
        };
        self.ask(Phase::Settle { settling: Box::new(settling) }, ask)
    }

    fn got(&mut self, desk: &mut AgentDesk<'_>, found: Vec<Memory>) -> LearnStep {
        match &self.wish {
            Wish::Use(uses) => {
                let writes = count_uses(uses, found, desk);
                self.commit(desk, writes, Box::new(Answer::Counted))
            }
            Wish::Amend { id, how, by } => {
                let Some(memory) = found.into_iter().next() else { return refused(unknown(*id)) };
                match amendment(how, by, &memory, desk) {
                    Ok(writes) => {
                        let after = writes.last().map_or(memory, |write| write.memory.clone());
                        let is_said = matches!(how, Amendment::Confirm) && by.author == Author::Person;
                        let holds = (is_said && !writes.is_empty()).then_some(*id);
                        let answer = changed(after, how.as_str());
                        self.settle(desk, Settling::new(writes, answer, holds))
                    }
                    Err(refusal) => refused(refusal),
                }
            }
            Wish::Expand { id } => {
                let Some(memory) = found.into_iter().next() else { return refused(unknown(*id)) };
                match &memory.body {
                    Body::Episode(episode) if episode.detail.is_empty() && episode.detail_at.is_some() => {
                        let seq = episode.detail_at.unwrap_or_default();
                        self.ask(Phase::Detail { of: Box::new(memory) }, MemoryAsk::AsOf(seq))
                    }
                    Body::Decision(_)
                    | Body::Fact(_)
                    | Body::Procedure(_)
                    | Body::Episode(_)
                    | Body::Censor(_) => LearnStep::Done(Box::new(Answer::Full { memory: Box::new(memory) })),
                }
            }
            Wish::Remember(_) | Wish::Recall { .. } | Wish::Status | Wish::Sweep => {
                unreachable!("these fetch no record by its id")
            }
        }
    }

    /// Writes the record as it was before its last change that is not undone yet.
    fn undo(&mut self, desk: &mut AgentDesk<'_>, versions: &[Version], damaged: &[Seq]) -> LearnStep {
        let Wish::Amend { id, .. } = self.wish else { unreachable!("only an amendment is undone") };
        let Some(last) = versions.last() else { return refused(unknown(id)) };
        let undoing = match undoing(id, versions, damaged, desk) {
            Ok(undoing) => undoing,
            Err(refusal) => return refused(refusal),
        };
        let known = head(desk).cloned().unwrap_or_default();
        let seq = undoing.change.seq;
        match amend::undo(&known, &last.memory, undoing.before.as_ref(), seq, desk.counter, desk.now) {
            Ok(writes) => {
                let after = writes.last().map_or(&last.memory, |write| &write.memory).clone();
                let answer = changed(after, Amendment::Undo.as_str());
                if let Some(ask) = undoing.gave_way() {
                    let fell = undoing.fell();
                    return self.ask(Phase::Replaced { by: id, seq, fell, writes, answer }, ask);
                }
                self.settle(desk, Settling::new(writes, answer, None))
            }
            Err(refusal) => refused(refusal),
        }
    }

    fn found(&mut self, desk: &AgentDesk<'_>, request: &RecallRequest, found: &Recalled) -> LearnStep {
        let max = if let Wish::Recall { max, .. } = self.wish { max } else { HITS_MAX };
        LearnStep::Done(Box::new(Answer::Found { hits: ranked(request, found, max, desk.now) }))
    }

    fn ask_due(&mut self, desk: &AgentDesk<'_>, moved: u64) -> LearnStep {
        let ask = MemoryAsk::Due { now: desk.now, max: SWEEP_MAX };
        self.ask(Phase::Due { moved }, ask)
    }

    fn sweep(&mut self, desk: &mut AgentDesk<'_>, moved: u64, due: &[Version]) -> LearnStep {
        let moves = due
            .iter()
            .filter_map(|version| lifecycle::moved(&version.memory, version.seq, desk.counter, desk.now));
        let writes: Vec<MemoryWrite> = moves.collect();
        if writes.is_empty() {
            return LearnStep::Done(Box::new(Answer::Swept { moved }));
        }
        let moved = moved + writes.len() as u64;
        let events = record(desk, writes);
        self.phase = Phase::Swept { moved };
        LearnStep::Commit(events)
    }

    fn commit(&mut self, desk: &mut AgentDesk<'_>, writes: Vec<MemoryWrite>, answer: Box<Answer>) -> LearnStep {
        if writes.is_empty() {
            return LearnStep::Done(answer);
        }
        let events = record(desk, writes);
        self.phase = Phase::Commit { answer };
        LearnStep::Commit(events)
    }
}

fn changed(memory: Memory, how: &'static str) -> Box<Answer> {
    Box::new(Answer::Changed { memory: Box::new(memory), how, note: String::new() })
}
