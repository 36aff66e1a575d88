//! Proposals: what shares the rarer words of a question, and what is near to it.

use std::collections::BTreeSet;
use std::sync::Arc;

use neap_core::event::{AbandonReason, Event};
use neap_core::ids::{Seq, SessionId, Stamp, TurnNo};
use neap_core::memory::{MemoryKind, Status};
use neap_core::message::Scope;
use neap_core::recall::{Around, Card, Embedding, Filter, Limits, Proposed, Query, TextId, TextKey, TextKind};
use neap_core::terms::query_terms;

use super::faults;
use super::told::{Told, agent, complete, conclude, effort, memory, memory_id, moved, open, start, tools};
use crate::Store;

/// A model of tests.
pub(super) const MODEL: &str = "letters";

/// What a text means to the model of tests: how often it has each letter.
pub fn meaning(text: &str) -> Embedding {
    let count = |letter: u8| text.bytes().filter(|byte| byte.to_ascii_lowercase() == letter).count() as f32;
    Embedding::of(&(b'a'..=b'z').map(count).collect::<Vec<_>>())
}

/// Embeds all that waits. Returns how many texts that were.
pub async fn embed_all(store: &dyn Store, model: &str) -> usize {
    let mut count = 0;
    loop {
        let waiting = store.unembedded(model, 7).await.expect("what waits can be read");
        if waiting.is_empty() {
            return count;
        }
        count += waiting.len();
        let embedded = waiting.into_iter().map(|(id, text)| {
            let embedding = meaning(&text);
            (id, text, embedding)
        });
        store.embed(model, embedded.collect()).await.expect("embeddings can be kept");
    }
}

/// A question by its words alone.
pub fn worded(words: &str) -> Query {
    Query::new(query_terms(words))
}

/// A question by its words and its meaning.
pub fn meant(words: &str) -> Query {
    Query { embedding: Some(meaning(words)), model: MODEL.to_owned(), ..worded(words) }
}

pub(super) async fn propose(store: &dyn Store, query: &Query) -> Proposed {
    store.propose(query).await.expect("a proposal can be made")
}

pub(super) fn message(told: &Told, seq: u64) -> TextId {
    TextId { stream: told.id.clone(), key: TextKey::Message(Seq(seq)) }
}

fn ids(proposed: &Proposed) -> Vec<TextId> {
    proposed.cards.iter().map(|card| card.id.clone()).collect()
}

/// The events that say what is proposed.
async fn seqs(store: &dyn Store, query: &Query) -> Vec<u64> {
    let seq = |card: &Card| if let TextKey::Message(seq) = card.id.key { seq.0 } else { 0 };
    propose(store, query).await.cards.iter().map(seq).collect()
}

/// Whatever else is stored, a text is found by the words that only it has.
pub async fn a_text_is_proposed_by_its_rarest_words(store: &dyn Store) {
    let mut told = Told::begin(store, "rare").await;
    for n in 0..40 {
        told.turn(store, &format!("common things like zebra{n} 登录{n}x"), "common", Scope::Ambient).await;
    }
    for n in 0..40_u64 {
        for words in [format!("zebra{n}"), format!("the common things of ZEBRA{n}")] {
            let limits = Limits { visits_max: 4, lexical_max: 1, semantic_max: 0 };
            let query = Query { limits, ..worded(&words) };
            assert_eq!(seqs(store, &query).await, [2 + 2 * n], "{words}");
        }
    }
}

