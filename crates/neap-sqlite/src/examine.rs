//! Compares stored rows with the streams. Reads everything, changes nothing.

use std::collections::BTreeMap;

use neap_core::base::ids::{EffortId, Seq, StreamId, TurnNo};
use neap_core::base::project_id::ProjectId;
use neap_core::session::effort::Effort;
use neap_core::session::event::{Event, SessionEvent};
use rusqlite::{Connection, Row, params};

use super::db_error::DbError;
use super::reader::StreamReader;
use super::{cards, events, links, log, memories, progress, read, schema, vectors};
use neap_core::recall::TextKey;
use neap_store::backend::derived::{Derived, Folded};
use neap_store::backend::examine::{differences, losses};
use neap_store::backend::rowids;
use neap_store::backend::scope_column::UNDONE_PREFIX;
use neap_store::{Finding, Severity, StoredEvent};

const FAULTS_SHOWN_MAX: u32 = 20;

pub(super) fn examine(db: &Connection, session: Option<&StreamId>) -> Result<Vec<Finding>, DbError> {
    let mut findings = Vec::new();
    if session.is_none() {
        findings.push(store_finding(Severity::Note, format!("SQLite {}", rusqlite::version())));
        findings.extend(file_findings(db)?);
        findings.extend(or_finding(None, orphan_findings(db))?);
        findings.extend(or_finding(None, count_findings(db))?);
    }
    let streams = match read::streams(db) {
        Err(error) if events::is_corruption(&error) => {
            let what = format!("the list of sessions cannot be read: {error}");
            findings.push(store_finding(Severity::Damaged, what));
            return Ok(findings);
        }
        streams => streams?,
    };
    for (stream, id) in streams {
        if session.is_none_or(|wanted| *wanted == id) {
            findings.extend(or_finding(Some(&id), stream_findings(db, stream, &id))?);
        }
    }
    Ok(findings)
}

/// File damage that prevents a check becomes its finding.
fn or_finding(
    session: Option<&StreamId>,
    found: rusqlite::Result<Vec<Finding>>,
) -> rusqlite::Result<Vec<Finding>> {
    match found {
        Err(error) if events::is_corruption(&error) => {
            let what = format!("the database file is damaged in this part: {error}");
            Ok(vec![Finding { severity: Severity::Damaged, session: session.cloned(), what }])
        }
        found => found,
    }
}

fn count_findings(db: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if schema::has_progress(db)? && progress::read(db)?.is_none() {
        findings.push(store_finding(Severity::Damaged, "the count of commits is damaged".to_owned()));
    }
    if schema::has_cards(db)? && cards::has_miscounts(db)? {
        findings.push(store_finding(
            Severity::Repairable,
            "the number of indexed terms differs from its count".to_owned(),
        ));
    }
    if schema::has_vector_index(db)? && vectors::has_inconsistencies(db)? {
        findings.push(store_finding(Severity::Repairable, "the embeddings differ from their counts".to_owned()));
    }
    Ok(findings)
}

fn stream_findings(db: &Connection, stream: i64, id: &StreamId) -> rusqlite::Result<Vec<Finding>> {
    let folded = read::fold_stream(db, stream)?;
    let mut findings = losses(id, &folded);
    let derived = derived_findings(db, stream, id, &folded);
    findings.extend(or_finding(Some(id), derived)?);
    Ok(findings)
}

