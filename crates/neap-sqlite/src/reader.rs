//! Reads a stream in order: blocks where it is packed, rows where it is not.

use neap_core::base::ids::Seq;
use rusqlite::{Connection, OptionalExtension, params};

use super::cold::Block;
use super::events;
use neap_store::StoredEvent;

/// Step in which blocks are looked for after an unreadable one.
const PROBE_EVENTS: i64 = 8;

/// Caches the last block it read: neighbouring events are often read next.
pub(super) struct StreamReader<'a> {
    db: &'a Connection,
    stream: i64,
    block: Option<Block>,
}

impl<'a> StreamReader<'a> {
    /// `db` must be in a transaction, so that all reads see one snapshot.
    pub(super) fn new(db: &'a Connection, stream: i64) -> Self {
        Self { db, stream, block: None }
    }

    /// Events between two `seq`s, inclusive, at most `max`.
    pub(super) fn between(&mut self, first: Seq, last: Seq, max: usize) -> rusqlite::Result<Vec<StoredEvent>> {
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

    /// Passes every event to `each`, without holding all of them.
    pub(super) fn for_each(&mut self, mut each: impl FnMut(StoredEvent)) -> rusqlite::Result<()> {
        self.visit(0, i64::MAX, &mut |stored| {
            each(stored);
            true
        })
    }

    pub(super) fn block_of(&mut self, seq: i64) -> rusqlite::Result<Option<&Block>> {
        self.load_block(seq, seq)?;
        Ok(self.block.as_ref().filter(|block| block.seqs().contains(&seq)))
    }

    fn visit(&mut self, first: i64, last: i64, each: &mut dyn FnMut(StoredEvent) -> bool) -> rusqlite::Result<()> {
        let mut from = first;
        loop {
            self.load_block(from, last)?;
            let block = self.block.as_ref().filter(|block| *block.seqs().end() >= from);
            let block = block.filter(|block| *block.seqs().start() <= last);
            let rows_last = block.map_or(last, |block| block.seqs().start() - 1);
            if from <= rows_last && !events::for_each_row(self.db, self.stream, from, rows_last, each)? {
                return Ok(());
            }
            let Some(block) = block else { return Ok(()) };
            let (start, end) = (*block.seqs().start(), *block.seqs().end());
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

    /// Loads the first block that ends at `from` or later, if it begins no later than `last`.
    fn load_block(&mut self, from: i64, last: i64) -> rusqlite::Result<()> {
        if self.block.as_ref().is_some_and(|block| block.seqs().contains(&from)) {
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
                // A wrong type makes a damaged block.
                let (sum, body) = (row.get(2).unwrap_or(-1), row.get_ref(3)?.as_blob().unwrap_or_default());
                Ok(Some(Block::read(first, end, sum, body)))
            });
            found.optional().map(Option::flatten)
        };
        self.block = match find(from) {
            Err(error) if events::is_corruption(&error) => {
                // The block is on a damaged page. Find the next readable one in steps of PROBE_EVENTS; all events
                // before it count as lost, also those of a shorter block between two probes.
                let packed: i64 = self
                    .db
                    .prepare_cached("SELECT cold FROM sessions WHERE stream = ?")?
                    .query_row([self.stream], |row| row.get(0))?;
                let end = last.min(packed);
                let probes = (0..).map(|step: i64| from.saturating_add(1 + step * PROBE_EVENTS));
                let next = probes.take_while(|at| *at <= end).map(&mut find).find_map(Result::ok).flatten();
                let lost_to = next.map_or(end, |block| block.seqs().start() - 1);
                (lost_to >= from).then(|| Block::lost(from, lost_to))
            }
            found => found?,
        };
        Ok(())
    }
}
