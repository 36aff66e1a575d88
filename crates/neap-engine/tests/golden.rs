//! What the model sees, as files: a change of a prompt or of the order shows in review.

#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;

use crate::stage::Stage;
use crate::stage::draft::{censor, decision, episode, fact, procedure};
use neap_core::base::ids::AgentId;
use neap_core::base::message::Role;
use neap_core::base::prompt;
use neap_core::memory::CensorSide;
use neap_core::memory::knowledge::{AgentProfile, Placement};
use neap_core::turn::ModelRequest;
use neap_store::MemStore;
use serde_json::json;

const AUTH: &str = "Users get a 401, because the refresh token in src/auth/refresh.ts expired after 3600 seconds.";

/// A request as a page: every message with its role, calls included.
fn page(request: &ModelRequest) -> String {
    let mut out = String::new();
    for message in &request.messages {
        out.push_str(&format!("── {}", message.role.as_str()));
        for call in &message.tool_calls {
            out.push_str(&format!(" calls {} {}({})", call.id, call.name, call.arguments));
        }
        if let Some(id) = &message.tool_call_id {
            out.push_str(&format!(" answers {id}"));
        }
        out.push_str(&format!("\n{}\n", message.content.trim_end()));
    }
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    out.push_str(&format!("── tools {}\n", tools.join(" ")));
    out
}

/// The order of the context: every layer at once, and a tool round of this turn.
#[tokio::test]
async fn a_context_with_every_layer() {
    let mut stage = Stage::new().await;
    stage.say("Good morning!", &[], "Good morning.").await;
    stage.concluded("auth-bug", AUTH).await;
    stage.concluded("trip", "We sail from Kiel to Copenhagen in July with the boat Havhest, 2150 euros.").await;
    stage.say("The docs need work.", &[("open_effort", json!({"name": "docs"}))], "Which part?").await;
    stage
        .say("Let's build guilds.", &[("open_effort", json!({"name": "Guild Feature"}))], "Members, ranks?")
        .await;
    stage.say("How was it with auth-bug?", &[("expand_effort", json!({"id": "auth-bug"}))], "As above.").await;
    insta::assert_snapshot!(page(&stage.model.requests().pop().unwrap()));
}

/// A log that was too long for its room: older spans in short, newest exchanges raw, an idle effort in short.
#[tokio::test]
async fn a_context_in_windows() {
    let mut stage = Stage::with(&[("context_tokens_max", "1400"), ("open_raw_max", "1")]).await;
    let docs =
        "The docs of the API need a page on rate limits: 120 requests a minute, then a 429 with Retry-After. ";
    stage.say(&docs.repeat(3), &[("open_effort", json!({"name": "docs"}))], "A page on limits, then.").await;
    stage.say("Let's also fix the tests.", &[("open_effort", json!({"name": "tests"}))], "Which fail?").await;
    stage.say("Let's debug the importer.", &[("open_effort", json!({"name": "importer"}))], "Which error?").await;
    for n in 1..=24 {
        let said = format!(
            "Run {n} failed in src/import/row.rs:{} after {}s: E{} on row {}.",
            n * 7,
            n * 3,
            400 + n,
            n * 1_000
        );
        stage.say(&said, &[], &format!("Then we will try batch size {}, because memory was short.", 64 * n)).await;
    }
    insta::assert_snapshot!(page(&stage.model.requests().pop().unwrap()));
}

/// docs/decisions/0002-windows.md: a prompt that has grown: effort tools stay where they were called, what was brought back
/// stands at the end.
#[tokio::test]
async fn a_prompt_that_has_grown() {
    let mut stage = Stage::with(&[("epoch", "by-cost"), ("summary_eviction_threshold", "2")]).await;
    stage.concluded("auth-bug", AUTH).await;
    stage.concluded("trip", "We sail from Kiel to Copenhagen in July with the boat Havhest, 2150 euros.").await;
    stage.chatter().await;
    stage.chatter().await;
    stage.restart().await;
    stage.say("Good morning!", &[], "Good morning.").await;
    stage.say("What did auth-bug come to?", &[], "Let me look.").await;
    stage.say("Please do.", &[("expand_effort", json!({"id": "auth-bug"}))], "An expired refresh token.").await;
    stage.say("And now the docs.", &[("open_effort", json!({"name": "docs"}))], "Which part?").await;
    insta::assert_snapshot!(page(&stage.model.requests().pop().unwrap()));
}

/// The first request of a session: this is all that Neap adds to a message.
#[tokio::test]
async fn the_first_context() {
    let mut stage = Stage::new().await;
    stage.say("Hello!", &[], "Hi.").await;
    insta::assert_snapshot!(page(&stage.model.requests().pop().unwrap()));
}