fn derived_findings(
    db: &Connection,
    stream: i64,
    id: &StreamId,
    folded: &Folded,
) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let (stored, misplaced) = stored_rows(db, stream, id, &folded.derived)?;
    findings.extend(differences(id, &stored, &folded.derived));
    if let Some(own_name) = folded.derived.head.stream.as_ref().filter(|own_name| *own_name != id) {
        let what = format!("its name is damaged: its events call it '{own_name}'");
        findings.push(Finding { severity: Severity::Repairable, session: Some(id.clone()), what });
    }
    if memories::has_miscounts(db, stream)? {
        let what = "the number of memories differs from its count".to_owned();
        findings.push(Finding { severity: Severity::Repairable, session: Some(id.clone()), what });
    }
    if misplaced > 0 {
        let what = format!("{misplaced} texts are indexed that belong to no memory");
        findings.push(Finding { severity: Severity::Repairable, session: Some(id.clone()), what });
    }
    let texts: i64 = db.query_row("SELECT texts FROM sessions WHERE stream = ?", [stream], |row| row.get(0))?;
    if texts != folded.derived.texts.len() as i64 {
        let what = format!("{texts} texts are counted, {} are there", folded.derived.texts.len());
        findings.push(Finding { severity: Severity::Repairable, session: Some(id.clone()), what });
    }
    let project: Option<String> =
        db.query_row("SELECT project FROM sessions WHERE stream = ?", [stream], |row| row.get(0))?;
    if project.as_deref() != folded.derived.head.project.as_ref().map(ProjectId::as_str) {
        let what = "it is listed under another project than its own".to_owned();
        findings.push(Finding { severity: Severity::Repairable, session: Some(id.clone()), what });
    }
    Ok(findings)
}

fn store_finding(severity: Severity, what: String) -> Finding {
    Finding { severity, session: None, what }
}

/// Checks the file itself: pages, the order of rows, and indexes against their tables.
pub(super) fn file_findings(db: &Connection) -> rusqlite::Result<Vec<Finding>> {
    // The check of the word index uses what this connection has cached of it; a query refreshes that.
    let probed = db
        .prepare_cached("SELECT rowid FROM words WHERE words MATCH 'neap' LIMIT 1")
        .and_then(|mut statement| statement.exists([]));
    let lines = || -> rusqlite::Result<Vec<String>> {
        let mut statement = db.prepare(&format!("PRAGMA integrity_check({FAULTS_SHOWN_MAX})"))?;
        statement.query_map([], |row| row.get(0))?.collect()
    };
    let lines = match (probed, lines()) {
        (Err(error), _) | (Ok(_), Err(error)) if events::is_corruption(&error) => vec![error.to_string()],
        (probed, lines) => {
            probed?;
            lines?
        }
    };
    let faults = lines.iter().flat_map(|text| text.lines()).filter(|line| *line != "ok");
    Ok(faults
        .map(|line| store_finding(Severity::Damaged, format!("the database file is damaged: {line}")))
        .collect())
}

fn orphan_findings(db: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for stream in orphan_streams(db)? {
        let (severity, what) = match recorded_name(db, stream)? {
            Some(id) => (Severity::Repairable, format!("session {id} is not in the list of sessions")),
            None => (Severity::Damaged, format!("the events of stream {stream} belong to no session")),
        };
        findings.push(store_finding(severity, what));
    }
    let mut statement = db.prepare("SELECT name FROM sessions")?;
    let names: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let no_ids = names.into_iter().filter(|name| StreamId::parse(name).is_err());
    findings.extend(no_ids.map(|name| store_finding(Severity::Damaged, format!("{name:?} is not a session id"))));
    Ok(findings)
}

