//! A provider that counts otherwise than we do, sentence by sentence: a budget that somebody set holds in its tokens.

use std::sync::Arc;

use neap_core::base::message::{Message, message_tokens};
use neap_core::base::policy::Policy;
use neap_core::base::token_ratio::{AssumedRatio, PromptReport, TokenEstimate};
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_engine::{Author, NullObserver};
use neap_store::MemStore;

use crate::stage::Stage;
use crate::tool_outputs::Dice;

/// Of a model that nobody knows.
const UNKNOWN: TokenEstimate = TokenEstimate { likely: 1_200, worst: 1_600 };
const TRIALS: u64 = 48;
const TURNS: usize = 30;

/// A conversation whose sentences cost otherwise from some turn on, in per mille of our count.
#[derive(Debug)]
struct Trial {
    budget: u64,
    epoch: &'static str,
    changes_at: usize,
    before: u64,
    after: u64,
    /// Some templates leave tools out of the prompt.
    counts_tools: bool,
    /// Sentences of the longest message.
    longest: usize,
}

impl Trial {
    fn new(dice: &mut Dice) -> Self {
        let budget = 3_000 + dice.below(9_000) as u64;
        Self {
            budget,
            epoch: ["by-cost", "every-turn"][dice.below(2)],
            changes_at: dice.below(TURNS),
            before: [700, 1_000, 1_250, 1_600][dice.below(4)],
            after: [700, 1_000, 1_250, 1_600][dice.below(4)],
            counts_tools: dice.below(3) > 0,
            longest: dice.below(budget as usize / 6),
        }
    }

    /// Mostly short, sometimes as long as can be.
    fn text(&self, turn: usize, dice: &mut Dice) -> String {
        let word = if turn >= self.changes_at { "0xfe" } else { "rows" };
        let length = match dice.below(5) {
            0 => self.longest,
            1 => dice.below(self.longest + 1),
            _ => dice.below(12),
        };
        format!("Step {turn} reads {word}. {}", format!("It reads {word} {turn} again. ").repeat(length))
    }

    fn count(&self, counter: &dyn TokenCounter, message: &Message) -> u64 {
        let ratio = |sentence: &str| if sentence.contains("0x") { self.after } else { self.before };
        let said: u64 = message.content.split_inclusive(". ").map(|s| counter.count(s).0 * ratio(s)).sum();
        let rest = message_tokens(counter, message)
            - counter.count(&message.content).min(message_tokens(counter, message));
        (said + rest.0 * self.before).div_ceil(1_000)
    }

    /// What the provider counted of each request.
    async fn run(&self, dice: &mut Dice) -> Vec<u64> {
        let mut ratio = AssumedRatio::new(UNKNOWN);
        let (most, first) = (self.budget.to_string(), ratio.per_mille().to_string());
        let set =
            [("context_tokens_max", most.as_str()), ("epoch", self.epoch), ("provider_tokens_per_mille", &first)];
        let mut stage = Stage::built(Arc::new(MemStore::default()), &set, |builder| builder).await;
        let counter = stage.session.counter().clone();
        let mut all = Vec::new();
        for turn in 0..TURNS {
            stage.model.push_turn(Vec::<(String, String)>::new(), &self.text(turn, dice));
            let text = self.text(turn, dice);
            let reply = stage.session.turn(Author::Person, &text, &mut NullObserver).await.expect("a reply");
            let request = stage.model.requests().pop().expect("a request");
            let said: u64 = request.messages.iter().map(|message| self.count(counter.as_ref(), message)).sum();
            let tools = if self.counts_tools { stage.session.tools().tokens().0 * self.before / 1_000 } else { 0 };
            all.push(said + tools);
            let offered = stage.session.tools().tokens();
            let report =
                PromptReport { ours: reply.ledger.cost.sent, tools: offered, theirs: Tokens(said + tools) };
            if let Some(now) = ratio.observe(report, Tokens(self.budget), offered) {
                stage.session.set("provider_tokens_per_mille", &now.to_string()).await.expect("it is set");
            }
        }
        all
    }
}

#[tokio::test]
async fn a_budget_holds_in_the_providers_tokens() {
    let mut fullest = 0;
    for seed in 0..TRIALS {
        let mut dice = Dice(seed);
        let trial = Trial::new(&mut dice);
        let all = trial.run(&mut dice).await;
        let over: Vec<_> = all.iter().enumerate().filter(|(_, theirs)| **theirs > trial.budget).collect();
        assert!(over.is_empty(), "seed {seed}, {trial:?}: {over:?} of {all:?}");
        let peak = all.iter().max().copied().unwrap_or_default();
        fullest += u64::from(peak * 100 >= trial.budget * 90);
    }
    assert!(fullest * 4 >= TRIALS, "budgets are used, too: {fullest} of {TRIALS}");
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
