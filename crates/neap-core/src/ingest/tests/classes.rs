//! Which kind of request it is.

use super::*;
use crate::ingest::{Class, classify};

const COMPACTION: &str = "Your task is to create a detailed summary of the conversation so far, paying attention to what was asked \
    and what was done, so that the work can go on without the history. List files, decisions, errors and what is left to do. \
    Do not call tools.";

#[track_caller]
fn check(name: &str, heard: &Heard, want: Class) {
    assert_eq!(classify(heard), want, "{name}");
}

/// PROTOCOLS: "Classes to recognise first".
#[test]
fn every_class_is_recognised() {
    check("a turn", &heard(vec![user("fix it")]), Class::MainTurn);
    check("a turn with instructions after it", &heard(vec![user("fix it"), system("be brief")]), Class::MainTurn);
    let image = item(Speaker::User, vec![unknown("image")]);
    check("a picture alone", &heard(vec![image]), Class::MainTurn);
    check("answered calls", &heard(vec![user("x"), calls("c"), answers("c", "1")]), Class::ToolLoop);
    let tool = item(Speaker::Tool, vec![answer("c", "1")]);
    check("the same in another format", &heard(vec![user("x"), calls("c"), tool]), Class::ToolLoop);
    check("nothing", &heard(vec![]), Class::Unsure);
    check("instructions alone", &heard(vec![system("x")]), Class::Unsure);
    check("words put into the mouth", &heard(vec![user("x"), assistant("Sure:")]), Class::Unsure);
    let odd = item(Speaker::Other, vec![unknown("configuration_update")]);
    check("an item that nobody knows", &heard(vec![user("x"), odd]), Class::Unsure);

    let agent = Signals { agent: Some("a".to_owned()), ..Signals::default() };
    check("a helper", &Heard { signals: agent.clone(), ..heard(vec![user("x")]) }, Class::Subagent);
    let going_on = heard(vec![user("x"), calls("c"), answers("c", "1")]);
    check("a helper at work", &Heard { signals: agent, ..going_on }, Class::Subagent);

    check("counting", &Heard { endpoint: Endpoint::Count, ..heard(vec![user("x")]) }, Class::CountTokens);
    let compact = Heard { endpoint: Endpoint::Compact, ..heard(vec![user("x")]) };
    check("to be put in short", &compact, Class::ClientCompaction);
    let trigger = item(Speaker::Other, vec![unknown("compaction_trigger")]);
    check("a trigger", &heard(vec![user("x"), assistant("y"), trigger]), Class::ClientCompaction);
    check("a prompt for it", &heard(vec![user("x"), assistant("y"), user(COMPACTION)]), Class::ClientCompaction);
    let joined = item(Speaker::User, vec![text("go on\n"), text(COMPACTION)]);
    check("joined to what was said", &heard(vec![user("x"), assistant("y"), joined]), Class::ClientCompaction);

    check("no answer wanted", &Heard { is_rehearsal: true, ..heard(vec![user("x")]) }, Class::Prewarm);
    check("one token wanted", &Heard { reply_max: Some(1), ..heard(vec![user("x")]) }, Class::Prewarm);
    check("no items", &Heard { is_rehearsal: true, ..heard(vec![]) }, Class::Prewarm);

    let untooled = |items| Heard { tools: 0, ..heard(items) };
    let asked = vec![user("Generate a title for this conversation:\n"), user("please run it")];
    check("a title", &untooled(asked.clone()), Class::Title);
    check(
        "a title by instruction",
        &untooled(vec![system("You are a title generator. Output a title."), user("x")]),
        Class::Title,
    );
    let beside = Heard {
        system: "Write a short title of 5 words for the session.".to_owned(),
        ..untooled(vec![user("x")])
    };
    check("a title by a system prompt", &beside, Class::Title);
    check("with tools it is a turn", &heard(asked), Class::MainTurn);
}

/// What a person asks in passing is the person's.
#[test]
fn people_may_ask_for_titles_and_summaries() {
    let person = |words: &str| Heard { tools: 0, ..heard(vec![system("be nice"), user(words)]) };
    check("a title", &person("Write a title for my poem about rain"), Class::MainTurn);
    check("a summary", &person("summarize the conversation so far"), Class::MainTurn);
}