pub(super) fn orphan_streams(db: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = db.prepare(
        "SELECT stream FROM (SELECT stream FROM events UNION SELECT stream FROM blocks)
         WHERE stream NOT IN (SELECT stream FROM sessions)",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// The session id that a stream's first event records.
pub(super) fn recorded_name(db: &Connection, stream: i64) -> rusqlite::Result<Option<StreamId>> {
    let first = StreamReader::new(db, stream).between(Seq(0), Seq(u64::MAX), 1)?.pop();
    let Some(StoredEvent::Whole(recorded)) = first else { return Ok(None) };
    let Event::Session(SessionEvent::Created { session, .. }) = recorded.event else { return Ok(None) };
    Ok(Some(session))
}

/// The stored rows, and how many indexed texts belong to no memory. Terms cannot be read back and stay empty.
fn stored_rows(
    db: &Connection,
    stream: i64,
    session: &StreamId,
    folded: &Derived,
) -> rusqlite::Result<(Derived, u64)> {
    let mut stored = Derived { head: read::head(db, stream)?.unwrap_or_default(), ..Derived::default() };
    if !schema::has_tasks(db)? {
        stored.head.task.clone_from(&folded.head.task);
    }
    let efforts = read_efforts(db, stream, folded, &mut stored)?;
    read_exchanges(db, stream, &mut stored)?;
    let mut statement = db.prepare_cached("SELECT turn_id, turn FROM turn_ids WHERE stream = ?")?;
    let mut rows = statement.query([stream])?;
    while let Some(row) = rows.next()? {
        stored.turn_ids.insert(row.get(0)?, turn_no(row, 1)?);
    }
    if schema::has_links(db)? {
        stored.links = links::stored_links(db, stream)?;
    }
    let Derived { memories, history, .. } = &mut stored;
    memories::for_each_stored(
        db,
        stream,
        |id, row| {
            memories.insert(id, row);
        },
        |id, seq| history.entry(id).or_default().push(seq),
    )?;
    let misplaced = read_index(db, stream, session.agent().is_some(), &efforts, folded, &mut stored)?;
    Ok((stored, misplaced))
}

fn turn_no(row: &Row<'_>, column: usize) -> rusqlite::Result<TurnNo> {
    row.get::<_, i64>(column).map(|turn| TurnNo(turn as u64))
}

/// Returns the efforts by the rowids of their texts.
fn read_efforts(
    db: &Connection,
    stream: i64,
    folded: &Derived,
    stored: &mut Derived,
) -> rusqlite::Result<BTreeMap<i64, EffortId>> {
    let mut statement = db.prepare_cached("SELECT text, id, body, sum FROM efforts WHERE stream = ?")?;
    let mut rows = statement.query([stream])?;
    let mut efforts = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(1)?;
        if let Some(known) = folded.efforts.keys().find(|key| key.as_str() == id) {
            efforts.insert(row.get::<_, i64>(0)?, known.clone());
        }
        let effort: Option<Effort> = read::checked_json(row, 2);
        stored.efforts.extend(effort.map(|effort| (effort.id.clone(), effort)));
    }
    Ok(efforts)
}

fn read_exchanges(db: &Connection, stream: i64, stored: &mut Derived) -> rusqlite::Result<()> {
    let mut statement = db.prepare_cached(
        "SELECT turn, ltrim(scope, ?2), first_seq, last_seq, at, tokens, scope GLOB ?2 || '*' FROM exchanges
         WHERE stream = ?1",
    )?;
    let mut rows = statement.query(params![stream, UNDONE_PREFIX])?;
    while let Some(row) = rows.next()? {
        if row.get(6)? {
            stored.undone_turns.insert(turn_no(row, 0)?);
        }
        stored.exchanges.extend(log::exchange_row(row)?.map(|row| (row.last_seq, row)));
    }
    Ok(())
}

/// Indexed texts, their cards and withheld turns. Returns how many texts belong to no memory.
fn read_index(
    db: &Connection,
    stream: i64,
    is_agent: bool,
    efforts: &BTreeMap<i64, EffortId>,
    folded: &Derived,
    stored: &mut Derived,
) -> rusqlite::Result<u64> {
    let (first, last) = rowids::text_range(stream);
    let (_, last_effort) = rowids::effort_range(stream);
    let key_of = |text: i64| {
        Ok(if text > last_effort {
            Some(TextKey::Message(Seq(rowids::message_seq(text) as u64)))
        } else if is_agent {
            memories::text_key(db, text)?
        } else {
            efforts.get(&text).cloned().map(TextKey::Effort)
        })
    };
    let mut misplaced = 0;
    let mut statement = db.prepare_cached("SELECT id FROM words_docsize WHERE id BETWEEN ? AND ?")?;
    let mut rows = statement.query([first, last])?;
    while let Some(row) = rows.next()? {
        let key = key_of(row.get(0)?)?;
        misplaced += u64::from(is_agent && key.is_none());
        stored.texts.extend(key.map(|key| (key, String::new())));
    }
    if !schema::has_cards(db)? {
        stored.cards.clone_from(&folded.cards);
        stored.withheld_turns.clone_from(&folded.withheld_turns);
        return Ok(misplaced);
    }
    let (cards, strays) = cards::stored_cards(db, stream, key_of)?;
    stored.cards = cards;
    let mut statement = db.prepare_cached("SELECT turn FROM withheld WHERE stream = ?")?;
    stored.withheld_turns = statement.query_map([stream], |row| turn_no(row, 0))?.collect::<Result<_, _>>()?;
    Ok(misplaced + strays)
}
