//! One flipped bit, anywhere in the files of a store: it costs at most a block, no session, and nothing is ever said that was not.
//!
//! Seeded. `NEAP_FLIPS` is how many flips are tried (some hundreds unless it says otherwise), `NEAP_SEED` the first seed.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]
#![allow(clippy::disallowed_methods, reason = "tests set the scene by hand")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::scene::{block_on, tree};
use neap_core::base::ids::{Seq, Stamp, StreamId, TurnNo};
use neap_core::base::message::{Incomplete, Message, Scope};
use neap_core::base::tokens::Tokens;
use neap_core::memory::{MemoryKind, RecallRequest};
use neap_core::recall::Query;
use neap_core::session::event::RecordedEvent;
use neap_core::session::log::LogRequest;
use neap_core::text::terms::query_terms;
use neap_sqlite::{OpenOptions, SqliteStore, find_mismatch, salvage};
use neap_store::contract::{TestStream, effort, effort_concluded, effort_opened, memory, memory_id};
use neap_store::{
    EventStore, Maintenance, MemoryStore, SearchStore, Severity, Store, StoreError, StoredEvent, folder,
};

/// How a flip can end.
const WAYS: usize = 4;
const FLIPS: u64 = 120;
/// Of the events of one stream, at most so many are packed together.
const BLOCK_EVENTS_MAX: usize = 128;
const FILES: [&str; 4] = ["", "-wal", "-shm", "-mark"];

/// A small generator of numbers that look random: the same seed gives the same.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// A store as it was written, and every word of it.
struct Scene {
    dir: tempfile::TempDir,
    told: Vec<TestStream>,
    /// All that was ever said, in messages, summaries and memories.
    said: BTreeSet<String>,
}

impl Scene {
    /// Three sessions and an agent, blocks and rows, of which the last turns are in the log alone.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let live = dir.path().join("live").join("neap.db");
        let mut scene = Self { dir, told: Vec::new(), said: BTreeSet::new() };
        block_on(async {
            let store = SqliteStore::open(&live).unwrap();
            for (name, turns) in [("alpha", 160), ("beta", 12), ("gamma", 60)] {
                let mut told = TestStream::create(&store, name).await;
                let fix = format!("{name} repair");
                told.append(&store, vec![effort_opened(&fix, TurnNo(0))]).await.unwrap();
                for n in 0..turns {
                    let scope = if n % 5 == 0 { Scope::Effort(effort(&fix)) } else { Scope::Ambient };
                    // Some are longer than a page.
                    let long = " and the heron waits".repeat(if n % 17 == 0 { 400 } else { n % 7 });
                    let (asked, answered) =
                        (format!("{name} question {n} valve{n}{long}"), format!("{name} answer {n}"));
                    told.add_turn(&store, &asked, &answered, scope).await;
                    scene.said.extend([asked, answered]);
                }
                let summary = format!("{name}: the bracket was loose.");
                told.append(&store, vec![effort_concluded(&fix, &summary, TurnNo(1))]).await.unwrap();
                scene.said.insert(summary);
                scene.told.push(told);
            }
            let mut agent = TestStream::create_agent(&store, "newton").await;
            for n in 1..40 {
                let says = format!("apple {n} falls from tree {n}");
                agent.add_memory(&store, &memory(&format!("f{n}"), &says, n)).await;
                scene.said.insert(says);
            }
            scene.told.push(agent);
        });
        // What follows stays in the log; the copy is what a kill would leave.
        let store = SqliteStore::open(&live).unwrap();
        let sessions = scene.whole().with_file_name("sessions");
        block_on(async {
            for told in scene.told.iter_mut().filter(|told| told.id.agent().is_none()) {
                for n in 0..6 {
                    let (asked, answered) =
                        (format!("{} late {n}", told.id), format!("{} late answer {n}", told.id));
                    told.add_turn(&store, &asked, &answered, Scope::Ambient).await;
                    scene.said.extend([asked, answered]);
                }
                folder::rewrite_folder(&store, &sessions, &told.id).await.unwrap();
            }
            store.rebuild(&neap_store::contract::session("nobody")).await.unwrap();
        });
        for end in FILES {
            std::fs::copy(beside(&live, end), beside(&scene.whole(), end)).unwrap();
        }
        drop(store);
        scene
    }

    fn whole(&self) -> PathBuf {
        self.dir.path().join("whole").join("neap.db")
    }

    /// A copy of everything, in a place of its own.
    fn copy(&self) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in tree(self.whole().parent().unwrap()) {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let path = dir.path().join("neap.db");
        (dir, path)
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", path.display()))
}

