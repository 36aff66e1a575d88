//! Compares what is kept with what the streams say. Reads everything, changes nothing.

use neap_core::event::Event;
use neap_core::ids::{Seq, SessionId, TurnNo};
use rusqlite::{Connection, params};

use super::effects::TAKEN_BACK;
use super::fault::Stop;
use super::reader::Reader;
use super::{cards, events, links, log, memories, progress, read, schema, vectors};
use crate::derived::{Derived, Folded};
use crate::examine::{differences, losses};
use crate::numbers;
use crate::{Finding, Severity, Stored};
use neap_core::recall::TextKey;

const FAULTS_SHOWN_MAX: u32 = 20;

pub(super) fn examine(db: &Connection, session: Option<&SessionId>) -> Result<Vec<Finding>, Stop> {
    let mut findings = Vec::new();
    if session.is_none() {
        findings.push(note(Severity::Note, format!("SQLite {}", rusqlite::version())));
        findings.extend(file(db)?);
        findings.extend(contained(None, strays(db))?);
        findings.extend(contained(None, counts(db))?);
    }
    let streams = match read::streams(db) {
        Err(error) if events::is_damage(&error) => {
            let what = format!("the list of sessions cannot be read: {error}");
            findings.push(note(Severity::Damaged, what));
            return Ok(findings);
        }
        streams => streams?,
    };
    for (stream, id) in streams {
        if session.is_none_or(|asked| *asked == id) {
            findings.extend(contained(Some(&id), stream_of(db, stream, &id))?);
        }
    }
    Ok(findings)
}

/// What was found; damage to the file that kept it from being found is itself what was found.
fn contained(
    session: Option<&SessionId>,
    found: rusqlite::Result<Vec<Finding>>,
) -> rusqlite::Result<Vec<Finding>> {
    match found {
        Err(error) if events::is_damage(&error) => {
            let what = format!("the database file is damaged where this is kept: {error}");
            Ok(vec![Finding { severity: Severity::Damaged, session: session.cloned(), what }])
        }
        found => found,
    }
}

/// What is counted of all streams together.
fn counts(db: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if schema::has_progress(db)? && progress::read(db)?.is_none() {
        findings.push(note(Severity::Damaged, "the count of commits is damaged".to_owned()));
    }
    if schema::has_cards(db)? && cards::are_miscounted(db)? {
        findings.push(note(Severity::Repairable, "terms of texts are not as many as are counted".to_owned()));
    }
    if vectors::are_astray(db)? {
        findings.push(note(Severity::Repairable, "embeddings of texts are not as they are counted".to_owned()));
    }
    Ok(findings)
}

/// What is wrong with one stream and what is derived from it.
fn stream_of(db: &Connection, stream: i64, id: &SessionId) -> rusqlite::Result<Vec<Finding>> {
    let folded = read::fold(db, stream)?;
    let mut findings = losses(id, &folded);
    let derived = derived(db, stream, id, &folded);
    findings.extend(contained(Some(id), derived)?);
    Ok(findings)
}

fn derived(db: &Connection, stream: i64, id: &SessionId, folded: &Folded) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let (kept, misplaced) = kept(db, stream, id, &folded.derived)?;
    findings.extend(differences(id, &kept, &folded.derived));
    if let Some(said) = folded.derived.head.session.as_ref().filter(|said| *said != id) {
        let what = format!("its name is damaged: its events call it '{said}'");
        findings.push(Finding { severity: Severity::Repairable, session: Some(id.clone()), what });
    }
    if memories::are_miscounted(db, stream)? {
        let what = "memories are not as many as are counted".to_owned();
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
    Ok(findings)
}

fn note(severity: Severity, what: String) -> Finding {
    Finding { severity, session: None, what }
}

/// Whether the file itself is whole: pages, the order of rows, and indexes beside their tables.
pub(super) fn file(db: &Connection) -> rusqlite::Result<Vec<Finding>> {
    // The check of the word index trusts what this connection knew of it before; a query makes it look again.
    let looked = db
        .prepare_cached("SELECT rowid FROM words WHERE words MATCH 'neap' LIMIT 1")
        .and_then(|mut looking| looking.exists([]));
    let lines = || -> rusqlite::Result<Vec<String>> {
        let mut statement = db.prepare(&format!("PRAGMA integrity_check({FAULTS_SHOWN_MAX})"))?;
        statement.query_map([], |row| row.get(0))?.collect()
    };
    let lines = match (looked, lines()) {
        (Err(error), _) | (Ok(_), Err(error)) if events::is_damage(&error) => vec![error.to_string()],
        (looked, lines) => {
            looked?;
            lines?
        }
    };
    let faults = lines.iter().flat_map(|told| told.lines()).filter(|line| *line != "ok");
    Ok(faults.map(|line| note(Severity::Damaged, format!("the database file is damaged: {line}"))).collect())
}

