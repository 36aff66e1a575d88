//! Of each text its card, and in how many texts each term is: written with the word index, in the same transaction.
//!
//! Sessions are counted together, each agent for itself: a scope is 0, or the number of an agent's stream. What is counted for a
//! term is under one number, the scope above, the term's hash below.

use std::collections::BTreeMap;

use neap_core::ids::{Stamp, TurnNo};
use neap_core::recall::{TextKey, TextKind};
use neap_core::tokens::Tokens;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::effects::number;
use crate::card::{Asked, CardRow, Seen, TermTimes, kind_number, numbered_kind};
use crate::numbers;

/// The scope of all sessions.
pub(super) const SESSIONS: i64 = 0;

/// Streams whose name begins with `@` are agents'.
pub(super) const AGENTS: &str = "SELECT stream FROM sessions WHERE name >= '@' AND name < 'A'";

/// Where a stream's texts are counted.
pub(super) fn scope(db: &Connection, stream: i64) -> rusqlite::Result<i64> {
    let is_agent = format!("{AGENTS} AND stream = ?");
    Ok(if db.prepare_cached(&is_agent)?.exists([stream])? { stream } else { SESSIONS })
}

/// The streams of all agents, in order.
pub(super) fn agents(db: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut agents: Vec<i64> =
        db.prepare_cached(AGENTS)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    agents.sort_unstable();
    Ok(agents)
}

/// How many texts a scope has, how many terms they have, and the sum of the hashes of the distinct ones of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) texts: i64,
    pub(super) length: i64,
    pub(super) sum: i64,
}

/// What a transaction adds to the counts and takes from them, written at its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    terms: BTreeMap<i64, i64>,
    scopes: BTreeMap<i64, Counts>,
}

fn key(scope: i64, hash: u32) -> i64 {
    scope << 32 | i64::from(hash)
}

impl Tally {
    fn count(&mut self, scope: i64, terms: &TermTimes, length: u32, by: i64) {
        let counts = self.scopes.entry(scope).or_default();
        counts.texts += by;
        counts.length += by * i64::from(length);
        for hash in terms.hashes() {
            counts.sum += by * i64::from(hash);
            *self.terms.entry(key(scope, hash)).or_default() += by;
        }
    }

    /// Adds what another counted.
    pub(super) fn add(&mut self, other: Tally) {
        for (term, by) in other.terms {
            *self.terms.entry(term).or_default() += by;
        }
        for (scope, Counts { texts, length, sum }) in other.scopes {
            let counts = self.scopes.entry(scope).or_default();
            counts.texts += texts;
            counts.length += length;
            counts.sum += sum;
        }
    }

    /// Writes it down.
    pub(super) fn write(self, db: &Connection) -> rusqlite::Result<()> {
        let mut more = db.prepare_cached(
            "INSERT INTO frequencies(term, texts) VALUES (?1, ?2) ON CONFLICT(term) DO UPDATE SET texts = texts + ?2",
        )?;
        let mut fewer = db.prepare_cached("UPDATE frequencies SET texts = texts + ?2 WHERE term = ?1")?;
        let mut none = db.prepare_cached("DELETE FROM frequencies WHERE term = ? AND texts <= 0")?;
        for (term, by) in self.terms {
            if by > 0 {
                more.execute([term, by])?;
            } else if by < 0 {
                fewer.execute([term, by])?;
                none.execute([term])?;
            }
        }
        for (scope, Counts { texts, length, sum }) in self.scopes {
            db.prepare_cached(
                "INSERT INTO counts(scope, texts, length, sum) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT(scope) DO UPDATE SET texts = texts + ?2, length = length + ?3, sum = sum + ?4",
            )?
            .execute([scope, texts, length, sum])?;
        }
        Ok(())
    }
}

/// Puts a text's card in place of the one that it had.
pub(super) fn put(
    db: &Connection,
    tally: &mut Tally,
    text: i64,
    scope: i64,
    row: &CardRow,
) -> rusqlite::Result<()> {
    remove(db, tally, text, scope)?;
    let CardRow { kind, turn, nth, at, who, tokens, length, sum, terms } = row;
    db.prepare_cached(
        "INSERT INTO cards(text, kind, turn, nth, at, who, tokens, length, sum, terms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        text,
        kind_number(*kind),
        number(turn.0),
        number(*nth),
        at.0,
        who,
        number(tokens.0),
        length,
        sum,
        terms.bytes()
    ])?;
    tally.count(scope, terms, *length, 1);
    Ok(())
}

