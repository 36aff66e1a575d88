//! Chooses which summaries to merge: spans of the lowest depth first, then the oldest, so that a message is
//! re-summarised only as often as the tree is deep.

use std::ops::Range;

use super::Span;

/// Most spans merged at once.
const FANOUT: usize = 4;

/// The spans to merge next, if any.
pub fn run_to_merge(spans: &[Span]) -> Option<Range<usize>> {
    if spans.len() < 2 {
        return None;
    }
    let runs = runs(spans);
    let shallow = runs.iter().filter(|run| run.len() > 1).min_by_key(|run| (spans[run.start].depth, run.start));
    let run = shallow.cloned().unwrap_or(0..2);
    Some(run.start..run.end.min(run.start + FANOUT))
}

/// Runs of adjacent spans of equal depth.
fn runs(spans: &[Span]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, span) in spans.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if spans[run.start].depth == span.depth => run.end = at + 1,
            Some(_) | None => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::TurnNo;
    use crate::base::tokens::Tokens;
    use crate::session::effort::LogSize;

    fn spans(depths: &[u32]) -> Vec<Span> {
        let span = |(at, depth): (usize, &u32)| Span {
            first: TurnNo(at as u64),
            last: TurnNo(at as u64),
            size: LogSize::default(),
            upto: LogSize::default(),
            depth: *depth,
            text: "".into(),
            tokens: Tokens::ZERO,
        };
        depths.iter().enumerate().map(span).collect()
    }

    #[test]
    fn the_shallowest_oldest_neighbours_are_merged_first() {
        let check = |depths: &[u32], want: Option<Range<usize>>| {
            assert_eq!(run_to_merge(&spans(depths)), want, "{depths:?}");
        };
        check(&[], None);
        check(&[0], None);
        check(&[0, 0], Some(0..2));
        check(&[0, 0, 0, 0, 0, 0], Some(0..4));
        check(&[1, 0, 0, 0], Some(1..4));
        check(&[1, 1, 0], Some(0..2));
        check(&[2, 1, 0], Some(0..2));
        check(&[2, 1, 1, 0, 0], Some(3..5));
    }

    /// However many spans are added, few remain, and none is re-summarised more often than the tree is deep.
    #[test]
    fn fifty_thousand_spans_make_a_shallow_tree() {
        let mut depths: Vec<u32> = Vec::new();
        for leaf in [0; 50_000] {
            depths.push(leaf);
            while depths.len() > 12 {
                let run = run_to_merge(&spans(&depths)).expect("there are two");
                let depth = depths[run.clone()].iter().max().expect("not empty") + 1;
                depths.splice(run, [depth]);
            }
        }
        assert!(depths.iter().max() <= Some(&20), "{depths:?}");
    }
}
