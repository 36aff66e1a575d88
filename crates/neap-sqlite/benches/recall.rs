//! What it costs to recall memories: `cargo bench -p neap-sqlite --bench recall` prints figures and judges nothing.
#![allow(clippy::unwrap_used, reason = "in a bench a panic is a result")]
#![allow(clippy::print_stdout, reason = "figures are what this is for")]

use neap_store::EventStore;
use neap_store::Maintenance;
use neap_store::MemoryStore;
use std::time::{Duration, Instant};

use neap_core::base::ids::Stamp;
use neap_core::memory::{MemoryKind, MemoryWrite, RecallRequest};
use neap_core::text::terms::query_terms;
use neap_sqlite::SqliteStore;
use neap_store::contract::{TestStream, memory, memory_id};

const COUNTS: [(MemoryKind, u64); 5] = [
    (MemoryKind::Decision, 800),
    (MemoryKind::Fact, 6_000),
    (MemoryKind::Procedure, 200),
    (MemoryKind::Episode, 1_700),
    (MemoryKind::Censor, 100),
];
const LIMITS: [(MemoryKind, usize); 4] =
    [(MemoryKind::Decision, 20), (MemoryKind::Fact, 30), (MemoryKind::Procedure, 10), (MemoryKind::Episode, 10)];
const ASKED: u64 = 200;

/// Forty words, of which some are in many memories and most in few.
fn says(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |sides: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % sides
    };
    let words: Vec<String> = (0..40)
        .map(|_| {
            let rarity = 1 << (3 + next(11));
            format!("word{}", next(rarity))
        })
        .collect();
    words.join(" ")
}

fn print(what: &str, mut each: Vec<Duration>) {
    each.sort();
    println!("{what}: p50 {:?}, p99 {:?}", each[each.len() / 2], each[each.len() * 99 / 100]);
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&dir.path().join("neap.db")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut told = TestStream::create_agent(&store, "newton").await;
        let mut all = Vec::new();
        for (kind, count) in COUNTS {
            let of_kind = (1..=count).map(|n| (format!("{}{n}", kind.letter()), n));
            all.extend(of_kind.map(|(id, n)| memory(&id, &says(n * 8 + kind as u64), (n * 1_000) as i64)));
        }
        let began = Instant::now();
        for part in all.chunks(100) {
            let events = part.iter().map(|memory| MemoryWrite::new(memory.clone()).into());
            told.append(&store, events.collect()).await.unwrap();
        }
        println!("{} memories, a hundred in each commit: {:?}", all.len(), began.elapsed());
        let mut each = Vec::new();
        for n in 0..ASKED {
            let began = Instant::now();
            told.add_memory(&store, &memory(&format!("f{}", 6_001 + n), &says(n), 7_000_000)).await;
            each.push(began.elapsed());
        }
        print("one more, alone", each);
        let requests: [(&str, usize, Option<Stamp>); 4] = [
            ("recall by four words", 4, None),
            ("recall by twelve words", 12, None),
            ("recall by twelve words of late", 12, Some(Stamp(1_500_000))),
            ("recall the newest", 0, None),
        ];
        for (what, terms, from) in requests {
            let (mut each, mut given) = (Vec::new(), 0);
            for n in 0..ASKED {
                let words: Vec<String> = says(100_000 + n).split(' ').take(terms).map(str::to_owned).collect();
                let mut request = RecallRequest::new(query_terms(&words.join(" ")), LIMITS.to_vec());
                request.from = from;
                let began = Instant::now();
                given += store.recall(&told.id, &request).await.unwrap().memories.len();
                each.push(began.elapsed());
            }
            print(&format!("{what} ({} given on average)", given / ASKED as usize), each);
        }
        let (mut by_id, mut pages, mut seqs) = (Vec::new(), Vec::new(), Vec::new());
        for n in 1..=ASKED {
            let id = memory_id(&format!("f{n}"));
            let began = Instant::now();
            store.memories(&told.id, &[id]).await.unwrap();
            by_id.push(began.elapsed());
            let began = Instant::now();
            store.list_memories(&told.id, None, Some(id), 20).await.unwrap();
            pages.push(began.elapsed());
            let began = Instant::now();
            store.last_seq(&told.id).await.unwrap();
            seqs.push(began.elapsed());
        }
        print("one by its id", by_id);
        print("a page of twenty", pages);
        print("the last event's place", seqs);
        let began = Instant::now();
        store.erase_memory(&told.id, memory_id("f17"), Stamp(1)).await.unwrap();
        println!("one erased: {:?}", began.elapsed());
        let began = Instant::now();
        store.rebuild(&told.id).await.unwrap();
        println!("all rebuilt: {:?}", began.elapsed());
        let footprint = store.footprint(Some(&told.id)).await.unwrap();
        println!("bytes: events {}, rows {}, words {}", footprint.events, footprint.derived, footprint.index);
    });
}
