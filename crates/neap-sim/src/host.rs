//! The host's own tools; their results are sometimes larger than the whole budget.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use neap_core::base::message::ToolCall;
use neap_core::context::tools::ToolSpec;
use neap_engine::{HostTools, ToolAnswer};
use serde_json::json;

use crate::rng::Rng;
use crate::trace::Trace;
use crate::words::{NASTY, PAGE_CANARY, TOPICS, ramble};

pub const FETCH: &str = "fetch_page";

pub struct SimHost {
    rng: Mutex<Rng>,
    trace: Trace,
    budget_tokens: u64,
}

impl SimHost {
    pub fn new(rng: Rng, trace: Trace, budget_tokens: u64) -> Self {
        Self { rng: Mutex::new(rng), trace, budget_tokens }
    }
}

#[async_trait]
impl HostTools for SimHost {
    fn specs(&self) -> Vec<ToolSpec> {
        let parameters = json!({"type": "object", "properties": {"page": {"type": "string"}}});
        // A host may not use the name of an effort tool; the engine drops the second.
        [(FETCH, "Fetch a page."), ("open_effort", "Not ours to offer.")]
            .map(|(name, description)| ToolSpec {
                name: name.to_owned(),
                description: description.to_owned(),
                parameters: parameters.clone(),
            })
            .into()
    }

    async fn call(&self, _call: &ToolCall) -> ToolAnswer {
        self.trace.note(|step| step.host_calls += 1);
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        let words = match rng.below(12) {
            0 => self.budget_tokens * 2,
            1 => 0,
            _ => rng.between(5, 200),
        };
        let topic = rng.pick(TOPICS).copied();
        let page = format!("{} {PAGE_CANARY}", ramble(&mut rng, topic.as_ref(), words));
        if rng.chance(100) { format!("{page}{}", rng.word(NASTY)).into() } else { page.into() }
    }
}
