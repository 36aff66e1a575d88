//! An agent's session with many tool results, and what its requests cost a provider's customer.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::base::message::ToolCall;
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::client::ProviderReply;
use neap_engine::{Engine, IncomingRequest};
use neap_model::bpe::counter_for;
use neap_store::MemStore;
use serde_json::{Value, json};

use super::{Dice, outputs, source_file};

const PATH: &str = "/v1/messages";
/// Dollars per million tokens: those that the previous request had at the same place, and others.
const CACHED_PRICE: f64 = 0.30;
const WRITTEN_PRICE: f64 = 3.75;

/// How the session is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub(crate) budget: Tokens,
    pub(crate) trims_tools: bool,
}

#[derive(Default)]
pub(crate) struct Bill {
    pub(crate) tokens: u64,
    pub(crate) cached: u64,
    pub(crate) dollars: f64,
    pub(crate) longest: u64,
    pub(crate) cuts: u64,
    counts: BTreeMap<String, u64>,
    before: Vec<String>,
}

impl Bill {
    fn add(&mut self, counter: &dyn TokenCounter, body: &str) {
        let body: Value = serde_json::from_str(body).unwrap();
        let head = json!([body["system"], body["tools"]]);
        let parts: Vec<String> =
            std::iter::once(&head).chain(body["messages"].as_array().unwrap()).map(Value::to_string).collect();
        let mut count = |part: &String| *self.counts.entry(part.clone()).or_insert_with(|| counter.count(part).0);
        let whole: u64 = parts.iter().map(&mut count).sum();
        let same = parts.iter().zip(&self.before).take_while(|(one, other)| one == other);
        let cached: u64 = same.map(|(part, _)| count(part)).sum();
        self.tokens += whole;
        self.cached += cached;
        self.longest = self.longest.max(whole);
        self.dollars += (cached as f64 * CACHED_PRICE + (whole - cached) as f64 * WRITTEN_PRICE) / 1e6;
        self.before = parts;
    }
}

/// A session of so many turns: in each the agent reads files, runs commands and searches, and answers.
pub(crate) async fn bill(turns: usize, seed: u64, way: Way) -> Bill {
    let (mut dice, mut bill, mut history) = (Dice(seed), Bill::default(), Vec::new());
    let engine = Engine::builder(Arc::new(MemStore::new())).build();
    let counter = counter_for("o200k_base");
    let headers =
        [("x-neap-session".to_owned(), "work".to_owned()), ("x-api-key".to_owned(), "k-4f9aT7bQ2mX8".to_owned())];
    let system = "You are a careful engineer. ".repeat(120);
    for turn in 0..turns {
        history.push(
            json!({"role": "user", "content": format!("Task {turn}: make the ledger pass its tests, please.")}),
        );
        let rounds = 1 + dice.below(4);
        for round in 0..=rounds {
            let body = json!({"model": "m", "system": system, "tools": [{"name": "Bash"}, {"name": "Read"}], "messages": history}).to_string();
            let incoming = IncomingRequest {
                trims_tools: way.trims_tools,
                ..IncomingRequest::new(PATH, &headers, &body, way.budget)
            };
            let plan = engine.ingest(&incoming).await;
            assert!(plan.fault.is_none() && plan.overflow.is_none(), "{:?} {:?}", plan.fault, plan.overflow);
            bill.add(counter.as_ref(), plan.body.as_deref().unwrap_or(&body));
            bill.cuts = plan.epoch;
            let reply = if round < rounds {
                work(&mut history, &mut dice, &format!("call_{turn}_{round}"))
            } else {
                let text = format!("Task {turn} is done: the ledger rounds down, and its tests pass.");
                history.push(json!({"role": "assistant", "content": [{"type": "text", "text": text}]}));
                ProviderReply { text, ..ProviderReply::default() }
            };
            engine.complete_request(&plan, &reply).await.unwrap();
        }
    }
    bill
}

/// A call and its result: of ten, four read files, two say little, four are output of every type.
fn work(history: &mut Vec<Value>, dice: &mut Dice, id: &str) -> ProviderReply {
    let (name, arguments, output) = match dice.below(10) {
        0..=3 => ("Read", json!({"file_path": "src/ledger.rs"}), {
            let lines = 60 + dice.below(160);
            source_file(dice, lines)
        }),
        4..=5 => ("Bash", json!({"command": "git status"}), "On branch main\nnothing to commit\n".repeat(4)),
        _ => {
            let mut all = outputs(dice.below(1 << 20) as u64);
            let one = all.swap_remove(dice.below(all.len()));
            ("Bash", json!({"command": one.command}), one.text)
        }
    };
    history.push(json!({"role": "assistant", "content": [{"type": "text", "text": "I look."},
        {"type": "tool_use", "id": id, "name": name, "input": arguments}]}));
    history
        .push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": output}]}));
    let call = ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_string() };
    ProviderReply { text: "I look.".to_owned(), calls: vec![call], ..ProviderReply::default() }
}
