//! Memories: recalled by words and time, changed by events, erased on request.

use neap_core::base::ids::{Seq, Stamp, StreamId};
use neap_core::base::message::Scope;
use neap_core::memory::{
    Change, Memory, MemoryId, MemoryKind, MemoryWrite, RecallRequest, RecallResponse, Status,
};
use neap_core::recall::Query;
use neap_core::text::terms::query_terms;

use super::faults;
use super::fixture::{TestStream, agent, memory, memory_id, memory_moved};
use crate::{AgentInfo, Store, StoreError, StoredEvent};

fn all_kinds() -> Vec<(MemoryKind, usize)> {
    MemoryKind::ALL.map(|kind| (kind, 100)).to_vec()
}

fn names(memories: &[Memory]) -> Vec<String> {
    memories.iter().map(|memory| memory.id.to_string()).collect()
}

async fn recall(store: &dyn Store, agent: &StreamId, request: &RecallRequest) -> RecallResponse {
    store.recall(agent, request).await.expect("memories can be recalled")
}

pub(super) async fn found(store: &dyn Store, agent: &StreamId, query: &str) -> Vec<String> {
    names(&recall(store, agent, &RecallRequest::new(query_terms(query), all_kinds())).await.memories)
}

pub(super) async fn read(store: &dyn Store, agent: &StreamId, ids: &[&str]) -> Vec<Memory> {
    let ids: Vec<MemoryId> = ids.iter().map(|id| memory_id(id)).collect();
    store.memories(agent, &ids).await.expect("memories can be read")
}

/// An agent with memories of every kind, changed and unchanged.
pub(super) async fn learned(store: &dyn Store, name: &str) -> TestStream {
    let mut stream = TestStream::create_agent(store, name).await;
    let says = [
        ("d1", "chose postgres over mysql"),
        ("f1", "tim prefers celsius"),
        ("f2", "the timeout is thirty seconds"),
        ("p1", "deploy by branch and review"),
        ("e1", "the postgres outage of march"),
        ("c1", "never delete production"),
    ];
    for (n, (id, says)) in says.into_iter().enumerate() {
        stream.add_memory(store, &memory(id, says, 1_000 + n as i64)).await;
    }
    let pinned = Memory { pinned: true, ..memory("f3", "answer in german", 2_000) };
    stream.add_memory(store, &pinned).await;
    stream.set_status(store, &memory("f2", "the timeout is thirty seconds", 1_002), Status::Superseded).await;
    stream.set_status(store, &memory("p1", "deploy by branch and review", 1_003), Status::Retired).await;
    stream
}

pub async fn memories_are_read_back(store: &dyn Store) {
    let stream = learned(store, "newton").await;
    assert_eq!(store.load(&stream.id).await.expect("it can be loaded").as_ref(), Some(&stream.state));
    assert_eq!(store.last_seq(&stream.id).await.expect("one look"), stream.seq());
    assert_eq!(store.last_seq(&agent("nobody")).await.expect("one look"), Seq(0));
    let stored = store.events(&stream.id, Seq(1), 100).await.expect("it can be read");
    assert_eq!(stored, stream.events.iter().cloned().map(StoredEvent::Whole).collect::<Vec<_>>());
    let memories = read(store, &stream.id, &["p1", "f9", "d1", "f2", "d1"]).await;
    assert_eq!(names(&memories), ["p1", "d1", "f2", "d1"]);
    assert_eq!(memories[1], memory("d1", "chose postgres over mysql", 1_000));
    assert_eq!((memories[0].status, memories[2].status), (Status::Retired, Status::Superseded));
    assert_eq!(store.sessions().await.expect("they can be listed"), []);
    let head = stream.state.head();
    let info = AgentInfo {
        agent: stream.id.agent().expect("it is an agent's"),
        created: head.created,
        updated: head.updated,
        memories: 7,
        events: stream.seq(),
        scrubbed: false,
    };
    assert_eq!(store.agents().await.expect("they can be listed"), [info]);
    assert_eq!(faults(store).await, []);
    let footprint = store.footprint(Some(&stream.id)).await.expect("a footprint can be taken");
    assert!(footprint.events > 0 && footprint.derived > 0 && footprint.index > 0);
    store.scrub(&stream.id, Stamp(9)).await.expect("an agent can be erased");
    assert_eq!(read(store, &stream.id, &["d1", "f2", "p1"]).await, []);
    assert_eq!(found(store, &stream.id, "postgres").await, Vec::<String>::new());
    assert!(store.agents().await.expect("they can be listed")[0].scrubbed);
    assert_eq!(faults(store).await, []);
}

