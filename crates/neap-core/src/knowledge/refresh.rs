//! When memories are chosen anew, and what leaves when there is less room (003, Context Refresh).
//!
//! 1. *Frame switch*: the message clearly calls for another stance. Where nothing is clear, the stance stays.
//! 2. *Decision point*: something is about to be decided or done, and the page was not made for deciding.
//! 3. *New information*: less than half of the message's terms occur in what is loaded or in what was asked since. A
//!    message with fewer than two terms says too little to tell.
//! 4. *Token pressure* ([`press`]): what bears least on the question leaves first; constraints and stance stay as long
//!    as there is any room for them.
//!
//! A follow-up is about what was said before, and changes nothing.

use super::fill::kind;
use super::{Knowledge, LoadCause};
use crate::frame::{Chosen, How};
use crate::ledger::Layer;
use crate::memory::Confidence;
use crate::reference::words;
use crate::terms::query_terms;
use crate::tokens::Tokens;

/// Terms that a message must have to bring something new.
const TERMS_MIN: usize = 2;
/// Share of them that must be known, in per cent (003: `similarity < 0.5`).
const KNOWN_PERCENT_MIN: usize = 50;

/// What a message says that is about to decide or to act.
const COMMITTING: [&str; 12] = [
    "let s go with",
    "lets go with",
    "we ll go with",
    "i ll go with",
    "go ahead",
    "let s do",
    "ship it",
    "we decided",
    "i decided",
    "let s decide",
    "final decision",
    "make it so",
];

/// Layers in the order in which they leave after all that is recalled.
const LEAVING: [Layer; 6] =
    [Layer::Calibration, Layer::Focus, Layer::Profile, Layer::Identity, Layer::Frame, Layer::Censors];

/// Why memories are chosen anew for a message; none if what is loaded still serves.
pub fn cause(known: &Knowledge, chosen: &Chosen<'_>, input: &str, is_follow_up: bool) -> Option<LoadCause> {
    let was_for_deciding = chosen.frame.name == known.frame && chosen.frame.is_for_deciding();
    if announces_action(input) && !was_for_deciding {
        return Some(LoadCause::BeforeAction);
    }
    if is_follow_up {
        return None;
    }
    if chosen.how != How::Default && chosen.frame.name != known.frame {
        return Some(LoadCause::FrameChanged);
    }
    is_new(known, input).then_some(LoadCause::NewTopic)
}

/// Whether a message, or what a model is about to do, decides something or acts.
pub fn announces_action(input: &str) -> bool {
    let said = format!(" {} ", words(input).join(" "));
    COMMITTING.iter().any(|phrase| said.contains(&format!(" {phrase} ")))
}

fn is_new(known: &Knowledge, input: &str) -> bool {
    let terms = query_terms(input);
    let met = terms.iter().filter(|term| known.has_term(term)).count();
    terms.len() >= TERMS_MIN && met * 100 < terms.len() * KNOWN_PERCENT_MIN
}

/// Makes what is known fit a smaller room.
pub fn press(known: &mut Knowledge, room: Tokens) {
    known.budget = known.budget.min(room);
    let mut recalled: Vec<(Confidence, std::cmp::Reverse<crate::memory::MemoryId>)> =
        known.items.iter().map(|item| (item.score, std::cmp::Reverse(item.id))).collect();
    recalled.sort();
    for (_, std::cmp::Reverse(id)) in recalled {
        if known.page.tokens() <= room {
            break;
        }
        known.page.take_out(|layer, piece| kind(layer).is_some() && piece.id == Some(id));
    }
    for leaving in LEAVING {
        // The last line of a layer leaves first: what matters most stands first.
        while known.page.tokens() > room && known.page.take_last(leaving) {}
    }
    known.write();
}
