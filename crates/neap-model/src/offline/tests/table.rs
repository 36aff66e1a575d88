//! One row per rule (prompts/efforts.md; SOURCES, CCM prompt rules): context, message, call.

use super::{Context, called};

fn nothing() -> Context {
    Context::noted("No effort is active.")
}

fn active() -> Context {
    Context::noted("Active effort: login-failing. Open in the background: kitchen-renovation.")
        .summary("auth-bug", "Users got 401 errors because the refresh token expired; fixed by renewing it.")
        .log(
            "open",
            "kitchen-renovation",
            &["Help me plan the kitchen renovation", "Noted under kitchen-renovation."],
        )
        .log(
            "active",
            "login-failing",
            &[
                "login keeps failing on the mobile app",
                "Noted under login-failing.",
                "The server logs show a database timeout after 30 seconds",
                "Noted under login-failing.",
            ],
        )
}

fn concluded() -> Context {
    Context::noted("No effort is active.")
        .summary("auth-bug", "Users got 401 errors because the refresh token expired; fixed by renewing it.")
        .summary("lisbon-trip", "Booked Hotel Baixa in Lisbon for October; flights with TAP.")
}

#[track_caller]
fn check(context: &Context, rows: &[(&str, &str)]) {
    for (message, want) in rows {
        let reply = context.clone().said(&[message]).reply();
        assert_eq!(called(&reply), *want, "{message:?} was answered {:?}", reply.text);
        assert_eq!(reply.text.is_empty(), !want.is_empty(), "{message:?}: a call or words");
    }
}