/// A card has all that can be said without reading the text, and hits for every term that was asked for.
pub async fn a_proposal_says_what_is_known_of_a_text(store: &dyn Store) {
    let mut told = Told::begin(store, "cards").await;
    told.turn(store, "apple pie and apple juice", "no pears", Scope::Ambient).await;
    told.tell(store, vec![open("apple tart", TurnNo(1)), start(TurnNo(2), "grep for it", None)])
        .await
        .expect("a turn begins");
    told.tell(store, vec![tools(TurnNo(2), "an apple"), complete(TurnNo(2), "found", Scope::Ambient)])
        .await
        .expect("a turn ends");
    told.tell(store, vec![conclude("apple tart", "It was eaten.", TurnNo(2))]).await.expect("it concludes");
    let proposed = propose(store, &worded("apple pear pie nothing")).await;
    assert_eq!((proposed.texts, proposed.waiting), (6, 6));
    assert_eq!(proposed.texts_with, [3, 1, 1, 0]);
    let said: Vec<_> = proposed
        .cards
        .iter()
        .map(|card| (card.id.key.clone(), card.kind, card.turn.0, card.nth, card.hits.clone(), card.near))
        .collect();
    let key = |seq| TextKey::Message(Seq(seq));
    let expected = [
        (TextKey::Effort(effort("apple tart")), TextKind::Effort, 0, 0, vec![2, 0, 0, 0], None),
        (key(2), TextKind::User, 1, 1, vec![2, 0, 1, 0], None),
        (key(3), TextKind::Assistant, 1, 2, vec![0, 1, 0, 0], None),
        (key(6), TextKind::Tool, 2, 4, vec![1, 0, 0, 0], None),
    ];
    assert_eq!(said, expected);
    let first = &proposed.cards[1];
    assert_eq!((first.at, first.tokens, first.length), (told.events[1].at, said_tokens(&told), 4));
    let all = ids(&propose(store, &worded("apple pie juice pear grep found no eaten")).await);
    assert_eq!(all.len(), 6);
    assert_eq!(faults(store).await, []);
}

fn said_tokens(told: &Told) -> neap_core::tokens::Tokens {
    told.events[1].event.said()[0].tokens
}

/// The rarest term is visited first, whole if it fits; the first of all by its newest texts.
pub async fn visits_are_bounded(store: &dyn Store) {
    let mut told = Told::begin(store, "visits").await;
    for n in 1..=10 {
        let words = if n <= 3 { "common rare" } else { "common" };
        told.turn(store, words, "yes", Scope::Ambient).await;
    }
    let asked = |words: &str, visits_max, lexical_max| Query {
        limits: Limits { visits_max, lexical_max, semantic_max: 9 },
        ..worded(words)
    };
    assert_eq!(seqs(store, &asked("rare common", 12, 99)).await, [2, 4, 6], "the other does not fit");
    assert_eq!(seqs(store, &asked("rare common", 13, 99)).await.len(), 10);
    assert_eq!(seqs(store, &asked("rare common", 13, 4)).await, [2, 4, 6, 20], "the newer of the rest");
    assert_eq!(seqs(store, &asked("common", 4, 99)).await, [14, 16, 18, 20]);
    assert_eq!(seqs(store, &asked("common rare", 2, 99)).await, [4, 6]);
    assert_eq!(seqs(store, &asked("common", 0, 99)).await, [0; 0]);
    assert_eq!(seqs(store, &asked("common", 99, 0)).await, [0; 0]);
    let mut other = Told::begin(store, "visits elsewhere").await;
    other.turn(store, "common", "yes", Scope::Ambient).await;
    let streams = |told: &Told| Some(BTreeSet::from([told.id.clone()]));
    let narrow = |told: &Told, visits_max| {
        let filter = Filter { streams: streams(told), ..Filter::default() };
        Query { filter, ..asked("rare common", visits_max, 99) }
    };
    assert_eq!(seqs(store, &narrow(&other, 1)).await, [2], "nothing else is visited");
    assert_eq!(seqs(store, &narrow(&told, 12)).await, [2, 4, 6]);
    assert_eq!(seqs(store, &narrow(&told, 13)).await.len(), 10);
    assert_eq!(seqs(store, &narrow(&told, 2)).await, [4, 6]);
}

