//! Models that write calls as text, and windows in which Neap's own text must be short.

use std::collections::BTreeSet;
use std::sync::Arc;

use neap_core::base::ids::AgentId;
use neap_core::base::ledger::Layer;
use neap_core::base::message::{Incomplete, Role, ToolCall};
use neap_core::base::tokens::Tokens;
use neap_core::context::tools::ToolSpec;
use neap_core::memory::knowledge::AgentProfile;
use neap_engine::{Author, EngineBuilder, HostTools, NullObserver, ToolAnswer};
use neap_store::MemStore;
use serde_json::json;

use crate::stage::{Shown, Stage, banners};

/// A budget of 3,000 tokens, as a window of 4,096 leaves.
const SMALL: &[(&str, &str)] = &[("context_tokens_max", "3000")];

#[tokio::test]
async fn a_call_that_is_written_as_text_is_run_and_nobody_sees_it() {
    for written in [
        r#"{"name": "open_effort", "arguments": {"name": "auth bug"}}"#,
        "<tool_call>\n{\"name\": \"open_effort\", \"arguments\": {\"name\": \"auth bug\"}}\n</tool_call>",
    ] {
        let mut stage = Stage::with(SMALL).await;
        let none = Vec::<(String, String)>::new;
        stage.model.push_turn(none(), written);
        stage.model.push_turn(none(), "Let us look at it.");
        let mut shown = Shown::default();
        let reply =
            stage.session.turn(Author::Person, "There is a bug in auth.", &mut shown).await.expect("a reply");
        assert_eq!((reply.text.as_str(), shown.0.as_str()), ("Let us look at it.", "Let us look at it."));
        assert_eq!(stage.active(), Some("auth-bug"));
        let asked = stage.model.requests().pop().expect("it was asked again").messages;
        let has_call =
            asked.iter().any(|message| message.role == Role::Assistant && !message.tool_calls.is_empty());
        assert!(has_call, "it reads its call as a call: {asked:?}");
        assert!(!asked.iter().any(|message| message.content.contains("tool_call")), "and nowhere as text");
    }
}

#[tokio::test]
async fn json_that_is_an_answer_is_an_answer() {
    let mut stage = Stage::with(SMALL).await;
    let answer = r#"{"name": "Ann", "age": 3}"#;
    stage.model.push_turn(Vec::<(String, String)>::new(), answer);
    let mut shown = Shown::default();
    let reply = stage.session.turn(Author::Person, "As JSON, please", &mut shown).await.expect("a reply");
    assert_eq!((reply.text.as_str(), shown.0.as_str()), (answer, answer));
}

/// Rules, note and tools of a small window, with memories and without.
#[tokio::test]
async fn in_a_small_window_our_own_text_is_short() {
    let store = || Arc::new(MemStore::default());
    for mut stage in [Stage::on(store(), SMALL).await, Stage::of_agent(store(), SMALL).await] {
        let context = stage.context().await;
        let own = [Layer::Protocol, Layer::Note, Layer::Tools].map(|layer| context.ledger.tokens.get(layer));
        assert!(own.iter().copied().sum::<Tokens>() <= Tokens(600), "{own:?}");
        stage.say("Remember that.", &[], "I will.").await;
    }
}

/// What is offered follows the budget, in both directions, in one conversation.
#[tokio::test]
async fn the_tools_follow_the_budget() {
    let mut stage = Stage::with(&[]).await;
    let mut offered = Vec::new();
    for budget in ["16000", "3000", "16000"] {
        stage.session.set("context_tokens_max", budget).await.expect("it is set");
        stage.model.push_turn(Vec::<(String, String)>::new(), "Yes.");
        stage.session.turn(Author::Person, "And now?", &mut NullObserver).await.expect("a reply");
        offered.push(stage.model.requests().pop().expect("a request").tools.len());
    }
    assert!(offered[1] < offered[0] && offered[0] == offered[2], "{offered:?}");
}

