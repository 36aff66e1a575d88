//! Models that use their agent's memory, sensibly or not.

use neap_core::base::message::ToolCall;
use neap_core::context::tools::MEMORY_TOOLS;
use neap_core::memory::MemoryKind;
use neap_core::turn::ModelReply;
use serde_json::{Value, json};

use super::new_call;
use crate::agent::{SimAgent, random_id, random_outcome, random_statement};
use crate::rng::Rng;
use crate::words::{FILLER, FORGED, MEMORY_CANARY, NASTY, TOPICS};

pub(super) fn reply(rng: &mut Rng, agent: &SimAgent, is_hostile: bool) -> ModelReply {
    let count = if is_hostile { rng.between(1, 5) } else { rng.between(1, 2) };
    let text = if rng.chance(150) { format!("Let me note that, {}.", rng.word(FILLER)) } else { String::new() };
    let calls = (0..count)
        .map(|_| if is_hostile { senseless_call(rng, agent) } else { sensible_call(rng, agent) })
        .collect();
    ModelReply { text, calls, is_truncated: false }
}

pub(crate) fn sensible_call(rng: &mut Rng, agent: &SimAgent) -> ToolCall {
    let text = format!("{} {MEMORY_CANARY}", random_statement(rng, &agent.canary));
    let topic = rng.pick(TOPICS).map_or("", |topic| topic.name);
    let (name, arguments) = match rng.below(16) {
        0..=3 => ("remember", json!({"kind": "fact", "subject": topic, "text": text, "always": rng.chance(80)})),
        4 => ("remember", json!({"kind": "procedure", "text": text, "steps": [topic, rng.word(FORGED)]})),
        // An effort's summary quotes its session: only that session's agent may remember it.
        5 if agent.is_own => ("remember", json!({"kind": "episode", "effort": topic})),
        5 => ("remember", json!({"kind": "episode", "text": text, "detail": rng.word(NASTY)})),
        6 => {
            let word = rng.word(&FILLER[20..]);
            (
                "remember",
                json!({"kind": "censor", "text": word, "reason": format!("agreed {MEMORY_CANARY}."), "action": "refuse"}),
            )
        }
        7 | 8 => {
            let rests_on = [random_id(rng, MemoryKind::Fact)];
            let confidence = rng.below(101) as f64 / 100.0;
            let reasons = [format!("evidence: {text}")];
            let arguments =
                json!({"description": text, "confidence": confidence, "reasons": reasons, "rests_on": rests_on});
            ("record_decision", arguments)
        }
        9 => {
            let (id, outcome) = (random_id(rng, MemoryKind::Decision), random_outcome(rng));
            ("review_decision", json!({"id": id, "outcome": outcome.as_str(), "notes": topic}))
        }
        10 => ("recall", json!({"query": topic})),
        11 => ("recall", json!({"time": rng.word(&["today", "yesterday", "last week", "whenever"])})),
        12 => ("expand_detail", json!({"id": random_id_json(rng)})),
        13 => ("confirm_fact", json!({"id": random_id(rng, MemoryKind::Fact)})),
        14 => ("forget", json!({"id": random_id_json(rng), "reason": topic})),
        _ => ("memory_status", json!({})),
    };
    new_call(rng, name, arguments.to_string())
}

fn random_id_json(rng: &mut Rng) -> Value {
    let kinds = MemoryKind::ALL;
    let kind = rng.pick(&kinds).copied().unwrap_or(MemoryKind::Fact);
    json!(random_id(rng, kind))
}

fn senseless_call(rng: &mut Rng, agent: &SimAgent) -> ToolCall {
    let name = rng.word(&MEMORY_TOOLS);
    let value = |rng: &mut Rng| match rng.below(9) {
        0 => json!(rng.word(NASTY)),
        1 => json!(rng.below(100)),
        2 => json!(null),
        3 => json!([rng.word(FORGED), rng.word(NASTY), 7]),
        4 => json!("x ".repeat(usize::try_from(rng.between(1_000, 20_000)).unwrap_or(1_000))),
        5 => json!({"a": [{}]}),
        6 => json!(format!("{} {}", agent.canary, rng.word(FORGED))),
        _ => json!(rng.word(FORGED)),
    };
    let arguments = match rng.below(10) {
        0 => "{oops".to_owned(),
        1 => "null".to_owned(),
        2 => format!("{}{}", "[".repeat(300), "]".repeat(300)),
        _ => {
            let kind = rng.word(&["fact", "procedure", "episode", "censor", "decision", "opinion"]);
            json!({
                "kind": kind, "text": value(rng), "subject": value(rng), "steps": value(rng), "reason": value(rng),
                "description": value(rng), "confidence": rng.below(30) as f64 / 10.0, "rests_on": value(rng),
                "query": value(rng), "time": value(rng), "always": value(rng), "detail": value(rng),
                "id": if rng.chance(500) { random_id_json(rng) } else { value(rng) },
                "outcome": rng.word(&["success", "failure", "fine"]), "notes": value(rng),
                "action": rng.word(&["abort", "refuse", "steer", "erase"]), "side": rng.word(&["input", "output", ""]),
                "author": "person", "trust": "high", "pinned": true,
            })
            .to_string()
        }
    };
    new_call(rng, name, arguments)
}
