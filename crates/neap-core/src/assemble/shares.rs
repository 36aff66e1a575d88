//! Who gets how much: each layer its share, what is unused flows on.

use crate::ledger::{Layer, LayerTokens};
use crate::tokens::Tokens;

/// What a layer could use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    layer: Layer,
    share_percent: u64,
    wants: Tokens,
}

impl Demand {
    pub(super) fn new(layer: Layer, share_percent: u64, wants: Tokens) -> Self {
        Self { layer, share_percent, wants }
    }
}

/// Grants each layer its share at most, then lets the rest flow in the order given.
pub(super) fn allot(room: Tokens, demands: &[Demand]) -> LayerTokens {
    let mut granted = LayerTokens::default();
    for demand in demands {
        granted.add(demand.layer, demand.wants.min(room.percent(demand.share_percent)));
    }
    let mut rest = room.saturating_sub(granted.total());
    for demand in demands {
        let more = rest.min(demand.wants - granted.get(demand.layer));
        granted.add(demand.layer, more);
        rest -= more;
    }
    granted
}

/// The level at which `room` is full when everyone takes what they want up to it.
pub(crate) fn level(room: Tokens, wants: &[Tokens]) -> Tokens {
    let mut sorted: Vec<Tokens> = wants.to_vec();
    sorted.sort_unstable();
    let mut rest = room;
    for (at, want) in sorted.iter().enumerate() {
        let even = Tokens(rest.0 / (sorted.len() - at) as u64);
        if *want > even {
            return even;
        }
        rest -= *want;
    }
    sorted.last().copied().unwrap_or(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_shares_flow_in_order_and_the_room_is_never_exceeded() {
        let demands = [
            Demand::new(Layer::Active, 50, Tokens(900)),
            Demand::new(Layer::Ambient, 30, Tokens(100)),
            Demand::new(Layer::Summaries, 20, Tokens(500)),
        ];
        let granted = allot(Tokens(1000), &demands);
        assert_eq!(granted.get(Layer::Ambient), Tokens(100));
        assert_eq!(granted.get(Layer::Active), Tokens(700), "its share and what ambient left");
        assert_eq!(granted.get(Layer::Summaries), Tokens(200));
        assert_eq!(granted.total(), Tokens(1000));
    }

    #[test]
    fn small_wants_are_met_whole_and_large_ones_share_the_rest() {
        let check = |room: u64, wants: &[u64], want: u64| {
            let wants: Vec<Tokens> = wants.iter().copied().map(Tokens).collect();
            assert_eq!(level(Tokens(room), &wants), Tokens(want));
            let used: Tokens = wants.iter().map(|w| (*w).min(Tokens(want))).sum();
            assert!(used <= Tokens(room));
        };
        check(100, &[10, 200, 200], 45);
        check(100, &[10, 20], 20);
        check(0, &[10, 20], 0);
        check(100, &[], 100);
    }
}
