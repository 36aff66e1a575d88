//! What an agent knows, through whole turns: written by tools, found again in other sessions, in the payload of the
//! model, within the budget.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;

use crate::stage::draft::{self, fact, rule};
use crate::stage::{Shown, Stage, banners};
use neap_core::base::ids::Seq;
use neap_core::base::ledger::Layer;
use neap_core::memory::knowledge::LoadCause;
use neap_core::memory::learn::{Amendment, MemoryCommand};
use neap_core::memory::{
    Author, Body, CensorAction, CensorSide, Memory, MemoryDraft, MemoryEvent, Provenance, Status,
};
use neap_core::session::event::Event;
use neap_engine::{EngineError, NullObserver, SessionOptions};
use neap_store::{MemStore, Store, StoredEvent};
use serde_json::json;

fn decision(description: &str) -> MemoryDraft {
    draft::decision(description, &[])
}

fn censor(pattern: &str, side: CensorSide, action: CensorAction) -> MemoryDraft {
    rule(pattern, side, action, "it was agreed so.")
}

async fn teach(stage: &Stage, draft: MemoryDraft) -> String {
    stage.teach(draft).await.to_string()
}

async fn events(stage: &Stage) -> Vec<Event> {
    let stored = stage.engine.store().events(stage.session.id(), Seq(1), 10_000).await.unwrap();
    stored.into_iter().filter_map(|s| if let StoredEvent::Whole(r) = s { Some(r.event) } else { None }).collect()
}

async fn agent_stage(set: &[(&str, &str)]) -> Stage {
    Stage::of_agent(Arc::new(MemStore::default()), set).await
}

/// What the model was sent last, as one text.
fn sent(stage: &Stage) -> String {
    let request = stage.model.requests().pop().unwrap();
    request.messages.iter().map(|m| format!("{}\n", m.content)).collect()
}

/// Issue, 6: tools for the model; a fact told in one session is known in another.
#[tokio::test]
async fn what_a_model_remembers_is_in_the_payload_of_another_session() {
    let store: Arc<dyn Store> = Arc::new(MemStore::default());
    let mut stage = Stage::of_agent(store.clone(), &[]).await;
    let call = json!({"kind": "fact", "subject": "Tim", "text": "Tim prefers Celsius, not Fahrenheit"});
    let reply = stage.say("I am Tim and I prefer Celsius", &[("remember", call)], "Noted.").await;
    assert_eq!(reply.refusals, Vec::<String>::new());
    assert!(banners(&reply)[0].starts_with("--- Remembered f1: Tim prefers Celsius"), "{:?}", banners(&reply));

    let id = neap_core::base::ids::SessionId::parse("another").unwrap();
    stage.session = stage.engine.resume(&id, &SessionOptions::default()).await.unwrap();
    let reply = stage.say("Which unit does Tim prefer for temperatures?", &[], "Celsius, not Fahrenheit.").await;
    assert!(sent(&stage).contains("Tim prefers Celsius"), "{}", sent(&stage));
    assert!(reply.ledger.tokens.get(Layer::Facts).0 > 0);
    // What the person said in passing is a memory, too.
    assert!(reply.ledger.memories_used.contains(&"f1".parse().unwrap()), "the reply says what the fact says");
}

/// Issue: every injected layer reaches the model's payload.
#[tokio::test]
async fn every_layer_reaches_the_final_request() {
    let mut stage = agent_stage(&[]).await;
    teach(&stage, decision("Chose Postgres with pgvector for storage of newton")).await;
    teach(&stage, fact("Redis", "Redis for caching adds a separate service to manage")).await;
    let patterns = ["Evaluate two alternatives for storage and caching with Redis"];
    teach(&stage, draft::procedure("Storage decision", &patterns)).await;
    let mut standing = fact("answers", "Always answer in metric units");
    standing.pinned = true;
    teach(&stage, standing).await;
    teach(&stage, censor("drop table", CensorSide::Output, CensorAction::Refuse)).await;
    let reply = stage.say("Should we use Redis for caching and storage in newton?", &[], "Let me think.").await;
    let sent = sent(&stage);
    for (layer, text) in [
        (Layer::Profile, "Always answer in metric units"),
        (Layer::Censors, "drop table"),
        (Layer::Frame, "## Current Approach: Decision"),
        (Layer::Focus, "## Current Focus"),
        (Layer::Decisions, "Chose Postgres with pgvector"),
        (Layer::Facts, "Redis for caching adds a separate service"),
        (Layer::Procedures, "Storage decision"),
    ] {
        assert!(sent.contains(text), "{layer:?} is missing:\n{sent}");
        assert!(reply.ledger.tokens.get(layer).0 > 0, "{layer:?} pays for it");
    }
    assert!(reply.ledger.tokens.total() <= reply.ledger.budget);
}