/// Lists include every status, newest first, page by page, and continue after an erased memory.
pub async fn memories_are_listed_newest_first(store: &dyn Store) {
    let mut stream = TestStream::create_agent(store, "lists").await;
    // Three creation times; within one, ordered by id.
    for n in 1..=9 {
        for (letter, status) in [("f", Status::Inactive), ("e", Status::Active), ("d", Status::Recorded)] {
            let new = Memory { status, ..memory(&format!("{letter}{n}"), "x", i64::from(n) / 3) };
            stream.add_memory(store, &new).await;
        }
    }
    let page = async |kind, before: Option<&str>, max| {
        let before = before.map(memory_id);
        names(&store.list_memories(&stream.id, kind, before, max).await.expect("memories can be listed"))
    };
    let all = page(None, None, 100).await;
    let mut expected: Vec<(i64, MemoryId)> = Vec::new();
    for letter in ["d", "f", "e"] {
        expected.extend((1..=9).map(|n| (n / 3, memory_id(&format!("{letter}{n}")))));
    }
    expected.sort_by(|a, b| b.cmp(a));
    assert_eq!(all, expected.iter().map(|(_, id)| id.to_string()).collect::<Vec<_>>());
    let facts: Vec<_> = all.iter().filter(|id| id.starts_with('f')).cloned().collect();
    for (kind, all) in [(None, &all), (Some(MemoryKind::Fact), &facts)] {
        for max in [1, 2, 4, 5] {
            let mut pages: Vec<String> = Vec::new();
            loop {
                let next = page(kind, pages.last().map(String::as_str), max).await;
                assert!(next.len() <= max);
                if next.is_empty() {
                    break;
                }
                pages.extend(next);
            }
            assert_eq!(&pages, all, "{max}");
        }
    }
    assert_eq!(page(Some(MemoryKind::Censor), None, 9).await, Vec::<String>::new());
    assert_eq!(page(None, Some("c1"), 9).await, Vec::<String>::new(), "nothing is before what never was");
    assert_eq!(page(None, None, 0).await, Vec::<String>::new());
    let mut stream = TestStream::create_agent(store, "goes on").await;
    for n in 1..=3 {
        let at = stream.events.last().map_or(0, |last| last.at.0) + 1_000;
        stream.add_memory(store, &memory(&format!("f{n}"), "x", at)).await;
    }
    store.erase_memory(&stream.id, memory_id("f2"), Stamp(1)).await.expect("it can be erased");
    let rest = store.list_memories(&stream.id, None, Some(memory_id("f2")), 9).await.expect("a list goes on");
    assert_eq!(names(&rest), ["f1"]);
}

/// Rare words first, then newer memories; kind by kind, each with its limit; only searched memories are counted.
pub async fn a_memory_is_recalled_by_its_words(store: &dyn Store) {
    let mut stream = TestStream::create_agent(store, "words").await;
    stream.add_memory(store, &memory("f1", "common zebra", 5)).await;
    for n in 2..=20 {
        stream.add_memory(store, &memory(&format!("f{n}"), "common words", 100 - n)).await;
    }
    stream.add_memory(store, &memory("d1", "zebra crossing", 6)).await;
    stream.add_memory(store, &memory("e1", "common zebra episode", 7)).await;
    let limits = vec![(MemoryKind::Fact, 3), (MemoryKind::Decision, 9)];
    let request = RecallRequest::new(query_terms("common zebras"), limits);
    let response = recall(store, &stream.id, &request).await;
    assert_eq!(names(&response.memories), ["d1", "f1", "f20", "f19"]);
    assert_eq!((response.text_count, response.document_frequencies), (21, vec![20, 2]));
    assert_eq!(response.memories[1], memory("f1", "common zebra", 5));
    // A kind that is named twice is searched once; one with limit 0 is still searched.
    let twice = vec![(MemoryKind::Episode, 1), (MemoryKind::Episode, 0), (MemoryKind::Decision, 0)];
    let response = recall(store, &stream.id, &RecallRequest::new(query_terms("zebra"), twice)).await;
    assert_eq!(
        (names(&response.memories), response.text_count, response.document_frequencies),
        (vec!["e1".to_owned()], 2, vec![2])
    );
    for nothing in [RecallRequest::new(Vec::new(), Vec::new()), RecallRequest::new(query_terms("common"), vec![])]
    {
        let response = recall(store, &stream.id, &nothing).await;
        assert_eq!((response.memories, response.text_count), (vec![], 0));
    }
    let raw = ["\"", "a b", "*", "x\0", "NEAR", "words:near", ""].map(str::to_owned).to_vec();
    let response = recall(store, &stream.id, &RecallRequest::new(raw, all_kinds())).await;
    assert_eq!((response.memories, response.document_frequencies), (vec![], vec![0; 7]));
    let edited = memory("f1", "quagga", 5);
    let edit = MemoryWrite::update(Change::Edited, &memory("f1", "common zebra", 5), edited.clone());
    stream.append(store, vec![edit.into()]).await.expect("it can be edited");
    assert_eq!(
        found(store, &stream.id, "zebra").await,
        ["d1", "e1"],
        "words that it has no longer find it no longer"
    );
    assert_eq!(
        recall(store, &stream.id, &RecallRequest::new(query_terms("quagga"), all_kinds())).await.memories,
        [edited]
    );
    assert_eq!(faults(store).await, []);
}

