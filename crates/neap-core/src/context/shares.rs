//! Divides the budget: each layer gets its share, and what it leaves unused goes to the others.

use crate::base::ledger::{Layer, LayerTokens};
use crate::base::tokens::Tokens;

#[derive(Debug, Clone, Copy)]
pub(super) struct LayerDemand {
    layer: Layer,
    share_percent: u64,
    tokens_wanted: Tokens,
}

impl LayerDemand {
    pub(super) fn new(layer: Layer, share_percent: u64, tokens_wanted: Tokens) -> Self {
        Self { layer, share_percent, tokens_wanted }
    }
}

/// Grants each layer up to its share, then distributes the rest in the order given.
pub(super) fn allocate(room: Tokens, demands: &[LayerDemand]) -> LayerTokens {
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
}
