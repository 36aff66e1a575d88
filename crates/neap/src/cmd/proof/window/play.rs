//! Recorded sessions, played again through the engine with the agent's own tools.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::account::AccountKind;
use neap_core::cost::Cost;
use neap_core::message::ToolCall;
use neap_core::tools::ToolSpec;
use neap_engine::{HostTools, ToolAnswer};
use serde_json::json;

use super::progress;
use super::stage::{Stage, ms, percentile};
use super::transcript::Transcript;
use crate::cmd::proof::Proof;
use crate::out::{self, Failure, thousands};

/// Calls after the window is full that a session must have, for its beginning to be compared with its end.
const FULL_CALLS_MIN: usize = 30;

/// Sessions whose raw log is shorter than this on average are not judged by their room: hardly anything is packed.
const PACKED_BYTES_MIN: u64 = 128 << 10;

/// The agent's tools: each answers what it answered then.
struct Recorded {
    names: Vec<String>,
    results: Mutex<HashMap<String, String>>,
}

#[async_trait]
impl HostTools for Recorded {
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

/// What came of all sessions together.
#[derive(Default)]
struct Sum {
    turns: u64,
    said: u64,
    calls: u64,
    most: u64,
    over: u64,
    broken: u64,
    summaries: u64,
    accounted: u64,
    cost: Cost,
    /// Bytes of the same messages as lines of JSON, and of what is stored, the index apart.
    raw_bytes: u64,
    stored_bytes: u64,
    /// Of each session whose window was full for long enough: its last third against its first.
    tokens_ratio: Vec<f64>,
    ms_per_call: Vec<f64>,
}

/// Every session at one budget.
pub(super) async fn prove(transcripts: &[Transcript], budget: u64) -> Result<Proof, Failure> {
    let mut proof = Proof::new("transcripts", "recorded sessions of coding agents, tool output and all");
    let (mut by_cost, mut every_turn) = (Sum::default(), Sum::default());
    for (at, transcript) in transcripts.iter().enumerate() {
        play(transcript, budget, &[], &mut by_cost).await?;
        play(transcript, budget, &[("epoch", "every-turn")], &mut every_turn).await?;
        progress("session", at as u64 + 1, transcripts.len() as u64, 1);
    }
    let at = format!("{} k", budget / 1_000);
    let said = format!(
        "{}, {}, {} tokens said",
        out::count(transcripts.len() as u64, "session"),
        out::count(by_cost.turns, "turn"),
        thousands(by_cost.said)
    );
    for (mode, sum) in [("by-cost", &by_cost), ("every-turn", &every_turn)] {
        proof.row(
            &at,
            format!("{said}; {mode}"),
            "never over, pairs whole",
            format!(
                "{}, at most {} tokens, {} over, {} broken",
                out::count(sum.calls, "call"),
                thousands(sum.most),
                sum.over,
                sum.broken
            ),
            sum.over == 0 && sum.broken == 0,
        );
        proof.row(
            &at,
            format!("summaries of spans; {mode}"),
            "each has its receipt",
            format!("{} of {}", thousands(sum.accounted), thousands(sum.summaries)),
            sum.accounted == sum.summaries,
        );
    }
    if !every_turn.tokens_ratio.is_empty() {
        let (flat, waves) = (percentile(&every_turn.tokens_ratio, 50), percentile(&by_cost.tokens_ratio, 50));
        let long = out::count(every_turn.tokens_ratio.len() as u64, "long session");
        proof.row(
            &at,
            format!("tokens a call, once the window is full; every-turn, {long}"),
            "last third at most 1.25 times the first",
            format!("{flat:.2} times (by-cost, which rises and falls: {waves:.2})"),
            flat <= 1.25,
        );
    }
    proof.row(
        &at,
        "the engine's own time",
        "told, not judged",
        format!("median {:.2} ms a call", percentile(&by_cost.ms_per_call, 50)),
        true,
    );
    let beyond = by_cost.stored_bytes as f64 * 100.0 / by_cost.raw_bytes.max(1) as f64 - 100.0;
    let kib = |bytes: u64| thousands(bytes / 1_024);
    let is_packed = by_cost.raw_bytes / transcripts.len().max(1) as u64 >= PACKED_BYTES_MIN;
    proof.row(
        &at,
        "storage beyond the raw log (plain lines of role, content, ts), index apart",
        if is_packed { "at most +10 %" } else { "told, not judged: short sessions are not packed" },
        format!("{beyond:+.1} %: {} KiB for {} KiB", kib(by_cost.stored_bytes), kib(by_cost.raw_bytes)),
        beyond <= 10.0 || !is_packed,
    );
    let shown = |cost: &Cost| format!("{} % cached, {}", cost.cached_percent(), out::dollars(cost.dollars()));
    proof.row(
        &at,
        "every-turn against by-cost",
        "by-cost is not dearer",
        format!("{} → {}", shown(&every_turn.cost), shown(&by_cost.cost)),
        by_cost.cost.nanodollars <= every_turn.cost.nanodollars,
    );
    Ok(proof)
}

async fn play(transcript: &Transcript, budget: u64, set: &[(&str, &str)], sum: &mut Sum) -> Result<(), Failure> {
    let results = transcript.turns.iter().flat_map(|turn| turn.results.iter().cloned()).collect();
    let tools = Recorded { names: transcript.tools.iter().cloned().collect(), results: Mutex::new(results) };
    let room = [("tool_rounds_max", "100"), ("tool_calls_max", "1000")];
    let set: Vec<(&str, &str)> = set.iter().copied().chain(room).collect();
    let mut stage = Stage::new(budget, &set, Some(Arc::new(tools)))
        .await
        .map_err(|failure| in_session(transcript, &failure))?;
    let mut full_from = None;
    for turn in &transcript.turns {
        let before = stage.model.seen_calls();
        let took = stage
            .say(&turn.user, turn.replies.clone())
            .await
            .map_err(|failure| in_session(transcript, &failure))?;
        let calls = stage.model.seen_calls() - before;
        sum.ms_per_call.push(ms(took.turn + took.upkeep) / calls.max(1) as f64);
        sum.turns += 1;
        if full_from.is_none() && took.reply.ledger.naive_tokens.0 > budget {
            full_from = Some(before + calls);
        }
    }
    let seen = stage.model.seen();
    let full = &seen.sent[full_from.unwrap_or(seen.sent.len())..];
    if full.len() >= FULL_CALLS_MIN {
        let values: Vec<f64> = full.iter().map(|tokens| *tokens as f64).collect();
        let third = values.len() / 3;
        sum.tokens_ratio
            .push(percentile(&values[values.len() - third..], 50) / percentile(&values[..third], 50).max(1.0));
    }
    let accounts = stage.engine.receipts(stage.session.id(), usize::MAX / 4).await?;
    let spans = accounts.iter().filter(|account| account.kind != AccountKind::Conclusion);
    for account in spans {
        sum.summaries += 1;
        sum.accounted += u64::from(account.receipt.is_some());
    }
    let footprint = stage.engine.store().footprint(Some(stage.session.id())).await?;
    sum.stored_bytes += footprint.events + footprint.derived;
    sum.raw_bytes += transcript.raw_bytes();
    sum.said += stage.session.state().head().all_logs.tokens.0;
    sum.calls += seen.sent.len() as u64;
    sum.most = sum.most.max(seen.most());
    sum.over += seen.over;
    sum.broken += seen.broken;
    sum.cost += stage.session.state().metrics().cost;
    Ok(())
}

fn in_session(transcript: &Transcript, failure: &Failure) -> Failure {
    Failure::new(format!("session {}: {failure}", out::clean(&transcript.id)))
}
