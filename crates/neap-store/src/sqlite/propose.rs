//! What is proposed: texts that have the rarer terms, and texts whose embedding is near. By number; only the cards of what is chosen are
//! read.

use neap_core::recall::{Around, Card, Embedding, Filter, Proposed, Query};
use rusqlite::{Connection, params};

use super::cards::{self, SESSIONS};
use super::effects::number;
use super::fault::Stop;
use super::space::{Loaded, Space};
use super::texts::{Names, number_of};
use super::{events, vectors};
use crate::card::{Asked, CardRow};
use crate::near::{Directions, Of, Vectors, nearer};
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
}

impl Where {
    fn of(db: &Connection, filter: &Filter) -> rusqlite::Result<Self> {
        let agents = cards::agents(db)?;
        let Some(named) = &filter.streams else {
            return Ok(Self { streams: None, agents, scopes: vec![SESSIONS] });
        };
        let mut streams = Vec::with_capacity(named.len());
        for id in named {
            streams.extend(events::stream(db, id.as_str())?);
        }
        streams.sort_unstable();
        let has_sessions = named.iter().any(|id| id.agent().is_none());
        let mut scopes: Vec<i64> = if has_sessions { vec![SESSIONS] } else { Vec::new() };
        scopes.extend(streams.iter().copied().filter(|stream| agents.binary_search(stream).is_ok()));
        Ok(Self { streams: Some(streams), agents, scopes })
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
                if self.streams.is_some() || self.agents.is_empty() || self.has(text) {
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

    /// The nearest texts of those that are searched.
    fn nearest(&self, loaded: &Loaded, place: &Where, query: &Query) -> Vec<i64> {
        let max = query.limits.semantic_max;
        let admits = |of: &Of| query.filter.admits(of.kind, of.at);
        let admits_here = |of: &Of| place.has(of.text) && admits(of);
        let is_searched: Option<&dyn Fn(&Of) -> bool> = match &place.streams {
            None if query.filter.admits_all() => None,
            None => Some(&admits),
            Some(_) => Some(&admits_here),
        };
        let mut found: Vec<(i64, f64)> = Vec::new();
        for vectors in loaded.of(&place.scopes) {
            found.extend(vectors.nearest(self.embedding, max, is_searched));
        }
        found.sort_unstable_by(nearer);
        found.truncate(max);
        found.into_iter().map(|(text, _)| text).collect()
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
    let mut chosen = by_words(db, &place, query, &proposed)?;
    let cards = match meant {
        None => read(db, &asked, chosen, |_| None)?,
        Some(meant) => space.look(db, meant.model, meant.embedding.values().len(), |loaded| {
            chosen.extend(meant.nearest(loaded, &place, query));
            proposed.mean_near = meant.mean_near(loaded, &place);
            read(db, &asked, chosen, |text| loaded.near(meant.embedding, text))
        })?,
    };
    proposed.cards = cards;
    Ok(proposed)
}

fn by_words(db: &Connection, place: &Where, query: &Query, proposed: &Proposed) -> rusqlite::Result<Vec<i64>> {
    let Query { terms, filter, limits, .. } = query;
    let words = Words {
        terms,
        texts_with: &proposed.texts_with,
        texts: proposed.texts,
        is_narrow: place.streams.is_some(),
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
    let (mut names, mut found) = (Names::default(), Vec::with_capacity(texts.len()));
    for text in texts {
        let Some(row) = cards::card(db, text)? else { continue };
        found.extend(names.id(db, text)?.map(|id| row.card(id, asked, near(text))));
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

pub(super) fn around(db: &Connection, space: &Space, around: &Around, query: &Query) -> Result<Vec<Card>, Stop> {
    let Around { of, distance, openings, latest } = around;
    let (mut given, mut found) = (Vec::with_capacity(of.len()), Vec::new());
    for id in of {
        given.extend(number_of(db, id)?);
    }
    given.sort_unstable();
    given.dedup();
    for text in &given {
        if let Some(row) = cards::card(db, *text)? {
            found.extend(neighbours(db, *text, &row, *distance)?);
        }
    }
    found.retain(|text| given.binary_search(text).is_err());
    for (id, order, max) in
        openings.iter().map(|id| (id, "", 1)).chain(latest.iter().map(|(id, max)| (id, "DESC", *max)))
    {
        if let Some(stream) = events::stream(db, id.as_str())? {
            found.extend(at_an_end(db, stream, order, max)?);
        }
    }
    let asked = Asked::of(query);
    let cards = match Meant::of(db, query)? {
        None => read(db, &asked, found, |_| None)?,
        Some(meant) => space.look(db, meant.model, meant.embedding.values().len(), |loaded| {
            read(db, &asked, found, |text| loaded.near(meant.embedding, text))
        })?,
    };
    Ok(cards)
}

/// The numbers of what was said first in a stream, or last.
fn at_an_end(db: &Connection, stream: i64, order: &str, max: usize) -> rusqlite::Result<Vec<i64>> {
    let (first, last) = numbers::message_texts(stream);
    let query =
        format!("SELECT text FROM cards WHERE text BETWEEN ? AND ? AND nth > 0 ORDER BY text {order} LIMIT ?");
    db.prepare_cached(&query)?.query_map([first, last, number(max as u64)], |row| row.get(0))?.collect()
}

/// The numbers of what was said within a distance of a text.
fn neighbours(db: &Connection, text: i64, row: &CardRow, distance: u64) -> rusqlite::Result<Vec<i64>> {
    let mut found = Vec::new();
    if row.nth == 0 {
        return Ok(found);
    }
    let (first, last) = numbers::message_texts(numbers::stream_of(text));
    let (lowest, highest) =
        (number(row.nth.saturating_sub(distance)).max(1), number(row.nth.saturating_add(distance)));
    for (query, from, to) in [
        ("SELECT text, nth FROM cards WHERE text BETWEEN ? AND ? ORDER BY text DESC", first, text - 1),
        ("SELECT text, nth FROM cards WHERE text BETWEEN ? AND ? ORDER BY text", text + 1, last),
    ] {
        let mut statement = db.prepare_cached(query)?;
        let mut rows = statement.query([from, to])?;
        while let Some(row) = rows.next()? {
            let (text, nth): (i64, i64) = (row.get(0)?, row.get(1)?);
            if nth == 0 {
                continue;
            }
            if nth < lowest || nth > highest {
                break;
            }
            found.push(text);
        }
    }
    Ok(found)
}