/// Rows that belong to no session.
fn strays(db: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for stream in stray_streams(db)? {
        let (severity, what) = match name(db, stream)? {
            Some(id) => (Severity::Repairable, format!("session {id} is not in the list of sessions")),
            None => (Severity::Damaged, format!("the events of stream {stream} belong to no session")),
        };
        findings.push(note(severity, what));
    }
    let mut statement = db.prepare("SELECT name FROM sessions")?;
    let names: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let no_ids = names.into_iter().filter(|name| SessionId::stored(name).is_err());
    findings.extend(no_ids.map(|name| note(Severity::Damaged, format!("{name:?} is no session's id"))));
    Ok(findings)
}

/// Streams whose session is not in the list.
pub(super) fn stray_streams(db: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = db.prepare(
        "SELECT stream FROM (SELECT stream FROM events UNION SELECT stream FROM blocks)
         WHERE stream NOT IN (SELECT stream FROM sessions)",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// What a stream says its session is called.
pub(super) fn name(db: &Connection, stream: i64) -> rusqlite::Result<Option<SessionId>> {
    let first = Reader::new(db, stream).between(Seq(0), Seq(u64::MAX), 1)?.pop();
    let Some(Stored::Event(recorded)) = first else { return Ok(None) };
    Ok(if let Event::SessionCreated { session, .. } = recorded.event { Some(session) } else { None })
}

/// The derived rows as they are, and how many texts are indexed that belong to no memory. The words of a text cannot be
/// read back, so they are left empty.
fn kept(db: &Connection, stream: i64, session: &SessionId, folded: &Derived) -> rusqlite::Result<(Derived, u64)> {
    let mut kept = Derived { head: read::head(db, stream)?.unwrap_or_default(), ..Derived::default() };
    if !schema::has_tasks(db)? {
        kept.head.task.clone_from(&folded.head.task);
    }
    let mut statement = db.prepare_cached("SELECT text, id, body, sum FROM efforts WHERE stream = ?")?;
    let mut rows = statement.query([stream])?;
    let mut efforts = std::collections::BTreeMap::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(1)?;
        if let Some(known) = folded.efforts.keys().find(|key| key.as_str() == id) {
            efforts.insert(row.get::<_, i64>(0)?, known.clone());
        }
        let effort: Option<neap_core::effort::Effort> = read::json(row, 2);
        kept.efforts.extend(effort.map(|effort| (effort.id.clone(), effort)));
    }
    let mut statement = db.prepare_cached(
        "SELECT turn, ltrim(scope, ?2), first_seq, last_seq, at, tokens, scope GLOB ?2 || '*' FROM exchanges
         WHERE stream = ?1",
    )?;
    let mut rows = statement.query(params![stream, TAKEN_BACK])?;
    while let Some(row) = rows.next()? {
        if row.get(6)? {
            kept.taken_back.insert(TurnNo(row.get::<_, i64>(0)? as u64));
        }
        kept.exchanges.extend(log::exchange_row(row)?.map(|row| (row.last_seq, row)));
    }
    let mut statement = db.prepare_cached("SELECT turn_id, turn FROM turn_ids WHERE stream = ?")?;
    let mut rows = statement.query([stream])?;
    while let Some(row) = rows.next()? {
        kept.turn_ids.insert(row.get(0)?, TurnNo(row.get::<_, i64>(1)? as u64));
    }
    if schema::has_links(db)? {
        kept.links = links::kept(db, stream)?;
    }
    let Derived { memories: rows_of, history, .. } = &mut kept;
    memories::kept(
        db,
        stream,
        |id, row| {
            rows_of.insert(id, row);
        },
        |id, seq| history.entry(id).or_default().push(seq),
    )?;
    let is_agent = session.agent().is_some();
    let mut misplaced = 0;
    let (first, last) = numbers::all_texts(stream);
    let (_, last_effort) = numbers::effort_texts(stream);
    let key_of = |text: i64| {
        Ok(if text > last_effort {
            Some(TextKey::Message(Seq(numbers::message_seq(text) as u64)))
        } else if is_agent {
            memories::indexed(db, text)?
        } else {
            efforts.get(&text).cloned().map(TextKey::Effort)
        })
    };
    let mut statement = db.prepare_cached("SELECT id FROM words_docsize WHERE id BETWEEN ? AND ?")?;
    let mut rows = statement.query([first, last])?;
    while let Some(row) = rows.next()? {
        let text: i64 = row.get(0)?;
        let key = key_of(text)?;
        misplaced += u64::from(is_agent && key.is_none());
        kept.texts.extend(key.map(|key| (key, String::new())));
    }
    if schema::has_cards(db)? {
        let (cards, strays) = cards::kept(db, stream, key_of)?;
        kept.cards = cards;
        misplaced += strays;
        let mut statement = db.prepare_cached("SELECT turn FROM withheld WHERE stream = ?")?;
        let turns = statement.query_map([stream], |row| row.get::<_, i64>(0))?;
        kept.withheld = turns.map(|turn| turn.map(|turn| TurnNo(turn as u64))).collect::<Result<_, _>>()?;
    } else {
        kept.cards.clone_from(&folded.cards);
        kept.withheld.clone_from(&folded.withheld);
    }
    Ok((kept, misplaced))
}
