//! Replays recorded sessions through the engine with the agent's own tools.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::base::cost::Cost;
use neap_core::base::message::ToolCall;
use neap_core::context::tools::ToolSpec;
use neap_core::session::summary_account::SummaryKind;
use neap_core::text::figures::{dollars, plural, thousands};
use neap_engine::{HostTools, ToolAnswer};
use serde_json::json;

use super::recorded_session::RecordedSession;
use super::session::{MeasuredSession, ms, percentile};
use crate::proof::Proof;
use crate::{LabError, OnProgress};

/// Fewest calls with a full window for which a session's first and last third are compared.
const FULL_CALLS_MIN: usize = 30;

/// Sessions with shorter raw logs on average are not judged by storage: hardly anything is compressed.
const PACKED_BYTES_MIN: u64 = 128 << 10;

struct RecordedTools {
    names: Vec<String>,
    results: Mutex<HashMap<String, String>>,
}

#[async_trait]
impl HostTools for RecordedTools {
    fn specs(&self) -> Vec<ToolSpec> {
        let parameters = json!({"type": "object", "properties": {}});
        let spec = |name: &String| ToolSpec {
            name: name.clone(),
            description: "A tool of the recorded session.".to_owned(),
            parameters: parameters.clone(),
        };
        self.names.iter().map(spec).collect()
    }

    async fn call(&self, call: &ToolCall) -> ToolAnswer {
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.remove(&call.id).unwrap_or_else(|| "nothing was recorded".to_owned()).into()
    }
}

#[derive(Default)]
struct ReplaySum {
    turns: u64,
    tokens_said: u64,
    calls: u64,
    max_tokens: u64,
    over_budget: u64,
    broken_pairs: u64,
    summaries: u64,
    with_receipt: u64,
    cost: Cost,
    /// Bytes of the same messages as plain lines, and of the store without its index.
    raw_bytes: u64,
    stored_bytes: u64,
    /// Last third against first third, for sessions whose window was full long enough.
    tokens_ratio: Vec<f64>,
    ms_per_call: Vec<f64>,
}

pub(super) async fn prove(
    transcripts: &[RecordedSession],
    budget: u64,
    progress: OnProgress<'_>,
) -> Result<Proof, LabError> {
    let mut proof = Proof::new("transcripts", "recorded sessions of coding agents, tool output and all");
    let (mut by_cost, mut every_turn) = (ReplaySum::default(), ReplaySum::default());
    for (at, transcript) in transcripts.iter().enumerate() {
        replay_session(transcript, budget, &[], &mut by_cost).await?;
        replay_session(transcript, budget, &[("epoch", "every-turn")], &mut every_turn).await?;
        progress("sessions", at as u64 + 1, transcripts.len() as u64);
    }
    let at = format!("{} k", budget / 1_000);
    let content = format!(
        "{}, {}, {} tokens said",
        plural(transcripts.len() as u64, "session"),
        plural(by_cost.turns, "turn"),
        thousands(by_cost.tokens_said)
    );
    for (mode, sum) in [("by-cost", &by_cost), ("every-turn", &every_turn)] {
        proof.add_row(
            &at,
            format!("{content}; {mode}"),
            "never over, pairs whole",
            format!(
                "{}, at most {} tokens, {} over, {} broken",
                plural(sum.calls, "call"),
                thousands(sum.max_tokens),
                sum.over_budget,
                sum.broken_pairs
            ),
            sum.over_budget == 0 && sum.broken_pairs == 0,
        );
        proof.add_row(
            &at,
            format!("summaries of spans; {mode}"),
            "each has its receipt",
            format!("{} of {}", thousands(sum.with_receipt), thousands(sum.summaries)),
            sum.with_receipt == sum.summaries,
        );
    }
    if !every_turn.tokens_ratio.is_empty() {
        let (steady, by_cost_ratio) =
            (percentile(&every_turn.tokens_ratio, 50), percentile(&by_cost.tokens_ratio, 50));
        let long_sessions = plural(every_turn.tokens_ratio.len() as u64, "long session");
        proof.add_row(
            &at,
            format!("tokens a call, once the window is full; every-turn, {long_sessions}"),
            "last third at most 1.25 times the first",
            format!("{steady:.2} times (by-cost, which rises and falls: {by_cost_ratio:.2})"),
            steady <= 1.25,
        );
    }
    proof.add_row(
        &at,
        "the engine's own time",
        "reported, not judged",
        format!("median {:.2} ms a call", percentile(&by_cost.ms_per_call, 50)),
        true,
    );
    let beyond = by_cost.stored_bytes as f64 * 100.0 / by_cost.raw_bytes.max(1) as f64 - 100.0;
    let kib = |bytes: u64| thousands(bytes / 1_024);
    let is_packed = by_cost.raw_bytes / transcripts.len().max(1) as u64 >= PACKED_BYTES_MIN;
    proof.add_row(
        &at,
        "storage beyond the raw log (plain lines of role, content, ts), index apart",
        if is_packed { "at most +10 %" } else { "reported, not judged: short sessions are not packed" },
        format!("{beyond:+.1} %: {} KiB for {} KiB", kib(by_cost.stored_bytes), kib(by_cost.raw_bytes)),
        beyond <= 10.0 || !is_packed,
    );
    let cost_text = |cost: &Cost| format!("{} % cached, {}", cost.cached_percent(), dollars(cost.dollars()));
    proof.add_row(
        &at,
        "every-turn against by-cost",
        "by-cost is not dearer",
        format!("{} → {}", cost_text(&every_turn.cost), cost_text(&by_cost.cost)),
        by_cost.cost.nanodollars <= every_turn.cost.nanodollars,
    );
    Ok(proof)
}

