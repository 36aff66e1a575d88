//! A synthetic chat: efforts that open and conclude, small talk, and planted facts. Deterministic: a turn's text
//! depends only on its number.

use neap_core::base::message::ToolCall;
use neap_core::turn::ModelReply;

/// Turns per planted fact.
pub(super) const FACT_EVERY: u64 = 10;
/// Turns per effort, and turns until it is concluded.
const EFFORT_EVERY: u64 = 50;
const EFFORT_TURNS: u64 = 30;

const KINDS: [&str; 16] = [
    "billing", "login", "search", "mobile", "backup", "release", "cache", "mail", "tariff", "weather", "booking",
    "archive", "payroll", "camera", "sensor", "harvest",
];
const THINGS: [&str; 15] = [
    "export", "page", "index", "layout", "job", "notes", "layer", "ledger", "gateway", "planner", "dashboard",
    "survey", "migration", "forecast", "catalogue",
];
const PARTS: [&str; 18] = [
    "parser", "writer", "scheduler", "retry logic", "report page", "test suite", "config loader", "importer",
    "queue", "formatter", "validator", "lookup table", "batch step", "error page", "first screen",
    "nightly check", "upload", "fallback",
];
const STATES: [&str; 7] = [
    "works on my machine but fails in the nightly run",
    "is slower since the last release",
    "needs a second look before we ship it",
    "was rewritten last week and nobody has reviewed it",
    "does what it should, as far as I can see",
    "prints a warning that I do not understand",
    "has no owner at the moment",
];
const NEXT: [&str; 6] = [
    "I would begin with the log of the last failing run",
    "let us write a test that shows it first",
    "it is best to ask whoever changed it last",
    "I would measure before changing anything",
    "a smaller change is easier to review",
    "we can leave it as it is until someone complains",
];
const FIRST: [&str; 12] =
    ["Ada", "Boris", "Carla", "Dmitri", "Edith", "Farid", "Greta", "Hugo", "Ines", "Jakob", "Keiko", "Lars"];
const LAST: [&str; 13] = [
    "Almeida", "Brandt", "Castellan", "Duarte", "Eriksen", "Fontaine", "Galanis", "Hoffmann", "Ivanova", "Jansen",
    "Kowalski", "Lindqvist", "Moreau",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) turn: u64,
    pub(super) statement: String,
    pub(super) question: String,
    /// Must be in the answer.
    pub(super) value: String,
}

pub(super) fn fact(turn: u64) -> Option<Fact> {
    if !turn.is_multiple_of(FACT_EVERY) {
        return None;
    }
    let n = turn / FACT_EVERY;
    // Five digits that occur nowhere else in the chat.
    let number = (10_000 + n * 7_919 % 90_000).to_string();
    let (statement, question, value) = match n % 5 {
        0 => (
            format!("The gate code of hangar {n} is {number}."),
            format!("What is the gate code of hangar {n}?"),
            number,
        ),
        1 => (format!("Invoice {n} is over {number} euros."), format!("Over how much is invoice {n}?"), number),
        2 => (format!("Rack {n} draws {number} watts."), format!("How many watts does rack {n} draw?"), number),
        3 => {
            let name = format!("{} {}", FIRST[(n % 12) as usize], LAST[(n / 5 % 13) as usize]);
            (format!("The contact for depot {n} is {name}."), format!("Who is the contact for depot {n}?"), name)
        }
        _ => (
            format!("The part for valve {n} has the number V-{number}."),
            format!("Which number has the part for valve {n}?"),
            format!("V-{number}"),
        ),
    };
    Some(Fact { turn, statement, question, value })
}

pub(super) struct SyntheticTurn {
    pub(super) user: String,
    pub(super) replies: Vec<ModelReply>,
}

impl SyntheticTurn {
    pub(super) fn messages(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let replies = self.replies.iter().filter(|reply| !reply.text.is_empty());
        std::iter::once(("user", self.user.as_str()))
            .chain(replies.map(|reply| ("assistant", reply.text.as_str())))
    }
}

/// A turn, counted from 1, with `sentences` per message.
pub(super) fn turn(n: u64, sentences: u64) -> SyntheticTurn {
    let (effort, step) = (n / EFFORT_EVERY, n % EFFORT_EVERY);
    let topic = format!("{} {}", KINDS[(effort % 16) as usize], THINGS[(effort % 15) as usize]);
    let sentence = |at: u64| {
        let part = PARTS[((n * 5 + at * 7) % 18) as usize];
        let state = STATES[((n * 3 + at) % 7) as usize];
        format!("The {part} of the {topic} {state}.")
    };
    let mut user: Vec<String> = (0..sentences.max(1)).map(sentence).collect();
    if let Some(fact) = fact(n) {
        user.insert(user.len() / 2, fact.statement);
    }
    let advice = |at: u64| {
        let next = NEXT[((n + at * 5) % 6) as usize];
        format!("About the {}: {next}.", PARTS[((n + at) % 18) as usize])
    };
    let reply: Vec<String> = (0..sentences.max(1)).map(advice).collect();
    let call = match step {
        1 => Some(("open_effort", format!(r#"{{"name":"{topic} {effort}"}}"#))),
        EFFORT_TURNS => Some(("close_effort", "{}".to_owned())),
        _ => None,
    };
    let calls = call.map(|(name, arguments)| ModelReply {
        text: String::new(),
        calls: vec![ToolCall { id: format!("c{n}"), name: name.to_owned(), arguments }],
        is_truncated: false,
    });
    let last = ModelReply { text: reply.join(" "), calls: Vec::new(), is_truncated: false };
    SyntheticTurn { user: user.join(" "), replies: calls.into_iter().chain([last]).collect() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A value must occur in one turn only, or finding it would prove nothing.
    #[test]
    fn the_value_of_a_fact_is_said_once() {
        let facts: Vec<Fact> = (1..=5_000).filter_map(fact).collect();
        let values: BTreeSet<&str> = facts.iter().map(|fact| fact.value.as_str()).collect();
        assert_eq!((facts.len(), values.len()), (500, 500));
        for fact in facts.iter().step_by(37) {
            let said_in = (1..=5_000).filter(|n| turn(*n, 3).user.contains(&fact.value)).collect::<Vec<_>>();
            assert_eq!(said_in, [fact.turn], "{fact:?}");
            assert!(!fact.question.contains(&fact.value), "{fact:?}");
        }
    }
}
