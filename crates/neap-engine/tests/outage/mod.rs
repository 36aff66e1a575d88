//! Clients' requests while the store fails: bounded all the same, said so, and recorded when the store works again, each word once.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

pub(crate) mod faulty;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use neap_core::client::ProviderReply;
use neap_engine::{Engine, EngineError, IncomingRequest, RecordingOutcome, RequestPlan};
use neap_sqlite::OpenOptions;
use neap_sqlite::SqliteStore;
use neap_store::{MemStore, Store};
use serde_json::Value;

use self::faulty::{FAULTS, Fault, FaultyStore};
use crate::ingest::{BUDGET, Client, check_pairs, recounted, run, said_in};

const PATHS: [&str; 3] = ["/v1/messages", "/v1/chat/completions", "/v1/responses"];
/// Long enough for any machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);

/// Random enough, and the same in every run.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What a client does next.
#[derive(Debug, Clone)]
enum Move {
    /// Says something, and is answered.
    Says(String, String),
    /// Says something, and the model calls tools before it answers.
    Works(String, Vec<String>, String),
}

/// A conversation of any shape, no two texts alike; far over the budget in the end.
fn conversation(random: &mut Random) -> Vec<Move> {
    let words = "harbour invoice parser lantern quarry meadow ";
    (0..6 + random.below(14))
        .map(|nth| {
            let long = match random.below(8) {
                0 => 4_000,
                1..=3 => 900,
                _ => 120,
            };
            let bytes = (random.below(long) + 10) as usize;
            let asked = format!("question {nth} about {}", &words.repeat(bytes / 40 + 1)[..bytes]);
            let answer = format!("answer {nth}: {}", &words.repeat(20)[..20 + random.below(300) as usize]);
            match random.below(3) {
                0 => {
                    let output =
                        |step| format!("output {nth}.{step}: {}", words.repeat(1 + random.below(30) as usize));
                    Move::Works(asked, (0..1 + nth % 3).map(output).collect(), answer)
                }
                _ => Move::Says(asked, answer),
            }
        })
        .collect()
}

fn client(path: &'static str, is_named: bool) -> Client {
    let mut client = Client::new(path);
    if !is_named {
        client.headers.retain(|(name, _)| name != "x-neap-session");
    }
    client
}

/// Sends a request and checks what would reach a provider.
async fn sent(engine: &Engine, client: &Client) -> RequestPlan {
    let body = client.body();
    let plan = engine.ingest(&client.incoming(&body)).await;
    let sent: Value = serde_json::from_str(plan.body.as_deref().unwrap_or(&body)).unwrap();
    assert!(recounted(&sent) <= BUDGET, "I1: {} of {BUDGET} with {:?}", recounted(&sent), plan.recorded);
    assert!(
        plan.overflow.is_none() && plan.tokens_sent >= recounted(&sent),
        "{} {}",
        plan.tokens_sent,
        recounted(&sent)
    );
    check_pairs(client.items(&sent));
    plan
}

/// Has a conversation; `weather` is called before each request and before each reply.
async fn talk(
    engine: &Engine,
    client: &mut Client,
    moves: &[Move],
    mut weather: impl FnMut(),
) -> Vec<RecordingOutcome> {
    let mut recorded = Vec::new();
    for next in moves {
        let (asked, outputs, answer) = match next {
            Move::Says(asked, answer) => (asked, [].as_slice(), answer),
            Move::Works(asked, outputs, answer) => (asked, outputs.as_slice(), answer),
        };
        client.says(asked);
        for output in outputs {
            weather();
            let plan = sent(engine, client).await;
            let reply = client.works(output);
            weather();
            recorded.push(plan.recorded.clone());
            told(engine.complete_request(&plan, &reply).await);
        }
        weather();
        let plan = sent(engine, client).await;
        let reply = client.hears(answer);
        weather();
        recorded.push(plan.recorded.clone());
        told(engine.complete_request(&plan, &reply).await);
    }
    recorded
}

/// An answer is recorded, or waits because the store fails: nothing else goes wrong.
fn told(answered: Result<(), EngineError>) {
    assert!(matches!(answered, Ok(()) | Err(EngineError::Store(_) | EngineError::NotRecorded(_))), "{answered:?}");
}

/// What all sessions have, in order.
async fn all_said(store: &dyn Store) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for info in store.sessions().await.unwrap() {
        all.push(said_in(store, &info.session).await);
    }
    all
}

/// Texts by their beginnings, which are all different.
fn labels(all: &[Vec<String>]) -> Vec<Vec<String>> {
    let label = |text: &String| text.split_inclusive(' ').take(2).collect::<String>();
    all.iter().map(|session| session.iter().map(label).collect()).collect()
}

/// The same conversation on a store that never fails.
async fn undisturbed(path: &'static str, is_named: bool, moves: &[Move]) -> Vec<Vec<String>> {
    let store = Arc::new(MemStore::new());
    let engine = Engine::builder(store.clone()).build();
    let recorded = talk(&engine, &mut client(path, is_named), moves, || {}).await;
    assert!(recorded.iter().all(|recorded| *recorded == RecordingOutcome::Durable), "{recorded:?}");
    all_said(store.as_ref()).await
}

