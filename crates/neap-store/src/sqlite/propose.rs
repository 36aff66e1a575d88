//! What is proposed: texts that have the rarer terms, and texts whose embedding is near. By number; only the cards of what is chosen are
//! read.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use neap_core::ids::SessionId;
use neap_core::recall::{Around, Card, Consult, Consulted, Embedding, Filter, Limits, Proposed, Query};
use rusqlite::{Connection, OptionalExtension, Rows, params};

use super::cards::{self, Reading, SESSIONS};
use super::effects::number;
use super::fault::Stop;
use super::space::{Loaded, Space};
use super::texts::{Names, number_of};
use super::{events, narrow, texts, vectors};
use crate::card::{Asked, Seen};
use crate::near::{Directions, Looking, Of, Probe, Searched, Vectors, nearer};
use crate::numbers;
use crate::propose::{Visit, Words, best};

/// What is searched, by numbers.
struct Where {
    /// The streams that are searched, in order; none for all but agents'.
    streams: Option<Vec<i64>>,
    /// Agents' streams, in order.
    agents: Vec<i64>,
    /// Where what is searched is counted.
    scopes: Vec<i64>,
    /// What the filter leaves of them, in order, where that is little; none for all.
    only: Option<Vec<i64>>,
}

impl Where {
    fn of(db: &Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let agents = cards::agents(db)?;
        let Some(named) = &filter.streams else {
            let all = Self { streams: None, agents, scopes: vec![SESSIONS], only: None };
            return all.narrowed(db, filter);
        };
        let mut streams = Vec::with_capacity(named.len());
        for id in named {
            streams.extend(events::stream(db, id.as_str())?);
        }
        streams.sort_unstable();
        let has_sessions = named.iter().any(|id| id.agent().is_none());
        let mut scopes: Vec<i64> = if has_sessions { vec![SESSIONS] } else { Vec::new() };
        scopes.extend(streams.iter().copied().filter(|stream| agents.binary_search(stream).is_ok()));
        Self { streams: Some(streams), agents, scopes, only: None }.narrowed(db, filter)
    }

    fn narrowed(self, db: &Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let only = narrow::only(db, filter, &self.ranges())?;
        Ok(Self { only, ..self })
    }

    /// Whether the filter leaves a text, as far as it leaves little.
    fn leaves(&self, text: i64) -> bool {
        self.only.as_ref().is_none_or(|only| only.binary_search(&text).is_ok())
    }

    fn has(&self, text: i64) -> bool {
        let stream = numbers::stream_of(text);
        match &self.streams {
            Some(streams) => streams.binary_search(&stream).is_ok(),
            None => self.agents.binary_search(&stream).is_err(),
        }
    }

    /// Ranges of numbers that are searched, the newest first.
    fn ranges(&self) -> Vec<(i64, i64)> {
        match &self.streams {
            Some(streams) => streams.iter().rev().map(|stream| numbers::all_texts(*stream)).collect(),
            None => vec![(i64::MIN, i64::MAX)],
        }
    }

    /// The texts that have a term, in order.
    fn having(&self, db: &Connection, term: &str, visit: Visit) -> rusqlite::Result<Vec<u64>> {
        let (query, max) = match visit {
            Visit::All => ("SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?", usize::MAX),
            Visit::Newest(max) => {
                ("SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC", max)
            }
        };
        let mut statement = db.prepare_cached(query)?;
        // In quotation marks a word is a word, also `near` and `or`.
        let term = format!("\"{term}\"");
        let mut texts = Vec::new();
        for (first, last) in self.ranges() {
            let mut rows = statement.query(params![term, first, last])?;
            while texts.len() < max
                && let Some(row) = rows.next()?
            {
                let text: i64 = row.get(0)?;
                let is_here = self.streams.is_some() || self.agents.is_empty() || self.has(text);
                if is_here && self.leaves(text) {
                    texts.push(text as u64);
                }
            }
        }
        texts.sort_unstable();
        Ok(texts)
    }
}

/// What a question means to one model.
struct Meant<'a> {
    embedding: &'a Embedding,
    model: i64,
}

impl<'a> Meant<'a> {
    /// None if the model never embedded anything.
    fn of(db: &Connection, query: &'a Query) -> rusqlite::Result<Option<Self>> {
        let Some(embedding) = query.embedding.as_ref().filter(|of| !of.values().is_empty()) else {
            return Ok(None);
        };
        let model = vectors::model(db, &query.model, embedding.values().len())?;
        Ok(model.map(|model| Self { embedding, model }))
    }

    /// How near all texts are that are counted, on the whole.
    fn mean_near(&self, loaded: &Loaded, place: &Where) -> f64 {
        Directions::mean_near(loaded.of(&place.scopes).map(Vectors::directions), self.embedding)
    }
}