/// An agent that knows nothing costs nothing but its two writing tools.
#[tokio::test]
async fn an_agent_that_knows_nothing_adds_nothing_to_the_context() {
    let mut stage = agent_stage(&[]).await;
    let reply = stage.say("Should we use Redis?", &[], "It depends.").await;
    assert!(Layer::ALL.into_iter().filter(|l| l.is_memory()).all(|l| reply.ledger.tokens.get(l).0 == 0));
    let request = stage.model.requests().pop().unwrap();
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).skip(9).collect();
    assert_eq!(names, ["remember", "record_decision"]);
    assert!(!events(&stage).await.iter().any(|e| matches!(e, Event::Memory(MemoryEvent::Loaded { .. }))));
}

/// Issue, 1: supersession with evidence, dependency flags, undo.
#[tokio::test]
async fn a_newer_value_takes_the_place_of_the_old_and_what_rested_on_it_is_flagged() {
    let mut stage = agent_stage(&[]).await;
    let old = teach(&stage, fact("billing timeout", "The billing timeout is 30 seconds")).await;
    let mut rests = decision("Retry billing after a minute");
    let Body::Decision(body) = &mut rests.body else { unreachable!() };
    body.rests_on = vec![old.parse().unwrap()];
    let resting = teach(&stage, rests).await;
    let new = teach(&stage, fact("billing timeout", "The billing timeout is 45 seconds")).await;
    let mut agent = stage.engine.agent().await.unwrap().unwrap();
    let get = |id: &str| id.parse().unwrap();
    assert_eq!(agent.get(get(&old)).await.unwrap().unwrap().status, Status::Superseded);
    assert_eq!(agent.get(get(&resting)).await.unwrap().unwrap().shaken_by, vec![get(&old)]);
    stage.say("What is the billing timeout?", &[], "45 seconds.").await;
    assert!(sent(&stage).contains("45 seconds") && !sent(&stage).contains("30 seconds"));

    let undo = MemoryCommand::Amend {
        id: get(&new),
        how: neap_core::memory::learn::Amendment::Undo,
        by: Provenance::from_author(Author::Person),
    };
    agent.run_command(undo).await.unwrap();
    assert_eq!(agent.get(get(&old)).await.unwrap().unwrap().status, Status::New, "it holds again");
    assert_eq!(
        agent.get(get(&resting)).await.unwrap().unwrap().shaken_by,
        vec![],
        "and what rests on it is sound"
    );
    assert_eq!(agent.get(get(&new)).await.unwrap().unwrap().status, Status::Inactive);
}

/// Each call of a host that never has a turn is an occasion of its own; in a turn, a fact is confirmed once.
#[tokio::test]
async fn a_host_that_only_calls_tools_confirms_facts_and_a_turn_confirms_once() {
    let mut stage = agent_stage(&[]).await;
    let told = json!({"kind": "fact", "text": "Tim prefers Celsius"});
    stage.call("remember", told.clone()).await;
    stage.call("remember", told).await;
    stage.call("confirm_fact", json!({"id": "f1"})).await;
    let memory = get(&stage, "f1").await;
    let Body::Fact(fact) = &memory.body else { panic!("{memory:?}") };
    assert_eq!((fact.confirmations, memory.provenance.turn), (2, None));
    let calls = [("confirm_fact", json!({"id": "f1"})), ("confirm_fact", json!({"id": "f1"}))];
    stage.say("Does he still?", &calls, "He does.").await;
    let Body::Fact(fact) = get(&stage, "f1").await.body else { panic!("a fact") };
    assert_eq!(fact.confirmations, 3);
}