/// Without words, newest first by creation; with words, only memories of the requested time.
pub async fn memories_are_recalled_by_time(store: &dyn Store) {
    let mut stream = TestStream::create_agent(store, "times").await;
    for (id, at) in [("f1", 30), ("f2", 10), ("f3", 20), ("f4", 20), ("e1", 25), ("e2", 5)] {
        stream.add_memory(store, &memory(id, "apple", at)).await;
    }
    let within = |terms: &str, from: Option<i64>, until: Option<i64>, max: usize| RecallRequest {
        from: from.map(Stamp),
        until: until.map(Stamp),
        ..RecallRequest::new(query_terms(terms), vec![(MemoryKind::Fact, max), (MemoryKind::Episode, max)])
    };
    for (from, until, max, expected, texts) in [
        (None, None, 9, vec!["f1", "f4", "f3", "f2", "e1", "e2"], 6),
        (None, None, 2, vec!["f1", "f4", "e1", "e2"], 6),
        (Some(10), Some(25), 9, vec!["f4", "f3", "f2"], 3),
        (Some(20), None, 1, vec!["f1", "e1"], 4),
        (None, Some(10), 9, vec!["e2"], 1),
        (Some(20), Some(20), 9, vec![], 0),
        (Some(i64::MIN), Some(i64::MAX), 1, vec!["f1", "e1"], 6),
    ] {
        let response = recall(store, &stream.id, &within("", from, until, max)).await;
        assert_eq!(names(&response.memories), expected, "{from:?} {until:?} {max}");
        assert_eq!((response.text_count, response.document_frequencies), (texts, vec![]), "{from:?} {until:?}");
    }
    let response = recall(store, &stream.id, &within("apple pear", Some(10), Some(30), 2)).await;
    assert_eq!(
        names(&response.memories),
        ["f4", "f3", "e1"],
        "by words the newer is the one with the higher number"
    );
    assert_eq!((response.text_count, response.document_frequencies), (4, vec![4, 0]));
    assert_eq!(recall(store, &stream.id, &within("apple", Some(31), None, 9)).await.memories, []);
}

/// A superseded fact is found only on request, in its place among the others; if restored, it is found again.
pub async fn a_superseded_fact_is_found_on_request(store: &dyn Store) {
    let mut stream = TestStream::create_agent(store, "superseded").await;
    let facts: Vec<Memory> = (1..=4).map(|n| memory(&format!("f{n}"), "the timeout", 10 * n)).collect();
    for fact in &facts {
        stream.add_memory(store, fact).await;
    }
    let old = stream.set_status(store, &facts[2], Status::Superseded).await;
    let request = |terms: &str, superseded| RecallRequest {
        superseded,
        ..RecallRequest::new(query_terms(terms), vec![(MemoryKind::Fact, 9)])
    };
    for terms in ["timeout", ""] {
        let current = recall(store, &stream.id, &request(terms, false)).await;
        assert_eq!(
            (names(&current.memories), current.text_count),
            (["f4", "f2", "f1"].map(str::to_owned).to_vec(), 3)
        );
        let all = recall(store, &stream.id, &request(terms, true)).await;
        assert_eq!((names(&all.memories).join(" "), all.text_count), ("f4 f3 f2 f1".to_owned(), 4), "{terms:?}");
        assert_eq!(all.memories[1], old);
    }
    assert_eq!(recall(store, &stream.id, &request("timeout", true)).await.document_frequencies, [4]);
    assert_eq!(read(store, &stream.id, &["f3"]).await, std::slice::from_ref(&old));
    assert_eq!(faults(store).await, []);
    stream.set_status(store, &old, Status::New).await;
    assert_eq!(found(store, &stream.id, "timeout").await, ["f4", "f3", "f2", "f1"]);
    assert_eq!(faults(store).await, []);
}