/// One conversation through a store that breaks and is mended again, at random. Gives how many requests were not recorded in time.
fn disturbed(seed: u64) -> usize {
    run(async {
        let mut random = Random::new(seed);
        let path = PATHS[random.below(3) as usize];
        let is_named = random.below(2) == 0;
        let moves = conversation(&mut random);
        let inner: Arc<dyn Store> = Arc::new(MemStore::new());
        let store = Arc::new(FaultyStore::new(inner.clone()));
        let engine = Engine::builder(store.clone()).build();
        let mut client = client(path, is_named);
        let weather = || match random.below(6) {
            0 => {
                let fault = FAULTS[random.below(FAULTS.len() as u64) as usize];
                store.breaks(fault, random.below(2) == 0, random.below(6) as i64);
            }
            1 => store.is_mended(),
            _ => {}
        };
        let recorded = talk(&engine, &mut client, &moves, weather).await;
        let late: Vec<&RecordingOutcome> =
            recorded.iter().filter(|recorded| **recorded != RecordingOutcome::Durable).collect();
        for recorded in &late {
            let RecordingOutcome::Deferred(reason) = recorded else { panic!("{recorded:?}") };
            assert!(!reason.is_empty() && !reason.contains('/') && reason.is_ascii(), "{reason}");
        }
        store.is_mended();
        assert_eq!(engine.wait_until_recorded(PATIENCE).await, 0, "seed {seed}");
        let wanted = undisturbed(path, is_named, &moves).await;
        let stored = all_said(inner.as_ref()).await;
        assert_eq!(labels(&stored), labels(&wanted), "seed {seed}: {path}, named: {is_named}");
        assert!(stored == wanted, "seed {seed}");
        assert_eq!(engine.recording_status().dropped, 0);
        // From here on it is as if nothing had been.
        client.says("one more question");
        let plan = sent(&engine, &client).await;
        assert_eq!((plan.recorded, plan.fault), (RecordingOutcome::Durable, None), "seed {seed}");
        for info in inner.sessions().await.unwrap() {
            let state = inner.load(&info.session).await.unwrap().unwrap();
            assert_eq!(state.violations(), Vec::<String>::new(), "seed {seed}");
        }
        late.len()
    })
}

/// Issue: whatever the store does, and whenever, no request is over its budget, and in the end nothing is missing and nothing doubled.
#[test]
fn whatever_the_store_does_requests_are_bounded_and_recorded_in_the_end() {
    let late: usize = (1..=60).map(disturbed).sum();
    assert!(late > 100, "only {late} requests met a store that failed");
}

/// A store that fails from the first request on, to the last: nothing is ever known of the history, and it is bounded all the same,
/// with a stable prefix.
#[test]
fn without_any_store_a_conversation_is_bounded_and_its_prefix_stable() {
    for (path, fault) in PATHS.iter().flat_map(|path| FAULTS.map(|fault| (*path, fault))) {
        run(async {
            let store = Arc::new(FaultyStore::new(Arc::new(MemStore::new())));
            store.breaks(fault, true, 0);
            let engine = Engine::builder(store.clone()).build();
            let mut client = client(path, true);
            let (mut last, mut epoch, mut cuts, mut grown): (Vec<Value>, u64, usize, usize) =
                (Vec::new(), 0, 0, 0);
            for turn in 0..60 {
                client.says(&format!("question {turn} {}", "about the harbour and its lights ".repeat(12)));
                let body = client.body();
                let plan = sent(&engine, &client).await;
                assert!(matches!(plan.recorded, RecordingOutcome::Deferred(_)), "{fault:?}");
                let sent: Value = serde_json::from_str(plan.body.as_deref().unwrap_or(&body)).unwrap();
                let items = client.items(&sent).to_vec();
                if plan.epoch == epoch {
                    assert_eq!(items[..last.len()], last, "{path} turn {turn}: what was sent stays as it was");
                    grown += usize::from(epoch > 0);
                } else {
                    cuts += 1;
                    assert!(sent.to_string().contains("could not be recorded"), "{sent}");
                }
                (last, epoch) = (items, plan.epoch);
                let reply = client.hears(&format!("answer {turn}"));
                told(engine.complete_request(&plan, &reply).await);
            }
            assert!((1..15).contains(&cuts) && grown > 20, "{path} {fault:?}: {cuts} cuts, {grown} grown");
            let status = engine.recording_status();
            assert!(status.failing.is_some() && status.waiting == 60, "{status:?}");
        });
    }
}