async fn get(stage: &Stage, id: &str) -> Memory {
    let agent = stage.engine.agent().await.unwrap().unwrap();
    agent.get(id.parse().unwrap()).await.unwrap().unwrap()
}

/// Refuse blocks the answer with the reason for the model to read; nobody sees the refused words.
#[tokio::test]
async fn a_refused_answer_is_asked_for_again_and_at_last_withheld() {
    let mut stage = agent_stage(&[]).await;
    teach(&stage, censor("drop table", CensorSide::Output, CensorAction::Refuse)).await;
    stage.model.push_turn(Vec::<(String, String)>::new(), "Just DROP the TABLE.");
    stage.model.push_turn(Vec::<(String, String)>::new(), "Archive it instead.");
    let mut heard = Shown::default();
    let reply = stage.session.turn(Author::Person, "How do I get rid of it?", &mut heard).await.unwrap();
    assert_eq!((reply.text.as_str(), heard.0.as_str()), ("Archive it instead.", "Archive it instead."));
    assert!(sent(&stage).contains("it was agreed so."), "the model reads the reason");
    assert!(
        events(&stage)
            .await
            .iter()
            .any(|e| matches!(e, Event::Memory(MemoryEvent::CensorTriggered { side: CensorSide::Output, .. })))
    );

    for _ in 0..3 {
        stage.model.push_turn(Vec::<(String, String)>::new(), "drop that table");
    }
    let reply = stage.session.turn(Author::Person, "And now?", &mut NullObserver).await.unwrap();
    assert_eq!(reply.text, "", "a remark of ours is no word of a model's");
    assert!(reply.display_text().contains("withheld by rule c1"), "{}", reply.display_text());
    let agent = stage.engine.agent().await.unwrap().unwrap();
    let rule = agent.get("c1".parse().unwrap()).await.unwrap().unwrap();
    let Body::Censor(rule) = rule.body else { unreachable!() };
    assert_eq!(rule.triggers, 2, "once a turn");
}

/// Issue, 5: a tool call is blocked, the model reads why; only a person's rule ends a turn.
#[tokio::test]
async fn tool_calls_are_refused_and_only_a_persons_rule_ends_a_turn() {
    let mut stage = agent_stage(&[]).await;
    teach(&stage, censor("secret project", CensorSide::ToolCall, CensorAction::Refuse)).await;
    let reply = stage.say("open it", &[("open_effort", json!({"name": "secret project"}))], "I may not.").await;
    assert!(reply.refusals[0].contains("Rule c1 refuses this"), "{:?}", reply.refusals);
    assert_eq!(stage.open(), Vec::<&str>::new());

    teach(&stage, censor("launch codes", CensorSide::Input, CensorAction::Abort)).await;
    let error = stage.try_say("tell me the launch codes", &[], "never said").await.unwrap_err();
    assert!(matches!(error, EngineError::NoReply { .. }), "{error}");
    assert!(error.to_string().contains("rule c2"), "{error}");
    stage.model.push_turn(Vec::<(String, String)>::new(), "unused");

    // A model's rule refuses at most, whatever it asks for.
    let mut stage = agent_stage(&[]).await;
    let call = json!({"kind": "censor", "text": "zebra crossing", "reason": "no zebras.", "side": "input", "action": "abort"});
    let reply = stage.say("no zebras please", &[("remember", call)], "Right.").await;
    assert_eq!(reply.refusals, Vec::<String>::new());
    let reply = stage.say("where is the zebra crossing?", &[], "Over there.").await;
    assert_eq!(reply.text, "Over there.");
}

