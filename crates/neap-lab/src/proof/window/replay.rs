//! Replays recorded sessions through the engine with the agent's own tools.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::base::cost::Cost;
use neap_core::base::message::ToolCall;
use neap_core::context::tools::ToolSpec;
use neap_core::session::summary_account::SummaryKind;
use neap_core::text::figures::{plural, thousands};
use neap_engine::{HostTools, ToolAnswer};
use serde_json::json;

use super::recorded_session::RecordedSession;
use super::session::MeasuredSession;
use super::{add_storage, cost_text, kib};
use crate::measure::{ms, percentile};
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
        let named = |failure: LabError| LabError::new(format!("session {}: {failure}", transcript.id));
        replay_session(transcript, budget, &[], &mut by_cost).await.map_err(named)?;
        replay_session(transcript, budget, &[("epoch", "every-turn")], &mut every_turn).await.map_err(named)?;
        progress("sessions", at as u64 + 1, transcripts.len() as u64);
    }
    let at = format!("{} k", budget / 1_000);
    let sessions = plural(transcripts.len() as u64, "session");
    let (turns, said) = (plural(by_cost.turns, "turn"), thousands(by_cost.tokens_said));
    for (mode, sum) in [("by-cost", &by_cost), ("every-turn", &every_turn)] {
        let (calls, most) = (plural(sum.calls, "call"), thousands(sum.max_tokens));
        proof.add_row(
            &at,
            format!("{sessions}, {turns}, {said} tokens said; {mode}"),
            "never over, pairs whole",
            format!("{calls}, at most {most} tokens, {} over, {} broken", sum.over_budget, sum.broken_pairs),
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
        let [steady, rising] = [&every_turn, &by_cost].map(|sum| percentile(&sum.tokens_ratio, 50));
        let long_sessions = plural(every_turn.tokens_ratio.len() as u64, "long session");
        proof.add_row(
            &at,
            format!("tokens a call, once the window is full; every-turn, {long_sessions}"),
            "last third at most 1.25 times the first",
            format!("{steady:.2} times (by-cost, which rises and falls: {rising:.2})"),
            steady <= 1.25,
        );
    }
    let measured = format!("median {:.2} ms a call", percentile(&by_cost.ms_per_call, 50));
    proof.add_row(&at, "the engine's own time", "reported, not judged", measured, true);
    let (stored, raw) = (by_cost.stored_bytes, by_cost.raw_bytes);
    let is_short = raw / (transcripts.len().max(1) as u64) < PACKED_BYTES_MIN;
    let unjudged = is_short.then_some("reported, not judged: short sessions are not packed");
    add_storage(&mut proof, &at, stored, raw, unjudged, format!("{} KiB for {} KiB", kib(stored), kib(raw)));
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
    let mut stage = MeasuredSession::new(budget, &set, Some(Arc::new(tools))).await?;
    let mut full_from = None;
    for turn in &transcript.turns {
        let before = stage.model.call_count();
        let took = stage.take_turn(&turn.user, turn.replies.clone()).await?;
        let calls = stage.model.call_count() - before;
        sum.ms_per_call.push(ms(took.turn + took.upkeep) / calls.max(1) as f64);
        if full_from.is_none() && took.reply.ledger.naive_tokens.0 > budget {
            full_from = Some(before + calls);
        }
    }
    let stats = stage.model.stats();
    let full: Vec<f64> = stats.sent.iter().skip(full_from.unwrap_or(usize::MAX)).map(|n| *n as f64).collect();
    if full.len() >= FULL_CALLS_MIN {
        let third = full.len() / 3;
        let [first, last] = [&full[..third], &full[full.len() - third..]].map(|part| percentile(part, 50));
        sum.tokens_ratio.push(last / first.max(1.0));
    }
    let accounts = stage.engine.receipts(stage.session.id(), usize::MAX / 4).await?;
    for account in accounts.iter().filter(|account| account.kind != SummaryKind::Conclusion) {
        sum.summaries += 1;
        sum.with_receipt += u64::from(account.receipt.is_some());
    }
    let footprint = stage.engine.store().footprint(Some(stage.session.id())).await?;
    sum.stored_bytes += footprint.events + footprint.derived;
    sum.raw_bytes += transcript.raw_bytes();
    sum.turns += transcript.turns.len() as u64;
    sum.tokens_said += stage.session.state().head().all_logs.tokens.0;
    sum.calls += stats.sent.len() as u64;
    sum.max_tokens = sum.max_tokens.max(stats.max_tokens());
    sum.over_budget += stats.over_budget();
    sum.broken_pairs += stats.broken_pairs;
    sum.cost += stage.session.state().metrics().cost;
    Ok(())
}
