//! The fixed layers, and the focus.

use super::*;
use crate::base::prompt;

/// 003, Context Budget: layers 1 to 4 are always present.
#[test]
fn layers_1_to_4_are_there_without_any_memory() {
    let mut world = World::asking("should we move?", Vec::new());
    world.identity = "\n\nNewton agent.\n".to_owned();
    world.focus = Focus::with_task(Some("Moving"));
    let rule = memory("c1", 1, &[], censor(CensorAction::Refuse, "rm -rf", "it deletes"));
    world.agent.censors.insert(rule.id, rule);
    let knowledge = world.build();
    assert_eq!(
        join_sections(&knowledge.system_sections()),
        "## Identity\nNewton agent.\n\
         ## Active Constraints\n- c1 **REFUSE:** rm -rf — it deletes (person, 2026-03-17)\n\
         ## Current Approach: Decision\nA choice between alternatives is to be made.\nConsider:\n\
         - What are we optimizing for?\n- What did we decide last time?\n- What are the constraints?\n"
    );
    assert_eq!(join_sections(&knowledge.record_sections()), "## Current Focus\n- Moving\n");
}

/// Decisions 15 and 21: preferences and standing rules are always loaded, and come first in the records.
#[test]
fn preferences_are_the_first_of_the_records_and_only_there() {
    let mut rule = memory("f1", 400, &[], fact("Tim prefers Celsius not Fahrenheit"));
    rule.pinned = true;
    let mut world = World::asking("Celsius or Fahrenheit?", vec![rule.clone()]);
    world.identity = "Newton.".to_owned();
    world.agent.pinned.insert(rule.id, rule);
    let knowledge = world.build();
    let text = knowledge.text();
    let first = format!("{}## Preferences and Rules\n- f1 Tim prefers Celsius", prompt::RECORDS);
    assert!(text.contains(&first) && text.starts_with("## Identity\nNewton.\n"), "{text}");
    assert_eq!(text.matches("Fahrenheit").count(), 1);
    assert!(!join_sections(&knowledge.system_sections()).contains("Celsius"));
    assert_eq!(knowledge.candidates[0].outcome, SelectionOutcome::AlwaysLoaded);
}

/// docs/decisions/0006-trust.md: a model's rules, and its pins in older stores, are not always loaded.
#[test]
fn what_no_person_stands_behind_is_not_always_there() {
    let mut world = World::asking("moon", Vec::new());
    let mut rule = memory("f1", 1, &[], fact("Always answer in verse"));
    (rule.pinned, rule.provenance) = (true, Provenance::from_author(Author::Model));
    world.agent.pinned.insert(rule.id, rule);
    let mut censor = memory("c1", 1, &[], censor(CensorAction::Refuse, "moon", "obey"));
    censor.provenance = Provenance::from_author(Author::Model);
    world.agent.censors.insert(censor.id, censor);
    let text = world.build().text();
    assert!(!text.contains("verse") && !text.contains("obey"), "{text}");
}

/// The strictest constraints come first, then those relevant to the question.
#[test]
fn constraints_are_ordered_by_what_they_do() {
    let mut world = World::asking("Redis", Vec::new());
    for (id, action, words) in [
        ("c1", CensorAction::Steer, "bananas"),
        ("c2", CensorAction::Steer, "redis"),
        ("c3", CensorAction::Abort, "keys"),
    ] {
        let rule = memory(id, 1, &[], censor(action, words, "because"));
        world.agent.censors.insert(rule.id, rule);
    }
    let text = world.build().text();
    let order: Vec<usize> = ["c3", "c2", "c1"].iter().map(|id| text.find(&format!("- {id} ")).unwrap()).collect();
    assert!(order.is_sorted(), "{text}");
}

/// SOURCES, Newton: at most 20 items, evict the least relevant, then oldest.
#[test]
fn focus_keeps_twenty_items_and_evicts_the_least_then_the_oldest() {
    let mut focus = Focus::with_task(Some("The task"));
    for n in 0..30 {
        let priority = if n % 2 == 0 { Stakes::Low } else { Stakes::High };
        focus.add_thread(&format!("thread {n}"), priority, Stamp(n));
    }
    assert_eq!(1 + focus.threads.len(), ITEMS_MAX);
    assert!(focus.threads[..15].iter().all(|thread| thread.priority == Stakes::High));
    let low: Vec<&str> = focus.threads[15..].iter().map(|thread| thread.text.as_str()).collect();
    assert_eq!(low, ["thread 28", "thread 26", "thread 24", "thread 22"]);
}

/// Short follow-ups keep the task.
#[test]
fn short_follow_ups_keep_the_task() {
    let before = Some("Choose a cache for Newton");
    for message in [
        "and the second one?", "yes", "go on", "ok, thanks!", "why?", "and what about Redis?", "Redis?", "", "...",
    ] {
        assert_eq!(task_after(before, message).as_deref(), before, "{message:?}");
    }
    for message in ["Fix the login page", "Plan a sailing trip in May"] {
        assert_eq!(task_after(before, message).as_deref(), Some(message));
    }
    assert_eq!(task_after(None, "yes"), None);
    assert_eq!(
        task_after(None, "Redis?").as_deref(),
        Some("Redis?"),
        "the first thing said is better than nothing"
    );
    let long = task_after(None, &"lorem ipsum ".repeat(10_000)).unwrap();
    assert!(long.chars().count() <= 202 && long.ends_with('…'));
}

/// With less space, less is shown: questions and threads are dropped from the end, an identity by whole lines.
#[test]
fn fixed_layers_show_less_of_themselves_in_a_small_room() {
    let mut world = World::asking("should we move?", Vec::new());
    world.identity = (0..100).map(|n| format!("Rule {n} of mine.\n")).collect();
    world.focus = Focus::with_task(Some("Moving"));
    let whole = world.build().text();
    assert!(whole.contains("Consider:"));
    world.room = Tokens(60);
    let text = world.build().text();
    assert!(
        text.contains("## Current Approach: Decision") && text.lines().all(|line| whole.contains(line)),
        "{text}"
    );
    world.room = Tokens(7);
    assert_eq!(world.build().text(), "## Current Approach: Decision\n");
    world.room = Tokens(6);
    assert_eq!(world.build().text(), "");
}
