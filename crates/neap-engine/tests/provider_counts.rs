//! A provider that counts more than we do, message by message: a budget that somebody set holds in its tokens.

use std::sync::Arc;

use neap_core::base::message::{Message, message_tokens};
use neap_core::base::policy::Policy;
use neap_core::base::token_ratio::{AssumedRatio, TokenEstimate};
use neap_core::base::tokens::Tokens;
use neap_engine::{Author, NullObserver};
use neap_store::MemStore;

use crate::stage::Stage;

/// Of a model that nobody knows.
const UNKNOWN: TokenEstimate = TokenEstimate { likely: 1_200, worst: 1_600 };

/// How many of its tokens a provider counts for a thousand of a message's in ours.
type Counts = fn(message: &Message) -> u64;

/// Between 1,000 and 1,500, the same for the same words.
fn by_words(message: &Message) -> u64 {
    let mixed =
        message.content.bytes().fold(17_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    1_000 + mixed % 501
}

/// Prose first, then something that costs most.
fn rising(message: &Message) -> u64 {
    if message.content.contains("0x") { 1_500 } else { 1_000 }
}

/// Costs most first.
fn falling(message: &Message) -> u64 {
    if message.content.contains("0x") { 1_000 } else { 1_500 }
}

fn as_ours(_message: &Message) -> u64 {
    1_000
}

fn text(turn: usize, seed: usize) -> String {
    let length = match (turn * 7 + seed * 13) % 10 {
        0 => 900,
        1..=3 => 120,
        _ => 25,
    };
    let word = if turn > 18 { "0xfe" } else { "rows" };
    format!("Step {turn} of {seed}. {}", format!("It reads {word} {turn} again. ").repeat(length / 4))
}

/// Every request, and what its provider counted, of 40 turns.
async fn counted(budget: u64, seed: usize, counts: Counts) -> Vec<u64> {
    let mut ratio = AssumedRatio::new(UNKNOWN);
    let (most, first) = (budget.to_string(), ratio.per_mille().to_string());
    let set = [("context_tokens_max", most.as_str()), ("epoch", "by-cost"), ("provider_tokens_per_mille", &first)];
    let mut stage = Stage::built(Arc::new(MemStore::default()), &set, |builder| builder).await;
    let mut all = Vec::new();
    for turn in 0..40 {
        let before = stage.model.requests().len();
        stage.model.push_turn(Vec::<(String, String)>::new(), &text(turn + 3, seed));
        let reply =
            stage.session.turn(Author::Person, &text(turn, seed), &mut NullObserver).await.expect("a reply");
        assert!(before == 64 || stage.model.requests().len() == before + 1);
        let request = stage.model.requests().pop().expect("a request");
        let counter = stage.session.counter().clone();
        let said = request.messages.iter().map(|m| message_tokens(counter.as_ref(), m).0 * counts(m)).sum::<u64>();
        let theirs =
            said.div_ceil(1_000) + stage.session.tools().tokens().0 * counts(&request.messages[0]) / 1_000;
        all.push(theirs);
        if let Some(now) = ratio.observe(reply.ledger.cost.sent, Tokens(theirs)) {
            stage.session.set("provider_tokens_per_mille", &now.to_string()).await.expect("it is set");
        }
    }
    all
}

#[tokio::test]
async fn a_budget_holds_in_the_providers_tokens() {
    for counts in [by_words as Counts, rising, falling, as_ours] {
        for (budget, seed) in [(3_000, 0), (4_000, 2), (9_000, 3)] {
            let all = counted(budget, seed, counts).await;
            let over: Vec<_> = all.iter().enumerate().filter(|(_, theirs)| **theirs > budget).collect();
            assert!(over.is_empty(), "{budget}, seed {seed}: {over:?} of {all:?}");
            let peak = all.iter().max().expect("requests");
            assert!(*peak * 100 >= budget * 70, "{budget}, seed {seed}: it is used, too: {peak}");
        }
    }
}

/// A budget without a provider, or of one that counts as we do, is what it was.
#[test]
fn a_budget_of_an_exact_count_is_the_whole_budget() {
    let policy = Policy::default();
    for new in [0, 1_000, 100_000] {
        assert_eq!(policy.budget_with(Tokens(new)), Tokens(policy.context_tokens_max));
    }
    assert_eq!(AssumedRatio::new(TokenEstimate::EXACT).per_mille(), 1_000);
}