/// Removes a text's card, if it has one.
pub(super) fn remove(db: &Connection, tally: &mut Tally, text: i64, scope: i64) -> rusqlite::Result<()> {
    let old: Option<(Vec<u8>, u32)> = db
        .prepare_cached("SELECT terms, length FROM cards WHERE text = ?")?
        .query_row([text], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((terms, length)) = old {
        tally.count(scope, &TermTimes::from_bytes(terms), length, -1);
        db.prepare_cached("DELETE FROM cards WHERE text = ?")?.execute([text])?;
    }
    Ok(())
}

/// Removes all cards of a stream.
pub(super) fn clear(db: &Connection, tally: &mut Tally, stream: i64, scope: i64) -> rusqlite::Result<()> {
    let (first, last) = numbers::all_texts(stream);
    let mut statement = db.prepare_cached("SELECT terms, length FROM cards WHERE text BETWEEN ? AND ?")?;
    let mut rows = statement.query([first, last])?;
    while let Some(row) = rows.next()? {
        tally.count(scope, &TermTimes::from_bytes(row.get(0)?), row.get(1)?, -1);
    }
    db.execute("DELETE FROM cards WHERE text BETWEEN ? AND ?", [first, last])?;
    Ok(())
}

/// How many texts of a stream were said: the place of the last.
pub(super) fn said(db: &Connection, stream: i64) -> rusqlite::Result<u64> {
    let (first, last) = numbers::message_texts(stream);
    let nth: Option<i64> = db
        .prepare_cached("SELECT nth FROM cards WHERE text BETWEEN ? AND ? AND nth > 0 ORDER BY text DESC LIMIT 1")?
        .query_row([first, last], |row| row.get(0))
        .optional()?;
    Ok(nth.unwrap_or(0) as u64)
}

/// The columns that [`seen`] reads.
pub(super) const COLUMNS: &str = "text, kind, turn, nth, at, who, tokens, length, sum, terms";

/// A row of cards, with its number, and what is made of its terms; none if its kind is not known.
fn row_with<T>(row: &Row<'_>, terms: impl FnOnce(&[u8]) -> T) -> rusqlite::Result<Option<(i64, CardRow<T>)>> {
    let number = |at| row.get::<_, i64>(at).map(|n| n as u64);
    let Some(kind) = numbered_kind(row.get(1)?) else { return Ok(None) };
    let found = CardRow {
        kind,
        turn: TurnNo(number(2)?),
        nth: number(3)?,
        at: Stamp(row.get(4)?),
        who: row.get(5)?,
        tokens: Tokens(number(6)?),
        length: row.get(7)?,
        sum: row.get(8)?,
        terms: terms(row.get_ref(9)?.as_blob()?),
    };
    Ok(Some((row.get(0)?, found)))
}

/// The same, as a question sees it. Many are read for each: their terms are not copied.
pub(super) fn seen(row: &Row<'_>, asked: &Asked) -> rusqlite::Result<Option<(i64, Seen)>> {
    row_with(row, |terms| asked.hits(terms))
}

/// Reads cards one by one, for one question.
pub(super) struct Reading<'a> {
    statement: CachedStatement<'a>,
    asked: &'a Asked,
}

impl<'a> Reading<'a> {
    /// The same statement for all that are read.
    pub(super) fn new(db: &'a Connection, asked: &'a Asked) -> rusqlite::Result<Self> {
        Ok(Self { statement: db.prepare_cached(&format!("SELECT {COLUMNS} FROM cards WHERE text = ?"))?, asked })
    }

    /// A text's card.
    pub(super) fn of(&mut self, text: i64) -> rusqlite::Result<Option<Seen>> {
        let found = self.statement.query_row([text], |row| seen(row, self.asked)).optional()?;
        Ok(found.flatten().map(|(_, seen)| seen))
    }
}

/// The kind of a text, and its turn.
pub(super) fn turn(db: &Connection, text: i64) -> rusqlite::Result<Option<(TextKind, TurnNo)>> {
    let found: Option<(i64, i64)> = db
        .prepare_cached("SELECT kind, turn FROM cards WHERE text = ?")?
        .query_row([text], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.and_then(|(kind, turn)| Some((numbered_kind(kind)?, TurnNo(turn as u64)))))
}

