//! A year of an agent's life, made up from a seed: the proportions are the note's (2,000 decisions, 5,000 facts, 1,500
//! episodes, 200 procedures, 100 censors), the topics those of a software team and of a person.
//!
//! Records are written by the rules themselves, in the order of time: facts are met again, take the place of others and
//! contradict each other as they would. Which topic a record is about is known here alone; nothing in the record says so.

mod draw;
mod says;
mod topics;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use neap_core::ids::{SessionId, Stamp, TurnNo};
use neap_core::memory::{Author, Body, Confidence, Fact, MemoryDraft, MemoryId, Provenance};

use draw::Draw;
use says::Said;
pub(crate) use topics::{Topic, topics};
pub(crate) use write::write;

/// The moment at which the year is over and questions are asked.
pub(crate) const NOW: Stamp = Stamp(1_771_000_000_000);
/// The agent who lived it.
pub(crate) const AGENT: &str = "proof";
const DAY_MS: i64 = 86_400_000;
const YEAR_MS: i64 = 365 * DAY_MS;
const SEED: u64 = 9;

/// Facts that are always loaded.
const RULES: [&str; 5] = [
    "Always give sizes in metric units",
    "Answers are in English, however the question is put",
    "Tim likes short answers with the conclusion first",
    "Never name a customer in public text",
    "Prices are in euros, VAT included",
];

/// How many records of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) decisions: u32,
    pub(crate) facts: u32,
    pub(crate) episodes: u32,
    pub(crate) procedures: u32,
    pub(crate) censors: u32,
}

impl Size {
    /// This share of what the note says that an agent has.
    pub(crate) fn percent(percent: u32) -> Self {
        let of = |all: u32| (all * percent).div_ceil(100);
        Self { decisions: of(2_000), facts: of(5_000), episodes: of(1_500), procedures: of(200), censors: of(100) }
    }

    /// All of them.
    pub(crate) fn all(self) -> u32 {
        self.decisions + self.facts + self.episodes + self.procedures + self.censors
    }
}

/// What a record is about.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// Which topic; none is about a rule.
    pub(crate) topic: Option<usize>,
    /// What of it.
    pub(crate) slots: Vec<&'static str>,
    /// What it says, in one sentence.
    pub(crate) said: String,
}

/// What was written.
pub(crate) struct Corpus {
    /// The topics.
    pub(crate) topics: Vec<Topic>,
    /// What each record is about.
    pub(crate) about: BTreeMap<MemoryId, About>,
    /// Drafts that the rules refused.
    pub(crate) refused: u64,
    /// Facts met again, in the place of others, and contested.
    pub(crate) confirmed: u64,
    pub(crate) superseded: u64,
    pub(crate) contested: u64,
}

/// Something that will be remembered at a moment.
struct Planned {
    at: Stamp,
    topic: Option<usize>,
    said: Said,
    author: Author,
    pinned: bool,
}

impl Planned {
    /// As a draft; a model's words were said in a turn of their own.
    fn draft(&self, turn: u64, field: &str, tagged: bool) -> MemoryDraft {
        let mut provenance = Provenance::of(self.author);
        if self.author == Author::Model {
            provenance.session = SessionId::from_name("work").ok();
            provenance.turn = Some(TurnNo(turn));
        }
        let mut draft = MemoryDraft::new(self.said.body.clone(), provenance);
        draft.pinned = self.pinned;
        if tagged {
            draft.tags = vec![field.to_owned()];
        }
        draft
    }
}

/// The sentence of a record.
fn sentence(body: &Body) -> &str {
    match body {
        Body::Decision(decision) => &decision.description,
        Body::Fact(fact) => &fact.content,
        Body::Procedure(procedure) => &procedure.name,
        Body::Episode(episode) => &episode.summary,
        Body::Censor(censor) => &censor.reason,
    }
}

/// Plans a year.
struct Planner<'a> {
    draw: Draw,
    topics: &'a [Topic],
    /// Topic numbers, each as often as it comes up.
    lots: Vec<usize>,
    planned: Vec<Planned>,
    facts_said: BTreeSet<String>,
}

