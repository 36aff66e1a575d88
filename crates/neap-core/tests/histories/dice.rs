//! Chance that can be repeated.

/// A small generator (splitmix64): the same seed gives the same history.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03)
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.roll() % n.max(1)
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }

    /// Words about a few topics, with names and numbers among them; often short, seldom many times the budget.
    pub(crate) fn text(&mut self, budget: u64) -> String {
        let words = match self.below(80) {
            0 => 0,
            1 => budget + self.below(9 * budget),
            2..=8 => budget / 4 + self.below(budget / 2),
            9..=26 => 40 + self.below(200),
            _ => 1 + self.below(30),
        };
        const WORDS: [&str; 16] = [
            "login", "fails", "token", "cache", "src/auth.rs", "because", "fixed", "42", "deploy", "Redis",
            "timeout", "30s", "we", "decided", "report", "index",
        ];
        let mut out = String::new();
        for n in 0..words {
            let word: &str = self.pick::<&str>(&WORDS);
            out.push_str(word);
            out.push_str(if n % 9 == 8 { ".\n" } else { " " });
        }
        out
    }
}
