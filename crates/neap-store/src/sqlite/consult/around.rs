//! What is looked at for where it is: beside other texts, at the beginning or at the end of a conversation.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use neap_core::recall::{Around, Card};
use rusqlite::Rows;

use super::super::cards;
use super::super::effects::number;
use super::super::fault::Stop;
use super::{Found, Inquiry};
use crate::numbers;

impl Inquiry<'_> {
    pub(in super::super) fn around(&self, around: &Around) -> Result<Vec<Card>, Stop> {
        let found = self.found_around(around)?;
        let Some(meant) = &self.meant else { return Ok(self.named(found, &HashMap::new())?) };
        let cards = self.space.look(self.db, meant.model, meant.embedding.values().len(), |loaded| {
            let near = loaded.near(meant.embedding, found.keys().copied());
            self.named(found, &near)
        })?;
        Ok(cards)
    }

    fn found_around(&self, around: &Around) -> rusqlite::Result<Found> {
        let Around { of, distance, openings, latest } = around;
        let mut names = self.names.borrow_mut();
        let mut given = Vec::with_capacity(of.len());
        for id in of {
            given.extend(names.number(self.db, id)?);
        }
        given.sort_unstable();
        given.dedup();
        let mut found = self.said_beside(&given, *distance)?;
        found.retain(|text, _| given.binary_search(text).is_err());
        for id in openings {
            if let Some(stream) = names.stream(self.db, id)? {
                self.at_an_end(stream, "", 1, &mut found)?;
            }
        }
        if let Some((id, max)) = latest
            && let Some(stream) = names.stream(self.db, id)?
        {
            self.at_an_end(stream, "DESC", *max, &mut found)?;
        }
        Ok(found)
    }

    /// What was said first in a stream, or last.
    fn at_an_end(&self, stream: i64, order: &str, max: usize, found: &mut Found) -> rusqlite::Result<()> {
        let (first, last) = numbers::message_texts(stream);
        let columns = cards::COLUMNS;
        let query = format!(
            "SELECT {columns} FROM cards WHERE text BETWEEN ? AND ? AND nth > 0 ORDER BY text {order} LIMIT ?"
        );
        let mut statement = self.db.prepare_cached(&query)?;
        let mut rows = statement.query([first, last, number(max as u64)])?;
        while let Some(row) = rows.next()? {
            found.extend(cards::seen(row, &self.asked)?);
        }
        Ok(())
    }

    /// What was said within a distance of texts, given in order, and themselves. Where their surroundings meet, they are read once.
    fn said_beside(&self, given: &[i64], distance: u64) -> rusqlite::Result<Found> {
        let columns = cards::COLUMNS;
        let before = format!("SELECT {columns} FROM cards WHERE text BETWEEN ? AND ? ORDER BY text DESC");
        let after = format!("SELECT {columns} FROM cards WHERE text BETWEEN ? AND ? ORDER BY text");
        let (mut before, mut after) = (self.db.prepare_cached(&before)?, self.db.prepare_cached(&after)?);
        let mut found = Found::new();
        let mut read_to = i64::MIN;
        for &text in given {
            let (first, last) = numbers::message_texts(numbers::stream_of(text));
            let unread = read_to.saturating_add(1);
            let mut rows = after.query([text.max(unread), last])?;
            if !found.contains_key(&text)
                && let Some(row) = rows.next()?
            {
                found.extend(cards::seen(row, &self.asked)?.filter(|(of, _)| *of == text));
            }
            let Some(nth) = found.get(&text).map(|seen| seen.nth).filter(|nth| *nth > 0) else { continue };
            let reach = nth.saturating_sub(distance).max(1)..=nth.saturating_add(distance);
            self.take(rows, &reach, &mut found)?;
            self.take(before.query([first.max(unread), text - 1])?, &reach, &mut found)?;
            read_to = found.last_key_value().map_or(read_to, |(last, _)| *last);
        }
        Ok(found)
    }

    /// Takes what was said, row by row, as far as it is within reach.
    fn take(&self, mut rows: Rows<'_>, reach: &RangeInclusive<u64>, found: &mut Found) -> rusqlite::Result<()> {
        while let Some(row) = rows.next()? {
            let seen = cards::seen(row, &self.asked)?;
            let Some((text, seen)) = seen.filter(|(_, seen)| seen.nth > 0) else { continue };
            if !reach.contains(&seen.nth) {
                break;
            }
            found.insert(text, seen);
        }
        Ok(())
    }
}