/// By stream, kind and time, for words as for meaning; what is counted stays the store's.
pub async fn proposals_are_filtered(store: &dyn Store) {
    let mut told = Told::begin(store, "one").await;
    let mut other = Told::begin(store, "two").await;
    for _ in 0..3 {
        told.turn(store, "apple", "an apple", Scope::Ambient).await;
        other.turn(store, "apple", "an apple", Scope::Ambient).await;
    }
    embed_all(store, MODEL).await;
    let streams = |ids: &[&SessionId]| Some(ids.iter().copied().cloned().collect::<BTreeSet<_>>());
    let at = |n: usize| Some(told.events[n].at);
    let unknown = super::session("never was");
    let kinds = Some(BTreeSet::from([TextKind::User]));
    for (filter, count) in [
        (Filter::default(), 12),
        (Filter { streams: streams(&[&told.id]), ..Filter::default() }, 6),
        (Filter { streams: streams(&[&told.id, &other.id, &unknown]), ..Filter::default() }, 12),
        (Filter { streams: streams(&[&unknown]), ..Filter::default() }, 0),
        (Filter { streams: streams(&[]), ..Filter::default() }, 0),
        (Filter { kinds: kinds.clone(), ..Filter::default() }, 6),
        (Filter { kinds: Some(BTreeSet::new()), ..Filter::default() }, 0),
        (Filter { from: at(3), ..Filter::default() }, 8),
        (Filter { until: at(3), ..Filter::default() }, 4),
        (Filter { streams: streams(&[&other.id]), kinds, from: at(2), until: at(6), ..Filter::default() }, 2),
    ] {
        for (lexical_max, semantic_max) in [(99, 0), (0, 99), (99, 99)] {
            let limits = Limits { lexical_max, semantic_max, ..Limits::default() };
            let query = Query { filter: filter.clone(), limits, ..meant("apple") };
            let proposed = propose(store, &query).await;
            assert_eq!(proposed.cards.len(), count, "{query:?}");
            assert!(proposed.cards.iter().all(|card| card.near.is_some_and(|near| near > 0.5)));
            if filter.streams.as_ref().is_none_or(|streams| !streams.is_empty()) {
                assert_eq!((proposed.texts, proposed.texts_with[0], proposed.waiting), (12, 12, 0));
            }
        }
    }
}

/// What agents know is found when they are named, and is counted apart.
pub async fn agents_are_searched_when_named(store: &dyn Store) {
    let mut newton = Told::begin_agent(store, "newton").await;
    let mut kepler = Told::begin_agent(store, "kepler").await;
    let mut told = Told::begin(store, "main").await;
    told.turn(store, "an apple", "fell", Scope::Ambient).await;
    newton.learn(store, &memory("f1", "apple falls", 5)).await;
    newton.learn(store, &memory("d1", "weigh the apple", 6)).await;
    kepler.learn(store, &memory("f1", "apple orbits", 7)).await;
    embed_all(store, MODEL).await;
    let counted = |proposed: &Proposed| (proposed.texts, proposed.texts_with.clone(), proposed.cards.len());
    let named = |ids: &[&SessionId]| {
        let streams = Some(ids.iter().copied().cloned().collect());
        Query { filter: Filter { streams, ..Filter::default() }, ..meant("apple fell") }
    };
    assert_eq!(counted(&propose(store, &meant("apple fell")).await), (2, vec![1, 1], 2));
    let of_newton = propose(store, &named(&[&newton.id])).await;
    assert_eq!(counted(&of_newton), (2, vec![2, 0], 2));
    let kinds: Vec<_> = of_newton.cards.iter().map(|card| (card.kind, card.at)).collect();
    let (decision, fact) = (TextKind::Memory(MemoryKind::Decision), TextKind::Memory(MemoryKind::Fact));
    assert_eq!(kinds, [(decision, Stamp(6)), (fact, Stamp(5))]);
    assert_eq!(counted(&propose(store, &named(&[&kepler.id, &told.id])).await), (3, vec![2, 1], 3));
    let texts = store.texts(&ids(&of_newton)).await.expect("they can be read");
    assert!(texts.iter().all(|text| text.as_ref().is_some_and(|text| text.contains("apple"))), "{texts:?}");
    let fact = memory("f1", "apple falls", 5);
    let (event, superseded) = moved(&fact, Status::Superseded);
    newton.tell(store, vec![event]).await.expect("it moves");
    assert_eq!(store.unembedded(MODEL, 9).await.expect("asking is allowed"), [], "it says the same");
    assert_eq!(propose(store, &named(&[&newton.id])).await, of_newton);
    newton.move_to(store, &superseded, Status::Inactive).await;
    let left = propose(store, &named(&[&newton.id])).await;
    assert_eq!((counted(&left), left.waiting), ((1, vec![1, 0], 1), 0));
    assert_eq!(faults(store).await, []);
}

