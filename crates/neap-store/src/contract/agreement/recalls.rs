//! Recall of memories.

use neap_core::base::ids::Stamp;
use neap_core::memory::{Memory, MemoryKind, MemoryWrite, RecallRequest, Status};

use super::Dice;
use crate::contract::{TestStream, faults, memory, memory_id, memory_moved};
use crate::{EventStore, Maintenance, MemStore, MemoryStore, Store};

const WORDS: [&str; 16] = [
    "apple", "pear", "plum", "quince", "fig", "lime", "peach", "cherry", "melon", "grape", "olive", "mango",
    "登录", "ошибка", "7", "kiwi",
];
const STATUSES: [Status; 5] =
    [Status::Superseded, Status::Inactive, Status::Retired, Status::Confirmed, Status::Archived];

fn says(dice: &mut Dice) -> String {
    // Low words are common, high ones rare.
    let words: Vec<&str> = (0..=dice.roll(6)).map(|_| WORDS[(dice.roll(4) * dice.roll(6)) as usize]).collect();
    words.join(" ")
}

fn request(dice: &mut Dice) -> RecallRequest {
    let mut terms: Vec<String> = Vec::new();
    for _ in 0..dice.roll(5) {
        let term = (*dice.pick(&WORDS)).to_owned();
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    let mut limits: Vec<(MemoryKind, usize)> = MemoryKind::ALL.map(|kind| (kind, dice.roll(40) as usize)).to_vec();
    limits.retain(|_| dice.roll(4) > 0);
    let bound = |dice: &mut Dice| (dice.roll(3) == 0).then(|| Stamp(dice.roll(50) as i64));
    RecallRequest {
        superseded: dice.roll(2) == 0,
        from: bound(dice),
        until: bound(dice),
        ..RecallRequest::new(terms, limits)
    }
}

/// `tested` is empty.
pub async fn recall_alike(tested: &dyn Store, seed: u64) {
    let mem = MemStore::new();
    let dice = &mut Dice(seed);
    let mut other = TestStream::create_agent(tested, "another").await;
    other.add_memory(tested, &memory("f1", "apple pear plum", 3)).await;
    let mut told = TestStream::create_agent(tested, "newton").await;
    TestStream::create_agent(&mem, "newton").await;
    let mut known: Vec<Memory> = Vec::new();
    let mut given = 0;
    while known.len() < 300 {
        let mut events = Vec::new();
        for _ in 0..=dice.roll(8) {
            if known.is_empty() || dice.roll(3) > 0 {
                let kind = *dice.pick(&MemoryKind::ALL);
                let number = known.iter().filter(|memory| memory.kind() == kind).count() + 1;
                let new = memory(&format!("{}{number}", kind.letter()), &says(dice), dice.roll(50) as i64);
                events.push(MemoryWrite::new(new.clone()).into());
                known.push(new);
            } else {
                let at = dice.roll(known.len() as u64) as usize;
                let (event, after) = memory_moved(&known[at], *dice.pick(&STATUSES));
                events.push(event);
                known[at] = after;
            }
        }
        let (commit, after) = told.build_commit(events);
        mem.commit(commit.clone()).await.unwrap();
        tested.commit(commit).await.unwrap();
        told = after;
        let request = request(dice);
        let (a, b) = (mem.recall(&told.id, &request).await, tested.recall(&told.id, &request).await);
        let a = a.unwrap();
        assert_eq!(a, b.unwrap(), "seed {seed}, {request:?}");
        given += a.memories.len();
        let (before, max) = (dice.pick(&known).id, dice.roll(20) as usize);
        for kind in [None, Some(*dice.pick(&MemoryKind::ALL))] {
            let before = (dice.roll(2) == 0).then_some(before);
            let a = mem.list_memories(&told.id, kind, before, max).await.unwrap();
            assert_eq!(a, tested.list_memories(&told.id, kind, before, max).await.unwrap(), "seed {seed}");
        }
    }
    assert!(given > 100, "the scene is set: {given} memories were given");
    for _ in 0..10 {
        let id = dice.pick(&known).id;
        let a = mem.erase_memory(&told.id, id, Stamp(9)).await.unwrap();
        assert_eq!(a, tested.erase_memory(&told.id, id, Stamp(9)).await.unwrap());
    }
    assert_eq!(mem.load(&told.id).await.unwrap(), tested.load(&told.id).await.unwrap());
    for round in 0..2 {
        for _ in 0..60 {
            let request = request(dice);
            let (a, b) = (mem.recall(&told.id, &request).await, tested.recall(&told.id, &request).await);
            assert_eq!(a.unwrap(), b.unwrap(), "seed {seed}, round {round}, {request:?}");
        }
        assert_eq!(faults(tested).await, []);
        assert_eq!(faults(&mem).await, []);
        tested.rebuild(&told.id).await.unwrap();
    }
    let theirs = tested.memories(&other.id, &[memory_id("f1")]).await.unwrap();
    assert_eq!(theirs, [memory("f1", "apple pear plum", 3)]);
}
