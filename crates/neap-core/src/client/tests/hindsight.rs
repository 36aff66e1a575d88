//! Cuts for economy against the best ones in hindsight, which are found by trying all of them.

use proptest::prelude::*;

use super::drive::{Drive, Sent};
use super::*;

/// As documented of `--economy`: what a cut keeps at least, and as many turns; and the note in place of the rest.
const TAIL: u64 = 4_000;
const TAIL_TURNS: u64 = 10;
const NOTE: u64 = 1_000;
const READ: u64 = 10;
const WRITE: u64 = 125;

/// One turn for each request: the sizes of questions and of replies.
struct Talk {
    fixed: u64,
    turns: Vec<(u64, u64)>,
}

impl Talk {
    /// Tokens of the turns from `from` on, up to the question of request `at`. The first question is always sent.
    fn tail(&self, from: usize, at: usize) -> u64 {
        let turns = self.turns[from..at].iter().map(|(question, reply)| question + reply).sum::<u64>();
        turns + self.turns[at].0
    }

    fn first(&self) -> u64 {
        self.turns[0].0
    }

    /// The first turn that a cut at request `at` keeps.
    fn tail_start(&self, at: usize) -> usize {
        let limit = TAIL.max(TAIL_TURNS * (self.tail(0, at) / (at as u64 + 1)));
        (1..=at).find(|from| self.tail(*from, at) <= limit).unwrap_or(at)
    }

    /// Of the requests behind `cut` up to `end`, without another cut.
    fn uncut(&self, cut: Option<usize>, range: std::ops::Range<usize>) -> u64 {
        let sent = |at: usize| match cut {
            None => self.fixed + self.tail(0, at),
            Some(cut) => self.fixed + self.first() + NOTE + self.tail(self.tail_start(cut), at),
        };
        let added = |at: usize| self.turns[at - 1].1 + self.turns[at].0;
        range.map(|at| (sent(at) - added(at)) * READ + added(at) * WRITE).sum()
    }

    /// Of a request that is cut: all but the first question is written.
    fn cut(&self, at: usize) -> u64 {
        (self.fixed + self.first()) * READ + (NOTE + self.tail(self.tail_start(at), at)) * WRITE
    }

    /// The least that the whole conversation can cost.
    fn best(&self) -> u64 {
        let count = self.turns.len();
        let opening = (self.fixed + self.first()) * WRITE;
        // The least cost up to and with a cut at each request.
        let mut with_cut = vec![u64::MAX; count];
        let mut best = opening + self.uncut(None, 1..count);
        for at in 1..count {
            let first = opening + self.uncut(None, 1..at);
            let later = (1..at).map(|cut| with_cut[cut] + self.uncut(Some(cut), cut + 1..at));
            with_cut[at] = self.cut(at) + later.chain([first]).min().unwrap_or(first);
            best = best.min(with_cut[at] + self.uncut(Some(at), at + 1..count));
        }
        best
    }

    /// What it costs by the real rules, and the number of cuts.
    fn economical(&self) -> (u64, usize) {
        let bounds = Bounds { economy: true, ..Bounds::new(Tokens(1_000_000)) };
        let mut drive = Drive { note_words: NOTE, ..Drive::new(self.fixed, bounds) };
        let (mut cost, mut sent_before) = (0, 0);
        for (nth, (question, reply)) in self.turns.iter().enumerate() {
            drive.request.items.push(HistoryItem { tokens: Tokens(*question), ..user(&format!("q{nth}")) });
            let added = question + if nth == 0 { 0 } else { self.turns[nth - 1].1 };
            let (sent, cached) = match drive.send() {
                Sent::AsBefore(sent) if nth == 0 => (sent, 0),
                Sent::AsBefore(sent) => {
                    assert_eq!(sent.tokens.0, sent_before + added, "nothing else changes");
                    (sent, sent_before)
                }
                Sent::NewCut(sent) => (sent, self.fixed + self.first()),
                Sent::Refused { .. } => panic!("there is room"),
            };
            cost += cached * READ + (sent.tokens.0 - cached) * WRITE;
            sent_before = sent.tokens.0;
            drive.request.items.push(HistoryItem { tokens: Tokens(*reply), ..assistant(&format!("r{nth}")) });
        }
        (cost, drive.cuts)
    }
}

fn talk() -> impl Strategy<Value = Talk> {
    let size = |mean: u64| prop_oneof![6 => mean / 4 + 1..mean, 1 => mean..4 * mean];
    (0_u64..30_000, 20_u64..2_000, 10_usize..120).prop_flat_map(move |(fixed, mean, turns)| {
        let turns = prop::collection::vec((size(mean), size(mean)), turns);
        turns.prop_map(move |turns| Talk { fixed, turns })
    })
}

impl std::fmt::Debug for Talk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} fixed, turns {:?}", self.fixed, self.turns)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn economy_costs_at_most_twice_the_best_in_hindsight(talk in talk()) {
        let (cost, cuts) = talk.economical();
        let best = talk.best();
        prop_assert!(cost <= 2 * best, "{:.3}, {cuts} cuts", cost as f64 / best as f64);
    }
}

/// So that the property above is about something; and in common conversations the ratio is far from its bound.
#[test]
fn economy_cuts_and_saves_far_below_the_budget() {
    for (fixed, size) in [(0, 250), (5_000, 250), (19_000, 600)] {
        let talk = Talk { fixed, turns: vec![(size, size); 200] };
        let ((cost, cuts), best) = (talk.economical(), talk.best());
        let direct = (talk.fixed + talk.first()) * WRITE + talk.uncut(None, 1..200);
        let [ratio, of_best] = [direct, best].map(|other| cost as f64 / other as f64);
        assert!((3..=200 / 14).contains(&cuts) && ratio < 0.75 && of_best < 1.4, "{ratio} {of_best} {cuts}");
    }
}
