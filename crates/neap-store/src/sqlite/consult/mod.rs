//! A question, from what is proposed to the words that are read: one visit to the store, in which no name is looked up twice.

mod around;
mod place;
mod propose;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use neap_core::recall::{Card, Consult, Consulted, Embedding, Query};
use rusqlite::Connection;

use super::cards::Reading;
use super::fault::Stop;
use super::space::Space;
use super::texts::Names;
use super::{texts, vectors};
use crate::card::{Asked, Seen};

pub(super) fn consult(db: &Connection, space: &Space, consult: &Consult) -> Result<Consulted, Stop> {
    let inquiry = Inquiry::new(db, space, &consult.query)?;
    consult.answer(
        || inquiry.propose(),
        |around| inquiry.around(around),
        |ids| Ok(texts::texts(db, &mut inquiry.names.borrow_mut(), ids)?),
    )
}

/// A question on its visit to the store.
pub(super) struct Inquiry<'a> {
    db: &'a Connection,
    space: &'a Space,
    query: &'a Query,
    asked: Asked,
    meant: Option<Meant<'a>>,
    names: RefCell<Names>,
}

/// What was seen of texts, by their numbers.
type Found = BTreeMap<i64, Seen>;

impl<'a> Inquiry<'a> {
    pub(super) fn new(db: &'a Connection, space: &'a Space, query: &'a Query) -> rusqlite::Result<Self> {
        let (asked, meant) = (Asked::of(query), Meant::of(db, query)?);
        Ok(Self { db, space, query, asked, meant, names: RefCell::default() })
    }

    /// Reads the cards of texts that were not seen yet. What has none is left out.
    fn read(&self, mut texts: Vec<i64>, found: &mut Found) -> rusqlite::Result<()> {
        texts.sort_unstable();
        let mut card = Reading::new(self.db, &self.asked)?;
        for text in texts {
            if !found.contains_key(&text) {
                found.extend(card.of(text)?.map(|seen| (text, seen)));
            }
        }
        Ok(())
    }

    /// What was seen as cards, in the order of ids. What is of no known stream is left out.
    fn named(&self, found: Found, near: &HashMap<i64, f64>) -> rusqlite::Result<Vec<Card>> {
        let (mut names, mut cards) = (self.names.borrow_mut(), Vec::with_capacity(found.len()));
        for (text, seen) in found {
            cards.extend(names.id(self.db, text)?.map(|id| seen.card(id, near.get(&text).copied())));
        }
        cards.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(cards)
    }
}

/// What a question means to one model.
struct Meant<'a> {
    embedding: &'a Embedding,
    model: i64,
}

impl<'a> Meant<'a> {
    /// None if the model never embedded anything.
    fn of(db: &Connection, query: &'a Query) -> rusqlite::Result<Option<Self>> {
        let Some(embedding) = query.embedding.as_ref().filter(|of| !of.values().is_empty()) else {
            return Ok(None);
        };
        let model = vectors::model(db, &query.model, embedding.values().len())?;
        Ok(model.map(|model| Self { embedding, model }))
    }
}
