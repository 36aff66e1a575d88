//! Checks what the proxy would forward: within its budget or refused (I1), calls and results paired (I7), and no
//! other tenant's words (I11).

use std::collections::BTreeMap;

use neap_core::base::tokens::TokenCounter;
use neap_engine::RequestPlan;
use serde_json::Value;

use super::Violations;
use crate::clients::ProxyRequest;
use crate::labels::{label, labels_in};
use crate::wire;

pub(crate) fn check(
    request: &ProxyRequest,
    plan: &RequestPlan,
    counter: &dyn TokenCounter,
    foreign: &[String],
    out: &mut Violations,
) {
    let forwarded = plan.body.as_deref().unwrap_or(&request.body);
    for word in foreign {
        out.check("I11", !forwarded.contains(word.as_str()), || format!("{word} of another is in {forwarded}"));
    }
    out.check("refusals", plan.refusal.is_none(), || format!("{:?}", plan.refusal));
    if plan.overflow.is_some() {
        let tokens = counter.count(&request.body);
        out.check("I1", tokens > request.budget, || format!("refused, though it has only {tokens} tokens"));
        return;
    }
    // The whole body as it is sent, with every bracket.
    let tokens = counter.count(forwarded);
    out.check("I1", tokens <= request.budget, || {
        format!("{tokens} tokens are forwarded, budget {}: {:?}", request.budget, plan.recorded)
    });
    let Ok(body) = serde_json::from_str::<Value>(forwarded) else {
        out.add("I7", format!("not JSON: {forwarded}"));
        return;
    };
    check_pairs(wire::items(request.api, &body), out);
    if let Some(newest) = labels_in(&request.body).last() {
        let is_there = forwarded.contains(&label(*newest));
        out.check("I2", is_there, || format!("the newest text {} is not forwarded: {forwarded}", label(*newest)));
    }
}

/// Each call has one result after it, each result one call before it.
fn check_pairs(items: &[Value], out: &mut Violations) {
    let mut open: BTreeMap<&str, bool> = BTreeMap::new();
    let parts = items.iter().flat_map(|item| {
        let inner = ["content", "tool_calls"].into_iter().filter_map(|list| item[list].as_array()).flatten();
        std::iter::once(item).chain(inner)
    });
    for part in parts {
        let (kind, id) = (part["type"].as_str().unwrap_or_default(), |name: &str| part[name].as_str());
        let (call, result) = match kind {
            "tool_use" | "function" => (id("id"), None),
            "function_call" => (id("call_id"), None),
            "tool_result" => (None, id("tool_use_id")),
            "function_call_output" => (None, id("call_id")),
            _ => (None, id("tool_call_id")),
        };
        if let Some(call) = call {
            out.check("I7", open.insert(call, true).is_none(), || format!("two calls are {call}"));
        }
        if let Some(result) = result {
            let is_awaited = open.insert(result, false) == Some(true);
            out.check("I7", is_awaited, || format!("a result for {result} without its call"));
        }
    }
    for (id, is_open) in open {
        out.check("I7", !is_open, || format!("no result for {id}"));
    }
}