/// A model that calls nothing, in a small window, with a memory.
async fn mute(budget: &str) -> Stage {
    let set = [("context_tokens_max", budget), ("epoch", "by-cost")];
    let agent = AgentId::from_name("newton").expect("a name");
    let built = |builder: EngineBuilder| builder.agent(agent, AgentProfile::default()).keep_efforts_by_rule();
    Stage::built(Arc::new(MemStore::default()), &set, built).await
}

/// What a person asked to be remembered is in every request from then on, however often the prompt is rewritten, and
/// whatever the talk is about. The model never calls `remember`.
#[tokio::test]
async fn what_a_person_asked_to_be_remembered_is_in_every_request() {
    let facts = [
        (
            "Remember: the staging database is called heron-42 and listens on port 6432.",
            "heron-42 and listens on port 6432",
        ),
        ("Thanks! Don't forget that Maria is on leave until 3 March.", "Maria is on leave until 3 March"),
        ("Our archive bucket is cold-west-3. Remember that.", "Our archive bucket is cold-west-3"),
        ("For future reference, the grant number is NWO-8841.", "the grant number is NWO-8841"),
    ];
    for (at, (said, words)) in facts.into_iter().enumerate() {
        let mut stage = mute("3000").await;
        let mut rewrites = BTreeSet::new();
        for turn in 0..45_usize {
            let text = match turn {
                turn if turn == 2 + at => said.to_owned(),
                turn if turn % 11 == 3 => "Users get a 401 an hour after login. I want to fix that.".to_owned(),
                turn if turn % 11 == 9 => "That fixed it, we are done with this.".to_owned(),
                turn => format!(
                    "In step {turn} the query reads {turn}00 rows. {}",
                    "It scans the whole table. ".repeat(8)
                ),
            };
            let reply =
                stage.say(&text, &[], &format!("I see, {turn}. {}", "That is a lot of rows. ".repeat(12))).await;
            rewrites.extend(reply.ledger.epoch_since);
            let sent = stage.model.requests().pop().expect("a request");
            let has_fact = sent.messages.iter().any(|message| message.content.contains(words));
            assert!(has_fact || turn < 2 + at, "{words}: not in turn {turn}");
        }
        assert!(rewrites.len() >= 4, "the prompt was rewritten: {rewrites:?}");
    }
}

/// A model that calls `remember` for it, in the same words or its own: one memory, in force.
#[tokio::test]
async fn what_a_model_remembers_too_is_one_memory() {
    let said = "Remember: the staging database is called heron-42 and listens on port 6432.";
    for (subject, content) in [
        ("", "the staging database is called heron-42 and listens on port 6432."),
        ("staging database", "The staging database is called heron-42 and listens on port 6432."),
        ("staging database", "Its name is heron-42, and the port is 6432."),
        ("", "Staging DB: heron-42, port 6432"),
    ] {
        let mut stage = mute("6000").await;
        let call = ("remember", json!({"kind": "fact", "subject": subject, "text": content}));
        let reply = stage.say(said, &[call], "I will.").await;
        assert_eq!(reply.refusals, Vec::<String>::new());
        let agent = stage.engine.agent().await.expect("it is read").expect("an agent");
        let all = agent.list(None, None, 9).await.expect("memories");
        let current: Vec<_> = all.iter().filter(|memory| memory.status.is_current()).collect();
        let of =
            |memory: &&neap_core::memory::Memory| (memory.content(), memory.pinned && memory.is_person_approved());
        let shown: Vec<_> = current.iter().map(of).collect();
        assert!(matches!(&shown[..], [(text, true)] if text.contains("heron-42")), "{content}: {shown:?}");
    }
}

