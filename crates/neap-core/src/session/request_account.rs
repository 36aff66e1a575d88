//! What a session records of the requests that a proxy forwarded for it: their class, how they relate to the history, where the
//! history ends, tokens received and sent, and the usage that the provider reports.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::ids::TurnNo;
use crate::base::model_name::ModelName;
use crate::base::token_ratio::reported_ratio;
use crate::base::tokens::Tokens;
use crate::session::request_cost::RequestCost;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestClass {
    /// A person's message.
    MainTurn,
    /// Tool results, with which the model continues.
    ToolLoop,
    Subagent,
    ClientCompaction,
    /// A title, a topic or a name for the conversation.
    Title,
    CountTokens,
    /// No reply is wanted; the provider only gets ready.
    Prewarm,
    Unsure,
}

impl RequestClass {
    /// Whether it is part of a conversation, and so recorded. Every class is bounded.
    pub fn is_conversation(self) -> bool {
        match self {
            RequestClass::MainTurn | RequestClass::ToolLoop | RequestClass::Subagent => true,
            RequestClass::ClientCompaction
            | RequestClass::Title
            | RequestClass::CountTokens
            | RequestClass::Prewarm
            | RequestClass::Unsure => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            RequestClass::MainTurn => "main_turn",
            RequestClass::ToolLoop => "tool_loop",
            RequestClass::Subagent => "subagent",
            RequestClass::ClientCompaction => "client_compaction",
            RequestClass::Title => "title",
            RequestClass::CountTokens => "count_tokens",
            RequestClass::Prewarm => "prewarm",
            RequestClass::Unsure => "unsure",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryVerdict {
    /// Nothing of it is recorded.
    NewSession,
    /// It continues where the history ended.
    Turn,
    /// The same request again, before a reply.
    Retry,
    /// The same request again, after a reply: for an alternative reply.
    Regeneration,
    /// It continues from an earlier point.
    Edit,
    /// The same session with another history: the client compacted or cleared it.
    ClientCompaction,
    /// A new session that begins like another.
    Fork,
}

impl HistoryVerdict {
    pub fn as_str(self) -> &'static str {
        match self {
            HistoryVerdict::NewSession => "new_session",
            HistoryVerdict::Turn => "turn",
            HistoryVerdict::Retry => "retry",
            HistoryVerdict::Regeneration => "regeneration",
            HistoryVerdict::Edit => "edit",
            HistoryVerdict::ClientCompaction => "client_compaction",
            HistoryVerdict::Fork => "fork",
        }
    }

    /// Whether the client's history goes on, and with it what was sent before.
    pub fn continues_history(self) -> bool {
        match self {
            HistoryVerdict::Turn | HistoryVerdict::Retry | HistoryVerdict::Regeneration | HistoryVerdict::Edit => {
                true
            }
            HistoryVerdict::NewSession | HistoryVerdict::ClientCompaction | HistoryVerdict::Fork => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryLink {
    pub digest: Digest,
    pub turn: TurnNo,
}

/// Where a session's recorded history ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryHead {
    /// The end of the last request.
    pub asked: Digest,
    /// The ends after the reply, as a client may send it back; empty while there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<Digest>,
}

impl HistoryHead {
    /// Ends kept for one request. A client that regenerates often continues from one of the last.
    pub const REPLIES_MAX: usize = 16;

    /// Adds ends, newest last; drops the oldest beyond [`Self::REPLIES_MAX`].
    pub fn with_replies(mut self, ends: &[Digest]) -> Self {
        for end in ends {
            if !self.answered.contains(end) {
                self.answered.push(*end);
            }
        }
        let surplus = self.answered.len().saturating_sub(Self::REPLIES_MAX);
        self.answered.drain(..surplus);
        self
    }
}

/// Usage as a provider reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Includes tokens read from the cache or written to it.
    pub input: Tokens,
    pub cached: Tokens,
    /// Written to the cache, where that has a price of its own.
    #[serde(default, skip_serializing_if = "Tokens::is_zero")]
    pub cache_written: Tokens,
    pub output: Tokens,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestAccount {
    pub class: RequestClass,
    /// How it relates to the recorded history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<HistoryVerdict>,
    /// The client's request, by our count.
    pub tokens_in: Tokens,
    /// The forwarded request, by our count.
    pub tokens_sent: Tokens,
    pub changes: u64,
    /// How often the history had been cut.
    pub epoch: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<TokenUsage>,
    /// If the model's prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<RequestCost>,
    pub is_whole: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// The digest of the model's name, if `used` is of this request's text alone, so that it tells how the model counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_by: Option<Digest>,
}

impl RequestAccount {
    /// Tokens of this request as its provider counts them; by our count, if it reported nothing that tells.
    pub fn provider_tokens(&self, ours: Tokens) -> Tokens {
        let reported = self.used.filter(|_| self.counted_by.is_some()).map(|used| used.input);
        let reported = reported.filter(|theirs| reported_ratio(self.tokens_sent, *theirs).is_some());
        let scaled = reported.map(|theirs| {
            let tokens = u128::from(ours.0) * u128::from(theirs.0) / u128::from(self.tokens_sent.0.max(1));
            Tokens(u64::try_from(tokens).unwrap_or(u64::MAX))
        });
        scaled.unwrap_or(ours)
    }
}

/// Totals over a session's requests, in the provider's tokens as far as it reported them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestTotals {
    pub requests: u64,
    pub changed: u64,
    /// Requests with an incomplete reply.
    pub broken_off: u64,
    pub tokens_in: Tokens,
    pub tokens_sent: Tokens,
    pub used: TokenUsage,
    /// Requests with a cost.
    #[serde(skip_serializing_if = "is_zero")]
    pub priced: u64,
    /// Of those.
    #[serde(skip_serializing_if = "RequestCost::is_nothing")]
    pub cost: RequestCost,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl RequestTotals {
    /// Share of the input that the provider read from its cache; none if it did not report.
    pub fn cached_share(&self) -> Option<f64> {
        (self.used.input > Tokens::ZERO).then(|| self.used.cached.0 as f64 / self.used.input.0 as f64)
    }

    pub fn is_empty(&self) -> bool {
        self.requests == 0
    }

    /// `None` if no price is known.
    pub fn known_cost(&self) -> Option<RequestCost> {
        (self.priced > 0).then_some(self.cost)
    }
}

/// Totals of several sessions.
impl AddAssign<&RequestTotals> for RequestTotals {
    fn add_assign(&mut self, other: &RequestTotals) {
        self.requests += other.requests;
        self.changed += other.changed;
        self.broken_off += other.broken_off;
        self.priced += other.priced;
        self.cost += other.cost;
        self.add_tokens(other.tokens_in, other.tokens_sent, other.used);
    }
}

impl RequestTotals {
    /// A provider may report any number.
    fn add_tokens(&mut self, tokens_in: Tokens, tokens_sent: Tokens, used: TokenUsage) {
        let TokenUsage { input, cached, cache_written, output } = used;
        let sums = [
            (&mut self.tokens_in, tokens_in),
            (&mut self.tokens_sent, tokens_sent),
            (&mut self.used.input, input),
            (&mut self.used.cached, cached),
            (&mut self.used.cache_written, cache_written),
            (&mut self.used.output, output),
        ];
        for (sum, tokens) in sums {
            *sum = Tokens(sum.0.saturating_add(tokens.0));
        }
    }
}

impl AddAssign<&RequestAccount> for RequestTotals {
    fn add_assign(&mut self, account: &RequestAccount) {
        self.requests += 1;
        self.changed += u64::from(account.changes > 0);
        self.broken_off += u64::from(!account.is_whole);
        self.priced += u64::from(account.cost.is_some());
        self.cost += account.cost.unwrap_or_default();
        let [tokens_in, tokens_sent] =
            [account.tokens_in, account.tokens_sent].map(|ours| account.provider_tokens(ours));
        self.add_tokens(tokens_in, tokens_sent, account.used.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_in_the_providers_tokens_where_it_counted_the_text() {
        let account = |input: u64, is_counted: bool| RequestAccount {
            class: RequestClass::MainTurn,
            verdict: None,
            tokens_in: Tokens(9_000),
            tokens_sent: Tokens(3_000),
            changes: 1,
            epoch: 1,
            used: Some(TokenUsage { input: Tokens(input), ..TokenUsage::default() }),
            cost: None,
            is_whole: true,
            model: None,
            counted_by: is_counted.then(|| Digest::of("model", &[b"m"])),
        };
        // With images, or not a count of the request: by our count.
        for (input, is_counted, want) in
            [(3_600, true, (10_800, 3_600)), (3_600, false, (9_000, 3_000)), (5, true, (9_000, 3_000))]
        {
            let mut totals = RequestTotals::default();
            totals += &account(input, is_counted);
            assert_eq!((totals.tokens_in.0, totals.tokens_sent.0), want, "{input} {is_counted}");
        }
    }
}
