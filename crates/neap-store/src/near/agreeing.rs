//! Those whose signs agree most with another's.

use std::ops::Range;

use super::signs::{LANES, Signs};

/// So many are compared by their signs at a time.
const BLOCK: usize = 256;
/// And so many passed over together, if none of them is near enough: most are not.
const GROUP: usize = 32;

/// Those that agree most among all that were seen: the more of them there are, the fewer signs may differ.
pub(super) struct Agreeing {
    wanted: usize,
    /// In so many signs one may differ.
    most: u16,
    /// How many differ in how many signs.
    with: Vec<usize>,
    /// How many differ in fewer than `most`.
    fewer: usize,
    /// With all that were among them for a while.
    found: Vec<(usize, u16)>,
}

impl Agreeing {
    pub(super) fn new(dimensions: usize, wanted: usize) -> Self {
        let most = u16::try_from(dimensions).unwrap_or(u16::MAX);
        Self { wanted, most, with: vec![0; usize::from(most) + 1], fewer: 0, found: Vec::new() }
    }

    /// Looks at some embeddings, from a multiple of [`LANES`] on, by the signs of all.
    pub(super) fn look(
        &mut self,
        some: Range<usize>,
        signs: &Signs,
        meant: &[u64],
        is_searched: impl Fn(usize) -> bool,
    ) {
        let mut distances = [0_u16; BLOCK];
        for start in some.clone().step_by(BLOCK) {
            let count = some.end.min(start + BLOCK) - start;
            signs.differing(start, meant, &mut distances[..count.next_multiple_of(LANES)]);
            for (start, group) in (start..).step_by(GROUP).zip(distances[..count].chunks(GROUP)) {
                if group.iter().fold(u16::MAX, |least, distance| least.min(*distance)) > self.most {
                    continue;
                }
                for (at, distance) in (start..).zip(group) {
                    if *distance <= self.most && is_searched(at) {
                        self.take(at, *distance);
                    }
                }
            }
        }
    }

    /// Those that agree most among all that were seen here or there.
    pub(super) fn with(mut self, other: Self) -> Self {
        for (at, distance) in other.found {
            if distance <= self.most {
                self.take(at, distance);
            }
        }
        self
    }

    /// Takes one that differs in `most` signs or fewer.
    fn take(&mut self, at: usize, distance: u16) {
        self.found.push((at, distance));
        self.with[usize::from(distance)] += 1;
        self.fewer += usize::from(distance < self.most);
        while self.fewer >= self.wanted && self.most > 0 {
            self.most -= 1;
            self.fewer -= self.with[usize::from(self.most)];
        }
    }

    /// The first that are wanted, and those as far as the last of them.
    pub(super) fn end(self) -> Vec<usize> {
        let is_near = |(at, distance): (usize, u16)| (distance <= self.most).then_some(at);
        self.found.into_iter().filter_map(is_near).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::signs::signs;
    use super::super::tests::{differing, vector};
    use super::*;

    /// In one pass the same stay as if all had been put in order first: the first that are wanted, and those as far as the last of them.
    #[test]
    fn those_that_agree_most_stay() {
        let many: Vec<u16> = (0..4_000_u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u16).collect();
        let distinct: Vec<u16> = (0..256).map(|at| at * 37 % 256).collect();
        let far: Vec<u16> = many.iter().map(|distance| (*distance).max(200)).collect();
        for (distances, wanted) in
            [&many, &distinct, &far].into_iter().flat_map(|of| [(of, 1), (of, 100), (of, 256), (of, 9_000)])
        {
            // Two see half of them each.
            let mut seen = [(); 2].map(|()| Agreeing::new(384, wanted));
            for (at, distance) in distances.iter().enumerate() {
                let agreeing = &mut seen[at / 7 % 2];
                if *distance <= agreeing.most {
                    agreeing.take(at, *distance);
                }
            }
            let mut agreeing = seen.into_iter().fold(Agreeing::new(384, wanted), Agreeing::with).end();
            agreeing.sort_unstable();
            let mut order = distances.clone();
            order.sort_unstable();
            let last = order[wanted.min(order.len()) - 1];
            let expected: Vec<usize> = (0..distances.len()).filter(|at| distances[*at] <= last).collect();
            assert_eq!(agreeing, expected, "{wanted}");
        }
    }

    /// None is passed over that is as near as the last that is wanted.
    #[test]
    fn those_near_enough_are_seen_wherever_they_stand() {
        for dimensions in [70, 384] {
            let mut all = Signs::new(dimensions);
            let value = |at: usize| vector(at as i64, dimensions);
            (0..3_000).for_each(|at| all.put(at, value(at).values()));
            let meant = value(77_777);
            let bits: Vec<u64> = signs(meant.values()).collect();
            for (some, wanted) in [(0..3_000, 1), (0..3_000, 40), (256..2_999, 40), (512..700, 500)] {
                let mut agreeing = Agreeing::new(dimensions, wanted);
                agreeing.look(some.clone(), &all, &bits, |at| at % 3 > 0);
                let mut found = agreeing.end();
                found.sort_unstable();
                let near = |at: &usize| differing(&value(*at), &meant);
                let admitted: Vec<usize> = some.filter(|at| at % 3 > 0).collect();
                let mut order: Vec<usize> = admitted.iter().map(near).collect();
                order.sort_unstable();
                let last = order[wanted.min(order.len()) - 1];
                let expected: Vec<usize> = admitted.into_iter().filter(|at| near(at) <= last).collect();
                assert_eq!(found, expected, "{dimensions} {wanted}");
            }
        }
    }
}