/// Without a common word, the nearest texts are found; of equally near ones the newer.
pub async fn meaning_proposes_the_nearest(store: &dyn Store) {
    let mut told = Told::begin(store, "meaning").await;
    for said in ["aaab", "bbba", "cccc", "aaab", "zz"] {
        told.turn(store, said, "xyz", Scope::Ambient).await;
    }
    let query = |semantic_max| Query { limits: Limits { semantic_max, ..Limits::default() }, ..meant("baaa") };
    assert_eq!(propose(store, &query(9)).await.waiting, 10);
    assert_eq!(seqs(store, &query(9)).await, [0; 0]);
    assert_eq!(embed_all(store, MODEL).await, 10);
    assert_eq!(seqs(store, &query(1)).await, [8]);
    assert_eq!(seqs(store, &query(3)).await, [2, 4, 8]);
    assert_eq!(seqs(store, &query(99)).await.len(), 10);
    let found = propose(store, &query(3)).await;
    assert_eq!(found.waiting, 0);
    let near: Vec<_> = found.cards.iter().map(|card| card.near.unwrap_or(0.0) > 0.99).collect();
    assert_eq!(near, [true, false, true]);
    let words = Query { embedding: None, ..query(9) };
    assert_eq!(seqs(store, &words).await, [0; 0], "no word is the same");
    told.turn(store, "baaa", "fresh", Scope::Ambient).await;
    let fresh = propose(store, &query(1)).await;
    let near: Vec<_> = fresh.cards.iter().map(|card| card.near.is_some()).collect();
    assert_eq!((near, fresh.waiting), (vec![true, false], 2), "by its word at once");
    embed_all(store, MODEL).await;
    assert_eq!(seqs(store, &query(1)).await, [12]);
}

/// An embedding is of what a text says now: one that comes too late is not kept.
pub async fn a_text_that_changes_is_embedded_anew(store: &dyn Store) {
    let mut told = Told::begin(store, "changes").await;
    told.tell(store, vec![start(TurnNo(1), "go", None), open("bug", TurnNo(1))]).await.expect("it opens");
    assert_eq!(embed_all(store, MODEL).await, 2);
    told.tell(store, vec![conclude("bug", "xxxx", TurnNo(1))]).await.expect("it concludes");
    let waiting = store.unembedded(MODEL, 9).await.expect("asking is allowed");
    let [(id, before)] = waiting.as_slice() else { panic!("the effort waits: {waiting:?}") };
    let query = Query { limits: Limits { lexical_max: 0, ..Limits::default() }, ..meant("xxxx") };
    assert_eq!(propose(store, &query).await.cards.len(), 1, "it is not near to what it said before");
    told.tell(store, vec![conclude("bug", "yyyy", TurnNo(1))]).await.expect("it concludes again");
    let late = vec![(id.clone(), before.clone(), meaning(before))];
    store.embed(MODEL, late).await.expect("that is no error");
    assert_eq!(propose(store, &query).await.waiting, 1);
    assert_eq!(embed_all(store, MODEL).await, 1);
    assert_eq!(propose(store, &query).await.cards.len(), 2);
    let gone = TextId { stream: told.id.clone(), key: TextKey::Effort(effort("never was")) };
    let unknown = TextId { stream: super::session("never was"), key: TextKey::Message(Seq(1)) };
    let batch = [gone, unknown].map(|id| (id, Arc::from("x"), meaning("x")));
    store.embed(MODEL, batch.into()).await.expect("what is gone is passed over");
    assert_eq!(store.unembedded(MODEL, 9).await.expect("asking is allowed"), []);
}