/// 003, Context Refresh: frame switch and new information refresh; a follow-up does not.
#[tokio::test]
async fn memories_are_chosen_anew_when_the_frame_or_the_topic_changes() {
    let mut stage = agent_stage(&[]).await;
    for n in 0..4 {
        teach(
            &stage,
            fact("deployment", &format!("Deployment step {n} of the billing service runs in cluster {n}")),
        )
        .await;
    }
    teach(&stage, fact("garden", "Tomatoes in the garden need water every morning")).await;
    stage.say("How does the deployment of the billing service run in the cluster?", &[], "In steps.").await;
    stage.say("and the second one?", &[], "In cluster 2.").await;
    stage.say("Should we choose another cluster for the deployment of the billing service?", &[], "No.").await;
    stage.say("should the tomatoes in the garden get water?", &[], "Yes.").await;
    let causes: Vec<LoadCause> = events(&stage)
        .await
        .into_iter()
        .filter_map(|event| {
            if let Event::Memory(MemoryEvent::Loaded { loaded, .. }) = event { Some(loaded.cause) } else { None }
        })
        .collect();
    assert_eq!(causes, [LoadCause::First, LoadCause::FrameChanged, LoadCause::NewTopic]);
}

/// Decision 16: between two rewritings the prompt only grows, whatever is recalled.
#[tokio::test]
async fn recalled_memories_join_a_growing_prompt_at_its_end() {
    let mut stage = agent_stage(&[("epoch", "by-cost")]).await;
    teach(&stage, fact("garden", "Tomatoes in the garden need water every morning")).await;
    teach(&stage, fact("billing", "The billing service runs in the northern cluster")).await;
    stage.say("Where does the billing service run?", &[], "In the northern cluster.").await;
    stage.say("should the tomatoes in the garden get water?", &[], "Yes, every morning.").await;
    let requests = stage.model.requests();
    let (first, second) = (&requests[0].messages, &requests[1].messages);
    assert_eq!(first[..], second[..first.len()], "a prefix of the next");
    let text = |from: usize| second[from..].iter().map(|m| format!("{}\n", m.content)).collect::<String>();
    assert!(text(first.len()).contains("Tomatoes in the garden"), "{}", text(0));
    assert!(!first[0].content.contains("Tomatoes"));
}

/// A stale commit of the session does not teach the agent twice.
#[tokio::test]
async fn a_write_happens_once_though_the_session_is_decided_again() {
    let store: Arc<dyn Store> = Arc::new(MemStore::default());
    let mut stage = Stage::of_agent(store.clone(), &[]).await;
    stage.say("hello there", &[], "Hello.").await;
    let other = stage.engine.attach(stage.session.id()).await.unwrap();
    drop(other);
    let call = json!({"kind": "fact", "subject": "sky", "text": "The sky over Oslo is often grey"});
    // Another process speaks while ours is at it.
    let rival = Stage::of_agent(store.clone(), &[]).await;
    let mut rival = rival;
    rival.say("hello again", &[], "Again.").await;
    let reply = stage.say("remember the sky", &[("remember", call)], "Done.").await;
    assert_eq!(reply.refusals, Vec::<String>::new());
    let agent = stage.engine.agent().await.unwrap().unwrap();
    assert_eq!(agent.history("f1".parse().unwrap()).await.unwrap().len(), 1);
    assert_eq!(agent.list(None, None, 10).await.unwrap().len(), 1);
}

/// I1: memories never push a context over its budget, however small that is.
#[tokio::test]
async fn a_small_budget_holds_with_a_large_memory() {
    for budget in ["1_600", "2_500", "6_000"] {
        let mut stage = agent_stage(&[("context_tokens_max", budget)]).await;
        for n in 0..40 {
            let text = format!("Fact {n} about the billing service: it keeps ledger {n} in room {}", n * 7);
            teach(&stage, fact(&format!("billing ledger {n}"), &text)).await;
        }
        let long = "what about the billing service and its ledger? ".repeat(60);
        let reply = stage.say(&long, &[], "Well.").await;
        assert!(reply.ledger.tokens.total() <= reply.ledger.budget, "{budget}");
        // What was learnt brings more tools; the session opens again all the same.
        stage.restart().await;
        stage.say("and the billing service?", &[], "Still there.").await;
    }
}

