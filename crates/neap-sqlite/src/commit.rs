//! Writes commits: all that are pending in one transaction, with a savepoint for each.

use std::borrow::Cow;

use neap_core::base::ids::{Seq, Stamp, TurnNo};
use rusqlite::{Connection, OptionalExtension, params};

use super::cards;
use super::db_error::DbError;
use super::{derived_rows, events, links, memories, progress, vectors};
use neap_store::StoreError;
use neap_store::backend::counts::CountChanges;
use neap_store::backend::prepared_commit::PreparedCommit;

/// Writes every commit that is not refused, in one transaction. Returns the stream of each written commit.
pub(super) fn write_all(
    db: &mut Connection,
    commits: &[Box<PreparedCommit>],
) -> Result<Vec<Result<i64, StoreError>>, DbError> {
    let mut transaction = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let mut outcomes = Vec::with_capacity(commits.len());
    let mut changes = CountChanges::default();
    for prepared in commits {
        let savepoint = transaction.savepoint()?;
        let mut own_changes = CountChanges::default();
        outcomes.push(match write(&savepoint, prepared, &mut own_changes) {
            Ok(stream) => {
                savepoint.commit()?;
                changes.add(own_changes);
                Ok(stream)
            }
            Err(DbError::Refused(refusal)) => {
                savepoint.finish()?; // Rolls back.
                Err(refusal)
            }
            Err(stop @ DbError::Sql(_)) => return Err(stop),
        });
    }
    cards::write_counts(&transaction, changes)?;
    let written =
        || commits.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_ok()).map(|(commit, _)| commit);
    if written().next().is_some() {
        let events = written().flat_map(|commit| &commit.events);
        let (count, newest) = (events.clone().count() as u64, events.map(|row| Stamp(row.at)).max());
        progress::advance(&transaction, count, newest)?;
    }
    transaction.commit()?;
    Ok(outcomes)
}

fn write(db: &Connection, commit: &PreparedCommit, changes: &mut CountChanges) -> Result<i64, DbError> {
    let stream = claim_stream(db, commit)?;
    for row in &commit.events {
        events::insert(db, stream, row)?;
    }
    for (id, turn) in &commit.turn_ids {
        derived_rows::put_turn_id(db, stream, id, *turn)?;
    }
    for (id, body) in &commit.efforts {
        derived_rows::put_effort(db, stream, id, body)?;
    }
    for row in &commit.exchanges {
        derived_rows::put_exchange(db, stream, row)?;
    }
    for link in &commit.links {
        links::put(db, stream, link)?;
    }
    for turn in &commit.withheld_turns {
        derived_rows::put_withheld(db, stream, *turn)?;
    }
    for turn in &commit.undone_turns {
        derived_rows::mark_undone(db, stream, *turn)?;
    }
    let mut new_texts = 0;
    for id in &commit.erased {
        new_texts -= memories::remove(db, changes, stream, *id)?;
    }
    for memory in &commit.memories {
        new_texts -= memories::put(db, changes, stream, memory)?;
    }
    for (id, seq) in &commit.memory_events {
        memories::put_event(db, stream, *id, *seq)?;
    }
    new_texts += put_texts(db, commit, changes, stream)?;
    for id in commit.erased.iter().copied().chain(commit.memories.iter().map(|memory| memory.id)) {
        memories::sync_vector(db, stream, id)?;
    }
    derived_rows::put_head(db, stream, &commit.head, new_texts)?;
    Ok(stream)
}

/// The number of the commit's stream, which is created if it is new. Refuses a commit that does not follow the last one.
fn claim_stream(db: &Connection, commit: &PreparedCommit) -> Result<i64, DbError> {
    let known = events::stream_number(db, commit.stream.as_str())?;
    if let Some(stream) = known {
        refuse_duplicates(db, stream, &commit.turn_ids)?;
    }
    let actual = known.map_or(Ok(Seq(0)), |stream| events::last_seq(db, stream))?;
    if actual != commit.expected {
        return Err(StoreError::Conflict { expected: commit.expected, actual }.into());
    }
    if let Some(stream) = known {
        return Ok(stream);
    }
    let create = "INSERT INTO sessions(name, texts, head) VALUES (?, 0, '') RETURNING stream";
    Ok(db.query_row(create, [commit.stream.as_str()], |row| row.get(0))?)
}

/// Returns how many of the texts are new.
fn put_texts(
    db: &Connection,
    commit: &PreparedCommit,
    changes: &mut CountChanges,
    stream: i64,
) -> rusqlite::Result<i64> {
    let scope = if commit.stream.agent().is_some() { stream } else { cards::SESSIONS_SCOPE };
    let (mut new_texts, mut message_count) = (0, None);
    for entry in &commit.texts {
        let mut entry = Cow::Borrowed(entry);
        if entry.row.kind.is_message() {
            let nth = message_count.map_or_else(|| cards::message_count(db, stream), Ok)? + 1;
            entry.to_mut().row.nth = nth;
            message_count = Some(nth);
        }
        let (text, is_new) = derived_rows::put_text(db, changes, stream, scope, &entry)?;
        new_texts += i64::from(is_new);
        if scope == cards::SESSIONS_SCOPE {
            vectors::sync_vector(db, scope, text.as_slice())?;
        }
    }
    Ok(new_texts)
}

fn refuse_duplicates(db: &Connection, stream: i64, turn_ids: &[(String, TurnNo)]) -> Result<(), DbError> {
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
