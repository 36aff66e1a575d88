//! What waits is kept in order and within limits, and given up only if it is at fault itself.

use std::path::PathBuf;

use neap_core::base::ids::{SessionId, TurnNo};
use neap_core::base::tokens::Tokens;
use neap_core::client::{
    Chain, ClientRequest, Endpoint, ProviderReply, RequestAccount, RequestClass, Signals, Tenant, WireApi,
};
use neap_model::caller::{Caller, Tenancy};
use neap_store::StoreError;

use super::*;
use crate::ingest::plan::ReplyTicket;

fn key(name: &str) -> Digest {
    Digest::of("test", &[name.as_bytes()])
}

fn caller(name: &str) -> Caller {
    Caller { tenant: Tenant::from_key(Some(name)), legacy_tenant: None, tenancy: Tenancy::Multi }
}

fn entry(name: &str, bytes: usize) -> Arc<BacklogEntry> {
    entry_of("one", name, bytes)
}

fn entry_of(who: &str, name: &str, bytes: usize) -> Arc<BacklogEntry> {
    let client_request = ClientRequest {
        api: WireApi::Chat,
        endpoint: Endpoint::Generate,
        signals: Signals::default(),
        system: String::new(),
        tool_count: 0,
        fixed_tokens: Tokens::ZERO,
        output_tokens_max: None,
        is_prewarm: false,
        items: Vec::new(),
        compaction_at: None,
        trimmed: Default::default(),
    };
    let caller = caller(who);
    let chain = Chain::from_request(&caller.tenant, &client_request);
    let request = DeferredRequest { request: client_request, chain, caller, compacted_session: None };
    Arc::new(BacklogEntry::of_request(key(name), bytes, request))
}

fn names(backlog: &Backlog) -> Vec<Digest> {
    backlog.state().entries.iter().map(|entry| entry.key).collect()
}

fn full() -> EngineError {
    StoreError::Full { path: PathBuf::new() }.into()
}

/// An entry that a later request of the same conversation repeats goes first, then the oldest.
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

/// The caller with most bytes makes room for others, not the other way round.
#[test]
fn nobody_takes_the_room_of_others() {
    let (backlog, third) = (Backlog::default(), BYTES_MAX / 3);
    for (who, name) in [("other", "x"), ("one", "a"), ("one", "b"), ("one", "c")] {
        backlog.push(entry_of(who, name, third));
    }
    assert_eq!(names(&backlog), ["x", "b", "c"].map(key));
}

/// One caller's entries keep no other waiting (I11).
#[test]
fn nobody_waits_behind_others() {
    let (backlog, now) = (Backlog::default(), Instant::now());
    backlog.push(entry_of("one", "a", 1));
    assert!(backlog.wait_reason(key("c"), Some(caller("one").tenant), now).is_some());
    assert_eq!(backlog.wait_reason(key("c"), Some(caller("other").tenant), now), None);
}

/// A conversation waits behind its own entries; others only while the store fails, but for one that tries.
#[test]
fn a_conversation_keeps_its_order_and_an_outage_is_tried_now_and_then() {
    let (backlog, now) = (Backlog::default(), Instant::now());
    assert_eq!(backlog.wait_reason(key("a"), None, now), None);
    let waits = entry("a", 1);
    assert!(backlog.push(waits.clone()), "somebody has to work on it");
    assert!(!backlog.push(entry("b", 1)), "somebody does");
    assert_eq!(backlog.wait_reason(key("a"), None, now).as_deref(), Some("the store is catching up"));
    assert_eq!(backlog.wait_reason(key("c"), None, now), None);
    assert!(
        backlog.wait_reason(key("c"), Some(caller("one").tenant), now).is_some(),
        "it may go on from what waits"
    );
    backlog.note_failure("read-only", now);
    assert_eq!(backlog.wait_reason(key("c"), None, now).as_deref(), Some("read-only"));
    let later = now + PAUSE_MIN;
    assert_eq!(backlog.wait_reason(key("c"), None, later), None, "one tries");
    assert_eq!(backlog.wait_reason(key("d"), None, later).as_deref(), Some("read-only"), "the next does not");
    backlog.remove_recorded(&waits);
    assert_eq!((backlog.status().failing, backlog.wait_reason(key("a"), None, later)), (None, None));
}

/// A full store is never an entry's fault; an entry that alone cannot be recorded is given up.
#[test]
fn only_an_entry_that_fails_where_others_do_not_is_given_up() {
    let (backlog, now) = (Backlog::default(), Instant::now());
    let one = entry("a", 1);
    backlog.note_success();
    backlog.push(one.clone());
    for _ in 0..100 {
        backlog.note_entry_failure(&one, &full(), now);
        backlog.note_success();
    }
    assert_eq!(backlog.status().waiting, 1, "no space left is never an entry's fault");
    let damaged = || StoreError::Failed("malformed".to_owned()).into();
    for _ in 0..100 {
        backlog.note_entry_failure(&one, &damaged(), now);
    }
    // The first of these saw the successes above; from then on nobody succeeds.
    assert_eq!(backlog.status().waiting, 1);
    for _ in 0..STRIKES_MAX {
        backlog.note_success();
        backlog.note_entry_failure(&one, &damaged(), now);
    }
    assert_eq!((backlog.status().waiting, backlog.status().dropped), (0, 1));
    assert!(matches!(one.add_reply(&ProviderReply::default(), passed()), LateReply::RequestDropped));
}

/// A reply waits with its request, and is recorded on its own once that is.
#[test]
fn a_reply_waits_for_its_request() {
    let one = entry("a", 1);
    assert!(matches!(one.next_step(), Some(RecordStep::Request(_))));
    assert!(matches!(one.add_reply(&ProviderReply::default(), passed()), LateReply::Queued));
    let session = SessionId::from_name("s").expect("a name");
    let chain = match one.next_step() {
        Some(RecordStep::Request(request)) => request.chain.clone(),
        _ => panic!("the request comes first"),
    };
    let ticket =
        ReplyTicket { session, api: WireApi::Chat, caller: caller("one"), chain, conversation_key: key("a") };
    one.mark_request_recorded(ticket, TurnNo(3));
    assert!(matches!(one.next_step(), Some(RecordStep::Reply(reply)) if reply.1 == TurnNo(3)));
    one.mark_reply_recorded();
    assert!(one.next_step().is_none());
    assert!(matches!(
        one.add_reply(&ProviderReply::default(), passed()),
        LateReply::RequestRecorded(_, TurnNo(3))
    ));
}

fn passed() -> RequestAccount {
    RequestAccount {
        class: RequestClass::MainTurn,
        verdict: None,
        tokens_in: Tokens::ZERO,
        tokens_sent: Tokens::ZERO,
        changes: 0,
        epoch: 0,
        used: None,
        cost: None,
        is_whole: true,
        model: None,
        counted_by: None,
    }
}
