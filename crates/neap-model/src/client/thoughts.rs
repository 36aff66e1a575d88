//! What models thought while they called tools, kept to be sent back as it came.
//!
//! Providers want the thinking of a tool round back, byte for byte, with the round. It belongs to one provider's protocol and
//! to the turn in which it was thought, so it is no part of the memory: it lives here, bounded, and is gone with the process.

use std::collections::VecDeque;

use neap_core::message::{Message, ToolCall};
use neap_core::tools::ToolSpec;
use sha2::{Digest, Sha256};

use super::asking::is_same;
use crate::wire::json::Json;

/// Rounds that are kept.
const ROUNDS_MAX: usize = 64;
/// What they may hold together, in bytes.
const BYTES_MAX: usize = 4 << 20;

/// All that came before a round, in short.
pub(crate) type PromptDigest = [u8; 32];

#[derive(Debug)]
struct Thought {
    text: String,
    calls: Vec<ToolCall>,
    after: PromptDigest,
    kept: Vec<Json>,
}

impl Thought {
    fn bytes(&self) -> usize {
        self.text.len() + self.kept.iter().map(|json| json.text().len()).sum::<usize>()
    }
}

/// The latest rounds with thinking.
#[derive(Debug, Default)]
pub(crate) struct Thoughts {
    rounds: VecDeque<Thought>,
    bytes: usize,
}

impl Thoughts {
    pub(crate) fn keep(&mut self, text: &str, calls: &[ToolCall], after: PromptDigest, kept: Vec<Json>) {
        let thought = Thought { text: text.to_owned(), calls: calls.to_vec(), after, kept };
        self.bytes += thought.bytes();
        self.rounds.push_back(thought);
        while self.rounds.len() > ROUNDS_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.rounds.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// The round that this message is. Where it is asked what came before, that must be the same.
    pub(crate) fn find(&self, message: &Message, after: impl FnOnce() -> Option<PromptDigest>) -> Option<&[Json]> {
        let round = self.rounds.iter().rev().find(|round| is_same(message, &round.text, &round.calls))?;
        after().is_none_or(|after| after == round.after).then_some(&round.kept[..])
    }

    /// What is sent, in short: equal only if every tool and every message is.
    pub(crate) fn digest(tools: &[ToolSpec], messages: &[Message]) -> PromptDigest {
        let mut hash = Sha256::new();
        let mut add = |text: String| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        tools.iter().for_each(|tool| add(Json::of(tool).text().to_owned()));
        add("messages".to_owned());
        messages.iter().for_each(|message| add(Json::of(message).text().to_owned()));
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "n".into(), arguments: "{}".into() }
    }

    fn said(text: &str, id: &str) -> Message {
        Message { tool_calls: vec![call(id)], ..Message::assistant(text) }
    }

    #[test]
    fn a_round_is_found_only_as_it_was_said() {
        let mut thoughts = Thoughts::default();
        let before = [Message::system("s"), Message::user("u")];
        let digest = Thoughts::digest(&[], &before);
        thoughts.keep("hm", &[call("a")], digest, vec![Json::of("thinking")]);
        let found = |message: &Message, digest| thoughts.find(message, || digest).is_some();
        assert!(found(&said("hm", "a"), None));
        assert!(found(&said("hm", "a"), Some(digest)));
        assert!(!found(&said("hm, withheld", "a"), None), "other words");
        assert!(!found(&said("hm", "b"), None), "another call");
        assert!(!found(&said("hm", "a"), Some(Thoughts::digest(&[], &before[1..]))), "after something else");
    }

    #[test]
    fn it_stays_bounded() {
        let mut thoughts = Thoughts::default();
        for n in 0..1_000 {
            thoughts.keep("", &[call(&n.to_string())], [0; 32], vec![Json::of("x")]);
        }
        assert_eq!(thoughts.rounds.len(), ROUNDS_MAX);
        thoughts.keep("", &[call("big")], [0; 32], vec![Json::of(&"x".repeat(BYTES_MAX))]);
        assert_eq!((thoughts.rounds.len(), thoughts.bytes), (0, 0));
    }
}
