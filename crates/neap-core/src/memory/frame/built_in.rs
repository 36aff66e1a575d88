//! The six built-in frames (SOURCES: words, ties, totals, budgets and questions).
//!
//! The priorities of `decision` come from the seed (003); the others follow what each kind of message needs most:
//! tasks and debugging procedures, questions and ideas facts, conversation episodes. Only `decision` ranks
//! decisions first.

use super::{Budgets, Frame, Priorities, thousandths};
use crate::base::tokens::Tokens;

/// Priorities (in thousandths) and budgets are in the order decisions, facts, procedures, episodes.
struct Row {
    name: &'static str,
    description: &'static str,
    words: &'static [&'static str],
    questions: &'static [&'static str],
    priorities: [u16; 4],
    tie: u32,
    total: u64,
    budgets: [u64; 4],
}

const ROWS: [Row; 6] = [
    Row {
        name: "task",
        description: "Something is to be done.",
        words: &[
            "build", "fix", "create", "implement", "deploy", "run", "execute", "check", "show", "list", "install",
            "update", "delete", "move", "copy",
        ],
        questions: &[],
        priorities: [700, 600, 1_000, 500],
        tie: 4,
        total: 8_000,
        budgets: [2_000, 1_500, 1_500, 1_000],
    },
    Row {
        name: "question",
        description: "Something is to be known or understood.",
        words: &["what", "how", "why", "explain", "tell me"],
        questions: &[],
        priorities: [600, 1_000, 400, 500],
        tie: 3,
        total: 6_000,
        budgets: [1_000, 1_500, 500, 500],
    },
    Row {
        name: "decision",
        description: "A choice between alternatives is to be made.",
        words: &["should", "choose", "decide", "compare", "trade-off"],
        questions: &["What are we optimizing for?", "What did we decide last time?", "What are the constraints?"],
        priorities: [1_000, 600, 800, 400],
        tie: 6,
        total: 12_000,
        budgets: [3_000, 2_000, 2_000, 1_000],
    },
    Row {
        name: "creative",
        description: "New ideas are wanted; nothing is settled yet.",
        words: &["imagine", "brainstorm", "what if", "design", "explore"],
        questions: &["What is the wildest version of this?", "Which assumptions could be dropped?"],
        priorities: [500, 800, 400, 600],
        tie: 2,
        total: 6_000,
        budgets: [1_000, 1_500, 500, 500],
    },
    Row {
        name: "conversation",
        description: "Nothing in particular is asked.",
        words: &["hello", "hi", "thanks", "how are you"],
        questions: &[],
        priorities: [300, 600, 200, 800],
        tie: 1,
        total: 3_000,
        budgets: [500, 500, 0, 600],
    },
    Row {
        name: "debug",
        description: "Something does not work as it should.",
        words: &["error", "bug", "broken", "failing", "crash", "wrong"],
        questions: &["What changed?", "Can I reproduce it?", "What does the message say?"],
        priorities: [500, 600, 1_000, 800],
        tie: 5,
        total: 10_000,
        budgets: [1_500, 1_000, 2_500, 1_000],
    },
];

pub(super) fn frames() -> Vec<Frame> {
    ROWS.iter().map(frame).collect()
}

fn frame(row: &Row) -> Frame {
    let [decisions, facts, procedures, episodes] = row.priorities.map(thousandths);
    let priorities = Priorities { decisions, facts, procedures, episodes };
    let [decisions, facts, procedures, episodes] = row.budgets.map(Tokens);
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Frame {
        name: row.name.to_owned(),
        description: row.description.to_owned(),
        words: owned(row.words),
        questions: owned(row.questions),
        priorities,
        tie: row.tie,
        total: Tokens(row.total),
        budgets: Budgets { decisions, facts, procedures, episodes },
    }
}
