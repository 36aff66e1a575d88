//! What an agent knows: found by its words and its times, changed with its events, erased on request.

use neap_core::event::{Event, Recorded};
use neap_core::ids::{Seq, SessionId, Stamp};
use neap_core::memory::{Change, Memory, MemoryId, MemoryKind, MemoryWrite, RecallRequest, Recalled, Status};
use neap_core::message::Scope;
use neap_core::recall::Query;
use neap_core::terms::query_terms;

use super::faults;
use super::told::{Told, agent, memory, memory_id, moved};
use crate::{AgentInfo, Store, StoreError, Stored};

/// Every kind, many of each.
fn all_kinds() -> Vec<(MemoryKind, usize)> {
    MemoryKind::ALL.map(|kind| (kind, 100)).to_vec()
}

fn names(memories: &[Memory]) -> Vec<String> {
    memories.iter().map(|memory| memory.id.to_string()).collect()
}

async fn recall(store: &dyn Store, agent: &SessionId, request: &RecallRequest) -> Recalled {
    store.recall(agent, request).await.expect("memories can be recalled")
}

/// The ids of what a query finds in all kinds.
async fn found(store: &dyn Store, agent: &SessionId, query: &str) -> Vec<String> {
    names(&recall(store, agent, &RecallRequest::new(query_terms(query), all_kinds())).await.memories)
}

async fn read(store: &dyn Store, agent: &SessionId, ids: &[&str]) -> Vec<Memory> {
    let ids: Vec<MemoryId> = ids.iter().map(|id| memory_id(id)).collect();
    store.memories(agent, &ids).await.expect("memories can be read")
}

/// An agent that knows something of every kind, changed and unchanged.
async fn learned(store: &dyn Store, name: &str) -> Told {
    let mut told = Told::begin_agent(store, name).await;
    let says = [
        ("d1", "chose postgres over mysql"),
        ("f1", "tim prefers celsius"),
        ("f2", "the timeout is thirty seconds"),
        ("p1", "deploy by branch and review"),
        ("e1", "the postgres outage of march"),
        ("c1", "never delete production"),
    ];
    for (n, (id, says)) in says.into_iter().enumerate() {
        told.learn(store, &memory(id, says, 1_000 + n as i64)).await;
    }
    let pinned = Memory { pinned: true, ..memory("f3", "answer in german", 2_000) };
    told.learn(store, &pinned).await;
    told.move_to(store, &memory("f2", "the timeout is thirty seconds", 1_002), Status::Superseded).await;
    told.move_to(store, &memory("p1", "deploy by branch and review", 1_003), Status::Retired).await;
    told
}

/// What was committed is read again, whole, by id, and nobody takes an agent for a session.
pub async fn memories_are_read_back(store: &dyn Store) {
    let told = learned(store, "newton").await;
    assert_eq!(store.load(&told.id).await.expect("it can be loaded").as_ref(), Some(&told.state));
    assert_eq!(store.seq(&told.id).await.expect("one look"), told.seq());
    assert_eq!(store.seq(&agent("nobody")).await.expect("one look"), Seq(0));
    let stored = store.events(&told.id, Seq(1), 100).await.expect("it can be read");
    assert_eq!(stored, told.events.iter().cloned().map(Stored::Event).collect::<Vec<_>>());
    let asked = read(store, &told.id, &["p1", "f9", "d1", "f2", "d1"]).await;
    assert_eq!(names(&asked), ["p1", "d1", "f2", "d1"]);
    assert_eq!(asked[1], memory("d1", "chose postgres over mysql", 1_000));
    assert_eq!((asked[0].status, asked[2].status), (Status::Retired, Status::Superseded));
    assert_eq!(store.sessions().await.expect("they can be listed"), []);
    let head = told.state.head();
    let info = AgentInfo {
        agent: told.id.agent().expect("it is an agent's"),
        created: head.created,
        updated: head.updated,
        memories: 7,
        events: told.seq(),
        scrubbed: false,
    };
    assert_eq!(store.agents().await.expect("they can be listed"), [info]);
    assert_eq!(faults(store).await, []);
    let footprint = store.footprint(Some(&told.id)).await.expect("a footprint can be taken");
    assert!(footprint.events > 0 && footprint.derived > 0 && footprint.index > 0);
    store.scrub(&told.id, Stamp(9)).await.expect("an agent can be erased");
    assert_eq!(read(store, &told.id, &["d1", "f2", "p1"]).await, []);
    assert_eq!(found(store, &told.id, "postgres").await, Vec::<String>::new());
    assert!(store.agents().await.expect("they can be listed")[0].scrubbed);
    assert_eq!(faults(store).await, []);
}

