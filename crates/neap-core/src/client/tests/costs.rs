//! What a conversation costs through the proxy, against the same one sent whole: cuts by the real rules, priced by the
//! longest common prefix of two requests.

use super::*;
use crate::client::{ForwardDecision, RenderedHistory, classify, decide_forward};

const NOTE_WORDS: usize = 400;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn sized(item: HistoryItem, tokens: u64) -> HistoryItem {
    HistoryItem { tokens: Tokens(tokens), ..item }
}

/// What an agent adds in one turn, a request at a time; the model's reply ends the turn.
fn turn(number: usize, dice: &mut Dice) -> Vec<Vec<HistoryItem>> {
    let mut added = vec![vec![sized(user(&format!("question {number}")), 40 + dice.below(300))]];
    for round in 0..dice.below(4) {
        let id = format!("c{number}.{round}");
        let result = sized(answers(&id, "output"), 60 + dice.below(1_200));
        added.push(vec![sized(item(Speaker::Assistant, vec![call(&id)]), 60 + dice.below(100)), result]);
    }
    added
}

#[derive(Default)]
struct Bill {
    hundredths: u64,
    sent_before: Option<RenderedHistory>,
    cuts: usize,
    peak: Tokens,
}

impl Bill {
    fn add(&mut self, request: &ClientRequest, sent: RenderedHistory) {
        let tokens = |part: &HistoryPart| match part {
            HistoryPart::Item { at, .. } => request.items[*at].tokens.0,
            HistoryPart::Note { text, .. } => WordCounter.count(text).0,
        };
        let cached = self.sent_before.as_ref().map_or(0, |before| {
            let same = before.parts.iter().zip(&sent.parts).take_while(|(a, b)| a == b);
            request.fixed_tokens.0 + same.map(|(part, _)| tokens(part)).sum::<u64>()
        });
        let prices = Bounds::new(Tokens(1)).prices;
        self.hundredths += cached * prices.cache_read + (sent.tokens.0 - cached) * prices.cache_write;
        self.peak = self.peak.max(sent.tokens);
        self.sent_before = Some(sent);
    }
}

fn whole(request: &ClientRequest) -> RenderedHistory {
    let item = |at| HistoryPart::Item { at, omitted: Vec::new(), shortened: Vec::new(), appended: None };
    let parts = (0..request.items.len()).map(item).collect();
    RenderedHistory { parts, tokens: request.tokens(), changes: Default::default() }
}

/// A conversation within a budget; without one, sent whole.
fn converse(turns: usize, fixed: u64, seed: u64, budget: Option<Tokens>) -> Bill {
    let (mut dice, mut bill, mut plan) = (Dice(seed), Bill::default(), None::<CutPlan>);
    let mut request = request(vec![sized(system("set up"), 50)]);
    request.fixed_tokens = Tokens(fixed);
    let note = "word ".repeat(NOTE_WORDS);
    for number in 0..turns {
        for added in turn(number, &mut dice) {
            request.items.extend(added);
            let chain = Chain::from_request(&tenant(), &request);
            let bounds = Bounds::new(budget.unwrap_or(Tokens(u64::MAX / 1_000)));
            let sent = match decide_forward(&request, &chain, classify(&request), plan.as_ref(), &bounds) {
                ForwardDecision::Unchanged => whole(&request),
                ForwardDecision::ReuseCut => plan.as_ref().expect("it is reused").render(&request),
                ForwardDecision::NewCut(cut) => {
                    bill.cuts += 1;
                    let cut = make_plan(&request, &cut, &note, &bounds).expect("it fits");
                    plan.insert(cut).render(&request)
                }
                ForwardDecision::TooLarge => panic!("it can be cut"),
            };
            bill.add(&request, sent);
        }
        request.items.push(sized(assistant("done with that"), 80 + dice.below(400)));
    }
    bill
}

/// The mean and the highest ratio of costs over several conversations, and turns for each cut.
fn ratios(turns: usize, fixed: u64, percent: u64) -> (f64, f64, f64) {
    let (mut all, mut cuts) = (Vec::new(), 0);
    for seed in 1..=8 {
        let direct = converse(turns, fixed, seed, None);
        let budget = direct.peak.percent(percent).max(Tokens(fixed + 6_000));
        let bounded = converse(turns, fixed, seed, Some(budget));
        assert!(bounded.peak <= budget);
        cuts += bounded.cuts;
        all.push(bounded.hundredths as f64 / direct.hundredths as f64);
    }
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    (mean, all.iter().copied().fold(0.0, f64::max), (turns * all.len()) as f64 / cuts.max(1) as f64)
}

#[test]
fn a_bounded_conversation_is_never_dearer_and_a_long_one_much_cheaper() {
    for fixed in [2_000, 19_000] {
        for turns in [20, 60, 200] {
            for percent in [35, 50, 80] {
                let (mean, highest, turns_per_cut) = ratios(turns, fixed, percent);
                let told = format!(
                    "{turns} turns, {fixed} fixed, {percent} %: {mean:.2} {highest:.2} {turns_per_cut:.0}"
                );
                assert!(highest <= 1.02, "{told}");
                if turns == 200 && percent < 80 {
                    assert!(mean <= if percent == 35 { 0.65 } else { 0.8 }, "{told}");
                    assert!(turns_per_cut >= 15.0, "{told}");
                }
            }
        }
    }
}
