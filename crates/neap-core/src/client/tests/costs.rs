//! What a conversation costs through the proxy, against the same one sent whole: cuts by the real rules, priced by the
//! longest common prefix of two requests.

use proptest::prelude::*;

use super::drive::{Dice, Drive, Sent, whole};
use super::*;
use crate::client::{Prices, RenderedHistory};

fn sized(item: HistoryItem, tokens: u64) -> HistoryItem {
    HistoryItem { tokens: Tokens(tokens), ..item }
}

/// A call that is not made again.
fn calls_once(id: &str) -> HistoryItem {
    let (name, arguments) = ("run".to_owned(), format!(r#"{{"a": "{id}"}}"#));
    item(Speaker::Assistant, vec![ContentBlock::ToolCall(ToolCall { id: id.to_owned(), name, arguments })])
}

fn says_and_calls(words: &str, id: &str) -> HistoryItem {
    let call = calls_once(id).blocks.to_vec();
    item(Speaker::Assistant, [vec![text(words)], call].concat())
}

/// What an agent adds in one turn, a request at a time; the model's reply ends the turn.
fn turn(number: usize, dice: &mut Dice) -> Vec<Vec<HistoryItem>> {
    let mut added = vec![vec![sized(user(&format!("question {number}")), 40 + dice.below(300))]];
    for round in 0..dice.below(4) {
        let id = format!("c{number}.{round}");
        let result = sized(answers(&id, "output"), 60 + dice.below(1_200));
        added.push(vec![sized(calls_once(&id), 60 + dice.below(100)), result]);
    }
    added
}

/// What all requests cost.
#[derive(Default)]
struct Bill {
    read: u64,
    written: u64,
    sent_before: Option<RenderedHistory>,
    peak: Tokens,
}

impl Bill {
    fn add(&mut self, request: &ClientRequest, sent: RenderedHistory) {
        let words = |text: &str| CutPlan::text_tokens(&WordCounter, text).0;
        let tokens = |part: &HistoryPart| match part {
            HistoryPart::Item { at, omitted, shortened, appended } => {
                let is_whole = omitted.is_empty() && shortened.is_empty();
                let changed = HistoryPart::Item {
                    at: *at,
                    omitted: omitted.clone(),
                    shortened: shortened.clone(),
                    appended: None,
                };
                let item = if is_whole { request.items[*at].tokens } else { part_tokens(request, &changed) };
                item.0 + appended.as_deref().map_or(0, words)
            }
            HistoryPart::Note { text, .. } => words(text),
        };
        let all = request.fixed_tokens.0 + sent.parts.iter().map(tokens).sum::<u64>();
        let cached = self.sent_before.as_ref().map_or(0, |before| {
            let same = before.parts.iter().zip(&sent.parts).take_while(|(a, b)| a == b);
            request.fixed_tokens.0 + same.map(|(part, _)| tokens(part)).sum::<u64>()
        });
        self.read += cached;
        self.written += all - cached;
        self.peak = self.peak.max(sent.tokens);
        self.sent_before = Some(sent);
    }

    fn cost(&self, prices: Prices) -> f64 {
        (self.read * prices.cache_read + self.written * prices.cache_write) as f64
    }
}

/// A conversation within bounds, beside the same one sent whole.
struct Session {
    drive: Drive,
    own: Bill,
    direct: Bill,
    /// The highest ratio of their costs after any request.
    highest: f64,
}

impl Session {
    fn new(fixed: u64, bounds: Bounds, recalls: bool) -> Self {
        let drive = Drive { recalls, ..Drive::new(fixed, bounds) };
        Self { drive, own: Bill::default(), direct: Bill::default(), highest: 0.0 }
    }

    fn send(&mut self, added: impl IntoIterator<Item = HistoryItem>) {
        self.drive.request.items.extend(added);
        match self.drive.send() {
            Sent::AsBefore(sent) | Sent::NewCut(sent) => self.own.add(&self.drive.request, sent),
            Sent::Refused { needed, .. } => panic!("it can be cut, but {needed} are needed"),
        }
        self.direct.add(&self.drive.request, whole(&self.drive.request));
        self.highest = self.highest.max(self.ratio());
        // Where a smaller part of the price is for writing, too.
        for [cache_read, cache_write] in [[10, 100], [25, 100], [50, 100]] {
            self.highest = self.highest.max(self.ratio_at(Prices { cache_read, cache_write }));
        }
    }

    fn ratio(&self) -> f64 {
        self.ratio_at(self.drive.bounds.prices)
    }

    fn ratio_at(&self, prices: Prices) -> f64 {
        self.own.cost(prices) / self.direct.cost(prices)
    }
}

fn converse(turns: usize, fixed: u64, seed: u64, bounds: Bounds) -> Session {
    let (mut dice, mut session) = (Dice(seed), Session::new(fixed, bounds, false));
    session.drive.request.items.push(sized(system("set up"), 50));
    for number in 0..turns {
        for added in turn(number, &mut dice) {
            session.send(added);
        }
        session.drive.request.items.push(sized(assistant("done with that"), 80 + dice.below(400)));
    }
    session
}

/// The size of the last request without a cut.
fn direct_peak(turns: usize, fixed: u64, seed: u64) -> Tokens {
    let mut dice = Dice(seed);
    let added = (0..turns).map(|number| {
        let asked: Tokens = turn(number, &mut dice).iter().flatten().map(|item| item.tokens).sum();
        asked + Tokens(80 + dice.below(400))
    });
    Tokens(fixed) + added.sum()
}

/// The mean and the highest ratio of costs over several conversations, and turns for each cut.
fn ratios(turns: usize, fixed: u64, percent: u64) -> (f64, f64, f64) {
    let (mut sum, mut highest, mut cuts) = (0.0, 0.0_f64, 0);
    let seeds = 1..=if turns >= 200 { 1 } else { 3 };
    for seed in seeds.clone() {
        let budget = direct_peak(turns, fixed, seed).percent(percent).max(Tokens(fixed + 6_000));
        let session = converse(turns, fixed, seed, Bounds::new(budget));
        assert!(session.own.peak <= budget);
        cuts += session.drive.cuts;
        sum += session.ratio();
        highest = highest.max(session.highest);
    }
    let count = seeds.count();
    (sum / count as f64, highest, (turns * count) as f64 / cuts.max(1) as f64)
}

#[test]
fn a_bounded_conversation_is_never_dearer_and_a_long_one_much_cheaper() {
    for fixed in [2_000, 19_000] {
        for turns in [20, 60, 200, 500] {
            // The longest take long to test.
            let shares: &[u64] = if turns > 200 { &[35] } else { &[35, 50, 80] };
            for percent in shares.iter().copied() {
                let (mean, highest, turns_per_cut) = ratios(turns, fixed, percent);
                let figures = format!(
                    "{turns} turns, {fixed} fixed, {percent} %: {mean:.3} {highest:.3} {turns_per_cut:.0}"
                );
                assert!(highest <= 1.02, "{figures}");
                if turns >= 200 && percent < 80 {
                    assert!(mean <= if percent == 35 { 0.65 } else { 0.8 }, "{figures}");
                    assert!(turns_per_cut >= 15.0, "{figures}");
                }
            }
        }
    }
}

/// Of the room, the part that a question takes at most: the one in progress stays in a cut, whatever that costs, and a
/// cache that is kept for an hour makes it dear.
const QUESTION_PART: u64 = 100;

/// What is added for one request, in per mille of the room.
fn steps() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
    let size = || prop_oneof![12 => 1_u64..40, 4 => 40_u64..200, 1 => 200_u64..900];
    prop::collection::vec((0_u8..4, size(), size()), 2..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// After every request, so wherever the conversation ends. Long questions, and messages
    /// with a call that fill the room, aside: a cut in a turn keeps them.
    #[test]
    fn no_conversation_is_dearer_than_the_same_one_sent_whole(
        room in 3_000_u64..40_000,
        fixed_percent in prop_oneof![0_u64..20, 20_u64..200],
        economy: bool,
        recalls: bool,
        cache_write in prop_oneof![Just(125_u64), Just(200)],
        steps in steps(),
    ) {
        let fixed = room * fixed_percent / 100;
        let prices = Prices { cache_write, ..Prices::default() };
        let bounds = Bounds { economy, prices, ..Bounds::new(Tokens(fixed + room)) };
        // Beside dear writing, what a cut keeps at least weighs more.
        let most = if cache_write > 125 { 1.025 } else { 1.02 };
        let mut session = Session::new(fixed, bounds, recalls);
        let words = |count: u64| "word ".repeat(count as usize);
        session.send([user("begin")]);
        for (nth, (kind, said, added)) in steps.into_iter().enumerate() {
            let [said, added] = [said, added].map(|share| 10 + room * share / 1_000);
            let id = format!("c{nth}");
            session.send(match kind {
                0 | 1 => vec![assistant(&words(said)), user(&words(added.min(room / QUESTION_PART)))],
                2 => vec![assistant(&words(said)), calls_once(&id), answers(&id, &words(added))],
                // As Anthropic's API has it: what is said and what is called are one message.
                _ => {
                    let [said, added] = [said, added].map(|size| words(size.min(room * 2 / 5)));
                    vec![says_and_calls(&said, &id), answers(&id, &added)]
                }
            });
            prop_assert!(session.highest <= most, "{:.4} after {nth}, {} cuts", session.highest, session.drive.cuts);
        }
    }
}
