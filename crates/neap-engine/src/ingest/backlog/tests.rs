//! What waits for the store: in order, within bounds, and given up only where it is at fault itself.

use std::path::PathBuf;

use neap_core::ids::{SessionId, TurnNo};
use neap_core::ingest::{
    Api, BodySignals, Caller, Callers, Chain, Class, Endpoint, Heard, Passed, Reply, Signals, Tenant,
};
use neap_core::tokens::Tokens;
use neap_store::StoreError;

use super::*;
use crate::ingest::plan::Ticket;

fn key(name: &str) -> Digest {
    Digest::of("test", &[name.as_bytes()])
}

fn caller(name: &str) -> Caller {
    Caller { tenant: Tenant::of_key(Some(name)), earlier: None, callers: Callers::Many }
}

fn entry(name: &str, bytes: usize) -> Arc<Entry> {
    entry_of("one", name, bytes)
}

fn entry_of(who: &str, name: &str, bytes: usize) -> Arc<Entry> {
    let heard = Heard {
        api: Api::Chat,
        endpoint: Endpoint::Answer,
        signals: Signals::read("/", &[], BodySignals::default()),
        system: String::new(),
        tools: 0,
        fixed: Tokens::ZERO,
        marks: 0,
        reply_max: None,
        is_rehearsal: false,
        items: Vec::new(),
        opened: None,
    };
    let caller = caller(who);
    let chain = Chain::of(&caller.tenant, &heard);
    let request = LateRequest { heard, chain, caller, opened: None };
    Arc::new(Entry::of_request(key(name), bytes, request))
}

fn names(backlog: &Backlog) -> Vec<Digest> {
    backlog.state().entries.iter().map(|entry| entry.key).collect()
}

fn full() -> EngineError {
    StoreError::Full { path: PathBuf::new() }.into()
}

/// What a later request of the same conversation brings along goes first, then the oldest.
#[test]
fn what_there_is_no_room_for_is_dropped_in_order_and_counted() {
    let backlog = Backlog::default();
    let third = BYTES_MAX / 3;
    for name in ["a", "b", "b"] {
        backlog.push(entry(name, third));
    }
    backlog.push(entry("c", third));
    assert_eq!(names(&backlog), ["a", "b", "c"].map(key));
    backlog.push(entry("d", third));
    assert_eq!(names(&backlog), ["b", "c", "d"].map(key));
    assert_eq!(backlog.status(), RecordingStatus { failing: None, waiting: 3, dropped: 2 });
    for nth in 0..2 * ENTRIES_MAX {
        backlog.push(entry(&nth.to_string(), 1));
    }
    assert_eq!((backlog.status().waiting, backlog.state().conversations.len()), (ENTRIES_MAX, ENTRIES_MAX));
}

/// Whoever has most waiting makes room for others, not the other way round.
#[test]
fn nobody_takes_the_room_of_others() {
    let (backlog, third) = (Backlog::default(), BYTES_MAX / 3);
    for (who, name) in [("other", "x"), ("one", "a"), ("one", "b"), ("one", "c")] {
        backlog.push(entry_of(who, name, third));
    }
    assert_eq!(names(&backlog), ["x", "b", "c"].map(key));
}

/// What waits of one caller keeps no other waiting (I11).
#[test]
fn nobody_waits_behind_others() {
    let (backlog, now) = (Backlog::default(), Instant::now());
    backlog.push(entry_of("one", "a", 1));
    assert!(backlog.refuses(key("c"), Some(caller("one").tenant), now).is_some());
    assert_eq!(backlog.refuses(key("c"), Some(caller("other").tenant), now), None);
}

/// A conversation waits behind what waits of it; others only while the store fails, but for one that tries now and then.
#[test]
fn a_conversation_keeps_its_order_and_an_outage_is_tried_now_and_then() {
    let (backlog, now) = (Backlog::default(), Instant::now());
    assert_eq!(backlog.refuses(key("a"), None, now), None);
    let waits = entry("a", 1);
    assert!(backlog.push(waits.clone()), "somebody has to work on it");
    assert!(!backlog.push(entry("b", 1)), "somebody does");
    assert_eq!(backlog.refuses(key("a"), None, now).as_deref(), Some("the store is catching up"));
    assert_eq!(backlog.refuses(key("c"), None, now), None);
    assert!(backlog.refuses(key("c"), Some(caller("one").tenant), now).is_some(), "it may go on from what waits");
    backlog.failed("read-only", now);
    assert_eq!(backlog.refuses(key("c"), None, now).as_deref(), Some("read-only"));
    let later = now + PAUSE_MIN;
    assert_eq!(backlog.refuses(key("c"), None, later), None, "one tries");
    assert_eq!(backlog.refuses(key("d"), None, later).as_deref(), Some("read-only"), "the next does not");
    backlog.done(&waits);
    assert_eq!((backlog.status().failing, backlog.refuses(key("a"), None, later)), (None, None));
}

/// A store that is full for hours costs nothing; an entry that alone cannot be recorded is given up.
#[test]
fn only_an_entry_that_fails_where_others_do_not_is_given_up() {
    let (backlog, now) = (Backlog::default(), Instant::now());
    let one = entry("a", 1);
    backlog.succeeded();
    backlog.push(one.clone());
    for _ in 0..100 {
        backlog.not_done(&one, &full(), now);
        backlog.succeeded();
    }
    assert_eq!(backlog.status().waiting, 1, "no space left is never an entry's fault");
    let damaged = || StoreError::Failed("malformed".to_owned()).into();
    for _ in 0..100 {
        backlog.not_done(&one, &damaged(), now);
    }
    // The successes above were seen at the first of these; from then on nobody succeeds.
    assert_eq!(backlog.status().waiting, 1);
    for _ in 0..STRIKES_MAX {
        backlog.succeeded();
        backlog.not_done(&one, &damaged(), now);
    }
    assert_eq!((backlog.status().waiting, backlog.status().dropped), (0, 1));
    assert!(matches!(one.add_reply(&Reply::default(), passed()), Later::Dropped));
}

/// A reply waits with its request, and goes on by itself where that is recorded.
#[test]
fn a_reply_waits_for_its_request() {
    let one = entry("a", 1);
    assert!(matches!(one.next(), Some(Step::Request(_))));
    assert!(matches!(one.add_reply(&Reply::default(), passed()), Later::Waits));
    let session = SessionId::from_name("s").expect("a name");
    let chain = match one.next() {
        Some(Step::Request(request)) => request.chain.clone(),
        _ => panic!("the request comes first"),
    };
    let ticket = Ticket { session, api: Api::Chat, caller: caller("one"), chain, key: key("a") };
    one.request_done(ticket, TurnNo(3));
    assert!(matches!(one.next(), Some(Step::Reply(reply)) if reply.1 == TurnNo(3)));
    one.reply_done();
    assert!(one.next().is_none());
    assert!(matches!(one.add_reply(&Reply::default(), passed()), Later::Here(_, TurnNo(3))));
}

fn passed() -> Passed {
    Passed {
        class: Class::MainTurn,
        verdict: None,
        tokens_in: Tokens::ZERO,
        tokens_sent: Tokens::ZERO,
        changes: 0,
        epoch: 0,
        used: None,
        is_whole: true,
    }
}
