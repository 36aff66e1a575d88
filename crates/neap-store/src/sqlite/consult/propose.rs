//! What is proposed: texts that have the rarer terms, and texts whose embedding is near. By number; only the cards of what is chosen are
//! read.

use std::collections::HashMap;

use neap_core::recall::{Limits, Proposed, Query};

use super::super::fault::Stop;
use super::super::{cards, vectors};
use super::place::Where;
use super::{Found, Inquiry};
use crate::near::{Directions, Looking, Of, Searched, Vectors, nearer};
use crate::propose::{Words, best};

impl Inquiry<'_> {
    pub(in super::super) fn propose(&self) -> Result<Proposed, Stop> {
        let Self { db, query, .. } = self;
        let place = Where::of(db, &mut self.names.borrow_mut(), &query.filter)?;
        let mut proposed = self.counted(&place)?;
        let mut found = Found::new();
        let Some(meant) = &self.meant else {
            self.read(self.by_words(&place, &proposed)?, &mut found)?;
            proposed.cards = self.named(found, &HashMap::new())?;
            return Ok(proposed);
        };
        self.space.look(db, meant.model, meant.embedding.values().len(), |loaded| {
            let Limits { semantic_max, .. } = query.limits;
            let admits = |of: &Of| query.filter.admits(of.kind, of.at) && place.leaves(of.text);
            let admits_here = |of: &Of| place.has(of.text) && admits(of);
            let is_searched: Option<Searched<'_>> = match &place.streams {
                None if query.filter.admits_all() => None,
                None => Some(&admits),
                Some(_) => Some(&admits_here),
            };
            let scopes = || loaded.of(&place.scopes);
            let looks: Vec<Looking<'_>> =
                scopes().map(|of| of.look_for(meant.embedding, semantic_max, is_searched)).collect();
            beside(&looks, || self.read(self.by_words(&place, &proposed)?, &mut found))?;
            let mut near_of = loaded.near(meant.embedding, found.keys().copied());
            let mut near: Vec<(i64, f64)> = looks.into_iter().flat_map(Looking::nearest).collect();
            near.sort_unstable_by(nearer);
            near.truncate(semantic_max);
            self.read(near.iter().map(|(text, _)| *text).collect(), &mut found)?;
            near_of.extend(near);
            proposed.mean_near = Directions::mean_near(scopes().map(Vectors::directions), meant.embedding);
            proposed.cards = self.named(found, &near_of)?;
            Ok(())
        })?;
        Ok(proposed)
    }

    /// What is said of all that is searched; no candidates yet.
    fn counted(&self, place: &Where) -> rusqlite::Result<Proposed> {
        let Self { db, query, asked, meant, .. } = self;
        let (mut proposed, mut embedded) = (Proposed::default(), 0);
        for scope in &place.scopes {
            let counts = cards::counts(db, *scope)?;
            proposed.texts += counts.texts.max(0) as u64;
            proposed.length += counts.length.max(0) as u64;
            embedded += match (&query.embedding, meant) {
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
        Ok(proposed)
    }

    /// The texts that have the rarer terms.
    fn by_words(&self, place: &Where, proposed: &Proposed) -> rusqlite::Result<Vec<i64>> {
        let Query { terms, filter, limits, .. } = self.query;
        let words = Words {
            terms,
            texts_with: &proposed.texts_with,
            texts: proposed.texts,
            is_narrow: filter.is_narrow(),
            visits_max: limits.visits_max,
        };
        let scores = words.visit(|term, visit| place.having(self.db, term, visit))?;
        let mut admits = |text: u64| -> rusqlite::Result<bool> {
            let brief = cards::brief(self.db, text as i64)?;
            Ok(brief.is_some_and(|(kind, at, _)| filter.admits(kind, at)))
        };
        let chosen = if filter.admits_all() {
            best::<rusqlite::Error>(scores, limits.lexical_max, None)?
        } else {
            best(scores, limits.lexical_max, Some(&mut admits))?
        };
        Ok(chosen.into_iter().map(|text| text as i64).collect())
    }
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
