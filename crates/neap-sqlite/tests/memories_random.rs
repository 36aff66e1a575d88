//! I9: whatever was written, every backend recalls the same memories in the same order.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use crate::scene::block_on;
use neap_core::base::ids::Stamp;
use neap_core::memory::{Memory, MemoryKind, RecallRequest, Status};
use neap_sqlite::SqliteStore;
use neap_store::contract::{TestStream, faults, memory, memory_id, memory_moved};
use neap_store::{EventStore, Maintenance, MemStore, MemoryStore};

/// Chance that gives the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len() as u64) as usize]
    }
}

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

fn compare(seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(&dir.path().join("neap.db")).unwrap();
    let mem = MemStore::new();
    let dice = &mut Dice(seed);
    block_on(async {
        let mut other = TestStream::create_agent(&sqlite, "another").await;
        other.add_memory(&sqlite, &memory("f1", "apple pear plum", 3)).await;
        let mut told = TestStream::create_agent(&sqlite, "newton").await;
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
                    events.push(neap_core::memory::MemoryWrite::new(new.clone()).into());
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
            sqlite.commit(commit).await.unwrap();
            told = after;
            let request = request(dice);
            let (a, b) = (mem.recall(&told.id, &request).await, sqlite.recall(&told.id, &request).await);
            let a = a.unwrap();
            assert_eq!(a, b.unwrap(), "seed {seed}, {request:?}");
            given += a.memories.len();
            let (before, max) = (dice.pick(&known).id, dice.roll(20) as usize);
            for kind in [None, Some(*dice.pick(&MemoryKind::ALL))] {
                let before = (dice.roll(2) == 0).then_some(before);
                let a = mem.list_memories(&told.id, kind, before, max).await.unwrap();
                assert_eq!(a, sqlite.list_memories(&told.id, kind, before, max).await.unwrap(), "seed {seed}");
            }
        }
        assert!(given > 100, "the scene is set: {given} memories were given");
        for _ in 0..10 {
            let id = dice.pick(&known).id;
            let a = mem.erase_memory(&told.id, id, Stamp(9)).await.unwrap();
            assert_eq!(a, sqlite.erase_memory(&told.id, id, Stamp(9)).await.unwrap());
        }
        assert_eq!(mem.load(&told.id).await.unwrap(), sqlite.load(&told.id).await.unwrap());
        for round in 0..2 {
            for _ in 0..60 {
                let request = request(dice);
                let (a, b) = (mem.recall(&told.id, &request).await, sqlite.recall(&told.id, &request).await);
                assert_eq!(a.unwrap(), b.unwrap(), "seed {seed}, round {round}, {request:?}");
            }
            assert_eq!(faults(&sqlite).await, []);
            assert_eq!(faults(&mem).await, []);
            sqlite.rebuild(&told.id).await.unwrap();
        }
        let theirs = sqlite.memories(&other.id, &[memory_id("f1")]).await.unwrap();
        assert_eq!(theirs, [memory("f1", "apple pear plum", 3)]);
    });
}

#[test]
fn every_backend_recalls_the_same() {
    for seed in [1, 7, 1_234_567] {
        compare(seed);
    }
}