#[test]
fn with_nothing_active_work_opens_an_effort() {
    check(
        &nothing(),
        &[
            ("login keeps failing", r#"open_effort {"name":"login-failing"}"#),
            ("Help me plan the kitchen renovation", r#"open_effort {"name":"kitchen-renovation"}"#),
            ("How do I set up a VPN on my router?", r#"open_effort {"name":"vpn-router"}"#),
            ("Let's build a CLI for invoices", r#"open_effort {"name":"cli-invoices"}"#),
            ("I need to write a speech for the wedding", r#"open_effort {"name":"speech-wedding"}"#),
            ("Hi! My tests are flaky on CI.", r#"open_effort {"name":"tests-flaky-ci"}"#),
            ("The printer isn't working", r#"open_effort {"name":"printer"}"#),
            ("why does the importer keep crashing?", r#"open_effort {"name":"importer-crashing"}"#),
            ("I’m trying to reduce memory usage", r#"open_effort {"name":"reduce-memory-usage"}"#),
            ("Can you help me choose a laptop?", r#"open_effort {"name":"choose-laptop"}"#),
            ("plan a trip to Rome for 4 people", r#"open_effort {"name":"trip-rome"}"#),
            ("we should rewrite the parser", r#"open_effort {"name":"rewrite-parser"}"#),
            ("let's work on the tax return", r#"open_effort {"name":"tax-return"}"#),
            ("users get a 401 an hour after login", r#"open_effort {"name":"users-401-hour"}"#),
            (
                "We have a performance problem: the dashboard takes 9 seconds to load.",
                r#"open_effort {"name":"performance-dashboard-seconds"}"#,
            ),
        ],
    );
}

#[test]
fn talk_and_single_questions_open_nothing() {
    let rows = [
        "hi",
        "Hello!",
        "thanks!",
        "Thank you so much",
        "good morning",
        "ok",
        "how are you?",
        "bye",
        "what's 2+2",
        "what is the capital of France?",
        "Who was the first president?",
        "what does error 404 mean?",
        "nice weather today",
        "My favourite colour is blue",
        "I need to go",
        "no problem",
        "how do I spell necessary?",
        "I can't wait!",
        "?",
        "",
        "later",
        "done",
        "remind me to buy milk",
        "tell me a joke",
        "what causes timeouts in nginx?",
        "how does photosynthesis work?",
    ];
    for message in rows {
        check(&nothing(), &[(message, "")]);
    }
}

#[test]
fn with_an_effort_active_details_stay_in_it() {
    for message in [
        "It happens only on Android",
        "I need to restart the server first",
        "how do I see the database logs?",
        "the timeout is still 30 seconds",
        "help me read the server logs for the login",
        "what is a database timeout?",
        "thanks!",
        "hi",
        "yes",
        "We decided to switch to Postgres",
        "should we switch to Postgres?",
        "let's switch to Postgres",
        "let's use Redis instead",
        "it fails with E1234",
        "why does that happen?",
    ] {
        check(&active(), &[(message, "")]);
    }
}

#[test]
fn only_clearly_unrelated_work_opens_another() {
    check(
        &active(),
        &[
            ("Help me plan a birthday party for Anna", r#"open_effort {"name":"birthday-party-anna"}"#),
            ("Separately, I need to renew my passport", r#"open_effort {"name":"renew-passport"}"#),
            ("Let's also plan an API refactor.", r#"open_effort {"name":"api-refactor"}"#),
            ("New topic: garden irrigation", r#"open_effort {"name":"garden-irrigation"}"#),
            ("let's work on the tax return instead", r#"open_effort {"name":"tax-return"}"#),
        ],
    );
    let context = active().said(&["more", "Which of the two do you mean?"]);
    check(&context, &[("help me with the second one, the billing module", "")]);
}

#[test]
fn an_explicit_sign_closes() {
    let close = "close_effort {}";
    check(
        &active(),
        &[
            ("done", close),
            ("Done!", close),
            ("That fixed it, thanks!", close),
            ("we're done here", close),
            ("All sorted.", close),
            ("it's resolved now", close),
            ("Great, let's wrap up", close),
            ("please close this", close),
            ("can you close it?", close),
            ("The login issue is resolved", close),
            ("The kitchen renovation is finished", r#"close_effort {"id":"kitchen-renovation"}"#),
            ("I'm finished with this", close),
            ("It is fixed: the limit was 9. Done.", close),
            ("never mind, it's fixed", close),
            ("mark it as resolved", close),
            ("could you wrap this up?", close),
            ("We chose Postgres. Done with this one!", close),
            ("close the kitchen renovation", r#"close_effort {"id":"kitchen-renovation"}"#),
        ],
    );
}

#[test]
fn a_pause_a_question_or_a_negation_does_not() {
    for message in [
        "I'm done with lunch, the bug is still there",
        "I'm done with lunch",
        "let's put this on hold",
        "later",
        "let's pause this",
        "not done yet",
        "are we done?",
        "is it resolved?",
        "it's almost done",
        "once that is done we should test",
        "we need to wrap up the login work",
        "that fixed it, but the app is slow now",
        "The DNS name resolved to 10.0.0.1",
        "the download is finished",
        "That's done. It still fails on Android.",
        "let's continue tomorrow",
        "it isn't fixed",
        "close the window",
        "we should finish this later",
        "Is the kitchen done?",
        "finished step 2, what's next?",
    ] {
        check(&active(), &[(message, "")]);
    }
}

#[test]
fn other_work_is_switched_to_or_reopened() {
    check(
        &active(),
        &[
            ("let's work on the kitchen instead", r#"switch_effort {"id":"kitchen-renovation"}"#),
            ("back to the kitchen renovation", r#"switch_effort {"id":"kitchen-renovation"}"#),
            ("ok, switch to kitchen-renovation please", r#"switch_effort {"id":"kitchen-renovation"}"#),
            ("Let's put this on hold and go back to the kitchen", r#"switch_effort {"id":"kitchen-renovation"}"#),
            ("reopen auth-bug", r#"reopen_effort {"id":"auth-bug"}"#),
            ("let's continue with the auth bug", r#"reopen_effort {"id":"auth-bug"}"#),
            ("back to the login", ""),
            ("back to the greenhouse", r#"search_efforts {"query":"greenhouse"}"#),
        ],
    );
    check(&concluded(), &[("the auth bug is back, it fails again", r#"reopen_effort {"id":"auth-bug"}"#)]);
}

#[test]
fn the_past_is_quoted_expanded_or_searched() {
    check(
        &concluded(),
        &[
            ("What did we do about the auth bug?", ""),
            ("remind me about the refresh token", ""),
            ("what was the fix for the 401 errors?", ""),
            ("what exactly did we change for the auth bug?", r#"expand_effort {"id":"auth-bug"}"#),
            ("which flights did we book to Lisbon?", r#"expand_effort {"id":"lisbon-trip"}"#),
            ("how much did the hotel in Lisbon cost?", r#"expand_effort {"id":"lisbon-trip"}"#),
            ("what did we decide about the greenhouse?", r#"search_efforts {"query":"decide greenhouse"}"#),
            ("how did we fix the memory leak?", r#"search_efforts {"query":"memory leak"}"#),
            ("show me the log of auth-bug", r#"expand_effort {"id":"auth-bug"}"#),
            ("auth bug details please", r#"expand_effort {"id":"auth-bug"}"#),
            ("how many users got 401 errors?", r#"expand_effort {"id":"auth-bug"}"#),
            ("expand auth-bug", r#"expand_effort {"id":"auth-bug"}"#),
        ],
    );
    check(
        &active(),
        &[
            ("what was the timeout in the server logs?", ""),
            ("where did we leave off?", ""),
            ("what have we found so far?", ""),
            ("summarize what we know", ""),
            ("what did we do about the 401 errors?", ""),
        ],
    );
}

#[test]
fn status_is_asked_for() {
    for message in ["status", "what are we working on?", "Which efforts are open?", "where are we?"] {
        check(&active(), &[(message, "effort_status {}")]);
    }
    check(&nothing(), &[("what's the status of my order?", "")]);
    check(
        &Context::noted("Active effort: a. Expanded: auth-bug.").log("expanded", "auth-bug", &["x", "y"]),
        &[("collapse auth-bug", r#"collapse_effort {"id":"auth-bug"}"#)],
    );
}