pub async fn what_is_set_aside_is_never_found(store: &dyn Store) {
    let mut stream = TestStream::create_agent(store, "aside").await;
    for (id, status) in [("f1", Status::Inactive), ("p1", Status::Retired), ("c1", Status::Retired)] {
        let new = memory(id, "needle", 5);
        stream.add_memory(store, &new).await;
        assert_eq!(found(store, &stream.id, "needle").await, [id]);
        let aside = stream.set_status(store, &new, status).await;
        for terms in ["needle", ""] {
            let request =
                RecallRequest { superseded: true, ..RecallRequest::new(query_terms(terms), all_kinds()) };
            let response = recall(store, &stream.id, &request).await;
            assert_eq!((response.memories, response.text_count), (vec![], 0), "{id} {terms:?}");
        }
        assert_eq!(read(store, &stream.id, &[id]).await, [aside]);
    }
    assert_eq!(store.list_memories(&stream.id, None, None, 9).await.expect("a list").len(), 3);
    assert_eq!(faults(store).await, []);
}

pub async fn a_memory_has_its_history(store: &dyn Store) {
    let mut stream = TestStream::create_agent(store, "history").await;
    let (one, two) = (memory("f1", "one", 1), memory("d1", "two", 2));
    stream.add_memory(store, &one).await;
    let (to_confirmed, confirmed) = memory_moved(&one, Status::Confirmed);
    let (to_core, core) = memory_moved(&confirmed, Status::Core);
    let both = vec![to_confirmed, MemoryWrite::new(two).into(), to_core];
    stream.append(store, both).await.expect("a commit of many changes");
    stream.add_memory(store, &memory("f2", "three", 3)).await;
    assert_eq!(read(store, &stream.id, &["f1"]).await, [core]);
    for id in ["f1", "d1", "f2", "f9", "c1"] {
        let history = store.memory_history(&stream.id, memory_id(id)).await.expect("a history can be read");
        let own = stream.events.iter().filter(|recorded| recorded.event.memory_id() == Some(memory_id(id)));
        assert_eq!(history, own.cloned().map(StoredEvent::Whole).collect::<Vec<_>>(), "{id}");
    }
}

pub async fn memories_come_due(store: &dyn Store) {
    let mut stream = TestStream::create_agent(store, "due").await;
    for (id, due) in [("e1", Some(50)), ("e2", Some(20)), ("d1", Some(20)), ("f1", None), ("e3", Some(70))] {
        let (mut commit, after) = stream.build_commit(vec![MemoryWrite::new(memory(id, "x", 1)).into()]);
        commit.projection.rows.memories[0].due = due.map(Stamp);
        store.commit(commit).await.expect("a memory can be stored");
        stream = after;
    }
    let due = async |now: i64, max| {
        names(&store.memories_due(&stream.id, Stamp(now), max).await.expect("it can be asked")).join(" ")
    };
    assert_eq!(due(19, 9).await, "");
    assert_eq!(due(20, 9).await, "d1 e2");
    assert_eq!(due(60, 9).await, "d1 e2 e1");
    assert_eq!(due(100, 2).await, "d1 e2");
    let (event, _) = memory_moved(&memory("e2", "x", 1), Status::Archived);
    let (mut commit, _) = stream.build_commit(vec![event]);
    commit.projection.rows.memories[0].due = None;
    store.commit(commit).await.expect("it can be moved");
    assert_eq!(due(100, 9).await, "d1 e1 e3");
}