/// A store that says nothing at all is waited for as long as a request may take, and by the first request alone.
#[test]
fn a_store_that_does_not_answer_is_not_waited_for() {
    run(async {
        let inner: Arc<dyn Store> = Arc::new(MemStore::new());
        let store = Arc::new(FaultyStore::new(inner.clone()));
        let engine = Engine::builder(store.clone()).build();
        let mut client = client("/v1/messages", true);
        store.breaks(Fault::Hangs, false, 0);
        let mut wanted = Vec::new();
        for nth in 0..5 {
            let (asked, answer) = (format!("question {nth}"), format!("answer {nth}"));
            client.says(&asked);
            let body = client.body();
            // Only the first has to be told when to stop waiting: the others would wait for ever.
            let limit = (nth == 0).then_some(Duration::from_millis(50));
            let plan = engine.ingest(&IncomingRequest { timeout: limit, ..client.incoming(&body) }).await;
            assert_eq!(plan.recorded, RecordingOutcome::Deferred("the store did not answer in time".to_owned()));
            let reply = client.hears(&answer);
            told(engine.complete_request(&plan, &reply).await);
            wanted.extend([asked, answer]);
        }
        assert_eq!(all_said(inner.as_ref()).await, Vec::<Vec<String>>::new());
        store.is_mended();
        assert_eq!(engine.wait_until_recorded(PATIENCE).await, 0);
        assert_eq!(all_said(inner.as_ref()).await, [wanted]);
    });
}

/// Two callers with one session's name, or with one beginning of a history: in an outage and after it each has its own alone (I11).
#[test]
fn in_an_outage_callers_are_kept_apart() {
    for (path, is_named) in PATHS.iter().flat_map(|path| [(*path, true), (*path, false)]) {
        run(async {
            let inner: Arc<dyn Store> = Arc::new(MemStore::new());
            let store = Arc::new(FaultyStore::new(inner.clone()));
            let engine = Engine::builder(store.clone()).build();
            let mut callers = ["sk-one", "sk-other"].map(|key| {
                let mut client = client(path, is_named);
                client.headers.retain(|(name, _)| name != "x-api-key");
                client.headers.push(("x-api-key".to_owned(), format!("{key}-4f9aT7bQ2mX8")));
                client
            });
            let mut wanted = [Vec::new(), Vec::new()];
            store.breaks(Fault::Full, true, 0);
            for turn in 0..40 {
                for (whose, client) in callers.iter_mut().enumerate() {
                    let asked = match turn {
                        0 => "hello".to_owned(),
                        _ => format!("question {turn} of {whose} {}", "about the harbour ".repeat(20)),
                    };
                    client.says(&asked);
                    let body = client.body();
                    let plan = sent(&engine, client).await;
                    assert!(matches!(plan.recorded, RecordingOutcome::Deferred(_)), "{:?}", plan.recorded);
                    let goes_on = plan.body.as_deref().unwrap_or(&body);
                    assert!(!goes_on.contains(&format!("of {}", 1 - whose)), "{goes_on}");
                    let answer = format!("answer {turn} of {whose}");
                    let reply = client.hears(&answer);
                    told(engine.complete_request(&plan, &reply).await);
                    wanted[whose].extend([asked, answer]);
                }
            }
            store.is_mended();
            assert_eq!(engine.wait_until_recorded(PATIENCE).await, 0);
            let mut said = all_said(inner.as_ref()).await;
            said.sort();
            assert_eq!(said, wanted, "{path} {is_named}");
            let owners: BTreeSet<_> =
                inner.sessions().await.unwrap().into_iter().map(|info| info.tenant).collect();
            assert!(owners.len() == 2 && !owners.contains(&None), "{owners:?}");
        });
    }
}

/// A lock that another process holds is waited for off the path of requests, and what waited is durable when it is released.
#[test]
fn a_lock_is_waited_for_off_the_path_of_requests() {
    for path in PATHS {
        for lock in ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"] {
            run(async {
                let folder = tempfile::tempdir().unwrap();
                let place = folder.path().join("neap.db");
                let lock_wait = Some(Duration::from_millis(20));
                let options = OpenOptions { lock_wait, ..OpenOptions::default() };
                let store = Arc::new(SqliteStore::open_with(&place, &options).unwrap());
                let engine = Engine::builder(store.clone()).build();
                let mut client = client(path, true);
                let mut wanted = Vec::new();
                let mut say = async |client: &mut Client, nth: usize| {
                    let (asked, answer) = (format!("question {nth}"), format!("answer {nth}"));
                    client.says(&asked);
                    let plan = sent(&engine, client).await;
                    let reply: ProviderReply = client.hears(&answer);
                    told(engine.complete_request(&plan, &reply).await);
                    wanted.extend([asked, answer]);
                    plan.recorded
                };
                assert_eq!(say(&mut client, 0).await, RecordingOutcome::Durable);
                let other = rusqlite::Connection::open(&place).unwrap();
                other.busy_timeout(PATIENCE).unwrap();
                other.execute_batch(lock).unwrap();
                for nth in 1..4 {
                    let recorded = say(&mut client, nth).await;
                    assert_eq!(
                        recorded,
                        RecordingOutcome::Deferred("the store is locked by another process".to_owned())
                    );
                }
                other.execute_batch("ROLLBACK").unwrap();
                assert_eq!(engine.wait_until_recorded(PATIENCE).await, 0);
                assert_eq!(all_said(store.as_ref()).await, [wanted], "{path} {lock}");
            });
        }
    }
}
