//! Every threshold and limit, in one place; a name ends in its unit. Keys from the seed documents keep their names
//! in lower case: `DECAY_THRESHOLD=5` and `decay_threshold=5` are the same.

use serde::{Deserialize, Serialize};

use crate::base::token_ratio::UNSEEN_PER_MILLE;
use crate::base::tokens::Tokens;

macro_rules! policy {
    ($( #[doc = $doc:literal] $(#[serde($($form:tt)*)])? $key:ident = $default:literal in $range:expr ),* $(,)?) => {
        /// The settings of one session.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Policy {
            $( #[doc = $doc] $(#[serde($($form)*)])? pub $key: u64, )*
        }

        impl Default for Policy {
            fn default() -> Self {
                Self { $( $key: $default, )* }
            }
        }

        impl Policy {
            /// Every key, in documented order.
            pub const KEYS: &[&str] = &[ $( stringify!($key) ),* ];

            /// The description of each key, in the same order.
            pub const DOCS: &[&str] = &[ $( $doc ),* ];

            fn field(&mut self, key: &str) -> Option<(&mut u64, std::ops::RangeInclusive<u64>)> {
                match key {
                    $( stringify!($key) => Some((&mut self.$key, $range)), )*
                    _ => None,
                }
            }

            pub fn entries(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [ $( (stringify!($key), self.$key) ),* ].into_iter()
            }
        }
    };
}

policy! {
    /// Turns without a reference before an expansion collapses automatically.
    decay_threshold = 3 in 1..=1_000_000,
    /// Shared keywords that make a message a reference.
    min_keyword_overlap = 2 in 1..=100,
    /// Turns without a reference before a summary leaves the context.
    summary_eviction_threshold = 20 in 1..=1_000_000,
    /// Exchanges of ambient chat that stay in the context.
    ambient_window = 10 in 0..=1_000,

    /// Most turns in one epoch; 1 rewrites the prompt every turn, as `epoch=every-turn` does.
    epoch_turns_max = 1_000_000 in 1..=1_000_000,
    /// Share of the room that history fills when the prompt is rewritten, in per cent; the rest is room to grow.
    epoch_low_percent = 50 in 5..=100,
    /// Turns within which an early rewrite of the prompt must pay for itself.
    epoch_horizon_turns = 8 in 1..=1_000,
    /// How long the provider keeps a prompt in its cache, in seconds.
    cache_seconds = 300 in 0..=1_000_000,
    /// Price of a million tokens read from the cache, in cents.
    price_cache_read_cents = 30 in 0..=1_000_000,
    /// Price of a million tokens written to the cache, in cents.
    price_cache_write_cents = 375 in 0..=1_000_000,
    /// Price of a million tokens of reply, in cents.
    price_output_cents = 1_500 in 0..=1_000_000,

    /// Most expansions at once; beyond it, the longest unreferenced one collapses at the end of the turn.
    expanded_efforts_max = 8 in 1..=1_000,
    /// Open efforts shown as raw logs; the longest idle others are shown as summaries.
    open_raw_max = 8 in 1..=1_000,

    /// Hard limit on tokens sent to the model, tool schemas included.
    context_tokens_max = 16_000 in 256..=10_000_000,
    /// Tokens that the model's provider counts for a thousand of Neap's; `context_tokens_max` is in the provider's.
    #[serde(skip_serializing_if = "is_as_ours")]
    provider_tokens_per_mille = 1_000 in 300..=10_000,
    /// Longest summary of a concluded effort.
    summary_tokens_max = 256 in 16..=4_096,
    /// Longest part of a log, taken from its end, that a summariser is given.
    summary_input_tokens_max = 200_000 in 1_000..=10_000_000,
    /// A log shorter than this gets a fixed summary.
    brief_effort_chars = 50 in 0..=10_000,

    /// Share of the variable budget guaranteed to shown summaries, in per cent.
    summaries_share_percent = 20 in 0..=100,
    /// Share of the variable budget guaranteed to the ambient window, in per cent.
    ambient_share_percent = 15 in 0..=100,
    /// Share of the variable budget guaranteed to expanded logs together, in per cent.
    expanded_share_percent = 25 in 0..=100,
    /// Share of the variable budget for logs of open efforts in the background, in per cent.
    open_share_percent = 15 in 0..=100,
    /// Share of the variable budget for the active effort's log, in per cent.
    active_share_percent = 25 in 0..=100,

    /// Most tokens that all memory layers may take.
    memory_tokens_max = 8_000 in 0..=1_000_000,
    /// Share of the room that memories may take from the conversation, in per cent.
    memory_share_percent = 40 in 0..=80,

    /// Share of a log's room guaranteed to summaries of its older spans, in per cent.
    window_summaries_percent = 35 in 5..=95,
    /// Fullness at which the next span summaries are prepared, in per cent.
    window_prepare_percent = 90 in 10..=100,

    /// Rounds of tool calls in one turn; after the last, the model must answer.
    tool_rounds_max = 6 in 0..=100,
    /// Tool calls executed in one turn; the rest are refused.
    tool_calls_max = 16 in 0..=1_000,
    /// Matches that `search_efforts` returns.
    search_results_max = 5 in 1..=50,
    /// Longest part of an original that `fetch_original` returns at once.
    fetch_tokens_max = 2_000 in 64..=100_000,
    /// Efforts that `effort_status` lists.
    status_efforts_max = 20 in 1..=200,
    /// A keyword found in more summaries than this brings none of them back into the context.
    keyword_efforts_max = 24 in 1..=1_000_000,
    /// Turns after an automatic collapse within which a new expansion counts as a false decay.
    false_decay_turns = 2 in 0..=1_000,
    /// Longest accepted message, in bytes.
    message_bytes_max = 8_388_608 in 1_024..=67_108_864,
}

/// Whether a provider counts as we do.
fn is_as_ours(per_mille: &u64) -> bool {
    *per_mille == 1_000
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("unknown setting '{key}'; {}", suggestion(key))]
    UnknownKey { key: String },
    #[error("'{value}' is not a whole number, which '{key}' needs")]
    NotANumber { key: String, value: String },
    #[error("{key} = {value} is outside {low}..={high}")]
    OutOfRange { key: String, value: u64, low: u64, high: u64 },
    #[error("epoch = '{value}' is neither every-turn nor by-cost")]
    NoSuchEpoch { value: String },
    /// The guaranteed shares add up to more than 100 %.
    #[error("the shares add up to {sum} %, more than 100 %")]
    SharesOverfull { sum: u64 },
}