/// A log and a message over their room, and evicted efforts.
#[tokio::test]
async fn a_context_under_pressure() {
    let mut stage = Stage::with(&[("context_tokens_max", "1000"), ("summary_eviction_threshold", "2")]).await;
    stage.concluded("auth-bug", AUTH).await;
    stage.say("Let's write.", &[("open_effort", json!({"name": "novel"}))], "Chapter one.").await;
    for n in 1..=12 {
        stage.say(&format!("Page {n}: {}", "it was a dark and stormy night, ".repeat(8)), &[], "Go on.").await;
    }
    let long: String = (1..=300).map(|n| format!("line {n} of the long part. ")).collect();
    stage.say(&long, &[], "Long.").await;
    insta::assert_snapshot!(page(&stage.model.requests().pop().unwrap()));
}

const IDENTITY: &str = "You are Newton, who looks after the services of a small team.";

/// Somebody who knows a few things.
async fn newton(set: &[(&str, &str)], placement: Placement) -> Stage {
    let outlook = AgentProfile { identity: IDENTITY.into(), placement, ..AgentProfile::default() };
    let agent = AgentId::from_name("newton").unwrap();
    let store = Arc::new(MemStore::default());
    let mut stage = Stage::built(store, set, |builder| builder.agent(agent, outlook)).await;
    let mut rule = fact("answers", "Always answer in metric units");
    rule.pinned = true;
    stage.teach(rule).await;
    stage.teach(censor("drop table", CensorSide::Output, "Tables are archived, never dropped.")).await;
    stage.came_out_well(&["Kept the queue", "Moved the docs", "Froze the API", "Split the importer"]).await;
    stage.came_out_well(&["Chose Postgres with pgvector for storage and caching"]).await;
    let reason = "A second store doubled the operational work last year";
    stage.teach(decision("Cache sessions in Postgres, not in Redis", &[reason])).await;
    stage.teach(fact("Redis", "Redis for caching adds a separate service to manage")).await;
    stage.teach(fact("garden", "Tomatoes in the garden need water every morning")).await;
    let patterns = ["Evaluate two alternatives for storage and caching", "Measure before adding a service"];
    stage.teach(procedure("Storage decision", &patterns)).await;
    stage.teach(episode("Redis filled its memory and caching stopped", "It was a Tuesday.")).await;
    stage.restart().await;
    stage
}

/// 003, Step 6: everything that an agent may know, in its place.
#[tokio::test]
async fn a_context_with_memories() {
    let mut stage = newton(&[], Placement::System).await;
    stage.concluded("auth-bug", AUTH).await;
    stage.say("Should we use Redis for caching and storage?", &[], "Not yet.").await;
    insta::assert_snapshot!(page(&stage.model.requests().pop().unwrap()));
}

/// Where the system text is not ours, what is known stands at the end, marked as data.
#[tokio::test]
async fn a_context_with_memories_at_its_end() {
    let mut stage = newton(&[], Placement::Tail).await;
    stage.say("Should we use Redis for caching and storage?", &[], "Not yet.").await;
    insta::assert_snapshot!(page(&stage.model.requests().pop().unwrap()));
}

/// docs/decisions/0003-memories.md: a topic comes up while a prompt grows, and its memories join at the end.
#[tokio::test]
async fn a_prompt_that_has_grown_with_memories() {
    let mut stage = newton(&[("epoch", "by-cost")], Placement::System).await;
    stage.say("Should we use Redis for caching and storage?", &[], "Not yet.").await;
    stage.say("Do the tomatoes in the garden need water every day?", &[], "Every morning.").await;
    insta::assert_snapshot!(page(&stage.model.requests().pop().unwrap()));
}

/// A rule refuses an answer: the model reads why, and answers again.
#[tokio::test]
async fn a_refused_answer_asked_again() {
    let mut stage = newton(&[], Placement::System).await;
    stage.model.push_turn(Vec::<(String, String)>::new(), "Drop the table.");
    stage.say("How do I get rid of the old sessions?", &[], "Archive them.").await;
    let request = stage.model.requests().pop().unwrap();
    let from = request.messages.iter().position(|message| message.role == Role::User).unwrap();
    insta::assert_snapshot!(page(&ModelRequest { messages: request.messages[from..].to_vec(), ..request }));
}

/// The schemas, as they are sent.
#[test]
fn the_tool_schemas() {
    for (name, text) in [("the_tool_schemas", prompt::TOOLS), ("the_memory_tool_schemas", prompt::MEMORY_TOOLS)] {
        let tools: serde_json::Value = serde_json::from_str(text).unwrap();
        let lines: Vec<String> = tools.as_array().unwrap().iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(name, lines.join("\n"));
    }
}