/// Lists are of any status, newest first, page by page, and go on where a memory was erased.
pub async fn memories_are_listed_newest_first(store: &dyn Store) {
    let mut told = Told::begin_agent(store, "lists").await;
    // Three moments; within one, the order of ids.
    for n in 1..=9 {
        for (letter, status) in [("f", Status::Inactive), ("e", Status::Active), ("d", Status::Recorded)] {
            let new = Memory { status, ..memory(&format!("{letter}{n}"), "x", i64::from(n) / 3) };
            told.learn(store, &new).await;
        }
    }
    let page = async |kind, before: Option<&str>, max| {
        let before = before.map(memory_id);
        names(&store.list_memories(&told.id, kind, before, max).await.expect("memories can be listed"))
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
    let mut told = Told::begin_agent(store, "goes on").await;
    for n in 1..=3 {
        let at = told.events.last().map_or(0, |last| last.at.0) + 1_000;
        told.learn(store, &memory(&format!("f{n}"), "x", at)).await;
    }
    store.erase_memory(&told.id, memory_id("f2"), Stamp(1)).await.expect("it can be erased");
    let rest = store.list_memories(&told.id, None, Some(memory_id("f2")), 9).await.expect("a list goes on");
    assert_eq!(names(&rest), ["f1"]);
}

/// Rare words first, then the newer; kind by kind, each with its limit; what is searched is what is counted.
pub async fn a_memory_is_recalled_by_its_words(store: &dyn Store) {
    let mut told = Told::begin_agent(store, "words").await;
    told.learn(store, &memory("f1", "common zebra", 5)).await;
    for n in 2..=20 {
        told.learn(store, &memory(&format!("f{n}"), "common words", 100 - n)).await;
    }
    told.learn(store, &memory("d1", "zebra crossing", 6)).await;
    told.learn(store, &memory("e1", "common zebra episode", 7)).await;
    let limits = vec![(MemoryKind::Fact, 3), (MemoryKind::Decision, 9)];
    let request = RecallRequest::new(query_terms("common zebras"), limits);
    let given = recall(store, &told.id, &request).await;
    assert_eq!(names(&given.memories), ["d1", "f1", "f20", "f19"]);
    assert_eq!((given.texts, given.texts_with), (21, vec![20, 2]));
    assert_eq!(given.memories[1], memory("f1", "common zebra", 5));
    // A kind that is named twice is searched once; one with nothing to give is still searched.
    let twice = vec![(MemoryKind::Episode, 1), (MemoryKind::Episode, 0), (MemoryKind::Decision, 0)];
    let given = recall(store, &told.id, &RecallRequest::new(query_terms("zebra"), twice)).await;
    assert_eq!((names(&given.memories), given.texts, given.texts_with), (vec!["e1".to_owned()], 2, vec![2]));
    for nothing in [RecallRequest::new(Vec::new(), Vec::new()), RecallRequest::new(query_terms("common"), vec![])]
    {
        let given = recall(store, &told.id, &nothing).await;
        assert_eq!((given.memories, given.texts), (vec![], 0));
    }
    let raw = ["\"", "a b", "*", "x\0", "NEAR", "words:near", ""].map(str::to_owned).to_vec();
    let given = recall(store, &told.id, &RecallRequest::new(raw, all_kinds())).await;
    assert_eq!((given.memories, given.texts_with), (vec![], vec![0; 7]));
    let edited = memory("f1", "quagga", 5);
    let edit = MemoryWrite::of(Change::Edited, &memory("f1", "common zebra", 5), edited.clone());
    told.tell(store, vec![edit.event()]).await.expect("it can be edited");
    assert_eq!(
        found(store, &told.id, "zebra").await,
        ["d1", "e1"],
        "words that it has no longer find it no longer"
    );
    assert_eq!(
        recall(store, &told.id, &RecallRequest::new(query_terms("quagga"), all_kinds())).await.memories,
        [edited]
    );
    assert_eq!(faults(store).await, []);
}

/// Without words, the newest by when they were written; with words, only those of the time asked for.
pub async fn memories_are_recalled_by_time(store: &dyn Store) {
    let mut told = Told::begin_agent(store, "times").await;
    for (id, at) in [("f1", 30), ("f2", 10), ("f3", 20), ("f4", 20), ("e1", 25), ("e2", 5)] {
        told.learn(store, &memory(id, "apple", at)).await;
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
        let given = recall(store, &told.id, &within("", from, until, max)).await;
        assert_eq!(names(&given.memories), expected, "{from:?} {until:?} {max}");
        assert_eq!((given.texts, given.texts_with), (texts, vec![]), "{from:?} {until:?}");
    }
    let given = recall(store, &told.id, &within("apple pear", Some(10), Some(30), 2)).await;
    assert_eq!(names(&given.memories), ["f4", "f3", "e1"], "by words the newer is the one with the higher number");
    assert_eq!((given.texts, given.texts_with), (4, vec![4, 0]));
    assert_eq!(recall(store, &told.id, &within("apple", Some(31), None, 9)).await.memories, []);
}

/// What is superseded is found only when asked for, in its place among the others; what is undone is found again.
pub async fn a_superseded_fact_is_found_on_request(store: &dyn Store) {
    let mut told = Told::begin_agent(store, "superseded").await;
    let facts: Vec<Memory> = (1..=4).map(|n| memory(&format!("f{n}"), "the timeout", 10 * n)).collect();
    for fact in &facts {
        told.learn(store, fact).await;
    }
    let old = told.move_to(store, &facts[2], Status::Superseded).await;
    let request = |terms: &str, superseded| RecallRequest {
        superseded,
        ..RecallRequest::new(query_terms(terms), vec![(MemoryKind::Fact, 9)])
    };
    for terms in ["timeout", ""] {
        let current = recall(store, &told.id, &request(terms, false)).await;
        assert_eq!((names(&current.memories), current.texts), (["f4", "f2", "f1"].map(str::to_owned).to_vec(), 3));
        let all = recall(store, &told.id, &request(terms, true)).await;
        assert_eq!((names(&all.memories).join(" "), all.texts), ("f4 f3 f2 f1".to_owned(), 4), "{terms:?}");
        assert_eq!(all.memories[1], old);
    }
    assert_eq!(recall(store, &told.id, &request("timeout", true)).await.texts_with, [4]);
    assert_eq!(read(store, &told.id, &["f3"]).await, std::slice::from_ref(&old));
    assert_eq!(faults(store).await, []);
    told.move_to(store, &old, Status::New).await;
    assert_eq!(found(store, &told.id, "timeout").await, ["f4", "f3", "f2", "f1"]);
    assert_eq!(faults(store).await, []);
}

/// Inactive and retired memories are there by id and in lists, and nowhere else.
pub async fn what_is_set_aside_is_never_found(store: &dyn Store) {
    let mut told = Told::begin_agent(store, "aside").await;
    for (id, status) in [("f1", Status::Inactive), ("p1", Status::Retired), ("c1", Status::Retired)] {
        let new = memory(id, "needle", 5);
        told.learn(store, &new).await;
        assert_eq!(found(store, &told.id, "needle").await, [id]);
        let aside = told.move_to(store, &new, status).await;
        for terms in ["needle", ""] {
            let asked = RecallRequest { superseded: true, ..RecallRequest::new(query_terms(terms), all_kinds()) };
            let given = recall(store, &told.id, &asked).await;
            assert_eq!((given.memories, given.texts), (vec![], 0), "{id} {terms:?}");
        }
        assert_eq!(read(store, &told.id, &[id]).await, [aside]);
    }
    assert_eq!(store.list_memories(&told.id, None, None, 9).await.expect("a list").len(), 3);
    assert_eq!(faults(store).await, []);
}

/// All events of a memory, in order, also those of one commit, and no others.
pub async fn a_memory_has_its_history(store: &dyn Store) {
    let mut told = Told::begin_agent(store, "history").await;
    let (one, two) = (memory("f1", "one", 1), memory("d1", "two", 2));
    told.learn(store, &one).await;
    let (to_confirmed, confirmed) = moved(&one, Status::Confirmed);
    let (to_core, core) = moved(&confirmed, Status::Core);
    let both = vec![to_confirmed, MemoryWrite::new(two).event(), to_core];
    told.tell(store, both).await.expect("a commit of many changes");
    told.learn(store, &memory("f2", "three", 3)).await;
    assert_eq!(read(store, &told.id, &["f1"]).await, [core]);
    for id in ["f1", "d1", "f2", "f9", "c1"] {
        let history = store.memory_history(&told.id, memory_id(id)).await.expect("a history can be read");
        let own = told.events.iter().filter(|recorded| recorded.event.memory() == Some(memory_id(id)));
        assert_eq!(history, own.cloned().map(Stored::Event).collect::<Vec<_>>(), "{id}");
    }
}

/// What time calls for comes in the order in which it does.
pub async fn memories_come_due(store: &dyn Store) {
    let mut told = Told::begin_agent(store, "due").await;
    for (id, due) in [("e1", Some(50)), ("e2", Some(20)), ("d1", Some(20)), ("f1", None), ("e3", Some(70))] {
        let (mut commit, after) = told.commit(vec![MemoryWrite::new(memory(id, "x", 1)).event()]);
        commit.projection.memories[0].due = due.map(Stamp);
        store.commit(commit).await.expect("a memory can be stored");
        told = after;
    }
    let due = async |now: i64, max| {
        names(&store.memories_due(&told.id, Stamp(now), max).await.expect("it can be asked")).join(" ")
    };
    assert_eq!(due(19, 9).await, "");
    assert_eq!(due(20, 9).await, "d1 e2");
    assert_eq!(due(60, 9).await, "d1 e2 e1");
    assert_eq!(due(100, 2).await, "d1 e2");
    let (event, _) = moved(&memory("e2", "x", 1), Status::Archived);
    let (mut commit, _) = told.commit(vec![event]);
    commit.projection.memories[0].due = None;
    store.commit(commit).await.expect("it can be moved");
    assert_eq!(due(100, 9).await, "d1 e1 e3");
}

/// Nothing of an erased memory is left but that it was; the rest is as it would be without it.
pub async fn an_erased_memory_is_gone(store: &dyn Store) {
    let mut told = learned(store, "erasing").await;
    let stale = told.clone();
    let secret = Memory { pinned: true, ..memory("f4", "zqxcanary is secret", 3_000) };
    told.learn(store, &secret).await;
    let secret = told.move_to(store, &secret, Status::Confirmed).await;
    let (id, now) = (secret.id, Stamp(1_900_000_000_000));
    told.learn(store, &memory("f5", "after it", 4_000)).await;
    assert_eq!(store.erase_memory(&told.id, id, now).await.expect("it can be erased"), 2);
    assert_eq!(read(store, &told.id, &["f4"]).await, []);
    assert_eq!(found(store, &told.id, "zqxcanary").await, Vec::<String>::new());
    let history = store.memory_history(&told.id, id).await.expect("a history can be read");
    let at = |seq: Seq| told.events[seq.0 as usize - 1].at;
    let first = stale.seq().next();
    let expected = [(first, at(first)), (first.next(), at(first.next())), (told.seq().next(), now)];
    let tombstone = |(seq, at)| Stored::Event(Recorded { seq, at, event: Event::MemoryErased { id } });
    assert_eq!(history, expected.map(tombstone));
    let state = store.load(&told.id).await.expect("it can be loaded").expect("it is there");
    let head = state.head().agent.clone().expect("it knows something");
    assert_eq!(state.seq(), told.seq().next());
    assert!(!head.pinned.contains_key(&id) && head.pinned.contains_key(&memory_id("f3")));
    let facts = head.of(MemoryKind::Fact);
    assert_eq!(
        (facts.last, facts.current, facts.first_at),
        (5, 4, told.events[2].at),
        "its number is not used again"
    );
    assert_eq!(faults(store).await, []);
    let recorded = store.events(&told.id, Seq(1), 100).await.expect("it can be read");
    assert!(!format!("{recorded:?}").contains("zqxcanary"));
    assert_eq!(store.erase_memory(&told.id, id, now).await.expect("again does no harm"), 0);
    assert_eq!(store.erase_memory(&told.id, memory_id("c9"), now).await.expect("nothing to erase"), 0);
    assert_eq!(store.erase_memory(&agent("nobody"), id, now).await.expect("nobody to ask"), 0);
    // I10: who knew it before cannot bring it back.
    let late = told.tell(store, vec![moved(&secret, Status::Core).0]).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    assert_eq!(store.rebuild(&told.id).await.expect("it can be rebuilt"), []);
    assert_eq!(store.load(&told.id).await.expect("it can be loaded"), Some(state.clone()));
    let mut on = Told { state, ..told };
    on.learn(store, &memory("f6", "life goes on", 5_000)).await;
    assert_eq!(found(store, &on.id, "life").await, ["f6"]);
    assert_eq!(faults(store).await, []);
}

/// What others quoted of an erased memory goes with it; that they were superseded or contested stays.
pub async fn what_is_quoted_of_an_erased_memory_is_gone(store: &dyn Store) {
    let mut told = Told::begin_agent(store, "quoted").await;
    let (old, other, new) = (memory("f1", "blue", 1), memory("f2", "green", 2), memory("f3", "zqxcanary", 3));
    for fact in [&old, &other, &new] {
        told.learn(store, fact).await;
    }
    let evidence = || "blue → zqxcanary".to_owned();
    let superseded = Memory { status: Status::Superseded, ..old.clone() };
    let contested = Memory { contested_with: vec![new.id], ..other.clone() };
    let quoting = vec![
        MemoryWrite::of(Change::Contested { with: new.id, evidence: evidence() }, &other, contested).event(),
        MemoryWrite::of(Change::Superseded { by: new.id, evidence: evidence() }, &old, superseded.clone()).event(),
        MemoryWrite::of(
            Change::Contested { with: old.id, evidence: "green → blue".to_owned() },
            &new,
            new.clone(),
        )
        .event(),
    ];
    told.tell(store, quoting).await.expect("facts can be at odds");
    assert_eq!(store.erase_memory(&told.id, new.id, Stamp(9)).await.expect("it can be erased"), 4);
    let recorded = store.events(&told.id, Seq(1), 100).await.expect("it can be read");
    assert!(!format!("{recorded:?}").contains("zqxcanary"), "{recorded:?}");
    let history = store.memory_history(&told.id, old.id).await.expect("a history can be read");
    let Some(Stored::Event(Recorded { event: Event::MemoryChanged { change, .. }, .. })) = history.last() else {
        panic!("its change stays: {history:?}")
    };
    assert_eq!(*change, Change::Superseded { by: new.id, evidence: String::new() });
    assert_eq!(read(store, &told.id, &["f1"]).await, [superseded], "it is not brought back");
    assert_eq!(store.erase_memory(&told.id, new.id, Stamp(9)).await.expect("again does no harm"), 0);
    assert_eq!(store.erase_memory(&told.id, old.id, Stamp(9)).await.expect("it can be erased"), 2);
    assert_eq!(faults(store).await, []);
}

/// Rebuilding what is whole changes nothing that can be seen.
pub async fn memories_are_rebuilt_the_same(store: &dyn Store) {
    let mut told = learned(store, "rebuilt").await;
    let view = async || {
        let request = RecallRequest { superseded: true, ..RecallRequest::new(Vec::new(), all_kinds()) };
        let by_words = RecallRequest { terms: query_terms("postgres timeout deploy german"), ..request.clone() };
        (
            recall(store, &told.id, &request).await,
            recall(store, &told.id, &by_words).await,
            store.list_memories(&told.id, None, None, 99).await.expect("a list"),
            store.memory_history(&told.id, memory_id("f2")).await.expect("a history"),
            store.agents().await.expect("a list"),
        )
    };
    let before = view().await;
    assert_eq!(before.1.memories.len(), 4);
    assert_eq!(store.rebuild(&told.id).await.expect("it can be rebuilt"), []);
    assert_eq!(view().await, before);
    assert_eq!(store.load(&told.id).await.expect("it can be loaded").as_ref(), Some(&told.state));
    assert_eq!(faults(store).await, []);
    told.learn(store, &memory("d2", "on we go", 9)).await;
    assert_eq!(faults(store).await, []);
}

/// One agent never sees what another knows; sessions see no memories, and agents nothing that was said.
pub async fn agents_are_apart(store: &dyn Store) {
    let mut one = Told::begin_agent(store, "one").await;
    let mut two = Told::begin_agent(store, "two").await;
    let mut session = Told::begin(store, "one").await;
    session.turn(store, "apple pie", "apple tart", Scope::Ambient).await;
    one.learn(store, &memory("f1", "apple of one", 1)).await;
    two.learn(store, &memory("f1", "apple of two", 2)).await;
    two.learn(store, &memory("f2", "apple again", 3)).await;
    assert_eq!(found(store, &one.id, "apple").await, ["f1"]);
    assert_eq!(read(store, &one.id, &["f1", "f2"]).await, [memory("f1", "apple of one", 1)]);
    assert_eq!(read(store, &two.id, &["f1"]).await, [memory("f1", "apple of two", 2)]);
    let apples = RecallRequest::new(query_terms("apple"), all_kinds());
    for (id, texts) in [(&one.id, 1), (&two.id, 2), (&session.id, 0), (&agent("nobody"), 0)] {
        let given = recall(store, id, &apples).await;
        assert_eq!((given.memories.len() as u64, given.texts, given.texts_with), (texts, texts, vec![texts]));
        assert_eq!(store.list_memories(id, None, None, 9).await.expect("a list").len() as u64, texts);
    }
    let everywhere = store.propose(&Query::new(query_terms("apple"))).await.expect("a search can be made");
    assert!(everywhere.cards.iter().all(|card| card.id.stream == session.id));
    assert_eq!((everywhere.texts, everywhere.cards.len()), (2, 2));
    assert_eq!(store.erase_memory(&one.id, memory_id("f1"), Stamp(9)).await.expect("it can be erased"), 1);
    assert_eq!(found(store, &two.id, "apple").await, ["f2", "f1"]);
    let agents = store.agents().await.expect("they can be listed");
    let short: Vec<_> = agents.iter().map(|info| (info.agent.as_str(), info.memories)).collect();
    assert_eq!(short, [("one", 0), ("two", 2)]);
    assert_eq!(store.sessions().await.expect("they can be listed").len(), 1);
    assert_eq!(faults(store).await, []);
}

/// I10: a commit that another came before changes no memory.
pub async fn a_stale_memory_changes_nothing(store: &dyn Store) {
    let mut told = Told::begin_agent(store, "conflict").await;
    told.learn(store, &memory("f1", "as it was", 1)).await;
    let mut stale = told.clone();
    told.learn(store, &memory("f2", "first", 2)).await;
    let late = vec![
        moved(&memory("f1", "as it was", 1), Status::Inactive).0,
        MemoryWrite::new(memory("f2", "lost word", 2)).event(),
    ];
    let late = stale.tell(store, late).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    assert_eq!(
        read(store, &told.id, &["f1", "f2"]).await,
        [memory("f1", "as it was", 1), memory("f2", "first", 2)]
    );
    assert_eq!(found(store, &told.id, "lost").await, Vec::<String>::new());
    assert_eq!(found(store, &told.id, "first").await, ["f2"]);
    let history = store.memory_history(&told.id, memory_id("f1")).await.expect("a history can be read");
    assert_eq!(history.len(), 1);
    assert_eq!(faults(store).await, []);
}