/// What a store says of a session's events, by place.
fn read_all(store: &dyn Store, id: &StreamId) -> Result<BTreeMap<u64, StoredEvent>, StoreError> {
    let mut found = BTreeMap::new();
    let mut from = Seq(1);
    loop {
        let page = block_on(store.events(id, from, 50))?;
        let Some(last) = page.last() else { return Ok(found) };
        from = seq_of(last).next();
        found.extend(page.into_iter().map(|stored| (seq_of(&stored).0, stored)));
    }
}

fn seq_of(stored: &StoredEvent) -> Seq {
    match stored {
        StoredEvent::Whole(recorded) => recorded.seq,
        StoredEvent::Damaged { seq, .. } => *seq,
    }
}

/// The events of a session that a store does not give back; panics if it gives back another.
fn lost(store: &dyn Store, told: &TestStream, what: &str) -> Result<BTreeSet<u64>, StoreError> {
    let found = read_all(store, &told.id)?;
    let mut lost = BTreeSet::new();
    for recorded in &told.events {
        match found.get(&recorded.seq.0) {
            Some(StoredEvent::Whole(found)) => assert_eq!(found, recorded, "{what}: another event in {}", told.id),
            Some(StoredEvent::Damaged { .. }) | None => {
                lost.insert(recorded.seq.0);
            }
        }
    }
    let whole = |stored: &StoredEvent| matches!(stored, StoredEvent::Whole(_));
    let more = found.iter().find(|(seq, stored)| **seq > told.events.len() as u64 && whole(stored));
    assert!(more.is_none(), "{what}: {} has events that nobody wrote: {more:?}", told.id);
    Ok(lost)
}

/// Words that come back by other ways than the events: logs, search, memories. Panics if any was never said.
fn check_words(scene: &Scene, store: &SqliteStore, what: &str) {
    let said = |text: &str, where_: &str| {
        let is_mark = text.contains("damaged on disk");
        assert!(is_mark || scene.said.contains(text), "{what}: {where_} says {text:?}, which nobody said");
    };
    for told in scene.told.iter().filter(|told| told.id.agent().is_none()) {
        let scopes = [Scope::Ambient, Scope::Effort(effort(&format!("{} repair", told.id)))];
        for scope in scopes {
            let request = LogRequest::newest(scope, Tokens(u64::MAX));
            let Ok(log) = block_on(store.log(&told.id, &request)) else { continue };
            for message in log.exchanges().flat_map(|exchange| &exchange.messages) {
                let Message { content, incomplete, .. } = &message.message;
                assert!(!content.is_empty() || incomplete == &Some(Incomplete::Damaged), "{what}: {message:?}");
                if !content.is_empty() {
                    said(content, "a log");
                }
            }
        }
        if let Ok(Some(state)) = block_on(store.load(&told.id)) {
            for summary in state.efforts().filter_map(|effort| effort.summary.as_ref()) {
                said(&summary.text, "a summary");
            }
        }
    }
    for words in ["valve7", "late answer", "bracket loose", "heron"] {
        let query = Query::new(query_terms(words));
        let Ok(proposed) = block_on(store.find_candidates(&query)) else { continue };
        let ids: Vec<_> = proposed.items.iter().map(|card| card.id.clone()).collect();
        let Ok(texts) = block_on(store.texts(&ids)) else { continue };
        for text in texts.into_iter().flatten() {
            let is_whole = scene.said.contains(&*text);
            let is_summary = scene.said.iter().any(|said| text.ends_with(said.as_str()));
            assert!(is_whole || is_summary, "{what}: search says {text:?}, which nobody said");
        }
    }
    let agent = neap_store::contract::agent("newton");
    let request = RecallRequest::new(query_terms("apple"), vec![(MemoryKind::Fact, 99)]);
    let recalled = block_on(store.recall(&agent, &request)).map(|found| found.memories).unwrap_or_default();
    let asked =
        block_on(store.memories(&agent, &(1..40).map(|n| memory_id(&format!("f{n}"))).collect::<Vec<_>>()));
    for memory in recalled.iter().chain(asked.iter().flatten()) {
        assert!(scene.said.contains(&memory.search_text()), "{what}: a memory says {:?}", memory.search_text());
    }
}

