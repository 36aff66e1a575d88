//! Decides when to select memories again, and what to drop under token pressure (003, Context Refresh).
//!
//! 1. *Frame switch*: the message clearly selects another frame.
//! 2. *Decision point*: a decision or action is about to happen, and the page was not built for deciding.
//! 3. *New information*: less than half of the message's terms (at least two) occur in what is loaded or was
//!    asked since.
//! 4. *Token pressure* ([`shrink_to`]): the least relevant memories leave first, constraints and frame last.
//!
//! A follow-up changes nothing.

use super::fill::kind_of_layer;
use super::{Knowledge, LoadCause};
use crate::base::ledger::Layer;
use crate::base::tokens::Tokens;
use crate::memory::Confidence;
use crate::memory::frame::{ChoiceBasis, FrameChoice};
use crate::text::reference::folded_words;
use crate::text::terms::query_terms;

/// Terms a message needs to count as new information.
const TERMS_MIN: usize = 2;
/// Percentage of them that must be known (003: `similarity < 0.5`).
const KNOWN_PERCENT_MIN: usize = 50;

/// Phrases that announce a decision or an action.
const COMMITTING: [&str; 12] = [
    "let s go with", "lets go with", "we ll go with", "i ll go with", "go ahead", "let s do", "ship it",
    "we decided", "i decided", "let s decide", "final decision", "make it so",
];

/// The order in which layers are dropped after all recalled memories.
const DROP_ORDER: [Layer; 6] =
    [Layer::Calibration, Layer::Focus, Layer::Profile, Layer::Identity, Layer::Frame, Layer::Censors];

/// Why to select memories again for a message; `None` if the loaded page still serves.
pub fn load_cause(
    knowledge: &Knowledge,
    chosen: &FrameChoice<'_>,
    input: &str,
    is_follow_up: bool,
) -> Option<LoadCause> {
    let built_for_deciding = chosen.frame.name == knowledge.frame && chosen.frame.is_for_deciding();
    if announces_action(input) && !built_for_deciding {
        return Some(LoadCause::BeforeAction);
    }
    if is_follow_up {
        return None;
    }
    if chosen.basis != ChoiceBasis::Default && chosen.frame.name != knowledge.frame {
        return Some(LoadCause::FrameChanged);
    }
    is_new_topic(knowledge, input).then_some(LoadCause::NewTopic)
}

/// Whether a message, or what a model is about to do, announces a decision or an action.
pub fn announces_action(input: &str) -> bool {
    let text = format!(" {} ", folded_words(input).join(" "));
    COMMITTING.iter().any(|phrase| text.contains(&format!(" {phrase} ")))
}

fn is_new_topic(knowledge: &Knowledge, input: &str) -> bool {
    let terms = query_terms(input);
    let known = terms.iter().filter(|term| knowledge.has_term(term)).count();
    terms.len() >= TERMS_MIN && known * 100 < terms.len() * KNOWN_PERCENT_MIN
}

/// Shrinks the page to `room` tokens.
pub fn shrink_to(knowledge: &mut Knowledge, room: Tokens) {
    knowledge.budget = knowledge.budget.min(room);
    let mut recalled: Vec<(Confidence, std::cmp::Reverse<crate::memory::MemoryId>)> =
        knowledge.items.iter().map(|item| (item.score, std::cmp::Reverse(item.id))).collect();
    recalled.sort();
    for (_, std::cmp::Reverse(id)) in recalled {
        if knowledge.page.tokens() <= room {
            break;
        }
        knowledge.page.remove_where(|layer, entry| kind_of_layer(layer).is_some() && entry.id == Some(id));
    }
    for layer in DROP_ORDER {
        // Last line first: the most important lines come first.
        while knowledge.page.tokens() > room && knowledge.page.pop_entry(layer) {}
    }
    knowledge.rerender();
}
