//! Ids for what was renamed: names that differed by a secret alone are numbered, since what would tell them apart may not stay.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::EffortId;

/// Ids that are taken, and how far each name was numbered: to begin anew for every name would take the square of their number.
pub(crate) struct FreshIds {
    taken: BTreeSet<EffortId>,
    last: BTreeMap<EffortId, u64>,
}

impl FreshIds {
    pub(crate) fn new(taken: impl IntoIterator<Item = EffortId>) -> Self {
        Self { taken: taken.into_iter().collect(), last: BTreeMap::new() }
    }

    /// An id of this name that nothing else has.
    pub(crate) fn take(&mut self, name: &str) -> Option<EffortId> {
        let base = EffortId::from_name(name).ok()?;
        let last = self.last.entry(base.clone()).or_insert(0);
        loop {
            *last += 1;
            super::work::looked_at(1);
            let id = if *last == 1 { base.clone() } else { base.numbered(*last) };
            if self.taken.insert(id.clone()) {
                return Some(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::work;
    use super::*;

    #[test]
    fn names_that_are_one_get_an_id_each_in_as_many_steps() {
        let long = "the harbour office ".repeat(8);
        for name in ["db password=hunter2", long.as_str()] {
            let mut fresh =
                FreshIds::new((0..500).filter_map(|n| EffortId::from_name(&format!("{name} {n}")).ok()));
            let mut ids = BTreeSet::new();
            let steps =
                work::of(|| ids.extend((0..2_000).filter_map(|_| fresh.take("db password=[masked: password]"))));
            assert_eq!(ids.len(), 2_000);
            assert!(steps < 40 * 2_000 * 200, "{steps}");
            assert!(ids.iter().all(|id| EffortId::parse(id.as_str()).as_ref() == Ok(id)));
        }
        let mut fresh = FreshIds::new([]);
        let ids: BTreeSet<_> = (0..100).filter_map(|_| fresh.take(&long)).collect();
        assert_eq!(ids.len(), 100, "a number is never cut off");
    }
}
