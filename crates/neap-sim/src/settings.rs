//! What a seed decides before a run begins: thresholds, budget, moods and fault rates.

use crate::model::Mood;
use crate::rng::Rng;

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Policy settings as `key`, `value`.
    pub(crate) set: Vec<(String, String)>,
    pub(crate) encoding: &'static str,
    pub(crate) moods: Vec<Mood>,
    pub(crate) host_tools: bool,
    pub(crate) commit_faults_per_mille: u64,
    pub(crate) read_faults_per_mille: u64,
    pub(crate) rivals_per_mille: u64,
    pub(crate) summary_faults_per_mille: u64,
    budget_tokens: u64,
}

impl Settings {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let encoding = rng.word(&["o200k_base", "o200k_base", "cl100k_base", "conservative"]);
        let budget_tokens = rng.pick(&[2_500, 3_000, 4_000, 6_000, 16_000]).copied().unwrap_or(4_000);
        let ranges: [(&str, u64, u64); 10] = [
            ("decay_threshold", 1, 4),
            ("min_keyword_overlap", 1, 3),
            ("ambient_window", 0, 10),
            ("expanded_efforts_max", 1, 4),
            ("open_raw_max", 1, 4),
            ("tool_rounds_max", 0, 6),
            ("tool_calls_max", 0, 16),
            ("keyword_efforts_max", 1, 20),
            ("status_efforts_max", 1, 20),
            ("summary_tokens_max", 16, 256),
        ];
        let mut set: Vec<(String, String)> = vec![("context_tokens_max".to_owned(), budget_tokens.to_string())];
        for (key, low, high) in ranges {
            // Mostly the defaults, which people use; sometimes an edge.
            if rng.chance(500) {
                set.push((key.to_owned(), rng.between(low, high).to_string()));
            }
        }
        set.push(("epoch".to_owned(), rng.word(&["every-turn", "by-cost", "by-cost"]).to_owned()));
        set.push(("epoch_low_percent".to_owned(), rng.between(10, 100).to_string()));
        set.push(("window_prepare_percent".to_owned(), rng.between(10, 100).to_string()));
        // Runs are short: the default of 20 turns would evict next to nothing.
        set.push(("summary_eviction_threshold".to_owned(), rng.between(1, 9).to_string()));
        set.push(("message_bytes_max".to_owned(), "200000".to_owned()));
        let mut moods = vec![Mood::Good; usize::try_from(rng.between(1, 9)).unwrap_or(1)];
        moods.extend((0..rng.below(3)).map(|_| Mood::Forgetful));
        moods.extend((0..rng.below(3)).map(|_| Mood::Hostile));
        let has_faults = rng.chance(600);
        let mut rate = |max: u64| if has_faults { rng.below(max) } else { 0 };
        Self {
            set,
            encoding,
            moods,
            commit_faults_per_mille: rate(30),
            read_faults_per_mille: rate(20),
            rivals_per_mille: rate(120),
            summary_faults_per_mille: rate(300),
            host_tools: rng.chance(600),
            budget_tokens,
        }
    }

    pub(crate) fn budget_tokens(&self) -> u64 {
        self.budget_tokens
    }
}