/// The setting that was probably meant, or where all are listed.
fn suggestion(key: &str) -> String {
    let folded = key.trim().to_lowercase().replace('-', "_");
    let near = Policy::KEYS.iter().map(|known| (edits(&folded, known), known)).min();
    match near.filter(|(edits, known)| *edits <= known.len() / 3) {
        Some((_, known)) => format!("did you mean '{known}'?"),
        None => "`neap store settings` lists them".to_owned(),
    }
}

/// How many letters have to be added, dropped or changed to make one word of the other.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

impl Policy {
    /// For conversations that others hold and Neap records: their messages are as long as they are.
    pub fn for_recorded_conversations() -> Self {
        Self { message_bytes_max: 67_108_864, ..Self::default() }
    }

    /// Sets keys from text, as `--set key=value` does: all of them, or none if the result is invalid. Ignores case
    /// and treats `-` as `_`.
    pub fn set_all<'a>(
        &mut self,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), PolicyError> {
        let mut changed = self.clone();
        for (key, value) in settings {
            let folded = key.trim().to_lowercase().replace('-', "_");
            let (folded, value) = resolve_epoch_name(folded, value)?;
            let Some((field, _)) = changed.field(&folded) else {
                return Err(PolicyError::UnknownKey { key: key.to_owned() });
            };
            *field = value
                .trim()
                .replace('_', "")
                .parse()
                .map_err(|_| PolicyError::NotANumber { key: folded.clone(), value: value.to_owned() })?;
        }
        changed.check()?;
        *self = changed;
        Ok(())
    }

    pub fn set(&mut self, key: &str, value: &str) -> Result<(), PolicyError> {
        self.set_all([(key, value)])
    }

    /// Checks that every value is in range and the shares add up to at most 100 %.
    pub fn check(&self) -> Result<(), PolicyError> {
        let mut copy = self.clone();
        for key in Self::KEYS {
            if let Some((field, range)) = copy.field(key)
                && !range.contains(field)
            {
                let (value, (low, high)) = (*field, range.into_inner());
                return Err(PolicyError::OutOfRange { key: (*key).to_owned(), value, low, high });
            }
        }
        match self.shares_percent() {
            sum if sum > 100 => Err(PolicyError::SharesOverfull { sum }),
            _ => Ok(()),
        }
    }

    /// Whether the prompt is rewritten every turn, regardless of the provider's cache.
    pub fn rewrites_every_turn(&self) -> bool {
        self.epoch_turns_max == 1
    }

    /// The budget in Neap's tokens, for text that the provider has counted.
    pub fn context_budget(&self) -> Tokens {
        self.budget_with(Tokens::ZERO)
    }

    /// The same for a prompt of which `new` tokens were in none that the provider has counted.
    pub fn budget_with(&self, new: Tokens) -> Tokens {
        let known = self.provider_tokens_per_mille;
        // Where the provider counts as we do, it does so for any text.
        let unseen = if known == 1_000 { known } else { known.max(UNSEEN_PER_MILLE) };
        let budget = self.context_tokens_max.saturating_mul(1_000);
        let left = budget.saturating_sub((unseen - known).saturating_mul(new.0));
        Tokens((left / known).max(budget / unseen))
    }

    /// Target length for the summary of a span: an eighth of it, at least 128, at most the cap.
    pub fn summary_target(&self, span: Tokens) -> Tokens {
        Tokens((span.0 / 8).max(128).min(self.summary_tokens_max))
    }

    fn shares_percent(&self) -> u64 {
        self.summaries_share_percent
            + self.ambient_share_percent
            + self.expanded_share_percent
            + self.open_share_percent
            + self.active_share_percent
    }
}

