//! Index cards of texts, and document frequencies of terms; written with the word index, in the same transaction.
//!
//! Sessions are counted together, each agent separately: a scope is 0, or the number of an agent's stream. A
//! frequency's key is the scope in the upper 32 bits and the term's hash below.

use std::collections::BTreeMap;

use neap_core::base::ids::{Stamp, TurnNo};
use neap_core::base::tokens::Tokens;
use neap_core::recall::{TextKey, TextKind};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::derived_rows::to_sql;
use neap_store::backend::card::{CardRow, QueryCard, QueryTerms, TermCounts, kind_from_number, kind_number};
use neap_store::backend::counts::{CountChanges, ScopeCounts, frequency_key};
use neap_store::backend::rowids;

pub(super) use neap_store::backend::counts::SESSIONS_SCOPE;

/// Streams whose name begins with `@` are agents'.
pub(super) const AGENTS: &str = "SELECT stream FROM sessions WHERE name >= '@' AND name < 'A'";

/// The scope in which a stream's texts are counted.
pub(super) fn count_scope(db: &Connection, stream: i64) -> rusqlite::Result<i64> {
    let is_agent = format!("{AGENTS} AND stream = ?");
    Ok(if db.prepare_cached(&is_agent)?.exists([stream])? { stream } else { SESSIONS_SCOPE })
}

pub(super) fn agent_streams(db: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut agents: Vec<i64> =
        db.prepare_cached(AGENTS)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    agents.sort_unstable();
    Ok(agents)
}

pub(super) fn write_counts(db: &Connection, changes: CountChanges) -> rusqlite::Result<()> {
    let mut more = db.prepare_cached(
        "INSERT INTO frequencies(term, texts) VALUES (?1, ?2) ON CONFLICT(term) DO UPDATE SET texts = texts + ?2",
    )?;
    let mut fewer = db.prepare_cached("UPDATE frequencies SET texts = texts + ?2 WHERE term = ?1")?;
    let mut none = db.prepare_cached("DELETE FROM frequencies WHERE term = ? AND texts <= 0")?;
    for (term, by) in changes.terms {
        if by > 0 {
            more.execute([term, by])?;
        } else if by < 0 {
            fewer.execute([term, by])?;
            none.execute([term])?;
        }
    }
    for (scope, ScopeCounts { texts, length, sum }) in changes.scopes {
        db.prepare_cached(
            "INSERT INTO counts(scope, texts, length, sum) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT(scope) DO UPDATE SET texts = texts + ?2, length = length + ?3, sum = sum + ?4",
        )?
        .execute([scope, texts, length, sum])?;
    }
    Ok(())
}

pub(super) fn put(
    db: &Connection,
    changes: &mut CountChanges,
    text: i64,
    scope: i64,
    row: &CardRow,
) -> rusqlite::Result<()> {
    remove(db, changes, text, scope)?;
    let CardRow { kind, turn, nth, at, who, tokens, length, checksum, terms } = row;
    db.prepare_cached(
        "INSERT INTO cards(text, kind, turn, nth, at, who, tokens, length, sum, terms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        text,
        kind_number(*kind),
        to_sql(turn.0),
        to_sql(*nth),
        at.0,
        who,
        to_sql(tokens.0),
        length,
        checksum,
        terms.bytes()
    ])?;
    changes.count(scope, terms, *length, 1);
    Ok(())
}

