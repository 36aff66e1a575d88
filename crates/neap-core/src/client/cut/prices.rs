//! What a cut costs: how much of a history to keep when it is cut.

use crate::base::tokens::Tokens;
use crate::client::request::ClientRequest;

/// Prices of input tokens relative to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prices {
    /// Of tokens that the provider reads from its cache.
    pub cache_read: u64,
    /// Of tokens that it writes to its cache.
    pub cache_write: u64,
}

/// Those at which a cut costs most, of a cache that is kept for minutes. What costs at most 1.02 at these prices does
/// so wherever reading costs a larger part of what writing costs, since a cut only ever reads less.
const MINUTES: Prices = Prices { cache_read: 10, cache_write: 125 };
const HOUR: Prices = Prices { cache_read: 10, cache_write: 200 };

impl Default for Prices {
    fn default() -> Self {
        MINUTES
    }
}

/// Shares of the room, in per cent, between which the tail is chosen: a shorter one would lose the work in progress, a
/// longer one would be cut again soon.
const TAIL_PERCENT: std::ops::RangeInclusive<u64> = 15..=60;
/// A tail may cost this much more than the shortest, in per cent: what is kept need not be recalled.
const COST_PERCENT: u128 = 10;

impl Prices {
    pub(super) fn of(request: &ClientRequest) -> Self {
        if request.signals.hour_cache { HOUR } else { MINUTES }
    }

    /// How much of a history to keep: the longest tail that costs little more than the shortest, over all requests
    /// until the next cut. `room` is what a history may take, `fixed` what is sent besides, and `growth` what a request
    /// adds. A long tail costs twice: every request reads it, and the next cut, which comes sooner, writes it again.
    pub(super) fn tail_tokens(&self, fixed: Tokens, room: Tokens, growth: Tokens) -> Tokens {
        let tail = |percent: u64| room.percent(percent);
        let limit =
            self.request_cost(fixed, room, growth, tail(*TAIL_PERCENT.start())) * (100 + COST_PERCENT) / 100;
        let affordable = |percent: &u64| self.request_cost(fixed, room, growth, tail(*percent)) <= limit;
        tail(TAIL_PERCENT.rev().find(affordable).unwrap_or(*TAIL_PERCENT.start()))
    }

    /// The mean cost of a request, where each cut leaves `tail`.
    fn request_cost(&self, fixed: Tokens, room: Tokens, growth: Tokens, tail: Tokens) -> u128 {
        let [read, write] = [self.cache_read, self.cache_write].map(u128::from);
        let [fixed, room, growth, tail] = [fixed, room, growth, tail].map(|tokens| u128::from(tokens.0));
        let reading = read * (fixed + (tail + room) / 2);
        let rewriting = write.saturating_sub(read) * tail * growth / (room - tail).max(1);
        reading + write * growth + rewriting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail_percent(fixed: u64, room: u64, growth: u64) -> u64 {
        Prices::default().tail_tokens(Tokens(fixed), Tokens(room), Tokens(growth)).0 * 100 / room
    }

    #[test]
    fn the_faster_a_history_grows_the_less_is_kept() {
        let tails = [10, 100, 400, 2_000, 10_000].map(|growth| tail_percent(5_000, 20_000, growth));
        assert!(tails.is_sorted_by(|a, b| a >= b), "{tails:?}");
        assert!(tails[0] > tails[4] && tails.iter().all(|percent| TAIL_PERCENT.contains(percent)), "{tails:?}");
    }

    #[test]
    fn beside_much_that_is_fixed_a_longer_tail_costs_little() {
        assert!(tail_percent(40_000, 20_000, 100) > tail_percent(1_000, 20_000, 100));
    }

    #[test]
    fn without_room_nothing_is_kept() {
        assert_eq!(Prices::default().tail_tokens(Tokens(9), Tokens::ZERO, Tokens(9)), Tokens::ZERO);
    }
}
