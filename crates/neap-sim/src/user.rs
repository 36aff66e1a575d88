//! Simulated people: they open, switch, ramble, refer back, close and reopen, each with their own habits.

use crate::rng::Rng;
use crate::words::{NASTY, TOPICS, Topic, ramble};

/// What a message is for. Its sentence is part of the message, so that a model can parse it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    Start(String),
    Switch(String),
    Finish,
    /// A question about something past, by its name.
    Recall(String),
    /// A question about something past, by a word of it.
    Wonder(String),
    Resume(String),
    Fetch(String),
    Talk,
}

impl Intent {
    pub fn sentence(&self) -> String {
        match self {
            Intent::Start(name) => format!("Please start on <{name}>."),
            Intent::Switch(name) => format!("Switch over to <{name}>."),
            Intent::Finish => "That is finished, <wrap up>.".to_owned(),
            Intent::Recall(name) => format!("What did we decide in <{name}>?"),
            Intent::Wonder(word) => format!("Was there something with <{word}>?"),
            Intent::Resume(name) => format!("Continue with <{name}> where we left off."),
            Intent::Fetch(what) => format!("Fetch the page <{what}>."),
            Intent::Talk => String::new(),
        }
    }

    pub fn parse(text: &str) -> Intent {
        let bracketed = |before: &str| {
            let start = text.find(before)? + before.len();
            let end = text[start..].find('>')? + start;
            Some(text[start..end].to_owned())
        };
        if let Some(name) = bracketed("start on <") {
            Intent::Start(name)
        } else if let Some(name) = bracketed("over to <") {
            Intent::Switch(name)
        } else if bracketed("finished, <").is_some() {
            Intent::Finish
        } else if let Some(name) = bracketed("decide in <") {
            Intent::Recall(name)
        } else if let Some(word) = bracketed("something with <") {
            Intent::Wonder(word)
        } else if let Some(name) = bracketed("Continue with <") {
            Intent::Resume(name)
        } else {
            bracketed("the page <").map_or(Intent::Talk, Intent::Fetch)
        }
    }
}

#[derive(Debug)]
pub struct User {
    rng: Rng,
    /// A word that only this person uses.
    canary: String,
    topics: Vec<Topic>,
    current: Option<Topic>,
    talkative: u64,
    /// Known, so that some messages exceed it.
    budget_tokens: u64,
}

impl User {
    pub fn new(mut rng: Rng, canary: String, budget_tokens: u64) -> Self {
        let topics = (0..rng.between(3, 16)).filter_map(|_| rng.pick(TOPICS).copied()).collect();
        let talkative = rng.between(3, 60);
        Self { rng, canary, topics, current: None, talkative, budget_tokens }
    }

    pub fn next_message(&mut self) -> String {
        if self.rng.chance(25) {
            return self.rng.word(NASTY).to_owned();
        }
        let intent = self.next_intent();
        let sentence = intent.sentence();
        let words = self.message_words();
        let body = ramble(&mut self.rng, self.current.as_ref(), words);
        let canary = if self.rng.chance(300) { self.canary.as_str() } else { "" };
        let nasty = if self.rng.chance(40) { self.rng.word(NASTY) } else { "" };
        let mut parts = vec![sentence.as_str(), body.as_str(), canary, nasty];
        if self.rng.chance(500) {
            parts.reverse();
        }
        parts.retain(|part| !part.is_empty());
        parts.join(" ")
    }

    fn next_intent(&mut self) -> Intent {
        let topic = self.rng.pick(&self.topics).copied();
        let Some(topic) = topic else { return Intent::Talk };
        match self.rng.below(100) {
            0..=17 => {
                self.current = Some(topic);
                // Many efforts of one kind, so that ids and summaries resemble each other.
                let name = match self.rng.below(3) {
                    0 => format!("{} {}", topic.name, self.rng.between(1, 30)),
                    _ => topic.name.to_owned(),
                };
                Intent::Start(name)
            }
            18..=23 => {
                self.current = Some(topic);
                Intent::Switch(topic.name.to_owned())
            }
            24..=37 => {
                self.current = None;
                Intent::Finish
            }
            38..=49 => Intent::Recall(topic.name.to_owned()),
            50..=54 => Intent::Wonder(self.rng.word(topic.words).to_owned()),
            55..=58 => {
                self.current = Some(topic);
                Intent::Resume(topic.name.to_owned())
            }
            59..=62 => Intent::Fetch(topic.name.to_owned()),
            _ => Intent::Talk,
        }
    }

    /// Mostly short; now and then longer than the whole budget.
    fn message_words(&mut self) -> u64 {
        match self.rng.below(200) {
            0 => self.budget_tokens * self.rng.between(1, 4),
            1..=4 => self.budget_tokens / 4,
            _ => self.rng.below(self.talkative),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_can_be_read_from_what_is_said() {
        let name = || "csv_export".to_owned();
        for intent in [
            Intent::Start(name()),
            Intent::Switch(name()),
            Intent::Finish,
            Intent::Recall(name()),
            Intent::Wonder(name()),
            Intent::Resume(name()),
            Intent::Fetch(name()),
            Intent::Talk,
        ] {
            assert_eq!(Intent::parse(&format!("hm. {} and so on", intent.sentence())), intent);
        }
    }
}
