//! A generated year of an agent's memories: 2,000 decisions, 5,000 facts, 1,500 episodes, 200 procedures and 100
//! censors about a software team and a person.
//!
//! Memories are written through the real rules, in order of time, so that facts are confirmed, superseded and
//! contested. Which topic a memory is about is known only here; the memory itself does not say so.

mod templates;
mod topics;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::ids::Stamp;
use neap_core::memory::{Author, Body, Confidence, Fact, MemoryId, MemoryKind};

use templates::Statement;
pub(crate) use topics::{Topic, topics};
pub(crate) use write::write;

use crate::measure::Rng;

/// The end of the year, when questions are asked.
pub(crate) const NOW: Stamp = Stamp(1_771_000_000_000);
pub(crate) const AGENT: &str = "proof";
const DAY_MS: i64 = 86_400_000;
const YEAR_MS: i64 = 365 * DAY_MS;
const SEED: u64 = 9;

/// The share of the full corpus that is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) percent: u32,
}

impl Size {
    pub(crate) fn of(self, kind: MemoryKind) -> u32 {
        let all = match kind {
            MemoryKind::Decision => 2_000,
            MemoryKind::Fact => 5_000,
            MemoryKind::Episode => 1_500,
            MemoryKind::Procedure => 200,
            MemoryKind::Censor => 100,
        };
        (all * self.percent).div_ceil(100)
    }

    pub(crate) fn all(self) -> u32 {
        MemoryKind::ALL.into_iter().map(|kind| self.of(kind)).sum()
    }
}

pub(crate) struct About {
    /// `None` for a pinned fact.
    pub(crate) topic: Option<usize>,
    /// The parts of the topic that it mentions.
    pub(crate) slots: Vec<&'static str>,
    /// Its text, in one sentence.
    pub(crate) said: String,
}

#[derive(Default)]
pub(crate) struct Corpus {
    pub(crate) topics: Vec<Topic>,
    pub(crate) about: BTreeMap<MemoryId, About>,
    pub(crate) refused: u64,
    pub(crate) confirmed: u64,
    pub(crate) superseded: u64,
    pub(crate) contested: u64,
}

/// A memory to be written at a given time.
struct PlannedRecord {
    at: Stamp,
    topic: Option<usize>,
    said: Statement,
    author: Author,
    pinned: bool,
}

fn sentence(body: &Body) -> &str {
    match body {
        Body::Decision(decision) => &decision.description,
        Body::Fact(fact) => &fact.content,
        Body::Procedure(procedure) => &procedure.name,
        Body::Episode(episode) => &episode.summary,
        Body::Censor(censor) => &censor.reason,
    }
}

struct Planner<'a> {
    draw: Rng,
    topics: &'a [Topic],
    /// Topic indexes, repeated by weight.
    weighted_topics: Vec<usize>,
    planned: Vec<PlannedRecord>,
    facts_said: BTreeSet<String>,
}

impl<'a> Planner<'a> {
    fn new(topics: &'a [Topic]) -> Self {
        let weighted = topics.iter().enumerate().flat_map(|(at, topic)| vec![at; topic.weight as usize]);
        let (weighted_topics, draw) = (weighted.collect(), Rng::new(SEED));
        Self { draw, topics, weighted_topics, planned: Vec::new(), facts_said: BTreeSet::new() }
    }

    fn plan(&mut self, size: Size) -> Vec<PlannedRecord> {
        for rule in templates::group("rule").into_iter().take(size.of(MemoryKind::Fact) as usize / 20) {
            let body = Body::Fact(Fact::new("", rule, Confidence::FULL));
            let (at, said) = (self.moment(), Statement { body, slots: Vec::new() });
            self.planned.push(PlannedRecord { at, topic: None, said, author: Author::Person, pinned: true });
        }
        for _ in 0..size.of(MemoryKind::Fact) {
            self.fact(NOW.0 - YEAR_MS);
        }
        for _ in 0..size.of(MemoryKind::Decision) {
            self.plan_any(templates::decision);
        }
        for _ in 0..size.of(MemoryKind::Episode) {
            self.plan_any(templates::episode);
        }
        for n in 0..size.of(MemoryKind::Procedure) as usize {
            // One procedure per activity of a topic.
            let (topic, which) = (n % self.topics.len(), n / self.topics.len());
            let said = templates::procedure(&mut self.draw, &self.topics[topic], which);
            self.push(topic, said);
        }
        for n in 0..size.of(MemoryKind::Censor) as usize {
            let topic = n % self.topics.len();
            let said = templates::censor(&mut self.draw, &self.topics[topic]);
            self.push(topic, said);
        }
        let mut planned = std::mem::take(&mut self.planned);
        planned.sort_by_key(|planned| planned.at);
        planned
    }

    /// A new fact after `from`; some are later confirmed, some change their value.
    fn fact(&mut self, from: i64) {
        let (topic, said) = loop {
            let topic = self.draw.pick(&self.weighted_topics);
            let said = templates::fact(&mut self.draw, &self.topics[topic]);
            if self.facts_said.insert(sentence(&said.body).to_owned()) {
                break (topic, said);
            }
        };
        let author = self.author();
        let first = Stamp(from + self.draw.between(0, (NOW.0 - from - DAY_MS) as u64) as i64);
        let planned = |at, said| PlannedRecord { at, topic: Some(topic), said, author, pinned: false };
        let (mut at, mut later) = (first, Vec::new());
        if self.draw.chance(24) {
            for _ in 0..self.draw.between(1, 4) {
                at = Stamp(self.draw.between(at.0 as u64, NOW.0 as u64) as i64);
                later.push(planned(at, said.clone()));
            }
        } else if let Some(other) = self.another_value(&said)
            && self.draw.chance(50)
        {
            at = Stamp(self.draw.between(at.0 as u64, NOW.0 as u64) as i64);
            later.push(planned(at, other));
        }
        self.planned.push(planned(first, said));
        self.planned.extend(later);
    }

    /// The same fact with another number, where it has one as its value.
    fn another_value(&mut self, said: &Statement) -> Option<Statement> {
        let Body::Fact(fact) = &said.body else { return None };
        let is_value = fact.content.starts_with("The limit for ") || fact.content.contains(" costs ");
        let digits = fact.content.find(|c: char| c.is_ascii_digit()).filter(|_| is_value)?;
        let end =
            fact.content[digits..].find(|c: char| !c.is_ascii_digit()).map_or(fact.content.len(), |n| digits + n);
        let number = self.draw.between(500, 900);
        let content = format!("{}{number}{}", &fact.content[..digits], &fact.content[end..]);
        let body = Body::Fact(Fact::new(fact.subject.clone(), content, fact.confidence));
        Some(Statement { body, slots: said.slots.clone() })
    }

    fn plan_any(&mut self, template: fn(&mut Rng, &Topic) -> Statement) {
        let topic = self.draw.pick(&self.weighted_topics);
        let said = template(&mut self.draw, &self.topics[topic]);
        self.push(topic, said);
    }

    fn push(&mut self, topic: usize, said: Statement) {
        let (at, author) = (self.moment(), self.author());
        self.planned.push(PlannedRecord { at, topic: Some(topic), said, author, pinned: false });
    }

    fn moment(&mut self) -> Stamp {
        Stamp(NOW.0 - self.draw.between(DAY_MS as u64, YEAR_MS as u64) as i64)
    }

    fn author(&mut self) -> Author {
        use Author::{Import, Model, Person};
        self.draw.pick(&[Person, Person, Model, Model, Model, Import])
    }
}
