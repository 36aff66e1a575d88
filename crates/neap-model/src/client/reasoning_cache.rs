//! Keeps the reasoning of tool rounds so that it can be sent back.
//!
//! Providers want the reasoning of a tool round back byte for byte. It belongs to one provider's protocol and to
//! the turn, so it is not stored as memory: this cache is bounded and is lost with the process.

use std::collections::VecDeque;

use neap_core::base::message::{Message, ToolCall};
use neap_core::context::tools::ToolSpec;
use sha2::{Digest, Sha256};

use super::outgoing::is_same_reply;
use crate::wire::json::Json;

const ROUNDS_MAX: usize = 64;
/// Size of all rounds, in bytes.
const BYTES_MAX: usize = 4 << 20;

/// SHA-256 of everything before a round: tools and messages.
pub(crate) type PromptDigest = [u8; 32];

#[derive(Debug)]
struct ReasoningRound {
    text: String,
    calls: Vec<ToolCall>,
    prompt_digest: PromptDigest,
    replay_items: Vec<Json>,
}

impl ReasoningRound {
    fn bytes(&self) -> usize {
        self.text.len() + self.replay_items.iter().map(|json| json.text().len()).sum::<usize>()
    }
}

#[derive(Debug, Default)]
pub(crate) struct ReasoningCache {
    rounds: VecDeque<ReasoningRound>,
    bytes: usize,
}

impl ReasoningCache {
    pub(crate) fn store(
        &mut self,
        text: &str,
        calls: &[ToolCall],
        prompt_digest: PromptDigest,
        replay_items: Vec<Json>,
    ) {
        let round = ReasoningRound { text: text.to_owned(), calls: calls.to_vec(), prompt_digest, replay_items };
        self.bytes += round.bytes();
        self.rounds.push_back(round);
        while self.rounds.len() > ROUNDS_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.rounds.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// Finds the round of this message. If `prompt_digest` returns one, it must match too.
    pub(crate) fn find(
        &self,
        message: &Message,
        prompt_digest: impl FnOnce() -> Option<PromptDigest>,
    ) -> Option<&[Json]> {
        let round = self.rounds.iter().rev().find(|round| is_same_reply(message, &round.text, &round.calls))?;
        prompt_digest().is_none_or(|digest| digest == round.prompt_digest).then_some(&round.replay_items[..])
    }

    pub(crate) fn digest(tools: &[ToolSpec], messages: &[Message]) -> PromptDigest {
        let mut hash = Sha256::new();
        let mut add = |text: String| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        tools.iter().for_each(|tool| add(Json::from_value(tool).text().to_owned()));
        add("messages".to_owned());
        messages.iter().for_each(|message| add(Json::from_value(message).text().to_owned()));
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "n".into(), arguments: "{}".into() }
    }

    fn reply(text: &str, id: &str) -> Message {
        Message { tool_calls: vec![call(id)], ..Message::assistant(text) }
    }

    #[test]
    fn a_round_is_found_only_as_it_was_said() {
        let mut cache = ReasoningCache::default();
        let before = [Message::system("s"), Message::user("u")];
        let digest = ReasoningCache::digest(&[], &before);
        cache.store("hm", &[call("a")], digest, vec![Json::from_value("thinking")]);
        let found = |message: &Message, digest| cache.find(message, || digest).is_some();
        assert!(found(&reply("hm", "a"), None));
        assert!(found(&reply("hm", "a"), Some(digest)));
        assert!(!found(&reply("hm, withheld", "a"), None), "other words");
        assert!(!found(&reply("hm", "b"), None), "another call");
        assert!(
            !found(&reply("hm", "a"), Some(ReasoningCache::digest(&[], &before[1..]))),
            "after something else"
        );
    }

    #[test]
    fn it_stays_bounded() {
        let mut cache = ReasoningCache::default();
        for n in 0..1_000 {
            cache.store("", &[call(&n.to_string())], [0; 32], vec![Json::from_value("x")]);
        }
        assert_eq!(cache.rounds.len(), ROUNDS_MAX);
        cache.store("", &[call("big")], [0; 32], vec![Json::from_value(&"x".repeat(BYTES_MAX))]);
        assert_eq!((cache.rounds.len(), cache.bytes), (0, 0));
    }
}