/// Whoever asks by the old model finds what it embedded until another has; all is embedded anew, a portion at a time.
pub async fn another_model_takes_over(store: &dyn Store) {
    let mut told = Told::begin(store, "models").await;
    for said in ["aaab", "bbba", "cccc"] {
        told.turn(store, said, "xyz", Scope::Ambient).await;
    }
    embed_all(store, MODEL).await;
    told.turn(store, "fresh", "text", Scope::Ambient).await;
    let limits = Limits { lexical_max: 0, ..Limits::default() };
    let by = |model: &str| Query { model: model.to_owned(), limits, ..meant("aaab") };
    let counts = async || {
        let (old, new) = (propose(store, &by(MODEL)).await, propose(store, &by("other")).await);
        [(old.cards.len(), old.waiting), (new.cards.len(), new.waiting)]
    };
    assert_eq!(counts().await, [(6, 2), (0, 8)]);
    let waiting = store.unembedded("other", 4).await.expect("asking is allowed");
    let seqs: Vec<_> = waiting.iter().map(|(id, _)| id.key.clone()).collect();
    assert_eq!(seqs, [8, 9, 2, 3].map(|seq| TextKey::Message(Seq(seq))), "what has none at all comes first");
    let some = waiting.into_iter().map(|(id, text)| (id, text.clone(), meaning(&text)));
    store.embed("other", some.collect()).await.expect("it can be kept");
    assert_eq!(counts().await, [(4, 4), (4, 4)]);
    assert_eq!(embed_all(store, "other").await, 4);
    assert_eq!(counts().await, [(0, 8), (8, 0)]);
    let short = Query { embedding: Some(Embedding::of(&[1.0])), ..by("other") };
    let none = propose(store, &short).await;
    assert_eq!((none.cards.len(), none.waiting), (0, 8), "of another length");
    let without = propose(store, &worded("nothing")).await;
    assert_eq!(without.waiting, 0);
}

/// In the order asked, whatever kind they are.
pub async fn texts_are_read_by_their_ids(store: &dyn Store) {
    let mut told = Told::begin(store, "texts").await;
    for n in 1..=200 {
        told.turn(store, &format!("question {n}"), &format!("answer {n}"), Scope::Ambient).await;
    }
    told.tell(store, vec![open("auth bug", TurnNo(200)), conclude("auth bug", "Fixed.", TurnNo(200))])
        .await
        .expect("it opens and concludes");
    let mut newton = Told::begin_agent(store, "newton").await;
    newton.learn(store, &memory("f1", "apple falls", 5)).await;
    let of = |stream: &SessionId, key| TextId { stream: stream.clone(), key };
    let asked = [
        (message(&told, 399), Some("answer 199")),
        (message(&told, 2), Some("question 1")),
        (of(&newton.id, TextKey::Memory(memory_id("f1"))), Some("apple falls")),
        (message(&told, 399), Some("answer 199")),
        (message(&told, 1), None),
        (of(&told.id, TextKey::Effort(effort("auth bug"))), Some("auth-bug auth bug Fixed.")),
        (of(&told.id, TextKey::Effort(effort("none"))), None),
        (of(&told.id, TextKey::Memory(memory_id("f1"))), None),
        (of(&newton.id, TextKey::Memory(memory_id("f2"))), None),
        (message(&told, 9_999), None),
        (message(&told, u64::MAX), None),
        (of(&super::session("never was"), TextKey::Message(Seq(2))), None),
        (message(&told, 200), Some("question 100")),
    ];
    let (ids, expected): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
    let texts = store.texts(&ids).await.expect("they can be read");
    let texts: Vec<_> = texts.iter().map(|text| text.as_deref().map(str::trim)).collect();
    assert_eq!(texts, expected);
}

