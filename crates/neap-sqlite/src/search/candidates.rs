//! Finds candidates by rowid: texts with rarer terms or similar embeddings. Reads only the chosen cards.

use std::collections::HashMap;

use neap_core::recall::{Candidates, Query, SearchLimits};

use super::super::db_error::DbError;
use super::super::{cards, vectors};
use super::searched_streams::SearchedStreams;
use super::{CardsByRowid, QueryContext, QueryEmbedding};
use neap_store::backend::candidates::{TermSearch, top_scored};
use neap_store::vectors::{VectorEntry, VectorFilter, VectorScan, by_similarity};

impl QueryContext<'_> {
    pub(in super::super) fn find_candidates(&self) -> Result<Candidates, DbError> {
        let Self { db, query, .. } = self;
        let searched = SearchedStreams::of(db, &mut self.ids.borrow_mut(), &query.filter)?;
        let mut proposed = self.count_searched(&searched)?;
        let mut found = CardsByRowid::new();
        let Some(query_embedding) = &self.embedding else {
            self.read_cards(self.by_terms(&searched, &proposed)?, &mut found)?;
            proposed.items = self.to_cards(found, &HashMap::new())?;
            return Ok(proposed);
        };
        let QueryEmbedding { embedding, model } = *query_embedding;
        let SearchLimits { semantic_max, .. } = query.limits;
        let closest = self.vector_cache.with_vectors(db, model, embedding.values().len(), |loaded| {
            let admits = |entry: &VectorEntry| {
                query.filter.matches(entry.kind, entry.at) && searched.is_allowed(entry.text)
            };
            let admits_here = |entry: &VectorEntry| searched.is_searched(entry.text) && admits(entry);
            let filter: Option<VectorFilter<'_>> = match &searched.streams {
                None if query.filter.matches_all() => None,
                None => Some(&admits),
                Some(_) => Some(&admits_here),
            };
            let scans: Vec<VectorScan<'_>> = loaded
                .in_scopes(&searched.scopes)
                .map(|index| index.scan_closest(embedding, semantic_max, filter))
                .collect();
            scan_while(&scans, || self.read_cards(self.by_terms(&searched, &proposed)?, &mut found))?;
            Ok(scans.into_iter().flat_map(VectorScan::closest).collect::<Vec<_>>())
        })?;
        let mut nearest: Vec<(i64, f64)> =
            vectors::similarities(db, embedding, model, closest.into_iter())?.into_iter().collect();
        nearest.sort_unstable_by(by_similarity);
        nearest.truncate(semantic_max);
        let mut similarities = vectors::similarities(db, embedding, model, found.keys().copied())?;
        self.read_cards(nearest.iter().map(|(text, _)| *text).collect(), &mut found)?;
        similarities.extend(nearest);
        proposed.mean_similarity = vectors::mean_similarity(db, embedding, model, &searched.scopes)?;
        proposed.items = self.to_cards(found, &similarities)?;
        Ok(proposed)
    }

    /// The counts over everything that is searched, without candidates.
    fn count_searched(&self, searched: &SearchedStreams) -> rusqlite::Result<Candidates> {
        let Self { db, query, terms, embedding, .. } = self;
        let (mut proposed, mut embedded) = (Candidates::default(), 0);
        for scope in &searched.scopes {
            let counts = cards::scope_counts(db, *scope)?;
            proposed.text_count += counts.texts.max(0) as u64;
            proposed.total_terms += counts.length.max(0) as u64;
            embedded += match (&query.embedding, embedding) {
                (None, _) => vectors::embedded_count(db, None, *scope)?,
                (Some(_), Some(embedding)) => vectors::embedded_count(db, Some(embedding.model), *scope)?,
                (Some(_), None) => 0,
            };
        }
        proposed.unembedded = proposed.text_count.saturating_sub(embedded);
        for hash in &terms.0 {
            let mut frequency = 0;
            for scope in &searched.scopes {
                frequency += hash.map_or(Ok(0), |hash| cards::frequency(db, *scope, hash))?;
            }
            proposed.document_frequencies.push(frequency);
        }
        Ok(proposed)
    }

    fn by_terms(&self, searched: &SearchedStreams, proposed: &Candidates) -> rusqlite::Result<Vec<i64>> {
        let Query { terms, filter, limits, .. } = self.query;
        let term_search = TermSearch {
            terms,
            texts_with: &proposed.document_frequencies,
            texts: proposed.text_count,
            is_narrow: filter.is_narrow(),
            visits_max: limits.visits_max,
        };
        let scores = term_search.score_texts(|term, visit| searched.texts_with_term(self.db, term, visit))?;
        let mut admits = |text: u64| -> rusqlite::Result<bool> {
            let meta = cards::text_meta(self.db, text as i64)?;
            Ok(meta.is_some_and(|(kind, at, _)| filter.matches(kind, at)))
        };
        let chosen = if filter.matches_all() {
            top_scored::<rusqlite::Error>(scores, limits.lexical_max, None)?
        } else {
            top_scored(scores, limits.lexical_max, Some(&mut admits))?
        };
        Ok(chosen.into_iter().map(|text| text as i64).collect())
    }
}

/// Scans on another thread while `work` reads the file, then joins in; without a thread it scans afterwards.
fn scan_while<T>(scans: &[VectorScan<'_>], work: impl FnOnce() -> T) -> T {
    let run_scans = || scans.iter().for_each(VectorScan::run);
    std::thread::scope(|scope| {
        if scans.iter().any(VectorScan::is_large) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, run_scans);
        }
        let result = work();
        run_scans();
        result
    })
}