/// Resolves the named values of `epoch`: `every-turn`, which the seeds' proofs need, and `by-cost`.
fn resolve_epoch_name(key: String, value: &str) -> Result<(String, &str), PolicyError> {
    if key != "epoch" {
        return Ok((key, value));
    }
    match value.trim() {
        "every-turn" => Ok(("epoch_turns_max".to_owned(), "1")),
        "by-cost" => Ok(("epoch_turns_max".to_owned(), "1000000")),
        other => Err(PolicyError::NoSuchEpoch { value: other.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 001, Configuration: DECAY_THRESHOLD 3, MIN_KEYWORD_OVERLAP 2.
    /// 000, Configuration: SUMMARY_EVICTION_THRESHOLD 20, AMBIENT_WINDOW 10.
    #[test]
    fn seed_defaults() {
        let p = Policy::default();
        assert_eq!(
            (p.decay_threshold, p.min_keyword_overlap, p.summary_eviction_threshold, p.ambient_window),
            (3, 2, 20, 10)
        );
    }

    #[test]
    fn seed_names_set_the_same_keys() {
        let mut p = Policy::default();
        p.set("DECAY_THRESHOLD", "5").expect("a known key");
        p.set("ambient-window", "4").expect("a known key");
        p.set("context_tokens_max", "4_000").expect("a known key");
        assert_eq!((p.decay_threshold, p.ambient_window, p.context_tokens_max), (5, 4, 4_000));
    }

    /// docs/decisions/0002-windows.md.
    #[test]
    fn epochs_are_set_by_name() {
        let mut p = Policy::default();
        assert!(!p.rewrites_every_turn());
        p.set("epoch", "every-turn").expect("a known name");
        assert!(p.rewrites_every_turn());
        p.set("EPOCH", "by-cost").expect("a known name");
        assert_eq!(p, Policy::default());
        assert!(matches!(p.set("epoch", "never"), Err(PolicyError::NoSuchEpoch { .. })));
    }

    #[test]
    fn senseless_settings_are_refused_and_change_nothing() {
        let mut p = Policy::default();
        assert!(matches!(p.set("nope", "1"), Err(PolicyError::UnknownKey { .. })));
        let told = |key: &str| Policy::default().set(key, "1").map_err(|error| error.to_string());
        assert_eq!(
            told("decay_treshold"),
            Err("unknown setting 'decay_treshold'; did you mean 'decay_threshold'?".into())
        );
        assert_eq!(told("colour"), Err("unknown setting 'colour'; `neap store settings` lists them".into()));
        assert!(matches!(p.set("decay_threshold", "x"), Err(PolicyError::NotANumber { .. })));
        assert!(matches!(p.set("decay_threshold", "-1"), Err(PolicyError::NotANumber { .. })));
        assert!(matches!(p.set("decay_threshold", "0"), Err(PolicyError::OutOfRange { .. })));
        assert!(matches!(p.set("active_share_percent", "90"), Err(PolicyError::SharesOverfull { sum: 165 })));
        assert_eq!(p, Policy::default());
        p.set_all([("active_share_percent", "50"), ("expanded_share_percent", "0")]).expect("together they fit");
    }

    /// An eighth of the original, within limits.
    #[test]
    fn summary_length_is_adaptive_and_capped() {
        let p = Policy::default();
        assert_eq!(p.summary_target(Tokens(100)), Tokens(128));
        assert_eq!(p.summary_target(Tokens(1_600)), Tokens(200));
        assert_eq!(p.summary_target(Tokens(100_000)), Tokens(256));
    }
}
