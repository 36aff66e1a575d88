//! What is proposed, found by looking at everything.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use neap_core::ids::{EffortId, Seq, SessionId};
use neap_core::message::Scope;
use neap_core::project::effort_text;
use neap_core::recall::{Around, Card, Embedding, Filter, Proposed, Query, TextId, TextKey, TextKind, text_of};

use super::{Kept, Stream};
use crate::card::{Asked, CardRow, text_sum};
use crate::near::{Directions, nearer};
use crate::propose::{Visit, Words, best};
use crate::recall::Place;
use crate::{Stored, numbers};

/// A text's embedding.
pub(super) struct KeptVector {
    model: String,
    /// Of the words that it is of.
    sum: u32,
    /// Which came when.
    nth: u64,
    embedding: Embedding,
}

/// A text that is looked at.
struct Searched<'a> {
    stream: &'a SessionId,
    key: &'a TextKey,
    row: &'a CardRow,
    words: &'a str,
}

impl Searched<'_> {
    fn id(&self) -> TextId {
        TextId { stream: self.stream.clone(), key: self.key.clone() }
    }

    fn has(&self, term: &str) -> bool {
        self.words.split(' ').any(|word| word == term)
    }
}

impl Kept {
    /// Texts by their numbers, of the streams that are wanted.
    fn searched(&self, is_wanted: impl Fn(&SessionId) -> bool) -> BTreeMap<i64, Searched<'_>> {
        let mut all = BTreeMap::new();
        for (id, stream) in self.sessions.iter().filter(|(id, _)| is_wanted(id)) {
            for (key, row) in &stream.derived.cards {
                let words = stream.derived.texts.get(key).map_or("", String::as_str);
                let found = Searched { stream: id, key, row, words };
                all.extend(stream.number_of(key).map(|text| (text, found)));
            }
        }
        all
    }

    /// How near a text is to a question; none if either has no embedding.
    fn near(&self, query: &Query, of: &Searched<'_>) -> Option<f64> {
        let meant = query.embedding.as_ref().filter(|meant| !meant.values().is_empty())?;
        let vector = self.vector(of)?;
        let is_comparable = vector.model == query.model && vector.embedding.values().len() == meant.values().len();
        is_comparable.then(|| meant.near(vector.embedding.values()))
    }

    /// A text's embedding, if it is one of what it says now.
    fn vector(&self, of: &Searched<'_>) -> Option<&KeptVector> {
        self.vectors.get(&of.id()).filter(|vector| vector.sum == of.row.sum)
    }

    /// The effort that a text stands for, or that it was said in.
    fn effort(&self, of: &Searched<'_>) -> Option<EffortId> {
        match of.key {
            TextKey::Effort(id) => Some(id.clone()),
            TextKey::Message(_) | TextKey::Memory(_) => self.scope(&of.id())?.effort().cloned(),
        }
    }

    pub(super) fn propose(&self, query: &Query) -> Proposed {
        let Query { terms, embedding, filter, limits, .. } = query;
        let asked = Asked::of(query);
        let counted = self.searched(|id| is_counted(filter, id));
        let searched = self.searched(|id| is_searched(filter, id));
        let with = |hash: &Option<u32>| {
            let having = |of: &&Searched<'_>| hash.is_some_and(|hash| of.row.terms.times(hash) > 0);
            counted.values().filter(having).count() as u64
        };
        let texts_with: Vec<u64> = asked.0.iter().map(with).collect();
        let texts = counted.len() as u64;
        let is_narrow = filter.is_narrow();
        let leaves = |of: &Searched<'_>| {
            filter.admits_speaker(of.row.who.as_deref())
                && (filter.effort.is_none() || filter.admits_effort(self.effort(of).as_ref()))
                && (!filter.is_of_efforts() || of.row.kind == TextKind::Effort)
        };
        let words = Words { terms, texts_with: &texts_with, texts, is_narrow, visits_max: limits.visits_max };
        let having = |term: &str, visit: Visit| -> Result<Vec<u64>, Infallible> {
            let is_visited = |of: &Searched<'_>| of.has(term) && leaves(of);
            let mut texts: Vec<u64> =
                searched.iter().filter(|(_, of)| is_visited(of)).map(|(text, _)| *text as u64).collect();
            if let Visit::Newest(max) = visit {
                texts.drain(..texts.len().saturating_sub(max));
            }
            Ok(texts)
        };
        let Ok(scores) = words.visit(having);
        let is_left = |of: &Searched<'_>| filter.admits(of.row.kind, of.row.at) && leaves(of);
        let admits = |text: u64| searched.get(&(text as i64)).is_some_and(is_left);
        let Ok(mut chosen) = best(scores, limits.lexical_max, Some(&mut |text| Ok::<_, Infallible>(admits(text))));
        let mut near: Vec<(i64, f64)> = searched
            .iter()
            .filter(|(_, of)| is_left(of))
            .filter_map(|(text, of)| Some((*text, self.near(query, of)?)))
            .collect();
        near.sort_by(nearer);
        chosen.extend(near.into_iter().take(limits.semantic_max).map(|(text, _)| text as u64));
        chosen.sort_unstable();
        chosen.dedup();
        let found = chosen.into_iter().filter_map(|text| searched.get(&(text as i64)));
        let mut cards: Vec<Card> =
            found.map(|of| of.row.seen(&asked).card(of.id(), self.near(query, of))).collect();
        cards.sort_by(|a, b| a.id.cmp(&b.id));
        let has_one = |of: &&Searched<'_>| match embedding {
            Some(_) => self.near(query, of).is_some(),
            None => self.vector(of).is_some(),
        };
        let embedded = counted.values().filter(has_one).count() as u64;
        let length = counted.values().map(|of| u64::from(of.row.length)).sum();
        let mut sum = Directions::default();
        counted.values().filter(|of| self.near(query, of).is_some()).for_each(|of| {
            if let Some(vector) = self.vector(of) {
                sum.add(vector.embedding.values());
            }
        });
        let mean_near = embedding.as_ref().map_or(0.0, |meant| Directions::mean_near([&sum], meant));
        Proposed { cards, texts, length, texts_with, mean_near, waiting: texts - embedded }
    }

    pub(super) fn around(&self, around: &Around, query: &Query) -> Vec<Card> {
        let Around { of: ids, distance, openings, latest } = around;
        let asked = Asked::of(query);
        let mut cards = Vec::new();
        let last = |id: &SessionId| {
            let stream = self.sessions.get(id)?;
            stream.derived.cards.values().map(|row| row.nth).max()
        };
        let newest = latest.as_ref().and_then(|(id, max)| Some((id, last(id)?.saturating_sub(*max as u64))));
        for of in self.searched(|_| true).values() {
            let is_near = |id: &TextId| {
                let other = self.sessions.get(&id.stream).and_then(|stream| stream.derived.cards.get(&id.key));
                id.stream == *of.stream
                    && other.is_some_and(|other| other.nth > 0 && other.nth.abs_diff(of.row.nth) <= *distance)
            };
            let is_beside = !ids.contains(&of.id()) && ids.iter().any(is_near);
            let is_opening = of.row.nth == 1 && openings.contains(of.stream);
            let is_latest = newest.is_some_and(|(id, after)| id == of.stream && of.row.nth > after);
            if of.row.nth > 0 && (is_beside || is_opening || is_latest) {
                cards.push(of.row.seen(&asked).card(of.id(), self.near(query, of)));
            }
        }
        cards.sort_by(|a, b| a.id.cmp(&b.id));
        cards
    }

    /// The log that a text is in.
    pub(super) fn scope(&self, id: &TextId) -> Option<Scope> {
        let stream = self.sessions.get(&id.stream)?;
        let turn = stream.derived.cards.get(&id.key).filter(|row| row.kind.is_said())?.turn;
        if stream.derived.taken_back.contains(&turn) {
            return None;
        }
        stream.derived.exchanges.values().find(|row| row.turn == turn).map(|row| row.scope.clone())
    }

    pub(super) fn text(&self, id: &TextId, with_withheld: bool) -> Option<Arc<str>> {
        let stream = self.sessions.get(&id.stream)?;
        match &id.key {
            TextKey::Effort(effort) => stream.derived.efforts.get(effort).map(|effort| effort_text(effort).into()),
            TextKey::Memory(memory) => {
                let kept = stream.derived.memories.get(memory)?;
                kept.memory.status.is_searched().then(|| kept.memory.text().into())
            }
            TextKey::Message(seq) => {
                let Some(Stored::Event(recorded)) = stream.between(*seq, *seq).pop() else { return None };
                let text = text_of(recorded.seq, recorded.at, &recorded.event)?;
                (with_withheld || !stream.derived.withheld.contains(&text.turn)).then_some(text.text)
            }
        }
    }

    pub(super) fn unembedded(&self, model: &str, max: usize) -> Vec<(TextId, Arc<str>)> {
        let (mut without, mut of_others) = (Vec::new(), BTreeMap::new());
        for of in self.searched(|_| true).values() {
            match self.vector(of) {
                None => without.push(of.id()),
                Some(vector) if vector.model != model => {
                    of_others.insert(vector.nth, of.id());
                }
                Some(_) => {}
            }
        }
        let waiting = without.into_iter().chain(of_others.into_values());
        waiting.filter_map(|id| self.text(&id, true).map(|text| (id, text))).take(max).collect()
    }

    pub(super) fn embed(&mut self, model: &str, batch: Vec<(TextId, Arc<str>, Embedding)>) {
        for (id, text, embedding) in batch {
            let row = self.sessions.get(&id.stream).and_then(|stream| stream.derived.cards.get(&id.key));
            if let Some(row) = row.filter(|row| row.sum == text_sum(&text)) {
                self.embedded += 1;
                let vector = KeptVector { model: model.to_owned(), sum: row.sum, nth: self.embedded, embedding };
                self.vectors.insert(id, vector);
            }
        }
    }

    /// Drops embeddings of what is gone or says something else.
    pub(super) fn drop_strays(&mut self) {
        let Kept { sessions, vectors, .. } = self;
        vectors.retain(|id, vector| {
            let row = sessions.get(&id.stream).and_then(|stream| stream.derived.cards.get(&id.key));
            row.is_some_and(|row| row.sum == vector.sum)
        });
    }
}

impl Stream {
    /// The number of a text.
    fn number_of(&self, key: &TextKey) -> Option<i64> {
        match key {
            TextKey::Effort(id) => {
                self.derived.opened.get(id).map(|nth| numbers::effort_text(self.number, *nth as i64))
            }
            TextKey::Message(Seq(seq)) => Some(numbers::message_text(self.number, *seq as i64)),
            TextKey::Memory(id) => {
                let kept = self.derived.memories.get(id)?;
                Some(numbers::memory_text(self.number, *id, Place::of(kept.memory.status)))
            }
        }
    }
}

/// Whether a stream is searched.
fn is_searched(filter: &Filter, id: &SessionId) -> bool {
    match &filter.streams {
        Some(streams) => streams.contains(id),
        None => id.agent().is_none(),
    }
}

/// Whether a stream's texts are counted: all sessions' where one of them is searched, an agent's where it is.
fn is_counted(filter: &Filter, id: &SessionId) -> bool {
    let Some(streams) = &filter.streams else { return id.agent().is_none() };
    if id.agent().is_some() { streams.contains(id) } else { streams.iter().any(|named| named.agent().is_none()) }
}
