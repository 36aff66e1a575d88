//! I9: whatever was said, every backend proposes the same; and what was stored in another order ends the same.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::collections::BTreeSet;

use crate::scene::block_on;
use neap_core::base::ids::{Stamp, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::memory::{Memory, MemoryKind, MemoryWrite, Status};
use neap_core::recall::{
    Embedding, Filter, ParsedQuestion, Query, RankWeights, RankedSearch, SearchLimits, TextKind, UnembeddedText,
};
use neap_core::session::event::{Event, TurnEvent};
use neap_sqlite::SqliteStore;
use neap_store::contract::{
    TestStream, effort, effort_concluded, effort_opened, faults, letter_embedding, memory, memory_moved,
    tools_called, turn_completed, turn_started,
};
use neap_store::{Commit, EventStore, Maintenance, MemStore, SearchStore};

/// Chance that gives the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len() as u64) as usize]
    }

    fn says(&mut self) -> String {
        // Low words are common, high ones rare.
        let words: Vec<&str> = (0..=self.roll(7)).map(|_| WORDS[(self.roll(4) * self.roll(5)) as usize]).collect();
        words.join(" ")
    }
}

const WORDS: [&str; 13] =
    ["apple", "pear", "plum", "quince", "fig", "lime", "peach", "cherry", "melon", "grape", "登录", "ошибка", "7"];
const PEOPLE: [&str; 3] = ["Ada", "ada", "Tim"];
const MODELS: [&str; 2] = ["letters", "others"];

/// What one stream does next.
fn events(dice: &mut Dice, told: &TestStream, known: &mut Vec<Memory>) -> Vec<Event> {
    if told.id.agent().is_some() {
        if known.is_empty() || dice.roll(3) > 0 {
            let kind = *dice.pick(&MemoryKind::ALL);
            let number = known.iter().filter(|memory| memory.kind() == kind).count() + 1;
            let new = memory(&format!("{}{number}", kind.letter()), &dice.says(), dice.roll(50) as i64);
            known.push(new.clone());
            return vec![MemoryWrite::new(new).into()];
        }
        let at = dice.roll(known.len() as u64) as usize;
        let status = *dice.pick(&[Status::Superseded, Status::Inactive, Status::Confirmed]);
        let (event, after) = memory_moved(&known[at], status);
        known[at] = after;
        return vec![event];
    }
    let turn = told.state.turn().next();
    let mut events = vec![turn_started(turn, &dice.says(), None)];
    if let Some(Event::Turn(TurnEvent::Started { message, .. })) = events.first_mut() {
        message.message.name = (dice.roll(2) == 0).then(|| (*dice.pick(&PEOPLE)).to_owned());
    }
    if dice.roll(4) == 0 {
        events.push(tools_called(turn, &dice.says()));
    }
    let number = told.state.efforts().len();
    if dice.roll(4) == 0 {
        // Not in the order of their ids.
        for name in ["zoo", "ark"].iter().take(1 + dice.roll(2) as usize) {
            events.push(effort_opened(&format!("{name} {number}"), turn));
        }
    }
    let effort = told.state.efforts().next().map(|effort| effort.id.to_string());
    if let Some(effort) = effort.filter(|_| dice.roll(4) == 0) {
        events.push(effort_concluded(&effort, &dice.says(), turn));
    }
    let active = told.state.efforts().next().map(|effort| effort.id.clone()).filter(|_| dice.roll(2) == 0);
    events.push(turn_completed(turn, &dice.says(), active.map_or(Scope::Ambient, Scope::Effort)));
    events
}