/// Flips a bit and looks at everything: what is lost is at most a block of one stream, and somebody says so.
fn check(scene: &Scene, seed: u64) -> &'static str {
    let mut numbers = Numbers(seed);
    let (dir, path) = scene.copy();
    let views: Vec<String> = tree(dir.path()).into_keys().filter(|name| name.starts_with("sessions/")).collect();
    let file = match numbers.below(12) {
        0 => "neap.db-mark",
        1 => "neap.db-shm",
        2..=4 => "neap.db-wal",
        5 => views[numbers.below(views.len() as u64) as usize].as_str(),
        _ => "neap.db",
    };
    let mut bytes = std::fs::read(dir.path().join(file)).unwrap();
    if bytes.is_empty() {
        return "nothing is lost";
    }
    // Headers are short and rarely hit: a part of the flips goes there.
    let end = if numbers.below(8) == 0 { bytes.len().min(132) } else { bytes.len() };
    let bit = numbers.below(end as u64 * 8) as usize;
    bytes[bit / 8] ^= 1 << (bit % 8);
    std::fs::write(dir.path().join(file), bytes).unwrap();
    let what = format!("seed {seed}, bit {bit} of {file}");
    let folders = dir.path().join("sessions");
    let options = OpenOptions { folders: Some(folders.clone()), ..OpenOptions::default() };

    // Looking changes nothing, and says whether something is wrong.
    let before = tree(dir.path());
    let misfit = find_mismatch(&path, Some(&folders)).unwrap();
    let examined = SqliteStore::open_to_examine(&path);
    let found = examined.as_ref().map(|store| block_on(store.examine(None)));
    let is_damaged = match &found {
        Ok(Ok(findings)) => findings.iter().any(|finding| finding.severity != Severity::Note),
        Ok(Err(_)) | Err(_) => true,
    };
    let mut is_said = misfit.is_some() || is_damaged;
    if let Ok(store) = &examined
        && misfit.is_none()
    {
        check_words(scene, store, &what);
        for told in scene.told.iter().filter(|told| told.id.agent().is_none()) {
            let compared = block_on(folder::compare(store, &folders, &told.id));
            is_said |= compared.is_ok_and(|findings| findings.iter().any(|f| f.severity != Severity::Note));
        }
    }
    drop(examined);
    // A view is no truth: a bit of it costs nothing, but is told. Nothing reads the lock.
    let is_view = file.starts_with("sessions/");
    assert!(
        !is_view || is_said || file.ends_with(".view.json") || file.ends_with(".view.lock"),
        "{what}: nobody says so"
    );
    assert!(tree(dir.path()) == before, "{what}: an examination changed a file");

    // What cannot be seen by opening it is whole in a salvage.
    let mut is_readable = true;
    let mut sum: usize = 0;
    match SqliteStore::open_with(&path, &options) {
        Ok(store) => {
            check_words(scene, &store, &what);
            for told in &scene.told {
                match lost(&store, told, &what) {
                    Ok(lost) => sum += lost.len(),
                    Err(_) => is_readable = false,
                }
            }
            assert!(is_said || is_readable && sum == 0, "{what}: {sum} events are lost and nobody says so");
        }
        Err(refusal @ (StoreError::Lost { .. } | StoreError::Unreadable { .. } | StoreError::Newer { .. })) => {
            assert!(is_said, "{what}: it cannot be opened and nobody says so");
            let kept = |mut files: BTreeMap<String, Vec<u8>>| {
                // SQLite's index of the log, which it makes as soon as it looks.
                files.remove("neap.db-shm");
                files
            };
            assert!(kept(tree(dir.path())) == kept(before), "{what}: a refused opening changed a file: {refusal}");
            is_readable = false;
        }
        Err(other) => panic!("{what}: {other}"),
    }
    if is_readable && sum <= BLOCK_EVENTS_MAX {
        return if sum == 0 { "nothing is lost" } else { "a part is lost" };
    }
    let into = dir.path().join("salvaged").join("neap.db");
    let salvaged = salvage::salvage(&path, &into).unwrap_or_else(|error| panic!("{what}: {error}"));
    let store = SqliteStore::open(&into).unwrap();
    let mut sum = 0;
    for told in &scene.told {
        assert!(salvaged.streams.iter().any(|(id, _)| *id == told.id), "{what}: {} is lost", told.id);
        sum += lost(&store, told, &what).unwrap().len();
    }
    assert!(sum <= BLOCK_EVENTS_MAX, "{what}: {sum} events are lost in the salvage");
    check_words(scene, &store, &what);
    let complaints = block_on(store.examine(None)).unwrap();
    let said = complaints.iter().filter(|finding| finding.severity == Severity::Damaged).count();
    assert!(
        sum == 0 || said > 0 || !salvaged.findings.is_empty(),
        "{what}: {sum} lost without a word: {complaints:?}"
    );
    assert!(complaints.iter().all(|f| f.severity != Severity::Repairable), "{what}: {complaints:?}");
    if sum == 0 { "salvaged whole" } else { "salvaged but for a part" }
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn a_flipped_bit_costs_at_most_a_block_and_never_a_session() {
    let scene = Scene::new();
    let (first, flips) = (variable("NEAP_SEED", 1), variable("NEAP_FLIPS", FLIPS));
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    // The generator reaches every way that it can end; how soon depends on when the store packed its events.
    for seed in first.. {
        let is_enough = flips < FLIPS || outcomes.len() >= WAYS;
        if seed >= first + flips && (is_enough || seed >= first + 10 * flips) {
            break;
        }
        *outcomes.entry(check(&scene, seed)).or_default() += 1;
    }
    assert!(flips < FLIPS || outcomes.len() >= WAYS, "{outcomes:?}");
}

