//! Candidates: texts with the rarer terms of a query, and texts with similar embeddings.

use std::collections::BTreeSet;
use std::sync::Arc;

use neap_core::base::ids::{Seq, Stamp, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::memory::{MemoryKind, Status};
use neap_core::recall::{
    Candidate, Candidates, Embedding, Filter, Query, SearchLimits, TextId, TextKey, TextKind, UnembeddedText,
};
use neap_core::text::terms::query_terms;

use super::faults;
use super::fixture::{
    TestStream, agent, effort, effort_concluded, effort_opened, memory, memory_id, memory_moved, tools_called,
    turn_completed, turn_started,
};
use crate::Store;

pub(super) const MODEL: &str = "letters";

/// The test model: a text's embedding is how often it has each letter.
pub fn letter_embedding(text: &str) -> Embedding {
    let count = |letter: u8| text.bytes().filter(|byte| byte.to_ascii_lowercase() == letter).count() as f32;
    Embedding::quantize(&(b'a'..=b'z').map(count).collect::<Vec<_>>())
}

/// Embeds every text that lacks an embedding. Returns how many.
pub async fn embed_all(store: &dyn Store, model: &str) -> usize {
    let mut count = 0;
    loop {
        let waiting = store.unembedded(model, 7).await.expect("what waits can be read");
        if waiting.is_empty() {
            return count;
        }
        count += waiting.len();
        let embedded = waiting.into_iter().map(|UnembeddedText { id, text, .. }| {
            let embedding = letter_embedding(&text);
            (id, text, embedding)
        });
        store.put_embeddings(model, embedded.collect()).await.expect("embeddings can be kept");
    }
}

pub fn term_query(words: &str) -> Query {
    Query::new(query_terms(words))
}

pub fn embedded_query(words: &str) -> Query {
    Query { embedding: Some(letter_embedding(words)), model: MODEL.to_owned(), ..term_query(words) }
}

pub(super) async fn propose(store: &dyn Store, query: &Query) -> Candidates {
    store.find_candidates(query).await.expect("a proposal can be made")
}

pub(super) fn message(stream: &TestStream, seq: u64) -> TextId {
    TextId { stream: stream.id.clone(), key: TextKey::Message(Seq(seq)) }
}

fn ids(proposed: &Candidates) -> Vec<TextId> {
    proposed.items.iter().map(|card| card.id.clone()).collect()
}

pub(super) async fn seqs(store: &dyn Store, query: &Query) -> Vec<u64> {
    let seq = |card: &Candidate| if let TextKey::Message(seq) = card.id.key { seq.0 } else { 0 };
    propose(store, query).await.items.iter().map(seq).collect()
}

pub async fn a_text_is_proposed_by_its_rarest_words(store: &dyn Store) {
    let mut stream = TestStream::create(store, "rare").await;
    for n in 0..40 {
        stream.add_turn(store, &format!("common things like zebra{n} 登录{n}x"), "common", Scope::Ambient).await;
    }
    for n in 0..40_u64 {
        for words in [format!("zebra{n}"), format!("the common things of ZEBRA{n}")] {
            let limits = SearchLimits { visits_max: 4, lexical_max: 1, semantic_max: 0 };
            let query = Query { limits, ..term_query(&words) };
            assert_eq!(seqs(store, &query).await, [2 + 2 * n], "{words}");
        }
    }
}

/// A candidate has everything known without reading its text, and a hit count for every term of the query.
pub async fn a_proposal_says_what_is_known_of_a_text(store: &dyn Store) {
    let mut stream = TestStream::create(store, "cards").await;
    stream.add_turn(store, "apple pie and apple juice", "no pears", Scope::Ambient).await;
    stream
        .append(store, vec![effort_opened("apple tart", TurnNo(1)), turn_started(TurnNo(2), "grep for it", None)])
        .await
        .expect("a turn begins");
    stream
        .append(
            store,
            vec![tools_called(TurnNo(2), "an apple"), turn_completed(TurnNo(2), "found", Scope::Ambient)],
        )
        .await
        .expect("a turn ends");
    stream
        .append(store, vec![effort_concluded("apple tart", "It was eaten.", TurnNo(2))])
        .await
        .expect("it concludes");
    let proposed = propose(store, &term_query("apple pear pie nothing")).await;
    assert_eq!((proposed.text_count, proposed.unembedded), (6, 6));
    assert_eq!(proposed.document_frequencies, [3, 1, 1, 0]);
    let fields: Vec<_> = proposed
        .items
        .iter()
        .map(|card| {
            (card.id.key.clone(), card.kind, card.turn.0, card.position, card.hits.clone(), card.similarity)
        })
        .collect();
    let key = |seq| TextKey::Message(Seq(seq));
    let expected = [
        (TextKey::Effort(effort("apple tart")), TextKind::Effort, 0, 0, vec![2, 0, 0, 0], None),
        (key(2), TextKind::User, 1, 1, vec![2, 0, 1, 0], None),
        (key(3), TextKind::Assistant, 1, 2, vec![0, 1, 0, 0], None),
        (key(6), TextKind::Tool, 2, 4, vec![1, 0, 0, 0], None),
    ];
    assert_eq!(fields, expected);
    let first = &proposed.items[1];
    assert_eq!(
        (first.at, first.tokens, first.term_count),
        (stream.events[1].at, stream.events[1].event.transcript_messages()[0].tokens, 4)
    );
    let all = ids(&propose(store, &term_query("apple pie juice pear grep found no eaten")).await);
    assert_eq!(all.len(), 6);
    assert_eq!(faults(store).await, []);
}

/// The rarest term is visited first, whole if it fits; if not even the first fits, its newest texts are visited.
pub async fn visits_are_bounded(store: &dyn Store) {
    let mut stream = TestStream::create(store, "visits").await;
    for n in 1..=10 {
        let words = if n <= 3 { "common rare" } else { "common" };
        stream.add_turn(store, words, "yes", Scope::Ambient).await;
    }
    let query = |words: &str, visits_max, lexical_max| Query {
        limits: SearchLimits { visits_max, lexical_max, semantic_max: 9 },
        ..term_query(words)
    };
    assert_eq!(seqs(store, &query("rare common", 12, 99)).await, [2, 4, 6], "the other does not fit");
    assert_eq!(seqs(store, &query("rare common", 13, 99)).await.len(), 10);
    assert_eq!(seqs(store, &query("rare common", 13, 4)).await, [2, 4, 6, 20], "the newer of the rest");
    assert_eq!(seqs(store, &query("common", 4, 99)).await, [14, 16, 18, 20]);
    assert_eq!(seqs(store, &query("common rare", 2, 99)).await, [4, 6]);
    assert_eq!(seqs(store, &query("common", 0, 99)).await, [0; 0]);
    assert_eq!(seqs(store, &query("common", 99, 0)).await, [0; 0]);
    let mut other = TestStream::create(store, "visits elsewhere").await;
    other.add_turn(store, "common", "yes", Scope::Ambient).await;
    let streams = |stream: &TestStream| Some(BTreeSet::from([stream.id.clone()]));
    let narrow = |stream: &TestStream, visits_max| {
        let filter = Filter { streams: streams(stream), ..Filter::default() };
        Query { filter, ..query("rare common", visits_max, 99) }
    };
    assert_eq!(seqs(store, &narrow(&other, 1)).await, [2], "nothing else is visited");
    assert_eq!(seqs(store, &narrow(&stream, 12)).await, [2, 4, 6]);
    assert_eq!(seqs(store, &narrow(&stream, 13)).await.len(), 10);
    assert_eq!(seqs(store, &narrow(&stream, 2)).await, [4, 6]);
}

/// By stream, kind and time, for lexical and semantic candidates alike; the counts stay those of the whole store.
pub async fn proposals_are_filtered(store: &dyn Store) {
    let mut stream = TestStream::create(store, "one").await;
    let mut other = TestStream::create(store, "two").await;
    for _ in 0..3 {
        stream.add_turn(store, "apple", "an apple", Scope::Ambient).await;
        other.add_turn(store, "apple", "an apple", Scope::Ambient).await;
    }
    embed_all(store, MODEL).await;
    let streams = |ids: &[&StreamId]| Some(ids.iter().copied().cloned().collect::<BTreeSet<_>>());
    let at = |n: usize| Some(stream.events[n].at);
    let unknown = super::session("never was");
    let kinds = Some(BTreeSet::from([TextKind::User]));
    for (filter, count) in [
        (Filter::default(), 12),
        (Filter { streams: streams(&[&stream.id]), ..Filter::default() }, 6),
        (Filter { streams: streams(&[&stream.id, &other.id, &unknown]), ..Filter::default() }, 12),
        (Filter { streams: streams(&[&unknown]), ..Filter::default() }, 0),
        (Filter { streams: streams(&[]), ..Filter::default() }, 0),
        (Filter { kinds: kinds.clone(), ..Filter::default() }, 6),
        (Filter { kinds: Some(BTreeSet::new()), ..Filter::default() }, 0),
        (Filter { from: at(3), ..Filter::default() }, 8),
        (Filter { until: at(3), ..Filter::default() }, 4),
        (Filter { streams: streams(&[&other.id]), kinds, from: at(2), until: at(6), ..Filter::default() }, 2),
    ] {
        for (lexical_max, semantic_max) in [(99, 0), (0, 99), (99, 99)] {
            let limits = SearchLimits { lexical_max, semantic_max, ..SearchLimits::default() };
            let query = Query { filter: filter.clone(), limits, ..embedded_query("apple") };
            let proposed = propose(store, &query).await;
            assert_eq!(proposed.items.len(), count, "{query:?}");
            assert!(proposed.items.iter().all(|card| card.similarity.is_some_and(|similarity| similarity > 0.5)));
            if filter.streams.as_ref().is_none_or(|streams| !streams.is_empty()) {
                assert_eq!(
                    (proposed.text_count, proposed.document_frequencies[0], proposed.unembedded),
                    (12, 12, 0)
                );
            }
        }
    }
}

pub async fn agents_are_searched_when_named(store: &dyn Store) {
    let mut newton = TestStream::create_agent(store, "newton").await;
    let mut kepler = TestStream::create_agent(store, "kepler").await;
    let mut stream = TestStream::create(store, "main").await;
    stream.add_turn(store, "an apple", "fell", Scope::Ambient).await;
    newton.add_memory(store, &memory("f1", "apple falls", 5)).await;
    newton.add_memory(store, &memory("d1", "weigh the apple", 6)).await;
    kepler.add_memory(store, &memory("f1", "apple orbits", 7)).await;
    embed_all(store, MODEL).await;
    let counted =
        |proposed: &Candidates| (proposed.text_count, proposed.document_frequencies.clone(), proposed.items.len());
    let named = |ids: &[&StreamId]| {
        let streams = Some(ids.iter().copied().cloned().collect());
        Query { filter: Filter { streams, ..Filter::default() }, ..embedded_query("apple fell") }
    };
    assert_eq!(counted(&propose(store, &embedded_query("apple fell")).await), (2, vec![1, 1], 2));
    let of_newton = propose(store, &named(&[&newton.id])).await;
    assert_eq!(counted(&of_newton), (2, vec![2, 0], 2));
    let kinds: Vec<_> = of_newton.items.iter().map(|card| (card.kind, card.at)).collect();
    let (decision, fact) = (TextKind::Memory(MemoryKind::Decision), TextKind::Memory(MemoryKind::Fact));
    assert_eq!(kinds, [(decision, Stamp(6)), (fact, Stamp(5))]);
    assert_eq!(counted(&propose(store, &named(&[&kepler.id, &stream.id])).await), (3, vec![2, 1], 3));
    let texts = store.texts(&ids(&of_newton)).await.expect("they can be read");
    assert!(texts.iter().all(|text| text.as_ref().is_some_and(|text| text.contains("apple"))), "{texts:?}");
    let fact = memory("f1", "apple falls", 5);
    let (event, superseded) = memory_moved(&fact, Status::Superseded);
    newton.append(store, vec![event]).await.expect("it moves");
    assert_eq!(store.unembedded(MODEL, 9).await.expect("asking is allowed"), [], "it says the same");
    assert_eq!(propose(store, &named(&[&newton.id])).await, of_newton);
    newton.set_status(store, &superseded, Status::Inactive).await;
    let left = propose(store, &named(&[&newton.id])).await;
    assert_eq!((counted(&left), left.unembedded), ((1, vec![1, 0], 1), 0));
    assert_eq!(faults(store).await, []);
}

async fn rich(store: &dyn Store) -> (TestStream, TestStream) {
    let mut stream = TestStream::create(store, "rich").await;
    for n in 1..=9 {
        let scope = if n % 2 == 0 { Scope::Effort(effort("zoo")) } else { Scope::Ambient };
        if n == 2 {
            let names = ["zoo", "ark", "cage"].map(|name| effort_opened(name, TurnNo(1)));
            stream.append(store, names.into()).await.expect("they open");
        }
        stream.add_turn(store, &format!("feed the canary {n}"), "the bird sings", scope).await;
    }
    stream
        .append(store, vec![effort_concluded("ark", "The bird was freed.", TurnNo(9))])
        .await
        .expect("it concludes");
    let mut newton = TestStream::create_agent(store, "newton").await;
    for n in 1..=4 {
        newton.add_memory(store, &memory(&format!("f{n}"), &format!("bird {n} sings"), n)).await;
    }
    newton.set_status(store, &memory("f2", "bird 2 sings", 2), Status::Superseded).await;
    (stream, newton)
}

fn questions(stream: &TestStream, newton: &TestStream) -> Vec<Query> {
    let mut all = Vec::new();
    for words in ["bird", "canary 7", "zoo ark cage", "sings", "feed freed", ""] {
        for streams in [None, Some(BTreeSet::from([newton.id.clone()])), Some(BTreeSet::from([stream.id.clone()]))]
        {
            for (lexical_max, semantic_max) in [(2, 2), (99, 0), (0, 3)] {
                let filter = Filter { streams: streams.clone(), ..Filter::default() };
                let limits = SearchLimits { visits_max: 12, lexical_max, semantic_max };
                all.push(Query { filter, limits, ..embedded_query(words) });
            }
        }
    }
    all
}

/// Rebuilding an undamaged stream changes no candidate, and no text is embedded twice.
pub async fn a_rebuild_proposes_the_same(store: &dyn Store) {
    let (stream, newton) = rich(store).await;
    embed_all(store, MODEL).await;
    let questions = questions(&stream, &newton);
    let mut before = Vec::new();
    for question in &questions {
        before.push(propose(store, question).await);
    }
    for id in [&stream.id, &newton.id] {
        store.rebuild(id).await.expect("it can be rebuilt");
        assert_eq!(faults(store).await, []);
    }
    assert_eq!(store.unembedded(MODEL, 9).await.expect("asking is allowed"), []);
    for (question, before) in questions.iter().zip(before) {
        assert_eq!(propose(store, question).await, before, "{question:?}");
    }
}

pub async fn what_is_erased_is_not_proposed(store: &dyn Store) {
    let (stream, newton) = rich(store).await;
    let mut other = TestStream::create(store, "other").await;
    other.add_turn(store, "another bird", "sings", Scope::Ambient).await;
    embed_all(store, MODEL).await;
    store.erase_memory(&newton.id, memory_id("f3"), Stamp(9)).await.expect("it can be erased");
    store.scrub(&stream.id, Stamp(9)).await.expect("it can be erased");
    let all = propose(store, &embedded_query("feed the bird canary")).await;
    assert!(all.items.len() == 2 && all.items.iter().all(|card| card.id.stream == other.id), "{all:?}");
    assert_eq!((all.text_count, all.document_frequencies, all.unembedded), (2, vec![0, 1, 0], 0));
    let filter = Filter { streams: Some(BTreeSet::from([agent("newton")])), ..Filter::default() };
    let known = propose(store, &Query { filter, ..embedded_query("bird 3") }).await;
    assert_eq!((known.items.len(), known.text_count, known.document_frequencies), (3, 3, vec![3, 0]));
    let gone = [message(&stream, 2), TextId { stream: newton.id.clone(), key: TextKey::Memory(memory_id("f3")) }];
    assert_eq!(store.texts(&gone).await.expect("asking is allowed"), [None, None]);
    assert_eq!(faults(store).await, []);
}

pub async fn bad_questions_are_answered(store: &dyn Store) {
    let (stream, _) = rich(store).await;
    embed_all(store, MODEL).await;
    let nothing = propose(store, &Query::new(Vec::new())).await;
    assert_eq!((nothing.items.len(), nothing.document_frequencies.len()), (0, 0));
    assert!(nothing.text_count > 0);
    let raw = ["\"", "a b", "*", "x\0", "NEAR", "words:bird", "", "(bird)", "bird*", "-bird", "^bird", "bird"];
    let raw = Query::new(raw.map(str::to_owned).to_vec());
    let found = propose(store, &raw).await;
    assert_eq!(found.document_frequencies[..11], [0; 11]);
    assert!(found.document_frequencies[11] > 0 && found.items.iter().all(|card| card.hits[..11] == [0; 11]));
    let many = (0..10_000).map(|n| format!("word{n}")).chain(["bird".to_owned()]).collect();
    let found = propose(store, &Query::new(many)).await;
    assert!(!found.items.is_empty() && found.items.iter().all(|card| card.hits.len() == 10_001));
    for embedding in [
        Embedding::quantize(&[]),
        Embedding::quantize(&[1.0]),
        Embedding::quantize(&[0.0; 26]),
        Embedding::quantize(&[1.0; 999]),
    ] {
        let query = Query { embedding: Some(embedding), ..embedded_query("bird") };
        assert!(!propose(store, &query).await.items.is_empty(), "its words are found");
    }
    let greedy = SearchLimits { visits_max: usize::MAX, lexical_max: usize::MAX, semantic_max: usize::MAX };
    let all = propose(store, &Query { limits: greedy, ..embedded_query("bird canary zoo ark cage sings") }).await;
    assert_eq!(all.items.len() as u64, all.text_count);
    store.put_embeddings(MODEL, Vec::new()).await.expect("nothing can be kept");
    let empty = vec![(message(&stream, 2), Arc::from("feed the canary 1"), Embedding::quantize(&[]))];
    store.put_embeddings(MODEL, empty).await.expect("what says nothing can be kept");
    assert_eq!(propose(store, &embedded_query("canary")).await.unembedded, 1);
    assert_eq!(store.unembedded(MODEL, 0).await.expect("asking is allowed"), []);
    assert_eq!(store.texts(&[]).await.expect("asking is allowed"), []);
    assert_eq!(faults(store).await, []);
}
