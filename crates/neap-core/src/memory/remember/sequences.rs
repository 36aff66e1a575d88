//! Property test: any sequence of recording, amending and undoing keeps the rules.

use std::collections::BTreeSet;

use proptest::strategy::Strategy;

use super::tests::{Mind, by, censor, decision, episode, fact, procedure};
use super::*;
use crate::base::testing::WordCounter;
use crate::memory::CensorAction;

#[derive(Debug, Clone, Copy)]
enum Act {
    Say(usize, usize, usize),
    Amend(usize, usize),
    Undo(usize),
}

const SUBJECTS: [&str; 3] = ["Tim", "billing", ""];
const CONTENTS: [&str; 10] = [
    "Tim lives in Oslo",
    "Tim lives in Bergen",
    "Tim lives in Rome",
    "Tim prefers Vim",
    "Tim prefers Emacs",
    "The billing timeout is 30 s",
    "The billing timeout is 45 s",
    "The billing timeout is not 45 s",
    "billing requests end after 60 s",
    "Tim likes tea",
];
const AUTHORS: [Author; 3] = [Author::Person, Author::Model, Author::Tool];

fn some_draft(kind: usize, what: usize, author: usize) -> MemoryDraft {
    let text = CONTENTS[what % CONTENTS.len()];
    let author = AUTHORS[author % AUTHORS.len()];
    let draft = match kind % 8 {
        0..4 => fact(SUBJECTS[(what + kind) % SUBJECTS.len()], text),
        4 => decision(text, if what.is_multiple_of(3) { Outcome::Partial } else { Outcome::Pending }),
        5 => procedure(&text[..4], &[text]),
        6 => episode(text, what.is_multiple_of(2).then_some("move")),
        _ => censor(text, CensorAction::Steer, author),
    };
    MemoryDraft { pinned: what.is_multiple_of(5), ..by(author, draft) }
}

impl Mind {
    /// Applies one of the possible changes to a record, if allowed.
    fn amend(&mut self, which: usize, how: usize) -> Option<(Memory, Vec<MemoryWrite>)> {
        use crate::memory::amend::*;
        let memory = self.records.values().nth(which.checked_rem(self.records.len())?)?.clone();
        let (now, counter) = (self.now(), &WordCounter);
        let edited = Edit {
            tags: Some(vec![format!("tag{how}")]),
            pinned: Some(how.is_multiple_of(2)),
            ..Edit::new(Author::Person)
        };
        let writes = match how % 12 {
            0 => confirm(&self.head, &memory, &Provenance::from_author(Author::Person), counter, now),
            1 => review(&memory, Author::Person, Outcome::Success, "as hoped", counter, now),
            2 => review(&memory, Author::Person, Outcome::Failure, "", counter, now),
            3 => mark_carried_out(&memory, counter, now),
            4 => edit(&self.head, &memory, edited, counter, now),
            5 => mark_core(&memory, Author::Person, counter, now),
            6 => deactivate(&memory, counter, now),
            7 => retire(&memory, counter, now),
            8 => request_forget(&memory, "no use", counter, now),
            9 => record_use(&memory, [None, Some(true), Some(false)][how / 12 % 3], counter, now),
            10 => record_trigger(&memory, counter, now),
            _ => record_false_positive(&memory, counter, now),
        }
        .ok()?;
        self.keep(&writes, now);
        Some((memory, writes))
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]
    /// After any sequence: nothing is pinned or trusted without a person, nothing is duplicated, no supersession
    /// chain forms a cycle, undo restores the earlier record, and the head's counts match the records.
    #[test]
    fn any_sequence_keeps_the_rules(acts in proptest::collection::vec(
        proptest::prelude::prop_oneof![
            (0..8_usize, 0..30_usize, 0..3_usize).prop_map(|(a, b, c)| Act::Say(a, b, c)),
            (0..40_usize, 0..36_usize).prop_map(|(a, b)| Act::Amend(a, b)),
            (0..40_usize).prop_map(Act::Undo),
        ], 1..60,
    )) {
        let mut mind = Mind::default();
        let mut history: Vec<(Option<Memory>, MemoryWrite)> = Vec::new();
        // Records that a person wrote, confirmed or changed.
        let mut touched_by_person: BTreeSet<MemoryId> = BTreeSet::new();
        for act in acts {
            match act {
                Act::Say(kind, what, author) => {
                    let before = mind.records.clone();
                    let draft = some_draft(kind, what, author);
                    let is_a_persons = draft.provenance.author == Author::Person;
                    let Ok(plan) = mind.say(draft.clone()) else { continue };
                    touched_by_person.extend(is_a_persons.then_some(plan.id));
                    let mut last = before.clone();
                    for write in &plan.writes {
                        history.push((last.insert(write.memory.id, write.memory.clone()), write.clone()));
                    }
                    // Recording the same draft again adds no record.
                    let many = mind.records.len();
                    let head = mind.head.clone();
                    let records = mind.records.clone();
                    if let Ok(again) = mind.say(draft) {
                        proptest::prop_assert_eq!(mind.records.len(), many, "{:?} then {:?}", plan, again);
                    }
                    (mind.head, mind.records) = (head, records);
                }
                Act::Amend(which, how) => {
                    let Some((mut before, writes)) = mind.amend(which, how) else { continue };
                    touched_by_person.insert(before.id);
                    for write in writes {
                        history.push((Some(before), write.clone()));
                        before = write.memory;
                    }
                }
                Act::Undo(which) => {
                    let Some(at) = which.checked_rem(history.len()) else { continue };
                    let (before, write) = history[at].clone();
                    let now = mind.now();
                    let current = mind.records[&write.memory.id].clone();
                    let seq = crate::base::ids::Seq(at as u64 + 1);
                    let Ok(writes) = crate::memory::amend::undo(&mind.head, &current, before.as_ref(), seq, &WordCounter, now)
                    else { continue };
                    if let Some(before) = before {
                        let want = Memory { updated: now, ..before };
                        proptest::prop_assert_eq!(&writes[0].memory, &want);
                    }
                    mind.keep(&writes, now);
                    history.push((Some(current), writes[0].clone()));
                }
            }
            let mut head = AgentHead::default();
            for memory in mind.records.values() {
                head.apply_change(memory, None, memory.created);
                if let Body::Fact(fact) = &memory.body && let Some(by) = fact.superseded_by {
                    proptest::prop_assert!(by > memory.id && mind.records.contains_key(&by));
                }
                proptest::prop_assert_eq!(&memory.lines, &RenderedMemory::render(&WordCounter, memory));
                // docs/decisions/0006-trust.md: only a person pins, and only a person puts rules in force.
                let is_persons = touched_by_person.contains(&memory.id);
                proptest::prop_assert!(is_persons || !memory.pinned, "nobody but a model pinned {:?}", memory);
                proptest::prop_assert!(is_persons || !memory.is_person_approved(), "no person trusted {:?}", memory);
            }
            proptest::prop_assert_eq!(&mind.head, &head);
        }
    }
}
