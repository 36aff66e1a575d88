//! Chooses the newest exchanges of a log.

use std::sync::Arc;

use crate::base::message::{CountedMessage, Exchange};
use crate::base::tokens::Tokens;

/// The newest exchanges that fit, newest first, and whether each was cut. Only the newest is cut, if even it does not
/// fit; `cut` returns its messages within a room.
pub(crate) fn newest_within(
    newest_first: impl Iterator<Item = Arc<Exchange>>,
    room: Tokens,
    cut: impl Fn(&Exchange, Tokens) -> Option<Vec<CountedMessage>>,
) -> Vec<(Arc<Exchange>, bool)> {
    let mut left = room;
    let mut shown: Vec<(Arc<Exchange>, bool)> = Vec::new();
    for exchange in newest_first {
        if exchange.tokens() <= left {
            left -= exchange.tokens();
            shown.push((exchange, false));
            continue;
        }
        if shown.is_empty()
            && let Some(messages) = cut(&exchange, left)
        {
            shown.push((Arc::new(Exchange { turn: exchange.turn, at: exchange.at, messages }), true));
        }
        break;
    }
    shown
}