/// Calls of tools that do not exist are no reply: nobody sees them, nothing keeps them, and the model is asked once more,
/// without tools.
#[tokio::test]
async fn a_reply_of_nothing_but_unknown_calls_is_asked_for_again() {
    let none = Vec::<(String, String)>::new;
    for written in [
        r#"{"name": "no tool"}"#,
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Li",
        r#"{"name": "fix_login", "parameters": {}}"#,
    ] {
        let mut stage = mute("3000").await;
        stage.model.push_turn(none(), written);
        stage.model.push_turn(none(), "It rains.");
        let mut shown = Shown::default();
        let reply = stage.session.turn(Author::Person, "How is the weather?", &mut shown).await.expect("a reply");
        assert_eq!((reply.text.as_str(), shown.0.as_str(), reply.tool_calls), ("It rains.", "It rains.", 0));
        let tools: Vec<usize> = stage.model.requests().iter().map(|request| request.tools.len()).collect();
        assert!(matches!(tools[..], [offered, 0] if offered > 0), "{tools:?}");
        // The same again is no answer, and the next turn offers tools again.
        stage.model.push_turn(none(), written);
        stage.model.push_turn(none(), written);
        let mut shown = Shown::default();
        let reply = stage.session.turn(Author::Person, "And now?", &mut shown).await.expect("a reply");
        assert_eq!((reply.text.as_str(), shown.0.as_str()), ("", ""));
        assert_eq!(reply.incomplete, Some(Incomplete::NoAnswer));
        stage.say("Thanks.", &[], "You are welcome.").await;
        let last = stage.model.requests().pop().expect("a request");
        assert!(!last.tools.is_empty() && !format!("{:?}", last.messages).contains(&written[..16]));
    }
}

/// Who asks for JSON gets it, also where it looks like a call.
#[tokio::test]
async fn json_that_was_asked_for_is_shown() {
    let mut stage = mute("3000").await;
    let answer = r#"{"name": "get_weather", "arguments": {"city": "Lima"}}"#;
    stage.model.push_turn(Vec::<(String, String)>::new(), answer);
    let mut shown = Shown::default();
    let asked = "Write me the JSON of a call of get_weather for Lima.";
    let reply = stage.session.turn(Author::Person, asked, &mut shown).await.expect("a reply");
    assert_eq!((reply.text.as_str(), shown.0.as_str()), (answer, answer));
}

/// Once efforts are kept by rule, the model is offered no tools of ours, whatever the budget becomes; the host's stay.
#[tokio::test]
async fn a_model_that_calls_nothing_is_offered_nothing_any_more() {
    struct Dice;
    #[async_trait::async_trait]
    impl HostTools for Dice {
        fn specs(&self) -> Vec<ToolSpec> {
            vec![ToolSpec { name: "roll_dice".to_owned(), ..ToolSpec::summarize_text() }]
        }
        async fn call(&self, _call: &ToolCall) -> ToolAnswer {
            ToolAnswer::from("4")
        }
    }
    for has_host in [false, true] {
        let built = |builder: EngineBuilder| {
            let builder = builder.keep_efforts_by_rule();
            if has_host { builder.host_tools(Arc::new(Dice)) } else { builder }
        };
        let mut stage = Stage::built(Arc::new(MemStore::default()), SMALL, built).await;
        let offered = |stage: &Stage| {
            let last = stage.model.requests().pop().expect("a request");
            last.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
        };
        stage.say("Users get a 401 an hour after login, help me find out why.", &[], "Hm.").await;
        assert!(offered(&stage).contains(&"open_effort".to_owned()));
        let reply = stage.say("New topic: the nightly backup of the billing database fails.", &[], "Hm.").await;
        assert!(banners(&reply)[0].contains("offered none"), "{:?}", reply.banners);
        let hosts: &[&str] = if has_host { &["roll_dice"] } else { &[] };
        for budget in ["3000", "16000"] {
            stage.session.set("context_tokens_max", budget).await.expect("it is set");
            stage.say("It stops at 41 GB.", &[], "Hm.").await;
            assert_eq!(offered(&stage), hosts);
        }
        let closed = stage.say("That fixed it, the backup is done. Thanks!", &[], "Good.").await;
        assert!(banners(&closed)[0].starts_with("--- Concluded effort:"), "{:?}", closed.banners);
        stage.restart().await;
        stage.say("And now?", &[], "Hm.").await;
        assert!(offered(&stage).contains(&"open_effort".to_owned()), "a session that is opened anew watches anew");
    }
}
