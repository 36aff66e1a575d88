//! A synthetic chat: efforts that open and conclude, small talk between them, and facts planted along the way.
//!
//! It is made from numbers alone: the same turn is the same text in every run.

use neap_core::message::ToolCall;
use neap_core::turn::ModelReply;

/// A fact is planted once in so many turns.
pub(super) const FACT_EVERY: u64 = 10;
/// An effort is opened once in so many turns, and concluded after so many.
const EFFORT_EVERY: u64 = 50;
const EFFORT_TURNS: u64 = 30;

const KINDS: [&str; 16] = [
    "billing", "login", "search", "mobile", "backup", "release", "cache", "mail", "tariff", "weather", "booking",
    "archive", "payroll", "camera", "sensor", "harvest",
];
const THINGS: [&str; 15] = [
    "export",
    "page",
    "index",
    "layout",
    "job",
    "notes",
    "layer",
    "ledger",
    "gateway",
    "planner",
    "dashboard",
    "survey",
    "migration",
    "forecast",
    "catalogue",
];
const PARTS: [&str; 18] = [
    "parser",
    "writer",
    "scheduler",
    "retry logic",
    "report page",
    "test suite",
    "config loader",
    "importer",
    "queue",
    "formatter",
    "validator",
    "lookup table",
    "batch step",
    "error page",
    "first screen",
    "nightly check",
    "upload",
    "fallback",
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
    "Almeida",
    "Brandt",
    "Castellan",
    "Duarte",
    "Eriksen",
    "Fontaine",
    "Galanis",
    "Hoffmann",
    "Ivanova",
    "Jansen",
    "Kowalski",
    "Lindqvist",
    "Moreau",
];

/// Something that was said once, and is asked about at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) turn: u64,
    pub(super) said: String,
    pub(super) question: String,
    /// What an answer must have.
    pub(super) value: String,
}

/// The fact of a turn, if one is planted in it.
pub(super) fn fact(turn: u64) -> Option<Fact> {
    if !turn.is_multiple_of(FACT_EVERY) {
        return None;
    }
    let n = turn / FACT_EVERY;
    // Five digits that nothing else in the chat has.
    let number = (10_000 + n * 7_919 % 90_000).to_string();
    let (said, question, value) = match n % 5 {
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
    Some(Fact { turn, said, question, value })
}

/// One turn: what the user says, and what the model says to it.
pub(super) struct Said {
    pub(super) user: String,
    pub(super) replies: Vec<ModelReply>,
}

impl Said {
    /// Everything said in it, with who said it.
    pub(super) fn messages(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let replies = self.replies.iter().filter(|reply| !reply.text.is_empty());
        std::iter::once(("user", self.user.as_str()))
            .chain(replies.map(|reply| ("assistant", reply.text.as_str())))
    }
}

/// A turn, counted from 1; `sentences` says how much is said in it.
pub(super) fn turn(n: u64, sentences: u64) -> Said {
    let (effort, step) = (n / EFFORT_EVERY, n % EFFORT_EVERY);
    let topic = format!("{} {}", KINDS[(effort % 16) as usize], THINGS[(effort % 15) as usize]);
    let sentence = |at: u64| {
        let part = PARTS[((n * 5 + at * 7) % 18) as usize];
        let state = STATES[((n * 3 + at) % 7) as usize];
        format!("The {part} of the {topic} {state}.")
    };
    let mut user: Vec<String> = (0..sentences.max(1)).map(sentence).collect();
    if let Some(fact) = fact(n) {
        user.insert(user.len() / 2, fact.said);
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
        is_cut: false,
    });
    let last = ModelReply { text: reply.join(" "), calls: Vec::new(), is_cut: false };
    Said { user: user.join(" "), replies: calls.into_iter().chain([last]).collect() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A value stands in one turn alone, or finding it would prove nothing.
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
