//! Runs a search from candidates to texts on one snapshot; looks up each stream's name only once.

mod candidates;
mod neighbours;
mod searched_streams;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use neap_core::recall::{Candidate, Embedding, Query, RankedResults, RankedSearch};
use rusqlite::Connection;

use super::cards::CardReader;
use super::db_error::DbError;
use super::texts::IdCache;
use super::vector_cache::VectorCache;
use super::{texts, vectors};
use neap_store::backend::card::{QueryCard, QueryTerms};

pub(super) fn search(
    db: &Connection,
    vector_cache: &VectorCache,
    request: &RankedSearch,
) -> Result<RankedResults, DbError> {
    let context = QueryContext::new(db, vector_cache, &request.query)?;
    request.run(
        |query| match std::ptr::eq(query, &request.query) {
            true => context.find_candidates(),
            false => QueryContext::new(db, vector_cache, query)?.find_candidates(),
        },
        |around| context.neighbours(around),
        |ids| Ok(texts::texts(db, &mut context.ids.borrow_mut(), ids)?),
    )
}

pub(super) struct QueryContext<'a> {
    db: &'a Connection,
    vector_cache: &'a VectorCache,
    query: &'a Query,
    terms: QueryTerms,
    embedding: Option<QueryEmbedding<'a>>,
    ids: RefCell<IdCache>,
}

type CardsByRowid = BTreeMap<i64, QueryCard>;

impl<'a> QueryContext<'a> {
    pub(super) fn new(
        db: &'a Connection,
        vector_cache: &'a VectorCache,
        query: &'a Query,
    ) -> rusqlite::Result<Self> {
        let (terms, embedding) = (QueryTerms::of(query), QueryEmbedding::of(db, query)?);
        Ok(Self { db, vector_cache, query, terms, embedding, ids: RefCell::default() })
    }

    /// Reads the cards of texts not read yet; texts without a card are left out.
    fn read_cards(&self, mut texts: Vec<i64>, found: &mut CardsByRowid) -> rusqlite::Result<()> {
        texts.sort_unstable();
        let mut reader = CardReader::new(self.db, &self.terms)?;
        for text in texts {
            if !found.contains_key(&text) {
                found.extend(reader.get(text)?.map(|card| (text, card)));
            }
        }
        Ok(())
    }

    /// Converts cards to candidates, ordered by id; texts of unknown streams are left out.
    fn to_cards(&self, found: CardsByRowid, similarities: &HashMap<i64, f64>) -> rusqlite::Result<Vec<Candidate>> {
        let (mut ids, mut cards) = (self.ids.borrow_mut(), Vec::with_capacity(found.len()));
        for (text, card) in found {
            let Some(id) = ids.id(self.db, text)? else { continue };
            let project = ids.project(self.db, text)?;
            cards.push(Candidate { project, ..card.card(id, similarities.get(&text).copied()) });
        }
        cards.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(cards)
    }
}

#[derive(Clone, Copy)]
struct QueryEmbedding<'a> {
    embedding: &'a Embedding,
    model: i64,
}

impl<'a> QueryEmbedding<'a> {
    /// `None` if the model has never embedded anything.
    fn of(db: &Connection, query: &'a Query) -> rusqlite::Result<Option<Self>> {
        let Some(embedding) = query.embedding.as_ref().filter(|embedding| !embedding.values().is_empty()) else {
            return Ok(None);
        };
        let model = vectors::model_number(db, &query.model, embedding.values().len())?;
        Ok(model.map(|model| Self { embedding, model }))
    }
}
