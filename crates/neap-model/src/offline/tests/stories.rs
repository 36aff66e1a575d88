//! Whole turns: calls, results and replies.

use neap_core::base::ids::{EffortId, Stamp, TurnNo};
use neap_core::base::message::{CountedMessage, Message};
use neap_core::base::testing::WordCounter;
use neap_core::context::tools::ToolSet;
use neap_core::context::{ThisTurn, assemble};
use neap_core::session::effort::Summary;
use neap_core::session::event::EffortEvent;
use neap_core::session::log::LogCache;
use neap_core::session::state::SessionState;
use neap_core::turn::ModelRequest;

use super::super::OfflineModel;
use super::super::prompt_view::PromptView;
use super::{Context, called};
use crate::ChatModel;

const LOG: &[&str] = &[
    "I need to migrate the billing database to Postgres 16",
    "Noted under billing-migration.",
    "How long was the cutover?",
    "Noted under billing-migration.",
    "It took 6 minutes on Sunday. The proxy listens on port 8443 now.",
    "Noted under billing-migration.",
];

#[test]
fn opening_says_what_it_is_only_once() {
    let opened = r#"{"status":"opened","effort_id":"login-failing"}"#;
    let first = Context::noted("Active effort: login-failing.")
        .said(&["login keeps failing"])
        .round("open_effort", r#"{"name":"login-failing"}"#, opened)
        .reply();
    assert!(
        first.text.starts_with("Noted under login-failing. This is the built-in offline model"),
        "{}",
        first.text
    );
    let later = Context::noted("Active effort: login-failing.")
        .said(&["hi", "Hello.", "login keeps failing"])
        .round("open_effort", r#"{"name":"login-failing"}"#, opened)
        .reply();
    assert_eq!(later.text, "Noted under login-failing.");
}

#[test]
fn staying_notes_and_quotes_what_answers() {
    let context = Context::noted("Active effort: billing-migration.").log("active", "billing-migration", LOG);
    assert_eq!(context.clone().said(&["The proxy is on host b7"]).reply().text, "Noted under billing-migration.");
    let reply = context.said(&["which port does the proxy use?"]).reply();
    assert_eq!(reply.text, "Noted under billing-migration.\n> The proxy listens on port 8443 now.");
}

#[test]
fn closing_says_so_and_begins_what_else_was_said() {
    let done = r#"{"status":"concluded","effort_id":"a","summary":"S."}"#;
    let closed = |message: &str, note: &str| {
        Context::noted(note).said(&["x", "y", message]).round("close_effort", "{}", done).reply()
    };
    assert_eq!(closed("done", "No effort is active.").text, "Concluded a; its summary stands for it now.");
    assert_eq!(closed("done", "Active effort: b.").text, "Concluded a; its summary stands for it now. Active: b.");
    let both = closed("That fixed it, thanks! Now help me plan the garden party.", "No effort is active.");
    assert_eq!(called(&both), r#"open_effort {"name":"garden-party"}"#);
}

#[test]
fn expanding_quotes_a_number_from_the_log() {
    let question = "how long did it take, the cutover of the billing migration exactly?";
    let before = Context::noted("No effort is active.")
        .summary("billing-migration", "Moved billing to Postgres 16.")
        .said(&[question])
        .reply();
    assert_eq!(called(&before), r#"expand_effort {"id":"billing-migration"}"#);
    let after = Context::noted("No effort is active. Expanded: billing-migration.")
        .log("expanded", "billing-migration", LOG)
        .said(&[question])
        .round(
            "expand_effort",
            r#"{"id":"billing-migration"}"#,
            r#"{"status":"expanded","effort_id":"billing-migration","tokens_loaded":90}"#,
        )
        .reply();
    assert!(after.text.starts_with("From the log of billing-migration:"), "{}", after.text);
    assert!(after.text.contains("> It took 6 minutes on Sunday."), "{}", after.text);
}

#[test]
fn searching_expands_and_then_quotes() {
    let question = "what port did we choose for the billing proxy?";
    let found = r#"{"status":"ok","results":[{"id":"billing-migration","status":"concluded","summary":"Moved billing to Postgres 16.","quote":"turn 3, user: The proxy listens on port 8443 now.","score":2.1}]}"#;
    let context = Context::noted("No effort is active. 3 older efforts are not shown.");
    assert_eq!(
        called(&context.clone().said(&[question]).reply()),
        r#"search_efforts {"query":"port choose billing proxy"}"#
    );
    let searched = context.said(&[question]).round("search_efforts", r#"{"query":"port billing proxy"}"#, found);
    assert_eq!(called(&searched.reply()), r#"expand_effort {"id":"billing-migration"}"#);
    let expanded = Context::noted("No effort is active. Expanded: billing-migration.")
        .log("expanded", "billing-migration", LOG)
        .said(&[question])
        .round("search_efforts", r#"{"query":"port billing proxy"}"#, found)
        .round(
            "expand_effort",
            r#"{"id":"billing-migration"}"#,
            r#"{"status":"expanded","effort_id":"billing-migration","tokens_loaded":90}"#,
        )
        .reply();
    assert!(expanded.text.contains("> The proxy listens on port 8443 now."), "{}", expanded.text);
}

#[test]
fn a_found_summary_that_answers_is_quoted() {
    let found = r#"{"status":"ok","results":[{"id":"auth-bug","status":"concluded","summary":"The token refresh was fixed in auth.","score":1.0}]}"#;
    let reply = Context::noted("No effort is active. 1 older effort is not shown.")
        .said(&["how did we fix the auth token?"])
        .round("search_efforts", r#"{"query":"auth token"}"#, found)
        .reply();
    assert_eq!(reply.text, "From the record of auth-bug:\n> The token refresh was fixed in auth.");
}

#[test]
fn nothing_found_is_searched_once_more_and_then_said() {
    let none = r#"{"status":"ok","results":[]}"#;
    let context = Context::noted("No effort is active.").said(&["what did we do about the greenhouse?"]);
    let once = context.round("search_efforts", r#"{"query":"greenhouse"}"#, none);
    assert_eq!(called(&once.reply()), r#"search_efforts {"logs":true,"query":"greenhouse"}"#);
    let twice = once.round("search_efforts", r#"{"query":"greenhouse","logs":true}"#, none).reply();
    assert_eq!(twice.text, "Nothing about that is found here. `neap search` looks through all sessions.");
}

#[test]
fn status_is_told_in_words() {
    let result = r#"{"status":"ok","turn":4,"active":"a","efforts":[{"id":"a","status":"open","active":true,"raw_tokens":120},{"id":"b","status":"open","active":false,"raw_tokens":40},{"id":"c","status":"concluded","active":false,"raw_tokens":900}],"more_listed_by_search":2,"expanded":[]}"#;
    let reply = Context::noted("Active effort: a.").said(&["status"]).round("effort_status", "{}", result).reply();
    assert_eq!(
        reply.text,
        "Active: a (120 tokens).\nOpen in the background: b (40 tokens).\n\
         Concluded and shown: c (900 tokens).\n2 more can be found by search."
    );
}

#[test]
fn a_refusal_shows_the_way_or_is_told() {
    let refused = r#"{"error":"An effort 'printer' exists and is concluded.","hint":"call reopen_effort"}"#;
    let context = Context::noted("No effort is active.").said(&["The printer isn't working"]);
    let reply = context.clone().round("open_effort", r#"{"name":"printer"}"#, refused).reply();
    assert_eq!(called(&reply), r#"reopen_effort {"id":"printer"}"#);
    let reply = context.round("close_effort", "{}", r#"{"error":"No active effort to close."}"#).reply();
    assert_eq!(reply.text, "That did not work: No active effort to close.");
}

#[test]
fn it_never_loops_and_never_calls_where_it_may_not() {
    let none = r#"{"status":"ok","results":[]}"#;
    let mut context = Context::noted("No effort is active.").said(&["what did we do about the greenhouse?"]);
    for _ in 0..3 {
        context = context.round("search_efforts", r#"{"query":"greenhouse"}"#, none);
    }
    assert!(context.reply().calls.is_empty());
    for message in ["login keeps failing", "done", "what did we do about the greenhouse?", "status", ""] {
        let request = Context::noted("Active effort: a.").said(&[message]).request();
        let forbidden = ModelRequest { may_call_tools: false, ..request.clone() };
        let bare = ModelRequest { tools: [].into(), ..request };
        for request in [forbidden, bare] {
            let reply = OfflineModel::answer(&request);
            assert!(reply.calls.is_empty() && !reply.text.is_empty(), "{message}");
        }
    }
}

#[tokio::test]
async fn words_come_in_pieces_that_make_the_reply() {
    let mut pieces: Vec<String> = Vec::new();
    let request = Context::noted("No effort is active.").said(&["hello"]).request();
    let reply =
        OfflineModel::new().reply(&request, &mut |piece| pieces.push(piece.to_owned())).await.expect("words");
    assert!(pieces.len() > 3);
    assert_eq!(pieces.concat(), reply.text);
}

/// Parses a prompt that the core assembled.
#[test]
fn a_context_of_the_core_is_understood() {
    let id = |text: &str| EffortId::parse(text).expect("a slug");
    let mut state = SessionState::default();
    let turn = TurnNo(1);
    let mut record = |event| {
        state.record(Stamp(0), event);
    };
    for name in ["old-one", "back", "front"] {
        record(EffortEvent::Opened { id: id(name), name: name.into(), turn });
        if name == "old-one" {
            let summary = Summary::new(&WordCounter, &id(name), "It ended: well. Really.", None);
            record(EffortEvent::Concluded {
                id: id(name),
                summary,
                turn,
                next_active: None,
                provisional: false,
                receipt: None,
            });
        }
    }
    let tools = ToolSet::with_efforts(&WordCounter, Vec::new());
    let message = CountedMessage::new(&WordCounter, Message::user("hello there"));
    let this_turn = ThisTurn { turn, message: Some(&message), ..ThisTurn::default() };
    let context = assemble(&state, &LogCache::default(), &tools, &WordCounter, this_turn).expect("fits");
    let request = ModelRequest {
        messages: context.request_messages(),
        tools: context.tools.clone(),
        may_call_tools: true,
        offers_tools: true,
        buffer_output: false,
    };
    let view = PromptView::read(&request);
    assert_eq!(view.user_message, "hello there");
    assert_eq!(view.active.as_deref(), Some("front"));
    assert_eq!(view.open, ["back"]);
    assert_eq!(view.summaries, [("old-one".to_owned(), "It ended: well. Really.".to_owned())]);
}

#[test]
fn ten_megabytes_are_read_by_their_ends() {
    let message = format!("Help me plan the garden.\n{}", "log line 1; ".repeat(900_000));
    let reply = Context::noted("No effort is active.").said(&[&message]).reply();
    assert_eq!(called(&reply), r#"open_effort {"name":"garden"}"#);
}

proptest::proptest! {
    #[test]
    fn whatever_is_said_it_calls_or_speaks(message in "\\PC{0,200}", log in "\\PC{0,200}") {
        let context = Context::noted("Active effort: a. Open in the background: b.").log("active", "a", &[&log, "ok"]);
        for context in [context, Context::noted("No effort is active.")] {
            let reply = context.said(&[&message]).reply();
            proptest::prop_assert!(reply.text.is_empty() != reply.calls.is_empty());
        }
    }
}

/// Thanks and greetings are answered in kind, with work in hand, too.
#[test]
fn courtesy_is_answered_in_kind() {
    let context = Context::noted("Active effort: billing-migration.").log("active", "billing-migration", LOG);
    for (message, want) in [
        ("thanks!", "You are welcome."),
        ("Hello", "Hello."),
        ("bye", "Goodbye; everything is stored."),
        ("ok", "Noted under billing-migration."),
    ] {
        assert_eq!(context.clone().said(&[message]).reply().text, want, "{message}");
    }
}

#[test]
fn what_a_person_said_is_told_in_their_words() {
    let context =
        Context::noted("No effort is active.").said(&["My train leaves at 7:40", "Noted.", "What did I say?"]);
    assert_eq!(context.reply().text, "You said:\n> My train leaves at 7:40");
    let nothing = Context::noted("No effort is active.").said(&["What did I say?"]);
    assert_eq!(nothing.reply().text, "Nothing so far.");
}

/// Seed 000, example 1: asked for the fix, it gives the fix.
#[test]
fn asked_for_the_fix_it_gives_the_fix() {
    let question = "What was the fix for the login thing?";
    let log: &[&str] = &[
        "users get a 401 an hour after login",
        "Noted under login-401.",
        "The token lives 3600 seconds.",
        "Noted under login-401.",
        "Two tabs renew it at once. With the lock auth-refresh only one does.",
        "Noted under login-401.",
        "That fixed it, we are done.",
        "Concluded login-401; its summary stands for it now.",
    ];
    let vague =
        Context::noted("No effort is active.").summary("login-401", "Users get a 401 an hour after login.");
    assert_eq!(called(&vague.said(&[question]).reply()), r#"expand_effort {"id":"login-401"}"#);
    let expanded = Context::noted("No effort is active. Expanded: login-401.").log("expanded", "login-401", log);
    let reply = expanded.said(&[question]).reply();
    assert_eq!(reply.text, "From the log of login-401:\n> With the lock auth-refresh only one does.");
    let told = Context::noted("No effort is active.").summary(
        "login-401",
        "Users get a 401 an hour after login. Fixed by the lock auth-refresh. It is released.",
    );
    let reply = told.said(&[question]).reply();
    assert_eq!(reply.text, "From the summary of login-401:\n> Fixed by the lock auth-refresh.");
}
