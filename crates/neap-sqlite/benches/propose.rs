//! What it costs to keep texts and to propose some of them, at several sizes in one run:
//! `cargo bench -p neap-sqlite --bench propose -- 10000 100000 1000000` prints figures and judges nothing. Without arguments: 10,000 and
//! 100,000 texts.
#![allow(clippy::unwrap_used, reason = "in a bench a panic is a result")]
#![allow(clippy::print_stdout, reason = "figures are what this is for")]

use neap_store::Maintenance;
use neap_store::SearchStore;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use neap_core::base::ids::{Stamp, TurnNo};
use neap_core::base::message::Scope;
use neap_core::recall::{Embedding, Filter, Query, TextId};
use neap_core::text::terms::query_terms;
use neap_sqlite::SqliteStore;
use neap_store::contract::{TestStream, turn_completed, turn_started};

const TEXTS_PER_SESSION: usize = 1_000;
const DIMENSIONS: usize = 384;
const WORDS: usize = 40;
const VOCABULARY: f64 = 200_000.0;
const ASKED: usize = 300;
const MODEL: &str = "chance";

/// Chance that gives the same every time.
struct Dice(u64);

impl Dice {
    fn new(seed: usize) -> Self {
        Self((seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn share(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A word; the n-th most common is about n times rarer than the first.
    fn word(&mut self) -> String {
        format!("w{}", VOCABULARY.powf(self.share()) as u64)
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    fn embedding(&mut self) -> Embedding {
        Embedding::from_bytes(&(0..DIMENSIONS).map(|_| (self.roll() >> 32) as u8).collect::<Vec<_>>())
    }
}

fn says(text: usize) -> String {
    let mut dice = Dice::new(text);
    let words = 4 + (dice.share() * 2.0 * (WORDS - 4) as f64) as usize;
    dice.words(words)
}

/// Eight words: some of one text, the rest from anywhere.
fn question(seed: usize, texts: usize) -> Query {
    let mut dice = Dice::new(seed + 7_000_000);
    let text = says((dice.share() * texts as f64) as usize);
    let of_text: Vec<&str> = text.split(' ').take(4).collect();
    Query::new(query_terms(&format!("{} {}", of_text.join(" "), dice.words(4))))
}

fn print(what: &str, mut each: Vec<Duration>) -> Duration {
    each.sort();
    let (half, most) = (each[each.len() / 2], each[each.len() * 99 / 100]);
    println!("  {what}: p50 {half:?}, p99 {most:?}");
    half
}

/// Memory of this process, in MiB, where the system says it.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1_024
}

async fn fill(store: &SqliteStore, texts: usize) {
    let mut told = TestStream::create(store, "0").await;
    let mut events = Vec::new();
    let (mut turn, mut session) = (TurnNo(0), 0);
    for text in (0..texts).step_by(2) {
        turn = turn.next();
        events.push(turn_started(turn, &says(text), None));
        events.push(turn_completed(turn, &says(text + 1), Scope::Ambient));
        if (text + 2) % 200 == 0 {
            told.append(store, std::mem::take(&mut events)).await.unwrap();
        }
        if (text + 2) % TEXTS_PER_SESSION == 0 && text + 2 < texts {
            session += 1;
            told = TestStream::create(store, &session.to_string()).await;
            turn = TurnNo(0);
        }
    }
}

async fn embed(store: &SqliteStore, dice: &mut Dice) {
    loop {
        let waiting = store.unembedded(MODEL, 256).await.unwrap();
        if waiting.is_empty() {
            return;
        }
        let batch = waiting.into_iter().map(|waits| (waits.id, waits.text, dice.embedding()));
        store.put_embeddings(MODEL, batch.collect()).await.unwrap();
    }
}

async fn append(store: &Arc<SqliteStore>, writers: usize, turns: usize) -> f64 {
    let began = Instant::now();
    let mut waiting = Vec::new();
    for writer in 0..writers {
        let store = store.clone();
        waiting.push(tokio::spawn(async move {
            let mut told = TestStream::create(store.as_ref(), &format!("writer {writer} of {writers}")).await;
            for n in 0..turns {
                let (turn, text) = (TurnNo(n as u64 + 1), 9_000_000 + writer * 10_000 + n * 2);
                let (asked, said) = (says(text), says(text + 1));
                told.append(store.as_ref(), vec![turn_started(turn, &asked, None)]).await.unwrap();
                told.append(store.as_ref(), vec![turn_completed(turn, &said, Scope::Ambient)]).await.unwrap();
            }
        }));
    }
    for one in waiting {
        one.await.unwrap();
    }
    (writers * turns) as f64 / began.elapsed().as_secs_f64()
}

async fn measure(path: &Path, texts: usize) -> (Duration, Duration) {
    println!("{texts} texts");
    let store = Arc::new(SqliteStore::open(path).unwrap());
    let began = Instant::now();
    fill(&store, texts).await;
    println!(
        "  kept a hundred turns at a time: {:.0} turns/s",
        texts as f64 / 2.0 / began.elapsed().as_secs_f64()
    );
    let began = Instant::now();
    embed(&store, &mut Dice::new(texts)).await;
    println!("  embeddings kept: {:.0} texts/s", texts as f64 / began.elapsed().as_secs_f64());
    for (writers, turns) in [(1, 200), (64, 20)] {
        println!("  {writers} writers: {:.0} turns/s", append(&store, writers, turns).await);
    }
    let footprint = store.footprint(None).await.unwrap();
    println!(
        "  bytes of a text: said {}, index {}",
        footprint.said / texts as u64,
        footprint.index / texts as u64
    );
    drop(store);
    let before = resident();
    let began = Instant::now();
    let store = SqliteStore::open(path).unwrap();
    println!("  opened: {:?}", began.elapsed());
    let mut dice = Dice::new(5);
    let began = Instant::now();
    let first = Query { embedding: Some(dice.embedding()), model: MODEL.to_owned(), ..question(1, texts) };
    store.find_candidates(&first).await.unwrap();
    println!("  the first question by meaning: {:?}", began.elapsed());
    let (mut by_words, mut by_both, mut narrow, mut filtered) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut read, mut given) = (Vec::new(), 0);
    for n in 0..ASKED {
        let query = question(n, texts);
        let began = Instant::now();
        store.find_candidates(&query).await.unwrap();
        by_words.push(began.elapsed());
        let query = Query { embedding: Some(dice.embedding()), model: MODEL.to_owned(), ..query };
        let began = Instant::now();
        let found = store.find_candidates(&query).await.unwrap();
        by_both.push(began.elapsed());
        given += found.items.len();
        let ids: Vec<TextId> = found.items.iter().step_by(10).map(|card| card.id.clone()).collect();
        let began = Instant::now();
        store.texts(&ids).await.unwrap();
        read.push(began.elapsed());
        let streams = Some(BTreeSet::from([found.items[0].id.stream.clone()]));
        let one = Query { filter: Filter { streams, ..Filter::default() }, ..query.clone() };
        let began = Instant::now();
        store.find_candidates(&one).await.unwrap();
        narrow.push(began.elapsed());
        let late = Filter { from: Some(Stamp(1_771_178_400_000 + 900_000)), ..Filter::default() };
        let late = Query { filter: late, ..query };
        let began = Instant::now();
        store.find_candidates(&late).await.unwrap();
        filtered.push(began.elapsed());
    }
    let by_words = print("proposed by words", by_words);
    let by_both = print(&format!("by words and meaning ({} given on average)", given / ASKED), by_both);
    print("in one session", narrow);
    print("of late", filtered);
    print("the words of a tenth of them", read);
    println!("  memory: {} MiB more than before", resident().saturating_sub(before));
    (by_words, by_both)
}

fn main() {
    let sizes: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![10_000, 100_000] } else { sizes };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut last: Option<(Duration, Duration)> = None;
    for size in sizes {
        let dir = tempfile::tempdir().unwrap();
        let halves = runtime.block_on(measure(&dir.path().join("neap.db"), size));
        if let Some(last) = last {
            let times = |now: Duration, last: Duration| now.as_secs_f64() / last.as_secs_f64();
            println!(
                "  of the size before: {:.1} × by words, {:.1} × by both",
                times(halves.0, last.0),
                times(halves.1, last.1)
            );
        }
        last = Some(halves);
    }
}