impl<'a> Planner<'a> {
    fn new(topics: &'a [Topic]) -> Self {
        let lots = topics.iter().enumerate().flat_map(|(at, topic)| vec![at; topic.weight as usize]).collect();
        Self { draw: Draw::new(SEED), topics, lots, planned: Vec::new(), facts_said: BTreeSet::new() }
    }

    fn plan(mut self, size: Size) -> (Vec<Planned>, Self) {
        for rule in RULES.iter().take(size.facts as usize / 20) {
            let said =
                Said { body: Body::Fact(Fact::new("", rule.to_string(), Confidence::FULL)), slots: Vec::new() };
            let at = self.moment();
            self.planned.push(Planned { at, topic: None, said, author: Author::Person, pinned: true });
        }
        for _ in 0..size.facts {
            self.fact(NOW.0 - YEAR_MS);
        }
        for _ in 0..size.decisions {
            self.drawn(says::decision);
        }
        for _ in 0..size.episodes {
            self.drawn(says::episode);
        }
        for n in 0..size.procedures as usize {
            // Each doing of each topic has one procedure.
            let (topic, which) = (n % self.topics.len(), n / self.topics.len());
            let said = says::procedure(&mut self.draw, &self.topics[topic], which);
            self.push(topic, said);
        }
        for n in 0..size.censors as usize {
            let topic = n % self.topics.len();
            let said = says::censor(&mut self.draw, &self.topics[topic]);
            self.push(topic, said);
        }
        let mut planned = std::mem::take(&mut self.planned);
        planned.sort_by_key(|planned| planned.at);
        (planned, self)
    }

    /// A fact that was not said before, from a moment on; some are met again, some have another value later.
    fn fact(&mut self, from: i64) {
        let (topic, said) = loop {
            let topic = self.draw.pick(&self.lots);
            let said = says::fact(&mut self.draw, &self.topics[topic]);
            if self.facts_said.insert(sentence(&said.body).to_owned()) {
                break (topic, said);
            }
        };
        let author = self.author();
        let first = Stamp(from + self.draw.between(0, (NOW.0 - from - DAY_MS) as u64) as i64);
        let planned = |at, said| Planned { at, topic: Some(topic), said, author, pinned: false };
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

    /// The same fact with another number, where a number is its value.
    fn another_value(&mut self, said: &Said) -> Option<Said> {
        let Body::Fact(fact) = &said.body else { return None };
        let is_value = fact.content.starts_with("The limit for ") || fact.content.contains(" costs ");
        let digits = fact.content.find(|c: char| c.is_ascii_digit()).filter(|_| is_value)?;
        let end =
            fact.content[digits..].find(|c: char| !c.is_ascii_digit()).map_or(fact.content.len(), |n| digits + n);
        let number = self.draw.between(500, 900);
        let content = format!("{}{number}{}", &fact.content[..digits], &fact.content[end..]);
        let body = Body::Fact(Fact::new(fact.subject.clone(), content, fact.confidence));
        Some(Said { body, slots: said.slots.clone() })
    }

    /// A record about any topic.
    fn drawn(&mut self, says: fn(&mut Draw, &Topic) -> Said) {
        let topic = self.draw.pick(&self.lots);
        let said = says(&mut self.draw, &self.topics[topic]);
        self.push(topic, said);
    }

    fn push(&mut self, topic: usize, said: Said) {
        let (at, author) = (self.moment(), self.author());
        self.planned.push(Planned { at, topic: Some(topic), said, author, pinned: false });
    }

    fn moment(&mut self) -> Stamp {
        Stamp(NOW.0 - self.draw.between(DAY_MS as u64, YEAR_MS as u64) as i64)
    }

    fn author(&mut self) -> Author {
        self.draw.pick(&[
            Author::Person,
            Author::Person,
            Author::Model,
            Author::Model,
            Author::Model,
            Author::Import,
        ])
    }
}