fn query(dice: &mut Dice, streams: &[StreamId]) -> Query {
    let mut terms: Vec<String> = Vec::new();
    for _ in 0..dice.roll(6) {
        let term = (*dice.pick(&WORDS)).to_owned();
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    let some = |dice: &mut Dice| streams.iter().filter(|_| dice.roll(2) == 0).cloned().collect::<BTreeSet<_>>();
    let kinds = [TextKind::User, TextKind::Tool, TextKind::Effort, TextKind::Memory(MemoryKind::Fact)];
    let bound = |dice: &mut Dice| (dice.roll(4) == 0).then(|| Stamp(1_771_178_400_000 + dice.roll(60_000) as i64));
    let filter = Filter {
        streams: (dice.roll(2) == 0).then(|| some(dice)),
        kinds: (dice.roll(4) == 0).then(|| kinds.into_iter().filter(|_| dice.roll(2) == 0).collect()),
        from: bound(dice),
        until: bound(dice),
        speakers: (dice.roll(5) == 0)
            .then(|| PEOPLE.iter().filter(|_| dice.roll(2) == 0).map(|&who| who.into()).collect()),
        effort: (dice.roll(5) == 0).then(|| effort(&format!("zoo {}", dice.roll(3)))),
    };
    let limits = SearchLimits {
        visits_max: dice.roll(80) as usize,
        lexical_max: dice.roll(20) as usize,
        semantic_max: dice.roll(20) as usize,
    };
    let embedding = (dice.roll(3) > 0)
        .then(|| if dice.roll(9) == 0 { Embedding::quantize(&[1.0]) } else { letter_embedding(&dice.says()) });
    Query { terms, embedding, model: (*dice.pick(&MODELS)).to_owned(), filter, limits }
}

struct Both {
    sqlite: SqliteStore,
    mem: MemStore,
}

impl Both {
    async fn commit(&self, commit: Commit) {
        self.mem.commit(commit.clone()).await.unwrap();
        self.sqlite.commit(commit).await.unwrap();
    }

    /// Some of what waits is embedded, the same in both.
    async fn embed(&self, model: &str, max: usize) {
        let mut waiting = self.mem.unembedded(model, 10_000).await.unwrap();
        let mut others = self.sqlite.unembedded(model, 10_000).await.unwrap();
        waiting.sort();
        others.sort();
        assert_eq!(waiting, others);
        let embedded = waiting.into_iter().take(max).map(|UnembeddedText { id, text, .. }| {
            let embedding = letter_embedding(&text);
            (id, text, embedding)
        });
        let batch: Vec<_> = embedded.collect();
        self.mem.put_embeddings(model, batch.clone()).await.unwrap();
        self.sqlite.put_embeddings(model, batch).await.unwrap();
    }

    /// Returns how many were proposed.
    async fn ask(&self, dice: &mut Dice, streams: &[StreamId]) -> usize {
        let query = query(dice, streams);
        let proposed = self.mem.find_candidates(&query).await.unwrap();
        assert_eq!(proposed, self.sqlite.find_candidates(&query).await.unwrap(), "{query:?}");
        let consult = RankedSearch {
            question: ParsedQuestion::parse(&query.terms.join(" "), Stamp(1_771_178_400_000)),
            query: query.clone(),
            weights: RankWeights::default(),
            current_session: (dice.roll(2) == 0).then(|| (dice.pick(streams).clone(), dice.roll(5))),
            budget: Tokens(dice.roll(200)),
        };
        let consulted = self.mem.search(&consult).await.unwrap();
        assert_eq!(consulted, self.sqlite.search(&consult).await.unwrap(), "{consult:?}");
        let ids: Vec<_> = proposed.items.iter().map(|card| card.id.clone()).collect();
        let texts = self.mem.texts(&ids).await.unwrap();
        assert_eq!(texts, self.sqlite.texts(&ids).await.unwrap());
        assert!(texts.iter().all(Option::is_some));
        let ids: Vec<_> = consulted.ranked.into_iter().map(|ranked| ranked.candidate.id).collect();
        assert_eq!(self.mem.scopes(&ids).await.unwrap(), self.sqlite.scopes(&ids).await.unwrap());
        proposed.items.len()
    }
}

fn compare(seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let both = Both { sqlite: SqliteStore::open(&dir.path().join("neap.db")).unwrap(), mem: MemStore::new() };
    let dice = &mut Dice(seed);
    block_on(async {
        let mut streams = Vec::new();
        for name in ["zulu", "alpha"] {
            let told = TestStream::create(&both.sqlite, name).await;
            TestStream::create(&both.mem, name).await;
            let agent = TestStream::create_agent(&both.sqlite, name).await;
            TestStream::create_agent(&both.mem, name).await;
            streams.extend([(told, Vec::new()), (agent, Vec::new())]);
        }
        let ids: Vec<StreamId> = streams.iter().map(|(told, _)| told.id.clone()).collect();
        let mut given = 0;
        for step in 0..120 {
            let (told, known) = &mut streams[dice.roll(4) as usize];
            let (commit, after) = told.build_commit(events(dice, told, known));
            both.commit(commit).await;
            *told = after;
            if dice.roll(4) == 0 {
                let model = if step < 80 { MODELS[0] } else { MODELS[1] };
                both.embed(model, dice.roll(20) as usize).await;
            }
            given += both.ask(dice, &ids).await;
        }
        assert!(given > 300, "the scene is set: {given} were proposed");
        for round in 0..3 {
            for _ in 0..20 {
                both.ask(dice, &ids).await;
            }
            assert_eq!(faults(&both.sqlite).await, [], "seed {seed}, round {round}");
            for id in &ids {
                both.sqlite.rebuild(id).await.unwrap();
            }
            let (_, known) = &streams[1];
            let gone = dice.pick(known).id;
            both.mem.erase_memory(&ids[1], gone, Stamp(9)).await.unwrap();
            both.sqlite.erase_memory(&ids[1], gone, Stamp(9)).await.unwrap();
            if round == 1 {
                both.mem.scrub(&ids[0], Stamp(9)).await.unwrap();
                both.sqlite.scrub(&ids[0], Stamp(9)).await.unwrap();
            }
        }
    });
}

#[test]
fn every_backend_proposes_the_same() {
    for seed in [1, 7, 1_234_567] {
        compare(seed);
    }
}

/// So many that another thread scans their signs; so many are wanted that all are then compared exactly.
#[test]
fn every_backend_proposes_the_same_of_many() {
    let dir = tempfile::tempdir().unwrap();
    let both = Both { sqlite: SqliteStore::open(&dir.path().join("neap.db")).unwrap(), mem: MemStore::new() };
    let dice = &mut Dice(5);
    block_on(async {
        let told = TestStream::create(&both.sqlite, "long").await;
        TestStream::create(&both.mem, "long").await;
        let mut events = Vec::new();
        for turn in (1..=2_200).map(TurnNo) {
            events.push(turn_started(turn, &dice.says(), None));
            events.push(turn_completed(turn, &dice.says(), Scope::Ambient));
        }
        let (commit, told) = told.build_commit(events);
        both.commit(commit).await;
        both.embed(MODELS[0], usize::MAX).await;
        for _ in 0..20 {
            let mut query = query(dice, std::slice::from_ref(&told.id));
            query.embedding = Some(letter_embedding(&dice.says()));
            query.model = MODELS[0].to_owned();
            query.limits.semantic_max = 1_500;
            let proposed = both.mem.find_candidates(&query).await.unwrap();
            assert_eq!(proposed, both.sqlite.find_candidates(&query).await.unwrap(), "{query:?}");
        }
    });
}

/// Equal scores are told apart by what a text is, not by when it was stored.
#[test]
fn proposals_do_not_depend_on_the_order_of_commits() {
    let mut answers = Vec::new();
    for order in [[0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 0, 1, 0]] {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&dir.path().join("neap.db")).unwrap();
        block_on(async {
            let mut told = [TestStream::create(&store, "one").await, TestStream::create(&store, "two").await];
            for stream in order {
                let turn: TurnNo = told[stream].state.turn().next();
                let said = vec![turn_started(turn, "apple", None), effort_opened(&format!("effort {turn}"), turn)];
                told[stream].append(&store, said).await.unwrap();
                told[stream].append(&store, vec![turn_completed(turn, "apple", Scope::Ambient)]).await.unwrap();
            }
            let mut cards = Vec::new();
            for max in 0..8 {
                let limits = SearchLimits { lexical_max: max, visits_max: 2 * max, ..SearchLimits::default() };
                let terms = vec!["apple".to_owned(), "effort".to_owned()];
                cards.push(store.find_candidates(&Query { limits, ..Query::new(terms) }).await.unwrap());
            }
            answers.push(cards);
        });
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
    assert_eq!(answers[0][7].items.len(), 7);
}
