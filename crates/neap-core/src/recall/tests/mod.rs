//! Tests of ranking and packing on hand-made candidates.

mod freshness;
mod order;
mod packing;
mod searched;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Candidate, Candidates, ParsedQuestion, TextId, TextKey, TextKind};
use crate::base::ids::{Seq, SessionId, Stamp, TurnNo};
use crate::base::testing::WordCounter;
use crate::base::tokens::TokenCounter as _;
use crate::text::terms::terms;

const DAY: i64 = 86_400_000;

#[derive(Debug, Default)]
pub(super) struct Talk {
    cards: Vec<Candidate>,
    texts: BTreeMap<TextId, Arc<str>>,
    said: Vec<String>,
}

impl Talk {
    /// Adds the next message of a conversation that takes place on `day`.
    pub(super) fn say(&mut self, session: &str, day: i64, who: &str, text: &str) -> TextId {
        let stream = SessionId::from_name(session).expect("it is a name").into();
        let nth = self.cards.iter().filter(|card| card.id.stream == stream).count() as u64 + 1;
        let id = TextId { stream, key: TextKey::Message(Seq(nth + 1)) };
        let (kind, name) = match who {
            "assistant" => (TextKind::Assistant, None),
            "user" => (TextKind::User, None),
            name => (TextKind::User, Some(name.to_owned())),
        };
        self.cards.push(Candidate {
            id: id.clone(),
            kind,
            turn: TurnNo(nth),
            position: nth,
            at: Stamp(day * DAY + nth as i64),
            project: None,
            speaker: name,
            tokens: WordCounter.count(text),
            term_count: terms(text).len() as u32,
            hits: Vec::new(),
            similarity: None,
        });
        self.texts.insert(id.clone(), text.into());
        self.said.push(text.to_owned());
        id
    }

    /// Everything, as a store would propose it.
    pub(super) fn proposed(&self, question: &ParsedQuestion) -> Candidates {
        let has = |text: &str, term: &String| terms(text).iter().filter(|word| *word == term).count() as u32;
        let mut cards = self.cards.clone();
        for card in &mut cards {
            card.hits = question.terms.iter().map(|term| has(&self.texts[&card.id], term)).collect();
        }
        let with = |term| self.said.iter().filter(|text| has(text, term) > 0).count() as u64;
        Candidates {
            items: cards,
            text_count: self.said.len() as u64,
            total_terms: self.said.iter().map(|text| terms(text).len() as u64).sum(),
            document_frequencies: question.terms.iter().map(with).collect(),
            mean_similarity: 0.1,
            unembedded: 0,
        }
    }
}
