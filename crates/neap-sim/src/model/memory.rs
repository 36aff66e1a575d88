//! Models that use what their agent knows: with sense, and without any.

use neap_core::memory::MemoryKind;
use neap_core::message::ToolCall;
use neap_core::tools::MemoryCall;
use neap_core::turn::ModelReply;
use serde_json::{Value, json};

use super::call;
use crate::agent::{SimAgent, about, any_id, outcome};
use crate::rng::Rng;
use crate::words::{FILLER, FORGED, NASTY, TOPICS, WRITTEN};

/// A reply that asks something of memory.
pub(super) fn reply(rng: &mut Rng, agent: &SimAgent, is_hostile: bool) -> ModelReply {
    let count = if is_hostile { rng.between(1, 5) } else { rng.between(1, 2) };
    let text = if rng.chance(150) { format!("Let me note that, {}.", rng.word(FILLER)) } else { String::new() };
    let calls =
        (0..count).map(|_| if is_hostile { senseless(rng, agent) } else { sensible(rng, agent) }).collect();
    ModelReply { text, calls, is_cut: false }
}

/// A call that makes sense.
pub(crate) fn sensible(rng: &mut Rng, agent: &SimAgent) -> ToolCall {
    let text = format!("{} {WRITTEN}", about(rng, &agent.canary));
    let topic = rng.pick(TOPICS).map_or("", |topic| topic.name);
    let (name, arguments) = match rng.below(16) {
        0..=3 => ("remember", json!({"kind": "fact", "subject": topic, "text": text, "always": rng.chance(80)})),
        4 => ("remember", json!({"kind": "procedure", "text": text, "steps": [topic, rng.word(FORGED)]})),
        // What an effort's summary says was said in a session; it may be known only where that session is.
        5 if agent.is_own => ("remember", json!({"kind": "episode", "effort": topic})),
        5 => ("remember", json!({"kind": "episode", "text": text, "detail": rng.word(NASTY)})),
        6 => {
            let word = rng.word(&FILLER[20..]);
            (
                "remember",
                json!({"kind": "censor", "text": word, "reason": format!("agreed {WRITTEN}."), "action": "refuse"}),
            )
        }
        7 | 8 => {
            let rests_on = [any_id(rng, MemoryKind::Fact)];
            let sure = rng.below(101) as f64 / 100.0;
            let reasons = [format!("evidence: {text}")];
            let arguments =
                json!({"description": text, "confidence": sure, "reasons": reasons, "rests_on": rests_on});
            ("record_decision", arguments)
        }
        9 => {
            let (id, outcome) = (any_id(rng, MemoryKind::Decision), outcome(rng));
            ("review_decision", json!({"id": id, "outcome": outcome.as_str(), "notes": topic}))
        }
        10 => ("recall", json!({"query": topic})),
        11 => ("recall", json!({"time": rng.word(&["today", "yesterday", "last week", "whenever"])})),
        12 => ("expand_detail", json!({"id": some_id(rng)})),
        13 => ("confirm_fact", json!({"id": any_id(rng, MemoryKind::Fact)})),
        14 => ("forget", json!({"id": some_id(rng), "reason": topic})),
        _ => ("memory_status", json!({})),
    };
    call(rng, name, arguments.to_string())
}

fn some_id(rng: &mut Rng) -> Value {
    let kinds = MemoryKind::ALL;
    let kind = rng.pick(&kinds).copied().unwrap_or(MemoryKind::Fact);
    json!(any_id(rng, kind))
}

/// A call that makes none, or means harm.
fn senseless(rng: &mut Rng, agent: &SimAgent) -> ToolCall {
    let name = rng.word(&MemoryCall::TOOLS);
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
                "id": if rng.chance(500) { some_id(rng) } else { value(rng) },
                "outcome": rng.word(&["success", "failure", "fine"]), "notes": value(rng),
                "action": rng.word(&["abort", "refuse", "steer", "erase"]), "side": rng.word(&["input", "output", ""]),
                "author": "person", "trust": "high", "pinned": true,
            })
            .to_string()
        }
    };
    call(rng, name, arguments)
}