/// The built-in model answers from what the agent knows, in a prompt written anew and in one that grew.
#[tokio::test]
async fn the_offline_model_quotes_what_the_agent_knows() {
    let store: Arc<dyn Store> = Arc::new(MemStore::default());
    let stage = Stage::of_agent(store.clone(), &[]).await;
    teach(&stage, fact("Tim", "Tim prefers Celsius for temperatures")).await;
    teach(&stage, fact("garden", "Tomatoes in the garden need water every morning")).await;
    let agent = neap_core::base::ids::AgentId::from_name("newton").unwrap();
    let engine = neap_engine::Engine::builder(store).agent(agent, Default::default()).build();
    let id = neap_core::base::ids::SessionId::parse("offline").unwrap();
    let mut session = engine.resume(&id, &SessionOptions::default()).await.unwrap();
    let reply =
        session.turn(Author::Person, "Which temperatures does Tim prefer?", &mut NullObserver).await.unwrap();
    assert!(reply.text.contains("From memory:\n> f1 Tim prefers Celsius"), "{}", reply.text);
    let reply =
        session.turn(Author::Person, "Do tomatoes in the garden need water?", &mut NullObserver).await.unwrap();
    assert!(reply.text.contains("Tomatoes in the garden need water every morning"), "{}", reply.text);
}

/// Issue, 1: a model's wording where one is configured, off the reply's path; one that changes a value is refused.
#[tokio::test]
async fn a_configured_summariser_words_long_records_in_upkeep() {
    for (wording, is_taken) in
        [("Chose Postgres for the ledger of 12 regions.", true), ("Chose Postgres for 99 regions.", false)]
    {
        let store: Arc<dyn Store> = Arc::new(MemStore::default());
        let agent = neap_core::base::ids::AgentId::from_name("newton").unwrap();
        let summarizer = Arc::new(neap_model::scripted::ScriptedSummarizer::always(wording));
        let engine = neap_engine::Engine::builder(store)
            .model(Arc::new(neap_model::scripted::ScriptedModel::new()))
            .summarizer(summarizer)
            .agent(agent, Default::default())
            .build();
        let mut long = decision("Chose Postgres for the ledger of 12 regions");
        let Body::Decision(body) = &mut long.body else { unreachable!() };
        body.context = "The ledger of all regions was kept in files that nobody could search. ".repeat(12);
        let mut memory = engine.agent().await.unwrap().unwrap();
        memory.run_command(MemoryCommand::Remember(Box::new(long))).await.unwrap();
        let id = neap_core::base::ids::SessionId::parse("words").unwrap();
        let mut session = engine.resume(&id, &SessionOptions::default()).await.unwrap();
        session.run_upkeep().await.unwrap();
        let kept = memory.history("d1".parse().unwrap()).await.unwrap();
        assert_eq!(kept.len() == 2, is_taken, "{:?}", kept.last().unwrap().memory.lines);
    }
}

/// What is said beside a tool call is checked as well, and a turn that a rule ended is not shown again.
#[tokio::test]
async fn no_word_passes_a_rule_beside_a_call_or_in_a_later_turn() {
    let mut stage = agent_stage(&[]).await;
    teach(&stage, censor("secret x", CensorSide::Output, CensorAction::Refuse)).await;
    stage.model.push(neap_core::turn::ModelReply {
        text: "It is secret x.".into(),
        calls: vec![neap_core::base::message::ToolCall {
            id: "c1".into(),
            name: "effort_status".into(),
            arguments: "{}".into(),
        }],
        is_truncated: false,
    });
    stage.model.push_turn(Vec::<(String, String)>::new(), "Done.");
    let mut heard = Shown::default();
    let reply = stage.session.turn(Author::Person, "what is it?", &mut heard).await.unwrap();
    assert_eq!((reply.text.as_str(), heard.0.as_str()), ("Done.", "Done."));

    teach(&stage, censor("launch codes", CensorSide::Input, CensorAction::Abort)).await;
    stage.session.turn(Author::Person, "give me the launch codes", &mut NullObserver).await.unwrap_err();
    stage.say("go on", &[], "With what?").await;
    assert!(!sent(&stage).contains("give me the launch codes"), "{}", sent(&stage));
    assert!(sent(&stage).contains("§[Withheld by rule c2]"), "{}", sent(&stage));
}

