//! A stream as it is read: blocks where it is packed, rows where it is not, in order.

use neap_core::ids::Seq;
use rusqlite::{Connection, OptionalExtension, params};

use super::cold::Block;
use super::events;
use crate::Stored;

/// How far apart blocks are looked for where one cannot be read.
const PROBE_EVENTS: i64 = 8;

/// Reads one stream. The block that it read last is kept: what is near is often asked for next.
pub(super) struct Reader<'a> {
    db: &'a Connection,
    stream: i64,
    held: Option<Block>,
}

impl<'a> Reader<'a> {
    /// All that is read is of one moment, so `db` is in a transaction.
    pub(super) fn new(db: &'a Connection, stream: i64) -> Self {
        Self { db, stream, held: None }
    }

    /// Events between two places, both included, at most `max`.
    pub(super) fn between(&mut self, first: Seq, last: Seq, max: usize) -> rusqlite::Result<Vec<Stored>> {
        let bound = |seq: Seq| i64::try_from(seq.0).unwrap_or(i64::MAX);
        let mut found = Vec::new();
        if max > 0 {
            self.visit(bound(first), bound(last), &mut |stored| {
                found.push(stored);
                found.len() < max
            })?;
        }
        Ok(found)
    }

    /// Hands every event to `each`, without holding all of them.
    pub(super) fn for_each(&mut self, mut each: impl FnMut(Stored)) -> rusqlite::Result<()> {
        self.visit(0, i64::MAX, &mut |stored| {
            each(stored);
            true
        })
    }

    /// The block that has an event, if it is in one.
    pub(super) fn block_of(&mut self, seq: i64) -> rusqlite::Result<Option<&Block>> {
        self.hold(seq, seq)?;
        Ok(self.held.as_ref().filter(|block| block.places().contains(&seq)))
    }

    /// Hands events to `each` while it wants more.
    fn visit(&mut self, first: i64, last: i64, each: &mut dyn FnMut(Stored) -> bool) -> rusqlite::Result<()> {
        let mut from = first;
        loop {
            self.hold(from, last)?;
            let block = self.held.as_ref().filter(|block| *block.places().end() >= from);
            let block = block.filter(|block| *block.places().start() <= last);
            let rows_last = block.map_or(last, |block| block.places().start() - 1);
            if from <= rows_last && !events::rows(self.db, self.stream, from, rows_last, each)? {
                return Ok(());
            }
            let Some(block) = block else { return Ok(()) };
            let (start, end) = (*block.places().start(), *block.places().end());
            for seq in start.max(from)..=end.min(last) {
                if !each(block.event(seq)) {
                    return Ok(());
                }
            }
            if end >= last {
                return Ok(());
            }
            from = end + 1;
        }
    }

    /// Holds the first block that ends at this place or later, if one begins before `last`.
    fn hold(&mut self, from: i64, last: i64) -> rusqlite::Result<()> {
        if self.held.as_ref().is_some_and(|block| block.places().contains(&from)) {
            return Ok(());
        }
        let mut statement = self.db.prepare_cached(
            "SELECT first_seq, last_seq, sum, body FROM blocks
             WHERE stream = ? AND last_seq >= ? ORDER BY last_seq LIMIT 1",
        )?;
        let mut find = |from: i64| {
            let found = statement.query_row(params![self.stream, from], |row| {
                let (first, end): (i64, i64) = (row.get(0)?, row.get(1)?);
                if first > last || end < from {
                    return Ok(None);
                }
                // What is no number or no blob makes no block that is whole.
                let (sum, body) = (row.get(2).unwrap_or(-1), row.get_ref(3)?.as_blob().unwrap_or_default());
                Ok(Some(Block::read(first, end, sum, body)))
            });
            found.optional().map(Option::flatten)
        };
        self.held = match find(from) {
            Err(error) if events::is_damage(&error) => {
                // The block is on a damaged page. The next that is on another one is looked for, in steps that pass over no more than
                // what a block holds; the events between are lost to this reader.
                let packed: i64 = self
                    .db
                    .prepare_cached("SELECT cold FROM sessions WHERE stream = ?")?
                    .query_row([self.stream], |row| row.get(0))?;
                let end = last.min(packed);
                let probes = (0..).map(|step: i64| from.saturating_add(1 + step * PROBE_EVENTS));
                let next = probes.take_while(|at| *at <= end).map(&mut find).find_map(Result::ok).flatten();
                let lost_to = next.map_or(end, |block| block.places().start() - 1);
                (lost_to >= from).then(|| Block::lost(from, lost_to))
            }
            found => found?,
        };
        Ok(())
    }
}
