//! What is recalled, from cards made by hand.

mod freshness;
mod order;
mod packing;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Card, Proposed, TextId, TextKey, TextKind, Wanted};
use crate::ids::{Seq, SessionId, Stamp, TurnNo};
use crate::terms::terms;
use crate::testing::WordCounter;
use crate::tokens::TokenCounter as _;

const DAY: i64 = 86_400_000;

/// A few conversations, and what is said in them.
#[derive(Debug, Default)]
struct Talk {
    cards: Vec<Card>,
    texts: BTreeMap<TextId, Arc<str>>,
    said: Vec<String>,
}

impl Talk {
    /// Somebody says something: the n-th thing of a conversation that takes place on a day.
    fn say(&mut self, session: &str, day: i64, who: &str, text: &str) -> TextId {
        let stream = SessionId::from_name(session).expect("it is a name");
        let nth = self.cards.iter().filter(|card| card.id.stream == stream).count() as u64 + 1;
        let id = TextId { stream, key: TextKey::Message(Seq(nth + 1)) };
        let (kind, name) = match who {
            "assistant" => (TextKind::Assistant, None),
            "user" => (TextKind::User, None),
            name => (TextKind::User, Some(name.to_owned())),
        };
        self.cards.push(Card {
            id: id.clone(),
            kind,
            turn: TurnNo(nth),
            nth,
            at: Stamp(day * DAY + nth as i64),
            who: name,
            tokens: WordCounter.count(text),
            length: terms(text).len() as u32,
            hits: Vec::new(),
            near: None,
        });
        self.texts.insert(id.clone(), text.into());
        self.said.push(text.to_owned());
        id
    }

    /// Everything, as a store would propose it.
    fn proposed(&self, wanted: &Wanted) -> Proposed {
        let has = |text: &str, term: &String| terms(text).iter().filter(|word| *word == term).count() as u32;
        let mut cards = self.cards.clone();
        for card in &mut cards {
            card.hits = wanted.terms.iter().map(|term| has(&self.texts[&card.id], term)).collect();
        }
        let with = |term| self.said.iter().filter(|text| has(text, term) > 0).count() as u64;
        Proposed {
            cards,
            texts: self.said.len() as u64,
            length: self.said.iter().map(|text| terms(text).len() as u64).sum(),
            texts_with: wanted.terms.iter().map(with).collect(),
            mean_near: 0.1,
            waiting: 0,
        }
    }
}
