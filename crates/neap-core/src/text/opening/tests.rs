//! The rules, on messages that begin work and messages that do not.

use super::{OpeningKind, corpus, find_opening, held_out, once_held_out, opening_name};

/// The messages that are judged wrongly.
fn missed(openings: &[&'static str], others: &[&'static str]) -> Vec<&'static str> {
    let silent = openings.iter().filter(|message| find_opening(message).is_none());
    let loud = others.iter().filter(|message| find_opening(message).is_some());
    silent.chain(loud).copied().collect()
}

#[test]
fn troubles_tasks_and_plans_begin_work_and_nothing_else_does() {
    assert_eq!(missed(&corpus::OPENINGS, &corpus::OTHERS), [""; 0]);
}

/// No rule was tuned on the last two lists: 42 of 50 are found there, and none of the others opens. A change of the
/// rules may lose nothing of that.
#[test]
fn most_messages_that_no_rule_was_tuned_on_are_judged_rightly() {
    let check = |openings, others, silent_max: usize| {
        let (silent, loud) = (missed(openings, &[]), missed(&[], others));
        assert!(silent.len() <= silent_max, "{} are missed: {silent:#?}", silent.len());
        assert_eq!(loud, [""; 0]);
    };
    check(&once_held_out::OPENINGS, &once_held_out::OTHERS, 11);
    check(&held_out::OPENINGS, &held_out::OTHERS, 8);
}

/// The README's own sentences, and those that a tester typed.
#[test]
fn what_testers_typed_begins_work() {
    for message in [
        "users get a 401 an hour after login",
        "We have a performance problem: the dashboard takes 9 seconds to load.",
        "login keeps failing",
        "plan a trip to Rome for 4 people",
        "I’m trying to reduce memory usage",
    ] {
        assert!(find_opening(message).is_some(), "{message}");
    }
}

#[test]
fn only_an_addition_or_a_request_stands_beside_other_work() {
    let kind = |message| find_opening(message).map(|opening| opening.kind);
    for message in
        ["Let's also plan an API refactor.", "Separately, the roof leaks", "I also want to build a shed"]
    {
        assert_eq!(kind(message), Some(OpeningKind::Declared), "{message}");
    }
    for message in
        ["Let's plan an API refactor.", "Can you help me choose a laptop?", "It's red. Help me find out why."]
    {
        assert_eq!(kind(message), Some(OpeningKind::Asked), "{message}");
    }
    for message in ["Let's also add a test for the empty list", "the refresh fails with invalid_grant"] {
        assert_eq!(kind(message), Some(OpeningKind::Stated), "{message}");
    }
}

/// A coding agent is told to go on far more often than it is given new work.
#[test]
fn orders_to_go_on_begin_nothing() {
    for message in [
        "run the tests",
        "continue",
        "go ahead",
        "yes, do it",
        "commit this",
        "fix it",
        "try again",
        "now run cargo clippy",
        "looks good, push it",
        "show me the diff",
        "let's do that",
        "make it shorter",
        "use the other one",
        "read src/main.rs",
        "add that too",
        "undo that",
        "what does this function do?",
        "Test results are in the folder",
        "I'm going to the shop",
    ] {
        assert_eq!(find_opening(message), None, "{message}");
    }
}

#[test]
fn names_are_the_telling_words() {
    let check =
        |message: &str, want: &str| assert_eq!(opening_name(message, 3).as_deref(), Some(want), "{message}");
    check("login keeps failing", "login failing");
    check("Hi! Help me plan the kitchen renovation.", "kitchen renovation");
    check("How do I set up a VPN on my router?", "vpn router");
    check("I need to debug the auth bug in the mobile app today", "auth bug mobile");
    check("My tests are flaky on CI", "tests flaky ci");
    check("Let's build a CLI for invoices", "cli invoices");
    check("Let's also plan an API refactor.", "api refactor");
    check("users get a 401 an hour after login", "users 401 hour");
    check("Users get a 401 about an hour after login. Help me find out why.", "users 401 hour");
    assert_eq!(opening_name("help me", 3), None);
    assert_eq!(opening_name("???", 3), None);
}

proptest::proptest! {
    #[test]
    fn whatever_opens_has_a_name(message in "[a-z' ,.?!]{0,80}|\\PC{0,80}") {
        if find_opening(&message).is_some() {
            proptest::prop_assert!(opening_name(&message, 3).is_some());
        }
    }
}
