//! What packing saves and costs: `cargo bench -p neap-sqlite --bench cold` prints figures and judges nothing.
//!
//! Drives a store with ten thousand messages of varied words; or with the events of an export, if its path is in
//! `NEAP_EVENTS`.
#![allow(clippy::unwrap_used, reason = "in a bench a panic is a result")]
#![allow(clippy::print_stdout, reason = "figures are what this is for")]
#![allow(clippy::disallowed_methods, reason = "a bench reads its own input")]

use std::path::Path;
use std::time::{Duration, Instant};

use neap_core::base::ids::{Seq, TurnNo};
use neap_core::base::message::Scope;
use neap_core::session::event::{Event, RecordedEvent};
use neap_core::session::project::{TurnsInFlight, project};
use neap_core::session::state::SessionState;
use neap_sqlite::SqliteStore;
use neap_store::contract::{session, turn_completed, turn_started};
use neap_store::{Commit, EventStore, Maintenance};

const TURNS: u64 = 5_000;
const SYLLABLES: [&str; 16] =
    ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "ve"];

fn main() {
    let events = std::env::var_os("NEAP_EVENTS").map_or_else(made, |path| exported(Path::new(&path)));
    let plain: usize = events.iter().map(|event| serde_json::to_vec(event).unwrap().len()).sum();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("neap.db");
    let store = SqliteStore::open(&path).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let id = session("cold");
        let mut state = SessionState::default();
        let mut each = Vec::new();
        for event in &events {
            let in_flight = TurnsInFlight::of(&state);
            let expected = state.seq();
            let recorded = vec![state.record(neap_core::base::ids::Stamp(1_771_178_400_000), event.clone())];
            let projection = project(&in_flight, &state, &recorded);
            let commit = Commit { stream: id.clone(), expected, events: recorded, projection };
            let began = Instant::now();
            store.commit(commit).await.unwrap();
            each.push(began.elapsed());
        }
        println!("{} events, {plain} bytes of plain bodies", events.len());
        for (name, part) in
            [("first 500", &mut each.clone()[..500]), ("last 500", each.split_at_mut(events.len() - 500).1)]
        {
            println!("a commit, {name}: {}", spread(part));
        }
        println!("{:?}", store.footprint(None).await.unwrap());
        for (name, from) in [("the oldest, packed", 1), ("the newest, plain", events.len() as u64 - 400)] {
            let began = Instant::now();
            store.events(&id, Seq(from), 400).await.unwrap();
            println!("400 events, {name}: {:?}", began.elapsed());
        }
    });
    drop(store);
    pages(&path);
}

fn spread(times: &mut [Duration]) -> String {
    times.sort();
    let at = |share: usize| times[times.len() * share / 1_000];
    format!("p50 {:?}, p99 {:?}, max {:?}", at(500), at(990), times[times.len() - 1])
}

/// How many bytes of pages each table has, and how many are in use.
fn pages(path: &Path) {
    let db = rusqlite::Connection::open(path).unwrap();
    let mut statement =
        db.prepare("SELECT name, sum(pgsize), sum(payload) FROM dbstat GROUP BY name ORDER BY 2 DESC").unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let (name, pages, payload): (String, i64, i64) =
            (row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap());
        println!("{name}: {pages} bytes of pages, {payload} used");
    }
}

/// The events of an export.
fn exported(path: &Path) -> Vec<Event> {
    let lines = std::fs::read_to_string(path).unwrap();
    lines.lines().map(|line| serde_json::from_str::<RecordedEvent>(line).unwrap().event).collect()
}

/// Turns of made-up words, the common ones more often than the rare.
fn made() -> Vec<Event> {
    let mut chance = 1_u64;
    let mut draw = move |below: u64| {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        chance % below
    };
    let mut text = move |words: u64| {
        let mut text = String::new();
        for _ in 0..draw(words) + 1 {
            let mut rank = draw(4_000) * (draw(1_000) + 1) / 1_000;
            loop {
                text.push_str(SYLLABLES[(rank % 16) as usize]);
                rank /= 16;
                if rank == 0 {
                    break;
                }
            }
            text.push(' ');
        }
        text
    };
    let created = neap_store::contract::TestStream::new("cold").created_event();
    let turns = (1..=TURNS).flat_map(|n| {
        let turn = TurnNo(n);
        [turn_started(turn, &text(80), None), turn_completed(turn, &text(500), Scope::Ambient)]
    });
    std::iter::once(created).chain(turns).collect()
}
