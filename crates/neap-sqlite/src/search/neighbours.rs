//! Finds texts by position: beside other texts, at the start or at the end of a session.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use neap_core::recall::{Candidate, NeighbourQuery};
use rusqlite::Rows;

use super::super::db_error::DbError;
use super::super::derived_rows::to_sql;
use super::super::{cards, vectors};
use super::{CardsByRowid, QueryContext, QueryEmbedding};
use neap_store::backend::rowids;

impl QueryContext<'_> {
    pub(in super::super) fn neighbours(&self, around: &NeighbourQuery) -> Result<Vec<Candidate>, DbError> {
        let found = self.find_neighbours(around)?;
        let Some(query_embedding) = &self.embedding else { return Ok(self.to_cards(found, &HashMap::new())?) };
        let QueryEmbedding { embedding, model } = *query_embedding;
        let similarities = vectors::similarities(self.db, embedding, model, found.keys().copied())?;
        Ok(self.to_cards(found, &similarities)?)
    }

    fn find_neighbours(&self, around: &NeighbourQuery) -> rusqlite::Result<CardsByRowid> {
        let NeighbourQuery { texts, distance, openings, latest } = around;
        let mut ids = self.ids.borrow_mut();
        let mut given = Vec::with_capacity(texts.len());
        for id in texts {
            given.extend(ids.rowid(self.db, id)?);
        }
        given.sort_unstable();
        given.dedup();
        let mut found = self.messages_within(&given, *distance)?;
        found.retain(|text, _| given.binary_search(text).is_err());
        for id in openings {
            if let Some(stream) = ids.stream(self.db, id)? {
                self.messages_at_end(stream, "", 1, &mut found)?;
            }
        }
        if let Some((id, max)) = latest
            && let Some(stream) = ids.stream(self.db, id)?
        {
            self.messages_at_end(stream, "DESC", *max, &mut found)?;
        }
        Ok(found)
    }

    /// The first or the last messages of a stream.
    fn messages_at_end(
        &self,
        stream: i64,
        order: &str,
        max: usize,
        found: &mut CardsByRowid,
    ) -> rusqlite::Result<()> {
        let (first, last) = rowids::message_range(stream);
        let columns = cards::COLUMNS;
        let query = format!(
            "SELECT {columns} FROM cards WHERE text BETWEEN ? AND ? AND nth > 0 ORDER BY text {order} LIMIT ?"
        );
        let mut statement = self.db.prepare_cached(&query)?;
        let mut rows = statement.query([first, last, to_sql(max as u64)])?;
        while let Some(row) = rows.next()? {
            found.extend(cards::query_card(row, &self.terms)?);
        }
        Ok(())
    }

    /// The given texts (sorted) and messages within a distance; overlapping ranges are read once.
    fn messages_within(&self, given: &[i64], distance: u64) -> rusqlite::Result<CardsByRowid> {
        let columns = cards::COLUMNS;
        let before = format!("SELECT {columns} FROM cards WHERE text BETWEEN ? AND ? ORDER BY text DESC");
        let after = format!("SELECT {columns} FROM cards WHERE text BETWEEN ? AND ? ORDER BY text");
        let (mut before, mut after) = (self.db.prepare_cached(&before)?, self.db.prepare_cached(&after)?);
        let mut found = CardsByRowid::new();
        let mut read_to = i64::MIN;
        for &text in given {
            let (first, last) = rowids::message_range(rowids::stream_of(text));
            let unread = read_to.saturating_add(1);
            let mut rows = after.query([text.max(unread), last])?;
            if !found.contains_key(&text)
                && let Some(row) = rows.next()?
            {
                found.extend(cards::query_card(row, &self.terms)?.filter(|(rowid, _)| *rowid == text));
            }
            let Some(nth) = found.get(&text).map(|card| card.nth).filter(|nth| *nth > 0) else { continue };
            let reach = nth.saturating_sub(distance).max(1)..=nth.saturating_add(distance);
            self.collect_within(rows, &reach, &mut found)?;
            self.collect_within(before.query([first.max(unread), text - 1])?, &reach, &mut found)?;
            read_to = found.last_key_value().map_or(read_to, |(last, _)| *last);
        }
        Ok(found)
    }

    /// Collects messages row by row while they are within `reach`.
    fn collect_within(
        &self,
        mut rows: Rows<'_>,
        reach: &RangeInclusive<u64>,
        found: &mut CardsByRowid,
    ) -> rusqlite::Result<()> {
        while let Some(row) = rows.next()? {
            let card = cards::query_card(row, &self.terms)?;
            let Some((text, card)) = card.filter(|(_, card)| card.nth > 0) else { continue };
            if !reach.contains(&card.nth) {
                break;
            }
            found.insert(text, card);
        }
        Ok(())
    }
}
