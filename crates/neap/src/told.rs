//! What came of a wish, for people and for programs.

use std::process::ExitCode;

use neap_core::learn::{Answer, Hit};
use neap_core::memory::{Body, Memory, Pattern, WhatLearnt};
use neap_engine::Agent;
use serde_json::json;

use crate::out::{self, BOLD, DIM, Failure};

/// Longest record on a line, in characters.
const LINE_CHARS_MAX: usize = 100;

/// Tells what was learnt or changed; a refusal is a failure.
pub(crate) async fn tell(agent: &Agent, answer: Answer, json: bool) -> Result<ExitCode, Failure> {
    match answer {
        Answer::Refused(refusal) => {
            let failure = Failure::refused(&refusal);
            let has_hint = refusal.hint.is_some();
            return Err(if has_hint {
                failure
            } else {
                failure.hint("`neap memory history ID` tells how it came about")
            });
        }
        Answer::Learnt { id, what, note, superseded, similar, .. } => {
            let memory = agent.get(id).await?;
            if json {
                let told = json!({
                    "id": id, "status": what.as_str(), "note": note, "superseded": superseded,
                    "similar": similar, "memory": memory,
                });
                out::json_line(&told)?;
            } else {
                out::piece(learnt(what, &note, &similar, memory.as_ref()));
            }
        }
        Answer::Changed { memory, how, note } => {
            if json {
                out::json_line(&json!({"id": memory.id, "status": how, "note": note, "memory": memory}))?;
            } else {
                out::line(format!("{BOLD}{}{BOLD:#} {how}: {}", memory.id, in_short(&memory)));
                out::line(format!("{DIM}it is now {}{DIM:#}", memory.status.as_str()));
                if !note.is_empty() {
                    out::line(note);
                }
            }
        }
        other @ (Answer::Counted
        | Answer::Found { .. }
        | Answer::Full { .. }
        | Answer::Status(_)
        | Answer::Swept { .. }) => out::line(out::clean(&other.to_json())),
    }
    Ok(ExitCode::SUCCESS)
}

fn learnt(what: WhatLearnt, note: &str, similar: &[Hit], memory: Option<&Memory>) -> String {
    let mut text = String::new();
    if let Some(memory) = memory {
        text.push_str(&format!("{BOLD}{}{BOLD:#} {}: {}\n", memory.id, taken_for(what), in_short(memory)));
        if memory.masked > 0 {
            let secrets = out::count(u64::from(memory.masked), "secret");
            text.push_str(&format!("  {secrets} masked before anything was stored\n"));
        }
    }
    if !note.is_empty() && what != WhatLearnt::New {
        text.push_str(&format!("  {DIM}{}{DIM:#}\n", out::clean(note)));
    }
    if !similar.is_empty() {
        text.push_str("  decided before:\n");
        similar.iter().for_each(|hit| text.push_str(&format!("    {}\n", plain(&hit.text))));
    }
    text
}

/// What became of what was told.
fn taken_for(what: WhatLearnt) -> &'static str {
    match what {
        WhatLearnt::New => "new",
        WhatLearnt::Confirmed => "confirmed",
        WhatLearnt::Superseded => "in the place of another",
        WhatLearnt::Contested => "contested",
        WhatLearnt::Known => "known already",
    }
}

/// What a record says, on one line.
pub(crate) fn in_short(memory: &Memory) -> String {
    out::shorten(&says(memory), LINE_CHARS_MAX)
}

/// What a record says.
pub(crate) fn says(memory: &Memory) -> String {
    match &memory.body {
        Body::Decision(decision) => decision.description.clone(),
        Body::Fact(fact) => fact.content.clone(),
        Body::Procedure(procedure) => {
            let first = procedure.core_patterns.iter().chain(&procedure.steps).next();
            first.map_or_else(|| procedure.name.clone(), |first| format!("{}: {first}", procedure.name))
        }
        Body::Episode(episode) => episode.summary.clone(),
        Body::Censor(censor) => format!("{} — {}", looks_for(&censor.pattern), censor.reason),
    }
}

/// What a rule looks for.
pub(crate) fn looks_for(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Words(of) => of.clone(),
        Pattern::Regex(of) => format!("/{of}/"),
        Pattern::Like(of) => format!("like \"{of}\""),
    }
}

/// A record's own line without its mark, on one line.
pub(crate) fn plain(line: &str) -> String {
    let text = line.trim_start_matches("- ").trim_start_matches("## ");
    out::clean(text.trim_end()).replace('\n', " ")
}
