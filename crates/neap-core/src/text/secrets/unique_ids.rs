//! Ids for renamed efforts: names that differ only by a secret are numbered, since the difference may not stay.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::ids::EffortId;

/// Remembers the last number of each name: starting over for every name would be quadratic.
pub(crate) struct UniqueIds {
    taken: BTreeSet<EffortId>,
    last: BTreeMap<EffortId, u64>,
}

impl UniqueIds {
    pub(crate) fn new(taken: impl IntoIterator<Item = EffortId>) -> Self {
        Self { taken: taken.into_iter().collect(), last: BTreeMap::new() }
    }

    pub(crate) fn allocate(&mut self, name: &str) -> Option<EffortId> {
        let base = EffortId::from_name(name).ok()?;
        let number = self.last.entry(base.clone()).or_insert(0);
        loop {
            *number += 1;
            super::scan_cost::looked_at(1);
            let id = if *number == 1 { base.clone() } else { base.numbered(*number) };
            if self.taken.insert(id.clone()) {
                return Some(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan_cost;
    use super::*;

    #[test]
    fn names_that_are_one_get_an_id_each_in_as_many_steps() {
        let long = "the harbour office ".repeat(8);
        for name in ["db password=hunter2", long.as_str()] {
            let mut fresh =
                UniqueIds::new((0..500).filter_map(|n| EffortId::from_name(&format!("{name} {n}")).ok()));
            let mut ids = BTreeSet::new();
            let steps = scan_cost::of(|| {
                ids.extend((0..2_000).filter_map(|_| fresh.allocate("db password=[masked: password]")))
            });
            assert_eq!(ids.len(), 2_000);
            assert!(steps < 40 * 2_000 * 200, "{steps}");
            assert!(ids.iter().all(|id| EffortId::parse(id.as_str()).as_ref() == Ok(id)));
        }
        let mut fresh = UniqueIds::new([]);
        let ids: BTreeSet<_> = (0..100).filter_map(|_| fresh.allocate(&long)).collect();
        assert_eq!(ids.len(), 100, "a number is never cut off");
    }
}