/// A text's kind and time, and which words it is made of.
pub(super) fn brief(db: &Connection, text: i64) -> rusqlite::Result<Option<(TextKind, Stamp, u32)>> {
    let found = db
        .prepare_cached("SELECT kind, at, sum FROM cards WHERE text = ?")?
        .query_row([text], |row| Ok((row.get::<_, i64>(0)?, Stamp(row.get(1)?), row.get(2)?)))
        .optional()?;
    Ok(found.and_then(|(kind, at, sum)| numbered_kind(kind).map(|kind| (kind, at, sum))))
}

/// What is counted in a scope.
pub(super) fn counts(db: &Connection, scope: i64) -> rusqlite::Result<Counts> {
    let counts = db
        .prepare_cached("SELECT texts, length, sum FROM counts WHERE scope = ?")?
        .query_row([scope], |row| Ok(Counts { texts: row.get(0)?, length: row.get(1)?, sum: row.get(2)? }))
        .optional()?;
    Ok(counts.unwrap_or_default())
}

/// In how many texts of a scope a term is.
pub(super) fn frequency(db: &Connection, scope: i64, hash: u32) -> rusqlite::Result<u64> {
    let texts: Option<i64> = db
        .prepare_cached("SELECT texts FROM frequencies WHERE term = ?")?
        .query_row([key(scope, hash)], |row| row.get(0))
        .optional()?;
    Ok(texts.unwrap_or(0).max(0) as u64)
}

/// The cards of a stream as they are, by the keys of their texts.
pub(super) fn kept(
    db: &Connection,
    stream: i64,
    mut key_of: impl FnMut(i64) -> rusqlite::Result<Option<TextKey>>,
) -> rusqlite::Result<(BTreeMap<TextKey, CardRow>, u64)> {
    let (first, last) = numbers::all_texts(stream);
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM cards WHERE text BETWEEN ? AND ?"))?;
    let mut rows = statement.query([first, last])?;
    let (mut cards, mut strays) = (BTreeMap::new(), 0);
    while let Some(row) = rows.next()? {
        let all = |terms: &[u8]| TermTimes::from_bytes(terms.to_vec());
        let Some((text, found)) = row_with(row, all)? else {
            strays += 1;
            continue;
        };
        match key_of(text)? {
            Some(key) => {
                cards.insert(key, found);
            }
            None => strays += 1,
        }
    }
    Ok((cards, strays))
}

/// Everything counted anew, from the cards.
fn recounted(db: &Connection) -> rusqlite::Result<Tally> {
    let agents = agents(db)?;
    let mut tally = Tally::default();
    let mut statement = db.prepare_cached("SELECT text, terms, length FROM cards")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let stream = numbers::stream_of(row.get(0)?);
        let scope = if agents.binary_search(&stream).is_ok() { stream } else { SESSIONS };
        tally.count(scope, &TermTimes::from_bytes(row.get(1)?), row.get(2)?, 1);
    }
    Ok(tally)
}

/// Whether terms or texts are not as many as are counted. Reads all cards.
pub(super) fn are_miscounted(db: &Connection) -> rusqlite::Result<bool> {
    let mut kept = Tally::default();
    let mut statement = db.prepare_cached("SELECT term, texts FROM frequencies")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        kept.terms.insert(row.get(0)?, row.get(1)?);
    }
    let mut statement = db.prepare_cached("SELECT scope FROM counts")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let scope = row.get(0)?;
        kept.scopes.insert(scope, counts(db, scope)?);
    }
    let mut there = recounted(db)?;
    for tally in [&mut kept, &mut there] {
        tally.scopes.retain(|_, counts| *counts != Counts::default());
    }
    Ok(kept != there)
}

/// Counts everything anew, if what is counted does not add up. To see whether it does costs much less than to count.
pub(super) fn mend(db: &Connection) -> rusqlite::Result<()> {
    let sums = |query: &str| {
        db.query_row(query, [], |row| Ok([0, 1, 2].map(|column| row.get::<_, Option<i64>>(column).ok().flatten())))
    };
    let there = sums("SELECT count(*), sum(length), sum(octet_length(terms)) / 5 FROM cards")?;
    let counted = sums("SELECT sum(texts), sum(length), sum(sum) FROM counts")?;
    let terms = sums("SELECT sum(texts), 0, sum(texts * (term & 0xffffffff)) FROM frequencies")?;
    let all = |sums: [Option<i64>; 3]| sums.map(|sum| sum.unwrap_or(0));
    let ([texts, length, distinct], counted, terms) = (all(there), all(counted), all(terms));
    if [texts, length, terms[2]] == counted && terms[0] == distinct {
        return Ok(());
    }
    db.execute_batch("DELETE FROM frequencies; DELETE FROM counts;")?;
    recounted(db)?.write(db)
}
