//! Divides a budget: among layers by their shares, and among items that each take what they need up to a cap.

use crate::base::ledger::{Layer, LayerTokens};
use crate::base::tokens::Tokens;

#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerDemand {
    layer: Layer,
    share_percent: u64,
    tokens_wanted: Tokens,
}

impl LayerDemand {
    pub(crate) fn new(layer: Layer, share_percent: u64, tokens_wanted: Tokens) -> Self {
        Self { layer, share_percent, tokens_wanted }
    }
}

/// Grants each layer up to its share, then distributes the rest in the order given.
pub(crate) fn allocate(room: Tokens, demands: &[LayerDemand]) -> LayerTokens {
    let mut granted = LayerTokens::default();
    for demand in demands {
        granted.add(demand.layer, demand.tokens_wanted.min(room.percent(demand.share_percent)));
    }
    let mut rest = room.saturating_sub(granted.total());
    for demand in demands {
        let more = rest.min(demand.tokens_wanted - granted.get(demand.layer));
        granted.add(demand.layer, more);
        rest -= more;
    }
    granted
}

/// The cap per item at which items, each taking what it wants up to the cap, fill `room`.
pub(crate) fn fair_share(room: Tokens, wants: &[Tokens]) -> Tokens {
    let wants: Vec<(Tokens, u64)> = wants.iter().map(|want| (*want, 1)).collect();
    weighted_share(room, &wants)
}

/// Like [`fair_share`], for items that may take their weight times the cap.
pub(crate) fn weighted_share(room: Tokens, wants: &[(Tokens, u64)]) -> Tokens {
    let times = |tokens: Tokens, weight: u64| u128::from(tokens.0) * u128::from(weight);
    let mut sorted = wants.to_vec();
    sorted.sort_unstable_by(|(a, a_weight), (b, b_weight)| times(*a, *b_weight).cmp(&times(*b, *a_weight)));
    let mut weights: u64 = sorted.iter().map(|(_, weight)| weight).sum();
    let mut rest = room;
    for (want, weight) in &sorted {
        // Everything that is left wants more than an even part of the rest.
        if times(*want, weights) > times(rest, *weight) {
            return Tokens(rest.0 / weights);
        }
        rest -= *want;
        weights -= weight;
    }
    sorted.last().map_or(room, |(want, weight)| Tokens(want.0.div_ceil(*weight)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_shares_flow_in_order_and_the_room_is_never_exceeded() {
        let demands = [
            LayerDemand::new(Layer::Active, 50, Tokens(900)),
            LayerDemand::new(Layer::Ambient, 30, Tokens(100)),
            LayerDemand::new(Layer::Summaries, 20, Tokens(500)),
        ];
        let granted = allocate(Tokens(1000), &demands);
        assert_eq!(granted.get(Layer::Ambient), Tokens(100));
        assert_eq!(granted.get(Layer::Active), Tokens(700), "its share and what ambient left");
        assert_eq!(granted.get(Layer::Summaries), Tokens(200));
        assert_eq!(granted.total(), Tokens(1000));
    }

    #[test]
    fn small_wants_are_met_whole_and_large_ones_share_the_rest() {
        let check = |room: u64, wants: &[u64], want: u64| {
            let wants: Vec<Tokens> = wants.iter().copied().map(Tokens).collect();
            assert_eq!(fair_share(Tokens(room), &wants), Tokens(want));
            let used: Tokens = wants.iter().map(|w| (*w).min(Tokens(want))).sum();
            assert!(used <= Tokens(room));
        };
        check(100, &[10, 200, 200], 45);
        check(100, &[10, 20], 20);
        check(0, &[10, 20], 0);
        check(100, &[], 100);
    }

    proptest::proptest! {
        /// One token more for the cap would exceed the room.
        #[test]
        fn a_weighted_share_is_the_largest_that_fits(
            wants in proptest::collection::vec((0_u64..200, 1_u64..5), 1..12), room in 0_u64..900,
        ) {
            let wants: Vec<(Tokens, u64)> = wants.into_iter().map(|(want, weight)| (Tokens(want), weight)).collect();
            let used = |cap: u64| wants.iter().map(|(want, weight)| (*want).min(Tokens(cap * weight))).sum::<Tokens>();
            let cap = weighted_share(Tokens(room), &wants).0;
            proptest::prop_assert!(used(cap) <= Tokens(room));
            proptest::prop_assert!(used(cap + 1) > Tokens(room) || used(cap) == used(u64::MAX / 8));
        }
    }
}
