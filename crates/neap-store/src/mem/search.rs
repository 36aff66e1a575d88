//! Search for the memory backend, by scanning every text.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use neap_core::base::ids::{EffortId, Seq, StreamId};
use neap_core::base::message::Scope;
use neap_core::recall::{
    Candidate, Candidates, Embedding, Filter, NeighbourQuery, Query, TextId, TextKey, TextKind, UnembeddedText,
    message_end,
};
use neap_core::session::indexed_text;
use neap_core::session::project::effort_text;

use super::{MemState, MemStream};
use crate::StoredEvent;
use crate::backend::candidates::{TermSearch, Visit, top_scored};
use crate::backend::card::{CardRow, QueryTerms, text_checksum};
use crate::backend::memory_recall::SearchTier;
use crate::backend::rowids;
use crate::vectors::{MeanVector, by_similarity};

pub(super) struct StoredVector {
    model: String,
    /// Checksum of the embedded text.
    checksum: u32,
    nth: u64,
    embedding: Embedding,
}

struct SearchedText<'a> {
    stream: &'a StreamId,
    key: &'a TextKey,
    row: &'a CardRow,
    words: &'a str,
}

impl SearchedText<'_> {
    fn id(&self) -> TextId {
        TextId { stream: self.stream.clone(), key: self.key.clone() }
    }

    fn has(&self, term: &str) -> bool {
        self.words.split(' ').any(|word| word == term)
    }
}