/// What was said in a turn that a rule ended is not shown again.
pub async fn a_withheld_turn_has_no_words(store: &dyn Store) {
    let mut told = Told::begin(store, "withheld").await;
    told.turn(store, "good morning", "and to you", Scope::Ambient).await;
    let turn = TurnNo(2);
    let reason = AbandonReason::Censored { id: memory_id("c1"), reason: "a secret".to_owned() };
    let ended = Event::TurnAbandoned { turn, reason, scope: Scope::Ambient };
    told.tell(store, vec![start(turn, "the launch code", None), ended]).await.expect("it ends");
    let reason = AbandonReason::Interrupted;
    let ended = Event::TurnAbandoned { turn: TurnNo(3), reason, scope: Scope::Ambient };
    told.tell(store, vec![start(TurnNo(3), "never mind", None), ended]).await.expect("it ends");
    for _ in 0..2 {
        let ids = [2, 4, 6].map(|seq| message(&told, seq));
        let texts = store.texts(&ids).await.expect("they can be read");
        let texts: Vec<_> = texts.iter().map(Option::as_deref).collect();
        assert_eq!(texts, [Some("good morning"), None, Some("never mind")]);
        assert_eq!(faults(store).await, []);
        store.rebuild(&told.id).await.expect("it can be rebuilt");
    }
    assert_eq!(embed_all(store, MODEL).await, 4, "nothing waits for ever");
}

/// A session and an agent with something of everything in them.
async fn rich(store: &dyn Store) -> (Told, Told) {
    let mut told = Told::begin(store, "rich").await;
    for n in 1..=9 {
        let scope = if n % 2 == 0 { Scope::Effort(effort("zoo")) } else { Scope::Ambient };
        if n == 2 {
            let names = ["zoo", "ark", "cage"].map(|name| open(name, TurnNo(1)));
            told.tell(store, names.into()).await.expect("they open");
        }
        told.turn(store, &format!("feed the canary {n}"), "the bird sings", scope).await;
    }
    told.tell(store, vec![conclude("ark", "The bird was freed.", TurnNo(9))]).await.expect("it concludes");
    let mut newton = Told::begin_agent(store, "newton").await;
    for n in 1..=4 {
        newton.learn(store, &memory(&format!("f{n}"), &format!("bird {n} sings"), n)).await;
    }
    newton.move_to(store, &memory("f2", "bird 2 sings", 2), Status::Superseded).await;
    (told, newton)
}

fn questions(told: &Told, newton: &Told) -> Vec<Query> {
    let mut all = Vec::new();
    for words in ["bird", "canary 7", "zoo ark cage", "sings", "feed freed", ""] {
        for streams in [None, Some(BTreeSet::from([newton.id.clone()])), Some(BTreeSet::from([told.id.clone()]))] {
            for (lexical_max, semantic_max) in [(2, 2), (99, 0), (0, 3)] {
                let filter = Filter { streams: streams.clone(), ..Filter::default() };
                let limits = Limits { visits_max: 12, lexical_max, semantic_max };
                all.push(Query { filter, limits, ..meant(words) });
            }
        }
    }
    all
}

/// Rebuilding what is whole changes no proposal, and nothing is embedded twice.
pub async fn a_rebuild_proposes_the_same(store: &dyn Store) {
    let (told, newton) = rich(store).await;
    embed_all(store, MODEL).await;
    let questions = questions(&told, &newton);
    let mut before = Vec::new();
    for question in &questions {
        before.push(propose(store, question).await);
    }
    for id in [&told.id, &newton.id] {
        store.rebuild(id).await.expect("it can be rebuilt");
        assert_eq!(faults(store).await, []);
    }
    assert_eq!(store.unembedded(MODEL, 9).await.expect("asking is allowed"), []);
    for (question, before) in questions.iter().zip(before) {
        assert_eq!(propose(store, question).await, before, "{question:?}");
    }
}