pub async fn memories_are_rebuilt_the_same(store: &dyn Store) {
    let mut stream = learned(store, "rebuilt").await;
    let view = async || {
        let request = RecallRequest { superseded: true, ..RecallRequest::new(Vec::new(), all_kinds()) };
        let by_words = RecallRequest { terms: query_terms("postgres timeout deploy german"), ..request.clone() };
        (
            recall(store, &stream.id, &request).await,
            recall(store, &stream.id, &by_words).await,
            store.list_memories(&stream.id, None, None, 99).await.expect("a list"),
            store.memory_history(&stream.id, memory_id("f2")).await.expect("a history"),
            store.agents().await.expect("a list"),
        )
    };
    let before = view().await;
    assert_eq!(before.1.memories.len(), 4);
    assert_eq!(store.rebuild(&stream.id).await.expect("it can be rebuilt"), []);
    assert_eq!(view().await, before);
    assert_eq!(store.load(&stream.id).await.expect("it can be loaded").as_ref(), Some(&stream.state));
    assert_eq!(faults(store).await, []);
    stream.add_memory(store, &memory("d2", "on we go", 9)).await;
    assert_eq!(faults(store).await, []);
}

/// An agent never sees another's memories; sessions see no memories, and agents no messages.
pub async fn agents_are_apart(store: &dyn Store) {
    let mut one = TestStream::create_agent(store, "one").await;
    let mut two = TestStream::create_agent(store, "two").await;
    let mut session = TestStream::create(store, "one").await;
    session.add_turn(store, "apple pie", "apple tart", Scope::Ambient).await;
    one.add_memory(store, &memory("f1", "apple of one", 1)).await;
    two.add_memory(store, &memory("f1", "apple of two", 2)).await;
    two.add_memory(store, &memory("f2", "apple again", 3)).await;
    assert_eq!(found(store, &one.id, "apple").await, ["f1"]);
    assert_eq!(read(store, &one.id, &["f1", "f2"]).await, [memory("f1", "apple of one", 1)]);
    assert_eq!(read(store, &two.id, &["f1"]).await, [memory("f1", "apple of two", 2)]);
    let apples = RecallRequest::new(query_terms("apple"), all_kinds());
    for (id, texts) in [(&one.id, 1), (&two.id, 2), (&session.id, 0), (&agent("nobody"), 0)] {
        let response = recall(store, id, &apples).await;
        assert_eq!(
            (response.memories.len() as u64, response.text_count, response.document_frequencies),
            (texts, texts, vec![texts])
        );
        assert_eq!(store.list_memories(id, None, None, 9).await.expect("a list").len() as u64, texts);
    }
    let everywhere = store.find_candidates(&Query::new(query_terms("apple"))).await.expect("a search can be made");
    assert!(everywhere.items.iter().all(|card| card.id.stream == session.id));
    assert_eq!((everywhere.text_count, everywhere.items.len()), (2, 2));
    assert_eq!(store.erase_memory(&one.id, memory_id("f1"), Stamp(9)).await.expect("it can be erased"), 1);
    assert_eq!(found(store, &two.id, "apple").await, ["f2", "f1"]);
    let agents = store.agents().await.expect("they can be listed");
    let short: Vec<_> = agents.iter().map(|info| (info.agent.as_str(), info.memories)).collect();
    assert_eq!(short, [("one", 0), ("two", 2)]);
    assert_eq!(store.sessions().await.expect("they can be listed").len(), 1);
    assert_eq!(faults(store).await, []);
}

/// I10: a commit with an outdated predecessor changes no memory.
pub async fn a_stale_memory_changes_nothing(store: &dyn Store) {
    let mut stream = TestStream::create_agent(store, "conflict").await;
    stream.add_memory(store, &memory("f1", "as it was", 1)).await;
    let mut stale = stream.clone();
    stream.add_memory(store, &memory("f2", "first", 2)).await;
    let late = vec![
        memory_moved(&memory("f1", "as it was", 1), Status::Inactive).0,
        MemoryWrite::new(memory("f2", "lost word", 2)).into(),
    ];
    let late = stale.append(store, late).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    assert_eq!(
        read(store, &stream.id, &["f1", "f2"]).await,
        [memory("f1", "as it was", 1), memory("f2", "first", 2)]
    );
    assert_eq!(found(store, &stream.id, "lost").await, Vec::<String>::new());
    assert_eq!(found(store, &stream.id, "first").await, ["f2"]);
    let history = store.memory_history(&stream.id, memory_id("f1")).await.expect("a history can be read");
    assert_eq!(history.len(), 1);
    assert_eq!(faults(store).await, []);
}