pub(super) fn propose(db: &Connection, space: &Space, query: &Query) -> Result<Proposed, Stop> {
    let (asked, place) = (Asked::of(query), Where::of(db, &query.filter)?);
    let mut proposed = Proposed::default();
    let (meant, mut embedded) = (Meant::of(db, query)?, 0);
    for scope in &place.scopes {
        let counts = cards::counts(db, *scope)?;
        proposed.texts += counts.texts.max(0) as u64;
        proposed.length += counts.length.max(0) as u64;
        embedded += match (&query.embedding, &meant) {
            (None, _) => vectors::embedded(db, None, *scope)?,
            (Some(_), Some(meant)) => vectors::embedded(db, Some(meant.model), *scope)?,
            (Some(_), None) => 0,
        };
    }
    proposed.waiting = proposed.texts.saturating_sub(embedded);
    for hash in &asked.0 {
        let mut with = 0;
        for scope in &place.scopes {
            with += hash.map_or(Ok(0), |hash| cards::frequency(db, *scope, hash))?;
        }
        proposed.texts_with.push(with);
    }
    proposed.cards = match meant {
        None => read(db, &asked, by_words(db, &place, query, &proposed)?, |_| None)?,
        Some(meant) => space.look(db, meant.model, meant.embedding.values().len(), |loaded| {
            let Limits { semantic_max, .. } = query.limits;
            let admits = |of: &Of| query.filter.admits(of.kind, of.at) && place.leaves(of.text);
            let admits_here = |of: &Of| place.has(of.text) && admits(of);
            let is_searched: Option<Searched<'_>> = match &place.streams {
                None if query.filter.admits_all() => None,
                None => Some(&admits),
                Some(_) => Some(&admits_here),
            };
            let scopes = loaded.of(&place.scopes);
            let looks: Vec<Looking<'_>> =
                scopes.map(|of| of.look_for(meant.embedding, semantic_max, is_searched)).collect();
            let mut chosen = beside(&looks, || by_words(db, &place, query, &proposed))?;
            let mut near: Vec<(i64, f64)> = looks.into_iter().flat_map(Looking::nearest).collect();
            near.sort_unstable_by(nearer);
            near.truncate(semantic_max);
            chosen.extend(near.iter().map(|(text, _)| *text));
            let near: HashMap<i64, f64> = near.into_iter().collect();
            let probe = Probe::of(meant.embedding);
            proposed.mean_near = meant.mean_near(loaded, &place);
            read(db, &asked, chosen, |text| near.get(&text).copied().or_else(|| loaded.near(&probe, text)))
        })?,
    };
    Ok(proposed)
}

/// Looks for the nearest while something else is done that goes through the file, and then helps with it. Where no thread can be had, it is
/// done afterwards.
fn beside<T>(looks: &[Looking<'_>], work: impl FnOnce() -> T) -> T {
    let look = || looks.iter().for_each(Looking::look);
    std::thread::scope(|scope| {
        if looks.iter().any(Looking::is_long) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, look);
        }
        let done = work();
        look();
        done
    })
}

fn by_words(db: &Connection, place: &Where, query: &Query, proposed: &Proposed) -> rusqlite::Result<Vec<i64>> {
    let Query { terms, filter, limits, .. } = query;
    let words = Words {
        terms,
        texts_with: &proposed.texts_with,
        texts: proposed.texts,
        is_narrow: filter.is_narrow(),
        visits_max: limits.visits_max,
    };
    let scores = words.visit(|term, visit| place.having(db, term, visit))?;
    let mut admits = |text: u64| -> rusqlite::Result<bool> {
        let brief = cards::brief(db, text as i64)?;
        Ok(brief.is_some_and(|(kind, at, _)| filter.admits(kind, at)))
    };
    let chosen = if filter.admits_all() {
        best::<rusqlite::Error>(scores, limits.lexical_max, None)?
    } else {
        best(scores, limits.lexical_max, Some(&mut admits))?
    };
    Ok(chosen.into_iter().map(|text| text as i64).collect())
}

/// The cards of texts, each once, in the order of ids. What has none is left out.
fn read(
    db: &Connection,
    asked: &Asked,
    mut texts: Vec<i64>,
    near: impl Fn(i64) -> Option<f64>,
) -> rusqlite::Result<Vec<Card>> {
    texts.sort_unstable();
    texts.dedup();
    let mut seen = Vec::with_capacity(texts.len());
    let mut card = Reading::new(db, asked)?;
    for text in texts {
        seen.extend(card.of(text)?.map(|seen| (text, seen)));
    }
    named(db, seen, near)
}

