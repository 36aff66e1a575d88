//! The sign bits of one model's embeddings, in memory: read from the store's rows once, then from the rows that came
//! since.

use std::collections::{BTreeMap, HashSet};

use neap_core::base::ids::Stamp;

use super::{VectorEntry, VectorIndex};
use crate::backend::card::kind_from_number;

pub struct LoadedVectors {
    pub model: i64,
    /// The last row that was read.
    pub last: i64,
    dimensions: usize,
    /// By counting scope: sessions together, each agent separately.
    scopes: BTreeMap<i64, VectorIndex>,
}

/// A row of the store; without `signs`, the text has no embedding of this model.
pub struct VectorRow<'a> {
    pub id: i64,
    pub scope: i64,
    pub text: i64,
    pub kind: i64,
    pub at: Stamp,
    pub signs: Option<&'a [u8]>,
}

impl LoadedVectors {
    pub fn new(model: i64, dimensions: usize) -> Self {
        Self { model, last: 0, dimensions, scopes: BTreeMap::new() }
    }

    pub fn in_scopes(&self, scopes: &[i64]) -> impl Iterator<Item = &VectorIndex> {
        scopes.iter().filter_map(|scope| self.scopes.get(scope))
    }

    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    /// How many texts have an embedding here, and the bytes of memory they take.
    pub fn size(&self) -> (usize, usize) {
        let indexes = self.scopes.values();
        indexes.fold((0, 0), |(texts, bytes), index| (texts + index.text_count(), bytes + index.bytes()))
    }

    /// Removes texts whose row was replaced since. Every text has one row, so what is left of it here is older.
    pub fn remove_all(&mut self, replaced: &HashSet<i64>) {
        if !replaced.is_empty() {
            self.scopes.values_mut().for_each(|index| index.remove_all(replaced));
        }
    }

    /// Rows come in the order of their ids.
    pub fn push(&mut self, row: &VectorRow<'_>) {
        let VectorRow { id, scope, text, kind, at, signs } = *row;
        let index = self.scopes.entry(scope).or_insert_with(|| VectorIndex::new(self.dimensions));
        if let (Some(kind), Some(signs)) = (kind_from_number(kind), signs) {
            index.push(VectorEntry { text, kind, at }, signs);
        }
        self.last = id;
    }
}