/// Files that were cut off, or have a stretch of other bytes: an examination and a rebuild report what they find, or fail with
/// an error of their own.
#[test]
fn damage_of_any_size_is_reported() {
    let scene = Scene::new();
    for seed in 0..40 {
        let mut numbers = Numbers(seed);
        let (_dir, path) = scene.copy();
        let mut bytes = std::fs::read(&path).unwrap();
        let at = numbers.below(bytes.len() as u64) as usize;
        match numbers.below(3) {
            0 => bytes.truncate(at),
            1 => bytes[at..].iter_mut().take(4_096).for_each(|byte| *byte = numbers.next() as u8),
            _ => bytes[at..].iter_mut().take(200).for_each(|byte| *byte = 0),
        }
        std::fs::write(&path, bytes).unwrap();
        let panicked = |error: &StoreError| error.to_string().contains("panicked");
        let Ok(store) = SqliteStore::open_to_examine(&path) else { continue };
        let found = block_on(store.examine(None));
        assert!(!found.as_ref().is_err_and(panicked), "seed {seed}: {found:?}");
        for told in &scene.told {
            let loaded = block_on(store.load(&told.id));
            assert!(!loaded.as_ref().is_err_and(panicked), "seed {seed}: {loaded:?}");
        }
    }
}

/// What was salvaged can be gone on with.
#[test]
fn a_salvaged_store_goes_on() {
    let scene = Scene::new();
    let (dir, path) = scene.copy();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[3] ^= 0x40;
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(SqliteStore::open(&path), Err(StoreError::Unreadable { .. })));
    let into = dir.path().join("new").join("neap.db");
    let salvaged = salvage::salvage(&path, &into).unwrap();
    let events: Vec<(StreamId, u64)> =
        scene.told.iter().map(|told| (told.id.clone(), told.events.len() as u64)).collect();
    assert_eq!(salvaged.streams.iter().cloned().collect::<BTreeMap<_, _>>(), events.into_iter().collect());
    assert_eq!(salvaged.findings, []);
    let again = salvage::salvage(&path, &into);
    assert!(matches!(again, Err(StoreError::Unreadable { .. })), "nothing is written over");
    let store = SqliteStore::open(&into).unwrap();
    let mut told = scene.told[0].clone();
    assert_eq!(block_on(store.load(&told.id)).unwrap().as_ref(), Some(&told.state));
    block_on(told.add_turn(&store, "on we go", "we do", Scope::Ambient));
    let whole = |told: &TestStream| told.events.iter().cloned().map(StoredEvent::Whole).collect::<Vec<_>>();
    assert_eq!(block_on(store.events(&told.id, Seq(1), 10_000)).unwrap(), whole(&told));
    assert_eq!(block_on(neap_store::contract::faults(&store)), []);
    let _: Option<&RecordedEvent> = told.events.last();
    block_on(store.scrub(&told.id, Stamp(1))).unwrap();
}
