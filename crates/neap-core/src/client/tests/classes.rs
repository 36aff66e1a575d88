//! Classes of requests.

use super::*;
use crate::client::{RequestClass, classify};

const COMPACTION: &str = "Your task is to create a detailed summary of the conversation so far, paying attention to what was asked \
    and what was done, so that the work can go on without the history. List files, decisions, errors and what is left to do. \
    Do not call tools.";

#[track_caller]
fn check(name: &str, request: &ClientRequest, want: RequestClass) {
    assert_eq!(classify(request), want, "{name}");
}

/// PROTOCOLS: "Classes to recognise first".
#[test]
fn every_class_is_recognised() {
    check("a turn", &request(vec![user("fix it")]), RequestClass::MainTurn);
    check(
        "a turn with instructions after it",
        &request(vec![user("fix it"), system("be brief")]),
        RequestClass::MainTurn,
    );
    let image = item(Speaker::User, vec![unknown("image")]);
    check("a picture alone", &request(vec![image]), RequestClass::MainTurn);
    check("answered calls", &request(vec![user("x"), calls("c"), answers("c", "1")]), RequestClass::ToolLoop);
    let tool = item(Speaker::Tool, vec![answer("c", "1")]);
    check("the same in another format", &request(vec![user("x"), calls("c"), tool]), RequestClass::ToolLoop);
    check("nothing", &request(vec![]), RequestClass::Unsure);
    check("instructions alone", &request(vec![system("x")]), RequestClass::Unsure);
    check("words put into the mouth", &request(vec![user("x"), assistant("Sure:")]), RequestClass::Unsure);
    let odd = item(Speaker::Other, vec![unknown("configuration_update")]);
    check("an item that nobody knows", &request(vec![user("x"), odd]), RequestClass::Unsure);

    let agent = Signals { subagent: Some("a".to_owned()), ..Signals::default() };
    check(
        "a helper",
        &ClientRequest { signals: agent.clone(), ..request(vec![user("x")]) },
        RequestClass::Subagent,
    );
    let going_on = request(vec![user("x"), calls("c"), answers("c", "1")]);
    check("a helper at work", &ClientRequest { signals: agent, ..going_on }, RequestClass::Subagent);

    check(
        "counting",
        &ClientRequest { endpoint: Endpoint::CountTokens, ..request(vec![user("x")]) },
        RequestClass::CountTokens,
    );
    let compact = ClientRequest { endpoint: Endpoint::Compact, ..request(vec![user("x")]) };
    check("to be put in short", &compact, RequestClass::ClientCompaction);
    let trigger = item(Speaker::Other, vec![unknown("compaction_trigger")]);
    check("a trigger", &request(vec![user("x"), assistant("y"), trigger]), RequestClass::ClientCompaction);
    check(
        "a prompt for it",
        &request(vec![user("x"), assistant("y"), user(COMPACTION)]),
        RequestClass::ClientCompaction,
    );
    let joined = item(Speaker::User, vec![text("go on\n"), text(COMPACTION)]);
    check(
        "joined to what was said",
        &request(vec![user("x"), assistant("y"), joined]),
        RequestClass::ClientCompaction,
    );

    check(
        "no answer wanted",
        &ClientRequest { is_prewarm: true, ..request(vec![user("x")]) },
        RequestClass::Prewarm,
    );
    check(
        "one token wanted",
        &ClientRequest { output_tokens_max: Some(1), ..request(vec![user("x")]) },
        RequestClass::Prewarm,
    );
    check("no items", &ClientRequest { is_prewarm: true, ..request(vec![]) }, RequestClass::Prewarm);

    let untooled = |items| ClientRequest { tool_count: 0, ..request(items) };
    let asked = vec![user("Generate a title for this conversation:\n"), user("please run it")];
    check("a title", &untooled(asked.clone()), RequestClass::Title);
    check(
        "a title by instruction",
        &untooled(vec![system("You are a title generator. Output a title."), user("x")]),
        RequestClass::Title,
    );
    let beside = ClientRequest {
        system: "Write a short title of 5 words for the session.".to_owned(),
        ..untooled(vec![user("x")])
    };
    check("a title by a system prompt", &beside, RequestClass::Title);
    check("with tools it is a turn", &request(asked), RequestClass::MainTurn);
}

#[test]
fn people_may_ask_for_titles_and_summaries() {
    let person = |words: &str| ClientRequest { tool_count: 0, ..request(vec![system("be nice"), user(words)]) };
    check("a title", &person("Write a title for my poem about rain"), RequestClass::MainTurn);
    check("a summary", &person("summarize the conversation so far"), RequestClass::MainTurn);
}