async fn replay_session(
    transcript: &RecordedSession,
    budget: u64,
    set: &[(&str, &str)],
    sum: &mut ReplaySum,
) -> Result<(), LabError> {
    let results = transcript.turns.iter().flat_map(|turn| turn.results.iter().cloned()).collect();
    let tools = RecordedTools { names: transcript.tools.iter().cloned().collect(), results: Mutex::new(results) };
    let limits = [("tool_rounds_max", "100"), ("tool_calls_max", "1000")];
    let set: Vec<(&str, &str)> = set.iter().copied().chain(limits).collect();
    let mut stage = MeasuredSession::new(budget, &set, Some(Arc::new(tools)))
        .await
        .map_err(|failure| with_session_id(transcript, &failure))?;
    let mut full_from = None;
    for turn in &transcript.turns {
        let before = stage.model.call_count();
        let took = stage
            .take_turn(&turn.user, turn.replies.clone())
            .await
            .map_err(|failure| with_session_id(transcript, &failure))?;
        let calls = stage.model.call_count() - before;
        sum.ms_per_call.push(ms(took.turn + took.upkeep) / calls.max(1) as f64);
        sum.turns += 1;
        if full_from.is_none() && took.reply.ledger.naive_tokens.0 > budget {
            full_from = Some(before + calls);
        }
    }
    let stats = stage.model.stats();
    let full = &stats.sent[full_from.unwrap_or(stats.sent.len())..];
    if full.len() >= FULL_CALLS_MIN {
        let values: Vec<f64> = full.iter().map(|tokens| *tokens as f64).collect();
        let third = values.len() / 3;
        sum.tokens_ratio
            .push(percentile(&values[values.len() - third..], 50) / percentile(&values[..third], 50).max(1.0));
    }
    let accounts = stage.engine.receipts(stage.session.id(), usize::MAX / 4).await?;
    let spans = accounts.iter().filter(|account| account.kind != SummaryKind::Conclusion);
    for account in spans {
        sum.summaries += 1;
        sum.with_receipt += u64::from(account.receipt.is_some());
    }
    let footprint = stage.engine.store().footprint(Some(stage.session.id())).await?;
    sum.stored_bytes += footprint.events + footprint.derived;
    sum.raw_bytes += transcript.raw_bytes();
    sum.tokens_said += stage.session.state().head().all_logs.tokens.0;
    sum.calls += stats.sent.len() as u64;
    sum.max_tokens = sum.max_tokens.max(stats.max_tokens());
    sum.over_budget += stats.over_budget;
    sum.broken_pairs += stats.broken_pairs;
    sum.cost += stage.session.state().metrics().cost;
    Ok(())
}

fn with_session_id(transcript: &RecordedSession, failure: &LabError) -> LabError {
    LabError::new(format!("session {}: {failure}", transcript.id))
}