/// What was seen as cards, in the order of ids. What is of no known stream is left out.
fn named(
    db: &Connection,
    seen: impl IntoIterator<Item = (i64, Seen)>,
    near: impl Fn(i64) -> Option<f64>,
) -> rusqlite::Result<Vec<Card>> {
    let (mut names, mut found) = (Names::default(), Vec::new());
    for (text, seen) in seen {
        found.extend(names.id(db, text)?.map(|id| seen.card(id, near(text))));
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

pub(super) fn around(db: &Connection, space: &Space, around: &Around, query: &Query) -> Result<Vec<Card>, Stop> {
    let Around { of, distance, openings, latest } = around;
    let mut given = Vec::with_capacity(of.len());
    for id in of {
        given.extend(number_of(db, id)?);
    }
    given.sort_unstable();
    given.dedup();
    let asked = Asked::of(query);
    let mut found = said_beside(db, &asked, &given, *distance)?;
    found.retain(|text, _| given.binary_search(text).is_err());
    for id in openings {
        at_an_end(db, &asked, id, "", 1, &mut found)?;
    }
    if let Some((id, max)) = latest {
        at_an_end(db, &asked, id, "DESC", *max, &mut found)?;
    }
    let cards = match Meant::of(db, query)? {
        None => named(db, found, |_| None)?,
        Some(meant) => space.look(db, meant.model, meant.embedding.values().len(), |loaded| {
            let probe = Probe::of(meant.embedding);
            named(db, found, |text| loaded.near(&probe, text))
        })?,
    };
    Ok(cards)
}

pub(super) fn consult(db: &Connection, space: &Space, consult: &Consult) -> Result<Consulted, Stop> {
    consult.answer(
        |query| propose(db, space, query),
        |of, query| around(db, space, of, query),
        |ids| texts::texts(db, ids),
    )
}

/// What was said first in a stream, or last.
fn at_an_end(
    db: &Connection,
    asked: &Asked,
    id: &SessionId,
    order: &str,
    max: usize,
    found: &mut BTreeMap<i64, Seen>,
) -> rusqlite::Result<()> {
    let Some(stream) = events::stream(db, id.as_str())? else { return Ok(()) };
    let (first, last) = numbers::message_texts(stream);
    let columns = cards::COLUMNS;
    let query = format!(
        "SELECT {columns} FROM cards WHERE text BETWEEN ? AND ? AND nth > 0 ORDER BY text {order} LIMIT ?"
    );
    let mut statement = db.prepare_cached(&query)?;
    let mut rows = statement.query([first, last, number(max as u64)])?;
    while let Some(row) = rows.next()? {
        found.extend(cards::seen(row, asked)?);
    }
    Ok(())
}

/// What was said within a distance of texts, given in order. Where their surroundings meet, nothing is read twice.
fn said_beside(
    db: &Connection,
    asked: &Asked,
    given: &[i64],
    distance: u64,
) -> rusqlite::Result<BTreeMap<i64, Seen>> {
    let columns = cards::COLUMNS;
    let before = format!("SELECT {columns} FROM cards WHERE text BETWEEN ? AND ? ORDER BY text DESC");
    let after = format!("SELECT {columns} FROM cards WHERE text BETWEEN ? AND ? ORDER BY text");
    let (mut before, mut after) = (db.prepare_cached(&before)?, db.prepare_cached(&after)?);
    let mut place = db.prepare_cached("SELECT nth FROM cards WHERE text = ?")?;
    let mut found = BTreeMap::new();
    let mut read_to = i64::MIN;
    for &text in given {
        let nth: Option<i64> = place.query_row([text], |row| row.get(0)).optional()?;
        let Some(nth) = nth.and_then(|nth| u64::try_from(nth).ok()).filter(|nth| *nth > 0) else { continue };
        let (first, last) = numbers::message_texts(numbers::stream_of(text));
        let reach = nth.saturating_sub(distance).max(1)..=nth.saturating_add(distance);
        take(before.query([first.max(read_to.saturating_add(1)), text - 1])?, asked, &reach, &mut found)?;
        take(after.query([(text + 1).max(read_to.saturating_add(1)), last])?, asked, &reach, &mut found)?;
        read_to = found.last_key_value().map_or(read_to, |(last, _)| *last);
    }
    Ok(found)
}

/// Takes what was said, row by row, as far as it is within reach.
fn take(
    mut rows: Rows<'_>,
    asked: &Asked,
    reach: &RangeInclusive<u64>,
    found: &mut BTreeMap<i64, Seen>,
) -> rusqlite::Result<()> {
    while let Some(row) = rows.next()? {
        let Some((text, seen)) = cards::seen(row, asked)?.filter(|(_, seen)| seen.nth > 0) else { continue };
        if !reach.contains(&seen.nth) {
            break;
        }
        found.insert(text, seen);
    }
    Ok(())
}