pub(super) fn remove(db: &Connection, changes: &mut CountChanges, text: i64, scope: i64) -> rusqlite::Result<()> {
    let old: Option<(Vec<u8>, u32)> = db
        .prepare_cached("SELECT terms, length FROM cards WHERE text = ?")?
        .query_row([text], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((terms, length)) = old {
        changes.count(scope, &TermCounts::from_bytes(terms), length, -1);
        db.prepare_cached("DELETE FROM cards WHERE text = ?")?.execute([text])?;
    }
    Ok(())
}

pub(super) fn clear(db: &Connection, changes: &mut CountChanges, stream: i64, scope: i64) -> rusqlite::Result<()> {
    let (first, last) = rowids::text_range(stream);
    let mut statement = db.prepare_cached("SELECT terms, length FROM cards WHERE text BETWEEN ? AND ?")?;
    let mut rows = statement.query([first, last])?;
    while let Some(row) = rows.next()? {
        changes.count(scope, &TermCounts::from_bytes(row.get(0)?), row.get(1)?, -1);
    }
    db.execute("DELETE FROM cards WHERE text BETWEEN ? AND ?", [first, last])?;
    Ok(())
}

/// How many messages a stream has: the `nth` of the last one.
pub(super) fn message_count(db: &Connection, stream: i64) -> rusqlite::Result<u64> {
    let (first, last) = rowids::message_range(stream);
    let nth: Option<i64> = db
        .prepare_cached("SELECT nth FROM cards WHERE text BETWEEN ? AND ? AND nth > 0 ORDER BY text DESC LIMIT 1")?
        .query_row([first, last], |row| row.get(0))
        .optional()?;
    Ok(nth.unwrap_or(0) as u64)
}

/// The columns that [`card_row`] reads.
pub(super) const COLUMNS: &str = "text, kind, turn, nth, at, who, tokens, length, sum, terms";

/// A card with its rowid; `None` if its kind is unknown.
fn card_row<T>(row: &Row<'_>, terms: impl FnOnce(&[u8]) -> T) -> rusqlite::Result<Option<(i64, CardRow<T>)>> {
    let number = |at| row.get::<_, i64>(at).map(|n| n as u64);
    let Some(kind) = kind_from_number(row.get(1)?) else { return Ok(None) };
    let card = CardRow {
        kind,
        turn: TurnNo(number(2)?),
        nth: number(3)?,
        at: Stamp(row.get(4)?),
        who: row.get(5)?,
        tokens: Tokens(number(6)?),
        length: row.get(7)?,
        checksum: row.get(8)?,
        terms: terms(row.get_ref(9)?.as_blob()?),
    };
    Ok(Some((row.get(0)?, card)))
}

/// A card for a query. Many are read per query, so their terms are not copied.
pub(super) fn query_card(row: &Row<'_>, query: &QueryTerms) -> rusqlite::Result<Option<(i64, QueryCard)>> {
    card_row(row, |terms| query.hits(terms))
}

pub(super) struct CardReader<'a> {
    statement: CachedStatement<'a>,
    asked: &'a QueryTerms,
}

impl<'a> CardReader<'a> {
    pub(super) fn new(db: &'a Connection, asked: &'a QueryTerms) -> rusqlite::Result<Self> {
        Ok(Self { statement: db.prepare_cached(&format!("SELECT {COLUMNS} FROM cards WHERE text = ?"))?, asked })
    }

    pub(super) fn get(&mut self, text: i64) -> rusqlite::Result<Option<QueryCard>> {
        let found = self.statement.query_row([text], |row| query_card(row, self.asked)).optional()?;
        Ok(found.flatten().map(|(_, card)| card))
    }
}

pub(super) fn kind_and_turn(db: &Connection, text: i64) -> rusqlite::Result<Option<(TextKind, TurnNo)>> {
    let found: Option<(i64, i64)> = db
        .prepare_cached("SELECT kind, turn FROM cards WHERE text = ?")?
        .query_row([text], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.and_then(|(kind, turn)| Some((kind_from_number(kind)?, TurnNo(turn as u64)))))
}

/// A text's kind, time and checksum.
pub(super) fn text_meta(db: &Connection, text: i64) -> rusqlite::Result<Option<(TextKind, Stamp, u32)>> {
    let found = db
        .prepare_cached("SELECT kind, at, sum FROM cards WHERE text = ?")?
        .query_row([text], |row| Ok((row.get::<_, i64>(0)?, Stamp(row.get(1)?), row.get(2)?)))
        .optional()?;
    Ok(found.and_then(|(kind, at, checksum)| kind_from_number(kind).map(|kind| (kind, at, checksum))))
}

