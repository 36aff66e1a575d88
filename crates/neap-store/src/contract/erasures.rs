//! Erasure of one memory.

use neap_core::base::ids::{Seq, Stamp};
use neap_core::memory::{Change, Memory, MemoryEvent, MemoryKind, MemoryWrite, Status};
use neap_core::session::event::{Event, RecordedEvent};

use super::faults;
use super::fixture::{TestStream, agent, memory, memory_id, memory_moved};
use super::memories::{found, learned, read};
use crate::{Store, StoreError, StoredEvent};

/// Only tombstones are left of an erased memory; the rest is as it would be without it.
pub async fn an_erased_memory_is_gone(store: &dyn Store) {
    let mut stream = learned(store, "erasing").await;
    let stale = stream.clone();
    let secret = Memory { pinned: true, ..memory("f4", "zqxcanary is secret", 3_000) };
    stream.add_memory(store, &secret).await;
    let secret = stream.set_status(store, &secret, Status::Confirmed).await;
    let (id, now) = (secret.id, Stamp(1_900_000_000_000));
    stream.add_memory(store, &memory("f5", "after it", 4_000)).await;
    assert_eq!(store.erase_memory(&stream.id, id, now).await.expect("it can be erased"), 2);
    assert_eq!(read(store, &stream.id, &["f4"]).await, []);
    assert_eq!(found(store, &stream.id, "zqxcanary").await, Vec::<String>::new());
    let history = store.memory_history(&stream.id, id).await.expect("a history can be read");
    let at = |seq: Seq| stream.events[seq.0 as usize - 1].at;
    let first = stale.seq().next();
    let expected = [(first, at(first)), (first.next(), at(first.next())), (stream.seq().next(), now)];
    let tombstone =
        |(seq, at)| StoredEvent::Whole(RecordedEvent { seq, at, event: MemoryEvent::Erased { id }.into() });
    assert_eq!(history, expected.map(tombstone));
    let state = store.load(&stream.id).await.expect("it can be loaded").expect("it is there");
    let head = state.head().agent.clone().expect("it knows something");
    assert_eq!(state.seq(), stream.seq().next());
    assert!(!head.pinned.contains_key(&id) && head.pinned.contains_key(&memory_id("f3")));
    let facts = head.kind_count(MemoryKind::Fact);
    assert_eq!(
        (facts.last, facts.current, facts.first_at),
        (5, 4, stream.events[2].at),
        "its number is not used again"
    );
    assert_eq!(faults(store).await, []);
    let recorded = store.events(&stream.id, Seq(1), 100).await.expect("it can be read");
    assert!(!format!("{recorded:?}").contains("zqxcanary"));
    assert_eq!(store.erase_memory(&stream.id, id, now).await.expect("again does no harm"), 0);
    assert_eq!(store.erase_memory(&stream.id, memory_id("c9"), now).await.expect("nothing to erase"), 0);
    assert_eq!(store.erase_memory(&agent("nobody"), id, now).await.expect("nobody to ask"), 0);
    // I10: a writer that knew it before cannot bring it back.
    let late = stream.append(store, vec![memory_moved(&secret, Status::Core).0]).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    assert_eq!(store.rebuild(&stream.id).await.expect("it can be rebuilt"), []);
    assert_eq!(store.load(&stream.id).await.expect("it can be loaded"), Some(state.clone()));
    let mut resumed = TestStream { state, ..stream };
    resumed.add_memory(store, &memory("f6", "life goes on", 5_000)).await;
    assert_eq!(found(store, &resumed.id, "life").await, ["f6"]);
    assert_eq!(faults(store).await, []);
}

/// Other memories' quotations of an erased one are erased; their superseded or contested status stays.
pub async fn what_is_quoted_of_an_erased_memory_is_gone(store: &dyn Store) {
    let mut stream = TestStream::create_agent(store, "quoted").await;
    let (old, other, new) = (memory("f1", "blue", 1), memory("f2", "green", 2), memory("f3", "zqxcanary", 3));
    for fact in [&old, &other, &new] {
        stream.add_memory(store, fact).await;
    }
    let evidence = || "blue → zqxcanary".to_owned();
    let superseded = Memory { status: Status::Superseded, ..old.clone() };
    let contested = Memory { contested_with: vec![new.id], ..other.clone() };
    let quoting = vec![
        MemoryWrite::update(Change::Contested { with: new.id, evidence: evidence() }, &other, contested).into(),
        MemoryWrite::update(Change::Superseded { by: new.id, evidence: evidence() }, &old, superseded.clone())
            .into(),
        MemoryWrite::update(
            Change::Contested { with: old.id, evidence: "green → blue".to_owned() },
            &new,
            new.clone(),
        )
        .into(),
    ];
    stream.append(store, quoting).await.expect("facts can be at odds");
    assert_eq!(store.erase_memory(&stream.id, new.id, Stamp(9)).await.expect("it can be erased"), 4);
    let recorded = store.events(&stream.id, Seq(1), 100).await.expect("it can be read");
    assert!(!format!("{recorded:?}").contains("zqxcanary"), "{recorded:?}");
    let history = store.memory_history(&stream.id, old.id).await.expect("a history can be read");
    let Some(StoredEvent::Whole(RecordedEvent {
        event: Event::Memory(MemoryEvent::Changed { change, .. }), ..
    })) = history.last()
    else {
        panic!("its change stays: {history:?}")
    };
    assert_eq!(*change, Change::Superseded { by: new.id, evidence: String::new() });
    assert_eq!(read(store, &stream.id, &["f1"]).await, [superseded], "it is not brought back");
    assert_eq!(store.erase_memory(&stream.id, new.id, Stamp(9)).await.expect("again does no harm"), 0);
    assert_eq!(store.erase_memory(&stream.id, old.id, Stamp(9)).await.expect("it can be erased"), 2);
    assert_eq!(faults(store).await, []);
}