/// What is erased is proposed by no word and no meaning, and is not counted.
pub async fn what_is_erased_is_not_proposed(store: &dyn Store) {
    let (told, newton) = rich(store).await;
    let mut other = Told::begin(store, "other").await;
    other.turn(store, "another bird", "sings", Scope::Ambient).await;
    embed_all(store, MODEL).await;
    store.erase_memory(&newton.id, memory_id("f3"), Stamp(9)).await.expect("it can be erased");
    store.scrub(&told.id, Stamp(9)).await.expect("it can be erased");
    let all = propose(store, &meant("feed the bird canary")).await;
    assert!(all.cards.len() == 2 && all.cards.iter().all(|card| card.id.stream == other.id), "{all:?}");
    assert_eq!((all.texts, all.texts_with, all.waiting), (2, vec![0, 1, 0], 0));
    let filter = Filter { streams: Some(BTreeSet::from([agent("newton")])), ..Filter::default() };
    let known = propose(store, &Query { filter, ..meant("bird 3") }).await;
    assert_eq!((known.cards.len(), known.texts, known.texts_with), (3, 3, vec![3, 0]));
    let gone = [message(&told, 2), TextId { stream: newton.id.clone(), key: TextKey::Memory(memory_id("f3")) }];
    assert_eq!(store.texts(&gone).await.expect("asking is allowed"), [None, None]);
    let around = Around { of: gone.to_vec(), distance: 9, ..Around::default() };
    assert_eq!(store.around(&around, &meant("bird")).await.expect("asking is allowed"), []);
    assert_eq!(faults(store).await, []);
}

/// Whatever is asked, the answer is an answer.
pub async fn bad_questions_are_answered(store: &dyn Store) {
    let (told, _) = rich(store).await;
    embed_all(store, MODEL).await;
    let nothing = propose(store, &Query::new(Vec::new())).await;
    assert_eq!((nothing.cards.len(), nothing.texts_with.len()), (0, 0));
    assert!(nothing.texts > 0);
    let raw = ["\"", "a b", "*", "x\0", "NEAR", "words:bird", "", "(bird)", "bird*", "-bird", "^bird", "bird"];
    let raw = Query::new(raw.map(str::to_owned).to_vec());
    let found = propose(store, &raw).await;
    assert_eq!(found.texts_with[..11], [0; 11]);
    assert!(found.texts_with[11] > 0 && found.cards.iter().all(|card| card.hits[..11] == [0; 11]));
    let many = (0..10_000).map(|n| format!("word{n}")).chain(["bird".to_owned()]).collect();
    let found = propose(store, &Query::new(many)).await;
    assert!(!found.cards.is_empty() && found.cards.iter().all(|card| card.hits.len() == 10_001));
    for embedding in
        [Embedding::of(&[]), Embedding::of(&[1.0]), Embedding::of(&[0.0; 26]), Embedding::of(&[1.0; 999])]
    {
        let query = Query { embedding: Some(embedding), ..meant("bird") };
        assert!(!propose(store, &query).await.cards.is_empty(), "its words are found");
    }
    let greedy = Limits { visits_max: usize::MAX, lexical_max: usize::MAX, semantic_max: usize::MAX };
    let all = propose(store, &Query { limits: greedy, ..meant("bird canary zoo ark cage sings") }).await;
    assert_eq!(all.cards.len() as u64, all.texts);
    store.embed(MODEL, Vec::new()).await.expect("nothing can be kept");
    let empty = vec![(message(&told, 2), Arc::from("feed the canary 1"), Embedding::of(&[]))];
    store.embed(MODEL, empty).await.expect("what says nothing can be kept");
    assert_eq!(propose(store, &meant("canary")).await.waiting, 1);
    assert_eq!(store.unembedded(MODEL, 0).await.expect("asking is allowed"), []);
    assert_eq!(store.texts(&[]).await.expect("asking is allowed"), []);
    assert_eq!(faults(store).await, []);
}
