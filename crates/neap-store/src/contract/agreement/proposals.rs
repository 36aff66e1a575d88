//! Candidates and whole searches.

use std::collections::BTreeSet;

use neap_core::base::ids::{Stamp, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::base::project_id::ProjectId;
use neap_core::base::tokens::Tokens;
use neap_core::memory::{Memory, MemoryKind, MemoryWrite, Status};
use neap_core::recall::{
    Embedding, Filter, ParsedQuestion, ProjectFilter, Query, RankWeights, RankedSearch, SearchLimits, TextKind,
};
use neap_core::session::event::{Event, SessionEvent, TurnEvent};

use super::Dice;
use crate::contract::{
    TestStream, effort, effort_concluded, effort_opened, faults, letter_embedding, memory, memory_moved,
    tools_called, turn_completed, turn_started,
};
use crate::{Commit, EventStore, Maintenance, MemStore, SearchStore, Store};

impl Dice {
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
    if dice.roll(8) == 0 {
        let project = (dice.roll(4) > 0).then(|| project(dice));
        return vec![Event::Session(SessionEvent::ProjectSet { project })];
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

fn project(dice: &mut Dice) -> ProjectId {
    ProjectId::from_name(if dice.roll(2) == 0 { "shop" } else { "barn" }).unwrap()
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
        project: match dice.roll(16) {
            0 => Some(ProjectFilter::Only(project(dice))),
            1 => Some(ProjectFilter::First(project(dice))),
            2 => Some(ProjectFilter::Others(project(dice))),
            _ => None,
        },
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

struct Both<'a> {
    tested: &'a dyn Store,
    mem: MemStore,
}

impl Both<'_> {
    async fn commit(&self, commit: Commit) {
        self.mem.commit(commit.clone()).await.unwrap();
        self.tested.commit(commit).await.unwrap();
    }

    /// Some of what waits is embedded, the same in both.
    async fn embed(&self, model: &str, max: usize) {
        let mut waiting = self.mem.unembedded(model, 10_000).await.unwrap();
        let mut others = self.tested.unembedded(model, 10_000).await.unwrap();
        waiting.sort();
        others.sort();
        assert_eq!(waiting, others);
        let embedded = waiting.into_iter().take(max).map(|(id, text)| {
            let embedding = letter_embedding(&text);
            (id, text, embedding)
        });
        let batch: Vec<_> = embedded.collect();
        self.mem.put_embeddings(model, batch.clone()).await.unwrap();
        self.tested.put_embeddings(model, batch).await.unwrap();
    }

    /// Returns how many were proposed.
    async fn ask(&self, dice: &mut Dice, streams: &[StreamId]) -> usize {
        let query = query(dice, streams);
        let proposed = self.mem.find_candidates(&query).await.unwrap();
        assert_eq!(proposed, self.tested.find_candidates(&query).await.unwrap(), "{query:?}");
        let consult = RankedSearch {
            question: ParsedQuestion::parse(&query.terms.join(" "), Stamp(1_771_178_400_000)),
            query: query.clone(),
            weights: RankWeights::default(),
            current_session: (dice.roll(2) == 0).then(|| (dice.pick(streams).clone(), dice.roll(5))),
            budget: Tokens(dice.roll(200)),
        };
        let consulted = self.mem.search(&consult).await.unwrap();
        assert_eq!(consulted, self.tested.search(&consult).await.unwrap(), "{consult:?}");
        let ids: Vec<_> = proposed.items.iter().map(|card| card.id.clone()).collect();
        let texts = self.mem.texts(&ids).await.unwrap();
        assert_eq!(texts, self.tested.texts(&ids).await.unwrap());
        assert!(texts.iter().all(Option::is_some));
        let ids: Vec<_> = consulted.ranked.into_iter().map(|ranked| ranked.candidate.id).collect();
        assert_eq!(self.mem.scopes(&ids).await.unwrap(), self.tested.scopes(&ids).await.unwrap());
        proposed.items.len()
    }
}

/// `tested` is empty.
pub async fn propose_alike(tested: &dyn Store, seed: u64) {
    let both = Both { tested, mem: MemStore::new() };
    let dice = &mut Dice(seed);
    let mut streams = Vec::new();
    for name in ["zulu", "alpha"] {
        let told = TestStream::create(both.tested, name).await;
        TestStream::create(&both.mem, name).await;
        let agent = TestStream::create_agent(both.tested, name).await;
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
        assert_eq!(faults(both.tested).await, [], "seed {seed}, round {round}");
        for id in &ids {
            both.tested.rebuild(id).await.unwrap();
        }
        let (_, known) = &streams[1];
        let gone = dice.pick(known).id;
        both.mem.erase_memory(&ids[1], gone, Stamp(9)).await.unwrap();
        both.tested.erase_memory(&ids[1], gone, Stamp(9)).await.unwrap();
        if round == 1 {
            both.mem.scrub(&ids[0], Stamp(9)).await.unwrap();
            both.tested.scrub(&ids[0], Stamp(9)).await.unwrap();
        }
    }
}

/// So many that another thread scans their signs; so many are wanted that all are then compared exactly.
pub async fn propose_alike_of_many(tested: &dyn Store) {
    let both = Both { tested, mem: MemStore::new() };
    let dice = &mut Dice(5);
    let told = TestStream::create(both.tested, "long").await;
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
        assert_eq!(proposed, both.tested.find_candidates(&query).await.unwrap(), "{query:?}");
    }
}
