//! Commits as transactions: all that wait together in one, a savepoint for each.

use std::borrow::Cow;

use neap_core::ids::{Seq, Stamp, TurnNo};
use rusqlite::{Connection, OptionalExtension, params};

use super::cards::{self, Tally};
use super::fault::Stop;
use super::memories::PreparedMemory;
use super::prepare::Prepared;
use super::{effects, events, links, memories, progress, vectors};
use crate::StoreError;

/// Writes every commit that is not refused, in one transaction. Returns the stream of each that was written.
pub(super) fn write_all(
    db: &mut Connection,
    commits: &[Box<Prepared>],
) -> Result<Vec<Result<i64, StoreError>>, Stop> {
    let mut all = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let mut outcomes = Vec::with_capacity(commits.len());
    let mut tally = Tally::default();
    for prepared in commits {
        let one = all.savepoint()?;
        let mut counted = Tally::default();
        outcomes.push(match write(&one, prepared, &mut counted) {
            Ok(stream) => {
                one.commit()?;
                tally.add(counted);
                Ok(stream)
            }
            Err(Stop::Refused(refusal)) => {
                one.finish()?; // Rolls back.
                Err(refusal)
            }
            Err(stop @ Stop::Sql(_)) => return Err(stop),
        });
    }
    tally.write(&all)?;
    let written =
        || commits.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_ok()).map(|(commit, _)| commit);
    if written().next().is_some() {
        let events = written().flat_map(|commit| &commit.events);
        let (count, newest) = (events.clone().count() as u64, events.map(|row| Stamp(row.at)).max());
        progress::advance(&all, count, newest)?;
    }
    all.commit()?;
    Ok(outcomes)
}

fn write(db: &Connection, commit: &Prepared, tally: &mut Tally) -> Result<i64, Stop> {
    let known = events::stream(db, commit.session.as_str())?;
    if let Some(stream) = known {
        refuse_duplicates(db, stream, &commit.turn_ids)?;
    }
    let actual = known.map_or(Ok(Seq(0)), |stream| events::last_seq(db, stream))?;
    if actual != commit.expected {
        return Err(StoreError::Conflict { expected: commit.expected, actual }.into());
    }
    let stream = match known {
        Some(stream) => stream,
        None => db.query_row(
            "INSERT INTO sessions(name, texts, head) VALUES (?, 0, '') RETURNING stream",
            [commit.session.as_str()],
            |row| row.get(0),
        )?,
    };
    for row in &commit.events {
        row.insert(db, stream)?;
    }
    for (id, turn) in &commit.turn_ids {
        effects::put_turn_id(db, stream, id, *turn)?;
    }
    for (id, body) in &commit.efforts {
        effects::put_effort(db, stream, id, body)?;
    }
    for row in &commit.exchanges {
        effects::put_exchange(db, stream, row)?;
    }
    for link in &commit.links {
        links::put(db, stream, link)?;
    }
    for turn in &commit.withheld {
        effects::put_withheld(db, stream, *turn)?;
    }
    for turn in &commit.taken_back {
        effects::take_back(db, stream, *turn)?;
    }
    let scope = if commit.session.agent().is_some() { stream } else { cards::SESSIONS };
    let mut new_texts = 0;
    for id in &commit.erased {
        new_texts -= memories::remove(db, tally, stream, *id)?;
    }
    for memory in &commit.memories {
        new_texts -= memory.put(db, tally, stream)?;
    }
    for (id, seq) in &commit.memory_events {
        memories::put_event(db, stream, *id, *seq)?;
    }
    let mut said = None;
    for indexed in &commit.texts {
        let mut indexed = Cow::Borrowed(indexed);
        if indexed.row.kind.is_said() {
            let nth = said.map_or_else(|| cards::said(db, stream), Ok)? + 1;
            indexed.to_mut().row.nth = nth;
            said = Some(nth);
        }
        let (text, is_new) = effects::put_text(db, tally, stream, scope, &indexed)?;
        new_texts += i64::from(is_new);
        if scope == cards::SESSIONS {
            vectors::settle(db, scope, text.as_slice())?;
        }
    }
    for id in commit.erased.iter().copied().chain(commit.memories.iter().map(PreparedMemory::id)) {
        memories::settle(db, stream, id)?;
    }
    effects::put_head(db, stream, &commit.head, new_texts)?;
    Ok(stream)
}

fn refuse_duplicates(db: &Connection, stream: i64, turn_ids: &[(String, TurnNo)]) -> Result<(), Stop> {
    for (id, _) in turn_ids {
        let turn: Option<i64> = db
            .prepare_cached("SELECT turn FROM turn_ids WHERE stream = ? AND turn_id = ?")?
            .query_row(params![stream, id], |row| row.get(0))
            .optional()?;
        if let Some(turn) = turn {
            return Err(StoreError::DuplicateTurn { turn: TurnNo(turn as u64) }.into());
        }
    }
    Ok(())
}