/// docs/decisions/0006-trust.md: a model's request to have a memory always loaded is a proposal. It has no effect until a person accepts it.
#[tokio::test]
async fn a_models_standing_rule_waits_for_a_person() {
    let mut stage = agent_stage(&[]).await;
    let mut mine = fact("answers", "Answer in metric units");
    mine.pinned = true;
    teach(&stage, mine).await;
    let call = json!({"kind": "fact", "subject": "style", "text": "The user likes terse answers", "always": true});
    let reply = stage.say("Hello", &[("remember", call)], "Noted.").await;
    assert_eq!(
        banners(&reply),
        ["--- Proposed, until a person accepts it, f2: style: The user likes terse answers (model) ---"]
    );
    stage.say("Tell me about the weather in Bergen", &[], "Rain.").await;
    let system = stage.model.requests().pop().unwrap().messages[0].content.to_string();
    assert!(!system.contains("metric units"), "what is stored is no system text: {system}");
    assert!(sent(&stage).contains("## Preferences and Rules\n- f1 answers: Answer in metric units (person"));
    assert!(!sent(&stage).contains("terse answers"), "{}", sent(&stage));
    let (id, by) = ("f2".parse().unwrap(), Provenance::from_author(Author::Person));
    stage.agent().await.run_command(MemoryCommand::Amend { id, how: Amendment::Confirm, by }).await.unwrap();
    stage.say("And in Oslo, will it be sunny?", &[], "Sun.").await;
    assert!(sent(&stage).contains("- f2 style: The user likes terse answers (model"), "{}", sent(&stage));
}

/// Rules that are made while a prompt grows reach the model at its end; a superseded fact is replaced there.
#[tokio::test]
async fn what_changes_while_a_prompt_grows_is_told_at_its_end() {
    let mut stage = agent_stage(&[("epoch", "by-cost")]).await;
    teach(&stage, fact("billing timeout", "The billing timeout is 30 seconds")).await;
    stage.say("What is the billing timeout?", &[], "30 seconds.").await;
    teach(&stage, fact("billing timeout", "The billing timeout is 45 seconds")).await;
    let mut standing = fact("answers", "Answer in metric units");
    standing.pinned = true;
    teach(&stage, standing).await;
    stage.say("And the billing timeout today?", &[], "45 seconds.").await;
    let requests = stage.model.requests();
    let (first, second) = (&requests[0].messages, &requests[1].messages);
    assert_eq!(first[..], second[..first.len()], "a prefix of the next");
    let added: String = second[first.len()..].iter().map(|m| format!("{}\n", m.content)).collect();
    assert!(added.contains("45 seconds") && added.contains("Answer in metric units"), "{added}");
}

/// A budget that holds the first tools holds the session, whatever its agent learns later.
#[tokio::test]
async fn a_session_that_opens_goes_on_though_its_agent_learns() {
    let mut stage = agent_stage(&[("context_tokens_max", "1_750")]).await;
    for n in 0..3 {
        teach(&stage, fact(&format!("topic {n}"), &format!("Fact number {n} is about apples in barn {n}"))).await;
    }
    stage.restart().await;
    let reply = stage.say("hello", &[], "Hello.").await;
    assert!(reply.ledger.tokens.total() <= reply.ledger.budget);
}

/// What an agent knows is sent whatever is saved on the conversation: it is no saving and no loss.
#[tokio::test]
async fn memories_do_not_count_against_what_is_saved() {
    for epoch in ["every-turn", "by-cost"] {
        let mut stage = agent_stage(&[("epoch", epoch)]).await;
        teach(&stage, fact("billing timeout", "The billing timeout is 30 seconds")).await;
        for _ in 0..2 {
            let reply = stage.say("What is the billing timeout?", &[], "30 seconds.").await;
            let (sent, naive) = (reply.ledger.tokens.total(), reply.ledger.naive_tokens);
            assert!(reply.ledger.tokens.get(Layer::Facts).0 > 0);
            assert_eq!(sent, naive, "{epoch}: nothing was left out");
        }
    }
}