impl MemState {
    fn searched_texts(&self, is_wanted: impl Fn(&StreamId) -> bool) -> BTreeMap<i64, SearchedText<'_>> {
        let mut all = BTreeMap::new();
        for (id, stream) in self.sessions.iter().filter(|(id, _)| is_wanted(id)) {
            for (key, row) in &stream.derived.cards {
                let words = stream.derived.texts.get(key).map_or("", String::as_str);
                let entry = SearchedText { stream: id, key, row, words };
                all.extend(stream.rowid_of(key).map(|text| (text, entry)));
            }
        }
        all
    }

    /// `None` if either the query or the text has no comparable embedding.
    fn similarity(&self, query: &Query, entry: &SearchedText<'_>) -> Option<f64> {
        let embedding = query.embedding.as_ref().filter(|embedding| !embedding.values().is_empty())?;
        let vector = self.vector(entry)?;
        let is_comparable =
            vector.model == query.model && vector.embedding.values().len() == embedding.values().len();
        is_comparable.then(|| embedding.similarity(vector.embedding.values()))
    }

    /// The text's embedding, unless it is of an older version of the text.
    fn vector(&self, entry: &SearchedText<'_>) -> Option<&StoredVector> {
        self.vectors.get(&entry.id()).filter(|vector| vector.checksum == entry.row.checksum)
    }

    /// The effort that a text describes or belongs to.
    fn effort_of(&self, entry: &SearchedText<'_>) -> Option<EffortId> {
        match entry.key {
            TextKey::Effort(id) => Some(id.clone()),
            TextKey::Message(_) | TextKey::Memory(_) => self.scope(&entry.id())?.effort().cloned(),
        }
    }

    pub(super) fn find_candidates(&self, query: &Query) -> Candidates {
        let Query { terms, embedding, filter, limits, .. } = query;
        let query_terms = QueryTerms::of(query);
        let counted = self.searched_texts(|id| is_counted(filter, id));
        let searched = self.searched_texts(|id| is_searched(filter, id));
        let frequency = |hash: &Option<u32>| {
            let has_term = |entry: &&SearchedText<'_>| hash.is_some_and(|hash| entry.row.terms.count(hash) > 0);
            counted.values().filter(has_term).count() as u64
        };
        let texts_with: Vec<u64> = query_terms.0.iter().map(frequency).collect();
        let texts = counted.len() as u64;
        let is_narrow = filter.is_narrow();
        let passes = |entry: &SearchedText<'_>| {
            filter.matches_speaker(entry.row.who.as_deref())
                && (filter.effort.is_none() || filter.matches_effort(self.effort_of(entry).as_ref()))
                && (!filter.is_efforts_only() || entry.row.kind == TextKind::Effort)
        };
        let term_search =
            TermSearch { terms, texts_with: &texts_with, texts, is_narrow, visits_max: limits.visits_max };
        let postings = |term: &str, visit: Visit| -> Result<Vec<u64>, Infallible> {
            let is_visited = |entry: &SearchedText<'_>| entry.has(term) && passes(entry);
            let mut texts: Vec<u64> =
                searched.iter().filter(|(_, entry)| is_visited(entry)).map(|(text, _)| *text as u64).collect();
            if let Visit::Newest(max) = visit {
                texts.drain(..texts.len().saturating_sub(max));
            }
            Ok(texts)
        };
        let Ok(scores) = term_search.score_texts(postings);
        let matches = |entry: &SearchedText<'_>| filter.matches(entry.row.kind, entry.row.at) && passes(entry);
        let admits = |text: u64| searched.get(&(text as i64)).is_some_and(matches);
        let Ok(mut chosen) =
            top_scored(scores, limits.lexical_max, Some(&mut |text| Ok::<_, Infallible>(admits(text))));
        let mut nearest: Vec<(i64, f64)> = searched
            .iter()
            .filter(|(_, entry)| matches(entry))
            .filter_map(|(text, entry)| Some((*text, self.similarity(query, entry)?)))
            .collect();
        nearest.sort_by(by_similarity);
        chosen.extend(nearest.into_iter().take(limits.semantic_max).map(|(text, _)| text as u64));
        chosen.sort_unstable();
        chosen.dedup();
        let found = chosen.into_iter().filter_map(|text| searched.get(&(text as i64)));
        let mut items: Vec<Candidate> = found
            .map(|entry| entry.row.for_query(&query_terms).card(entry.id(), self.similarity(query, entry)))
            .collect();
        items.sort_by(|a, b| a.id.cmp(&b.id));
        let is_embedded = |entry: &&SearchedText<'_>| match embedding {
            Some(_) => self.similarity(query, entry).is_some(),
            None => self.vector(entry).is_some(),
        };
        let embedded = counted.values().filter(is_embedded).count() as u64;
        let total_terms = counted.values().map(|entry| u64::from(entry.row.length)).sum();
        Candidates {
            items,
            text_count: texts,
            total_terms,
            document_frequencies: texts_with,
            mean_similarity: self.mean_similarity(query, counted.values()),
            unembedded: texts - embedded,
        }
    }

    /// Of the texts that have a comparable embedding.
    fn mean_similarity<'a>(&self, query: &Query, texts: impl Iterator<Item = &'a SearchedText<'a>>) -> f64 {
        let Some(embedding) = &query.embedding else { return 0.0 };
        let mut sum = MeanVector::default();
        let comparable = texts.filter(|entry| self.similarity(query, entry).is_some());
        comparable.filter_map(|entry| self.vector(entry)).for_each(|vector| sum.add(vector.embedding.values()));
        MeanVector::mean_similarity([sum], embedding)
    }

    pub(super) fn neighbours(&self, around: &NeighbourQuery, query: &Query) -> Vec<Candidate> {
        let NeighbourQuery { texts: ids, distance, openings, latest } = around;
        let query_terms = QueryTerms::of(query);
        let mut cards = Vec::new();
        let last = |id: &StreamId| {
            let stream = self.sessions.get(id)?;
            stream.derived.cards.values().map(|row| row.nth).max()
        };
        let newest = latest.as_ref().and_then(|(id, max)| Some((id, last(id)?.saturating_sub(*max as u64))));
        for entry in self.searched_texts(|_| true).values() {
            let is_near = |id: &TextId| {
                let other = self.sessions.get(&id.stream).and_then(|stream| stream.derived.cards.get(&id.key));
                id.stream == *entry.stream
                    && other.is_some_and(|other| other.nth > 0 && other.nth.abs_diff(entry.row.nth) <= *distance)
            };
            let is_beside = !ids.contains(&entry.id()) && ids.iter().any(is_near);
            let is_opening = entry.row.nth == 1 && openings.contains(entry.stream);
            let is_latest = newest.is_some_and(|(id, after)| id == entry.stream && entry.row.nth > after);
            if entry.row.nth > 0 && (is_beside || is_opening || is_latest) {
                cards.push(entry.row.for_query(&query_terms).card(entry.id(), self.similarity(query, entry)));
            }
        }
        cards.sort_by(|a, b| a.id.cmp(&b.id));
        cards
    }

    pub(super) fn scope(&self, id: &TextId) -> Option<Scope> {
        let stream = self.sessions.get(&id.stream)?;
        let turn = stream.derived.cards.get(&id.key).filter(|row| row.kind.is_message())?.turn;
        if stream.derived.undone_turns.contains(&turn) {
            return None;
        }
        stream.derived.exchanges.values().find(|row| row.turn == turn).map(|row| row.scope.clone())
    }

    pub(super) fn text(&self, id: &TextId, with_withheld: bool) -> Option<Arc<str>> {
        let stream = self.sessions.get(&id.stream)?;
        match &id.key {
            TextKey::Effort(effort) => stream.derived.efforts.get(effort).map(|effort| effort_text(effort).into()),
            TextKey::Memory(memory) => {
                let stored = stream.derived.memories.get(memory)?;
                stored.memory.status.is_searchable().then(|| stored.memory.search_text().into())
            }
            TextKey::Message(seq) => {
                let Some(StoredEvent::Whole(recorded)) = stream.events_between(*seq, *seq).pop() else {
                    return None;
                };
                let text = indexed_text(recorded.seq, recorded.at, &recorded.event)?;
                (with_withheld || !stream.derived.withheld_turns.contains(&text.turn)).then_some(text.text)
            }
        }
    }

    pub(super) fn unembedded(&self, model: &str, max: usize) -> Vec<UnembeddedText> {
        let (mut missing, mut outdated) = (Vec::new(), BTreeMap::new());
        for entry in self.searched_texts(|_| true).values() {
            match self.vector(entry) {
                None => missing.push(entry.id()),
                Some(vector) if vector.model != model => {
                    outdated.insert(vector.nth, entry.id());
                }
                Some(_) => {}
            }
        }
        let pending = missing.into_iter().chain(outdated.into_values());
        pending.filter_map(|id| self.to_be_embedded(id)).take(max).collect()
    }

    fn to_be_embedded(&self, id: TextId) -> Option<UnembeddedText> {
        let speaker = self.sessions.get(&id.stream)?.derived.cards.get(&id.key)?.who.clone();
        let text = self.text(&id, true)?;
        let before = if speaker.is_some() { self.message_before(&id) } else { None };
        let before = before.and_then(|before| self.text(&before, false));
        let before = before.map(|text| message_end(&text)).unwrap_or_default();
        Some(UnembeddedText { id, text, speaker, before })
    }

    fn message_before(&self, id: &TextId) -> Option<TextId> {
        let cards = &self.sessions.get(&id.stream)?.derived.cards;
        let (key, _) = cards.range(..&id.key).rev().find(|(_, row)| row.kind.is_message())?;
        Some(TextId { stream: id.stream.clone(), key: key.clone() })
    }

    pub(super) fn embed(&mut self, model: &str, batch: Vec<(TextId, Arc<str>, Embedding)>) {
        for (id, text, embedding) in batch {
            let row = self.sessions.get(&id.stream).and_then(|stream| stream.derived.cards.get(&id.key));
            if let Some(row) = row.filter(|row| row.checksum == text_checksum(&text)) {
                self.embedding_count += 1;
                let vector = StoredVector {
                    model: model.to_owned(),
                    checksum: row.checksum,
                    nth: self.embedding_count,
                    embedding,
                };
                self.vectors.insert(id, vector);
            }
        }
    }

    /// Drops embeddings of texts that are gone or have changed.
    pub(super) fn drop_stale_vectors(&mut self) {
        let MemState { sessions, vectors, .. } = self;
        vectors.retain(|id, vector| {
            let row = sessions.get(&id.stream).and_then(|stream| stream.derived.cards.get(&id.key));
            row.is_some_and(|row| row.checksum == vector.checksum)
        });
    }
}

impl MemStream {
    fn rowid_of(&self, key: &TextKey) -> Option<i64> {
        match key {
            TextKey::Effort(id) => {
                self.derived.effort_order.get(id).map(|nth| rowids::effort_rowid(self.number, *nth as i64))
            }
            TextKey::Message(Seq(seq)) => Some(rowids::message_rowid(self.number, *seq as i64)),
            TextKey::Memory(id) => {
                let stored = self.derived.memories.get(id)?;
                Some(rowids::memory_rowid(self.number, *id, SearchTier::of(stored.memory.status)))
            }
        }
    }
}

fn is_searched(filter: &Filter, id: &StreamId) -> bool {
    match &filter.streams {
        Some(streams) => streams.contains(id),
        None => id.agent().is_none(),
    }
}

/// Whether a stream's texts are counted: all sessions' if any session is searched, an agent's if it is named.
fn is_counted(filter: &Filter, id: &StreamId) -> bool {
    let Some(streams) = &filter.streams else { return id.agent().is_none() };
    if id.agent().is_some() { streams.contains(id) } else { streams.iter().any(|named| named.agent().is_none()) }
}