pub(super) fn scope_counts(db: &Connection, scope: i64) -> rusqlite::Result<ScopeCounts> {
    let counts = db
        .prepare_cached("SELECT texts, length, sum FROM counts WHERE scope = ?")?
        .query_row([scope], |row| Ok(ScopeCounts { texts: row.get(0)?, length: row.get(1)?, sum: row.get(2)? }))
        .optional()?;
    Ok(counts.unwrap_or_default())
}

/// Document frequency of a term in a scope.
pub(super) fn frequency(db: &Connection, scope: i64, hash: u32) -> rusqlite::Result<u64> {
    let texts: Option<i64> = db
        .prepare_cached("SELECT texts FROM frequencies WHERE term = ?")?
        .query_row([frequency_key(scope, hash)], |row| row.get(0))
        .optional()?;
    Ok(texts.unwrap_or(0).max(0) as u64)
}

/// The cards of a stream by key, and how many belong to no text.
pub(super) fn stored_cards(
    db: &Connection,
    stream: i64,
    mut key_of: impl FnMut(i64) -> rusqlite::Result<Option<TextKey>>,
) -> rusqlite::Result<(BTreeMap<TextKey, CardRow>, u64)> {
    let (first, last) = rowids::text_range(stream);
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM cards WHERE text BETWEEN ? AND ?"))?;
    let mut rows = statement.query([first, last])?;
    let (mut cards, mut strays) = (BTreeMap::new(), 0);
    while let Some(row) = rows.next()? {
        let all = |terms: &[u8]| TermCounts::from_bytes(terms.to_vec());
        let Some((text, card)) = card_row(row, all)? else {
            strays += 1;
            continue;
        };
        match key_of(text)? {
            Some(key) => {
                cards.insert(key, card);
            }
            None => strays += 1,
        }
    }
    Ok((cards, strays))
}

/// Recomputes all counts from the cards.
fn recount(db: &Connection) -> rusqlite::Result<CountChanges> {
    let agents = agent_streams(db)?;
    let mut changes = CountChanges::default();
    let mut statement = db.prepare_cached("SELECT text, terms, length FROM cards")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let stream = rowids::stream_of(row.get(0)?);
        let scope = if agents.binary_search(&stream).is_ok() { stream } else { SESSIONS_SCOPE };
        changes.count(scope, &TermCounts::from_bytes(row.get(1)?), row.get(2)?, 1);
    }
    Ok(changes)
}

/// Whether the stored counts differ from the cards. Reads all cards.
pub(super) fn has_miscounts(db: &Connection) -> rusqlite::Result<bool> {
    let mut stored = CountChanges::default();
    let mut statement = db.prepare_cached("SELECT term, texts FROM frequencies")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        stored.terms.insert(row.get(0)?, row.get(1)?);
    }
    let mut statement = db.prepare_cached("SELECT scope FROM counts")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let scope = row.get(0)?;
        stored.scopes.insert(scope, scope_counts(db, scope)?);
    }
    let mut actual = recount(db)?;
    for counts in [&mut stored, &mut actual] {
        counts.scopes.retain(|_, scope| *scope != ScopeCounts::default());
    }
    Ok(stored != actual)
}

/// Recomputes the counts if their sums do not match the cards; checking the sums is much cheaper than recounting.
pub(super) fn repair_counts(db: &Connection) -> rusqlite::Result<()> {
    let sums = |query: &str| {
        db.query_row(query, [], |row| Ok([0, 1, 2].map(|column| row.get::<_, Option<i64>>(column).ok().flatten())))
    };
    let actual = sums("SELECT count(*), sum(length), sum(octet_length(terms)) / 5 FROM cards")?;
    let counted = sums("SELECT sum(texts), sum(length), sum(sum) FROM counts")?;
    let terms = sums("SELECT sum(texts), 0, sum(texts * (term & 0xffffffff)) FROM frequencies")?;
    let all = |sums: [Option<i64>; 3]| sums.map(|sum| sum.unwrap_or(0));
    let ([texts, length, distinct], counted, terms) = (all(actual), all(counted), all(terms));
    if [texts, length, terms[2]] == counted && terms[0] == distinct {
        return Ok(());
    }
    db.execute_batch("DELETE FROM frequencies; DELETE FROM counts;")?;
    write_counts(db, recount(db)?)
}
