//! Model profiles: context window, tokenizer and prices.
//!
//! A built-in table, preceded by the user's. Unknown models are counted in `o200k_base`, with a margin, and have no price.

use neap_core::base::token_ratio::TokenEstimate;
use neap_core::base::tokens::Tokens;
use neap_core::client::{TokenPrices, WireApi};
use serde::Deserialize;

use crate::bpe::{counter_for, is_known_encoding};
use crate::client::parse_api;
use crate::usage::Usage;

const BUILT_IN: &str = include_str!("profiles.toml");

/// Tokens reserved for the reply where a profile has no `reply_tokens`.
const REPLY_TOKENS: u64 = 4_096;

/// Tokens of an unknown encoding for one of ours.
const RATIO: f64 = 1.2;
/// Assumed for text that the provider has not counted yet.
const RATIO_WORST: f64 = 1.5;
const RATIO_MIN: f64 = 0.5;
const RATIO_MAX: f64 = 3.0;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelProfile {
    /// Matches every dated release of the model; with a trailing `*`, every name with this prefix.
    pub name: String,
    /// The protocol to use at the model's vendor; Chat Completions if absent.
    #[serde(default, deserialize_with = "api")]
    pub api: Option<WireApi>,
    /// Prompt and reply together.
    pub window_tokens: Option<u64>,
    /// Longest reply to request; this much of the window stays free.
    pub reply_tokens: Option<u64>,
    pub encoding: Option<String>,
    /// The model's tokens for one of `o200k_base`, where its encoding is not one of ours.
    pub token_ratio: Option<f64>,
    /// Whether the model reasons before it answers.
    #[serde(default)]
    pub reasons: bool,
    /// Dollars per million input tokens.
    pub price_input: Option<f64>,
    /// Dollars per million tokens read from the cache; `price_input` if absent.
    pub price_cache_read: Option<f64>,
    /// Dollars per million tokens written to the cache; `price_input` if absent.
    pub price_cache_write: Option<f64>,
    /// Dollars per million output tokens.
    pub price_output: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadProfiles(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileTable {
    #[serde(default)]
    model: Vec<ModelProfile>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelProfiles {
    models: Vec<ModelProfile>,
}

impl ModelProfiles {
    pub fn built_in() -> Self {
        Self::parse(BUILT_IN).expect("the built-in table is tested to parse")
    }

    /// Prepends the user's table. A profile in it replaces the built-in one as a whole.
    pub fn with_table(self, table: &str) -> Result<Self, BadProfiles> {
        let mut models = Self::parse(table)?.models;
        models.extend(self.models);
        Ok(Self { models })
    }

    fn parse(table: &str) -> Result<Self, BadProfiles> {
        let ProfileTable { model: models } =
            toml::from_str(table).map_err(|error| BadProfiles(error.to_string()))?;
        for profile in &models {
            profile.check()?;
        }
        Ok(Self { models })
    }

    /// Finds the longest matching name, the first of equals. Ignores a path before the model (`openai/gpt-4o`).
    pub fn lookup(&self, model: &str) -> ModelProfile {
        let lower = model.trim().to_ascii_lowercase();
        let bare = lower.rsplit('/').next().unwrap_or_default();
        // `max_by_key` returns the last of equal elements, hence the reversed order.
        let fitting = self.models.iter().rev().filter(|profile| profile.matches(&lower) || profile.matches(bare));
        let found = fitting.max_by_key(|profile| (profile.name.trim_end_matches('*').len(), !profile.is_family()));
        found.cloned().unwrap_or_else(|| ModelProfile { name: model.to_owned(), ..ModelProfile::default() })
    }
}

impl ModelProfile {
    fn is_family(&self) -> bool {
        self.name.ends_with('*')
    }

    /// A dated release costs what its model costs; any other suffix makes another model.
    fn matches(&self, model: &str) -> bool {
        let name = self.name.to_ascii_lowercase();
        let Some(rest) = model.strip_prefix(name.trim_end_matches('*')) else { return false };
        let is_date = |rest: &str| {
            rest.chars().all(|c| c.is_ascii_digit() || c == '-')
                && rest.chars().filter(char::is_ascii_digit).count() >= 4
        };
        self.is_family()
            || rest.is_empty()
            || rest == "-latest"
            || rest.starts_with([':', '@'])
            || rest.strip_prefix('-').is_some_and(is_date)
    }

    fn check(&self) -> Result<(), BadProfiles> {
        let prices = [self.price_input, self.price_cache_read, self.price_cache_write, self.price_output];
        let has_bad_price = prices.iter().flatten().any(|price| !price.is_finite() || *price < 0.0);
        let reply = self.reply_tokens();
        let has_bad_ratio = self.token_ratio.is_some_and(|ratio| !(RATIO_MIN..=RATIO_MAX).contains(&ratio));
        let has_no_room = self.window_tokens.is_some_and(|window| window <= reply);
        let fault = if self.name.trim().is_empty() {
            "a model has no name".to_owned()
        } else if has_bad_price {
            format!("{}: a price is below zero", self.name)
        } else if has_bad_ratio {
            format!("{}: token_ratio is between {RATIO_MIN} and {RATIO_MAX}", self.name)
        } else if has_no_room {
            format!("{}: a reply of {reply} tokens leaves nothing of its window", self.name)
        } else {
            return Ok(());
        };
        Err(BadProfiles(fault))
    }

    /// The encoding that its tokens are counted in.
    pub fn encoding(&self) -> String {
        counter_for(self.encoding.as_deref().unwrap_or(&self.name)).encoding().to_owned()
    }

    pub fn token_estimate(&self) -> TokenEstimate {
        let is_exact = is_known_encoding(self.encoding.as_deref().unwrap_or(&self.name));
        if is_exact && self.token_ratio.is_none() {
            return TokenEstimate::EXACT;
        }
        let per_mille = |ratio: f64| (ratio * 1_000.0).round() as u64;
        let likely = per_mille(self.token_ratio.unwrap_or(RATIO));
        TokenEstimate { likely, worst: per_mille(RATIO_WORST).max(likely * 4 / 3) }
    }

    pub fn reply_tokens(&self) -> u64 {
        // A small window is not for the reply alone.
        let usual = self.window_tokens.map_or(REPLY_TOKENS, |window| REPLY_TOKENS.min(window / 4));
        self.reply_tokens.unwrap_or(usual)
    }

    /// The window minus the reply; `None` if the window is unknown.
    pub fn context_tokens_max(&self) -> Option<Tokens> {
        self.window_tokens.map(|window| Tokens(window.saturating_sub(self.reply_tokens())))
    }

    /// The cost in dollars; `None` if prices are unknown.
    pub fn dollars(&self, usage: &Usage) -> Option<f64> {
        let (input, output) = (self.price_input?, self.price_output?);
        let read = self.price_cache_read.unwrap_or(input);
        let write = self.price_cache_write.unwrap_or(input);
        let fresh = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_written);
        let parts = [(usage.cached, read), (usage.cache_written, write), (fresh, input), (usage.output, output)];
        Some(parts.iter().map(|(tokens, price)| tokens.0 as f64 * price).sum::<f64>() / 1e6)
    }

    /// The prices per token; `None` if they are unknown.
    pub fn token_prices(&self) -> Option<TokenPrices> {
        let (input, output) = (self.price_input?, self.price_output?);
        let picodollars = |dollars: f64| (dollars * 1e6).round() as u64;
        Some(TokenPrices {
            input: picodollars(input),
            cache_read: picodollars(self.price_cache_read.unwrap_or(input)),
            cache_write: picodollars(self.price_cache_write.unwrap_or(input)),
            output: picodollars(output),
        })
    }

    /// The prices as session settings: a session weighs rewriting its prompt against what that costs.
    pub fn price_settings(&self) -> Vec<(&'static str, u64)> {
        let (Some(input), Some(output)) = (self.price_input, self.price_output) else { return Vec::new() };
        let cents = |dollars: f64| (dollars * 100.0).ceil() as u64;
        vec![
            ("price_cache_read_cents", cents(self.price_cache_read.unwrap_or(input))),
            ("price_cache_write_cents", cents(self.price_cache_write.unwrap_or(input))),
            ("price_output_cents", cents(output)),
        ]
    }
}

fn api<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<WireApi>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    name.map(|name| parse_api(&name).map_err(serde::de::Error::custom)).transpose()
}

#[cfg(test)]
mod tests {
    use neap_core::base::policy::Policy;
    use neap_core::client::Prices;

    use super::*;
    use crate::bpe::counter_for;

    #[test]
    fn names_find_the_nearest_profile() {
        let table = [
            ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
            ("gpt-5", "gpt-5"),
            ("gpt-5.4", "gpt-5.4"),
            ("gpt-5-pro", "gpt-5*"),
            ("gpt-5.99", "gpt-5*"),
            ("claude-opus-5-5", "claude-*"),
            ("llama3:8b", "llama*"),
            ("meta-llama/Llama-3.3-70B-Instruct", "llama*"),
            ("deepseek-v3.2", "deepseek-*"),
            ("gpt-4o:x", "gpt-4o"),
            ("openai/gpt-4o-mini", "gpt-4o-mini"),
            ("GPT-4o-2024-11-20", "gpt-4o"),
            ("claude-opus-4-5-20251101", "claude-opus-4-5"),
            ("anthropic/claude-sonnet-5", "claude-sonnet-5"),
            ("o3", "o3"),
            ("o3-pro", "o3*"),
            ("some-local-model", "some-local-model"),
        ];
        for (model, want) in table {
            assert_eq!(ModelProfiles::built_in().lookup(model).name, want, "{model}");
        }
        assert_eq!(ModelProfiles::built_in().lookup("some-local-model").context_tokens_max(), None);
    }

    /// What a cut costs is computed at the prices at which it costs most.
    #[test]
    fn no_model_reads_its_cache_for_a_smaller_part_of_what_writing_costs() {
        let assumed = Prices::default();
        for profile in ModelProfiles::built_in().models {
            if let Some(TokenPrices { cache_read, cache_write, .. }) = profile.token_prices() {
                let is_covered = cache_read * assumed.cache_write >= cache_write * assumed.cache_read;
                assert!(is_covered, "{}: {cache_read} of {cache_write}", profile.name);
            }
        }
    }

    #[test]
    fn a_small_window_is_shared_with_the_reply() {
        let profile = |window_tokens| ModelProfile { window_tokens, ..ModelProfile::default() };
        let of = |window| (profile(Some(window)).reply_tokens(), profile(Some(window)).context_tokens_max());
        assert_eq!(of(4_096), (1_024, Some(Tokens(3_072))));
        assert_eq!(of(200_000), (REPLY_TOKENS, Some(Tokens(200_000 - REPLY_TOKENS))));
        assert_eq!(profile(None).reply_tokens(), REPLY_TOKENS);
    }

    /// The counter is known, and a session accepts the prices as settings.
    #[test]
    fn every_built_in_profile_is_of_use() {
        for profile in ModelProfiles::built_in().models {
            assert!(
                is_known_encoding(&profile.encoding()),
                "{}: an estimate is corrected, not doubled",
                profile.name
            );
            if let Some(encoding) = &profile.encoding {
                assert_eq!(counter_for(encoding).encoding(), encoding, "{}", profile.name);
            }
            let settings: Vec<(&str, String)> =
                profile.price_settings().iter().map(|(key, value)| (*key, value.to_string())).collect();
            let mut policy = Policy::default();
            let set = policy.set_all(settings.iter().map(|(key, value)| (*key, value.as_str())));
            assert_eq!(set, Ok(()), "{}", profile.name);
            let has_window = profile.context_tokens_max().is_some_and(|tokens| tokens > Tokens(1_000));
            assert!(has_window || profile.is_family(), "{}", profile.name);
        }
    }

    #[test]
    fn a_table_of_the_users_comes_first() {
        let table = "[[model]]\nname = \"gpt-4o\"\nwindow_tokens = 40000\n[[model]]\nname = \"mine*\"\napi = \"anthropic\"\n";
        let profiles = ModelProfiles::built_in().with_table(table).expect("a table");
        assert_eq!(profiles.lookup("gpt-4o").context_tokens_max(), Some(Tokens(40_000 - REPLY_TOKENS)));
        assert_eq!(profiles.lookup("gpt-4o").price_input, None, "it hides the other whole");
        assert_eq!(profiles.lookup("gpt-4o-mini").name, "gpt-4o-mini");
        assert_eq!(profiles.lookup("mine-7b").api, Some(WireApi::Messages));
    }

    #[test]
    fn counts_are_exact_or_have_an_estimate() {
        let of = |model: &str| {
            let estimate = ModelProfiles::built_in().lookup(model).token_estimate();
            (estimate.likely, estimate.worst)
        };
        for model in ["gpt-5.2", "gpt-4o-mini", "o3-pro", "gpt-3.5-turbo", "gpt-oss-20b"] {
            assert_eq!(of(model), (1_000, 1_000), "{model}");
        }
        assert_eq!(of("claude-opus-4-5"), (1_200, 1_600));
        assert_eq!(of("qwen3-coder"), (1_050, 1_500));
        assert_eq!(of("some-local-model"), (1_200, 1_600));
    }

    #[test]
    fn bad_tables_are_refused() {
        let bad = [
            "nonsense",
            "[[model]]\nname = \"x\"\nwindow = 5\n",
            "[[model]]\nname = \" \"\n",
            "[[model]]\nname = \"x\"\napi = \"grpc\"\n",
            "[[model]]\nname = \"x\"\nprice_input = -1.0\n",
            "[[model]]\nname = \"x\"\nwindow_tokens = 4096\nreply_tokens = 4096\n",
            "[[model]]\nname = \"x\"\ntoken_ratio = 0.0\n",
        ];
        for table in bad {
            assert!(ModelProfiles::built_in().with_table(table).is_err(), "{table}");
        }
    }

    #[test]
    fn dollars_are_those_of_the_list() {
        let sonnet = ModelProfiles::built_in().lookup("claude-sonnet-4-5");
        let usage = Usage {
            calls: 1,
            input: Tokens(1_000_000),
            cached: Tokens(600_000),
            cache_written: Tokens(300_000),
            output: Tokens(10_000),
        };
        // 0.6 × $0.30 + 0.3 × $3.75 + 0.1 × $3 + 0.01 × $15.
        assert!((sonnet.dollars(&usage).expect("prices") - 1.755).abs() < 1e-9);
        assert_eq!(ModelProfile::default().dollars(&usage), None);
        let want =
            TokenPrices { input: 3_000_000, cache_read: 300_000, cache_write: 3_750_000, output: 15_000_000 };
        assert_eq!(sonnet.token_prices(), Some(want));
        let nano = ModelProfiles::built_in().lookup("gpt-5-nano").token_prices().expect("prices");
        assert_eq!(
            (nano.cache_read, nano.cache_write, nano.input),
            (5_000, 50_000, 50_000),
            "writing costs no more"
        );
        assert_eq!(ModelProfiles::built_in().lookup("gpt-5.99").token_prices(), None);
    }
}
