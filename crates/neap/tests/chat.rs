//! `neap chat` through a pipe, with the built-in offline model. On a terminal: see `terminal.rs`.

use crate::rig::Neap;
use serde_json::json;

/// A problem, two details, and its end.
const LOGIN: [&str; 4] = [
    "login keeps failing on the mobile app",
    "The server logs show a database timeout after 30 seconds",
    "The pool size was 5, we raised it to 20",
    "That fixed it, thanks!",
];
const ID: &str = "login-failing-mobile";

/// Says lines in a fresh chat; what is promised must be printed, in this order.
#[track_caller]
fn check(lines: &[&str], promised: &[&str]) -> Neap {
    let neap = Neap::new();
    in_order(&neap.chat(lines), promised);
    neap
}

/// The same with a prompt that is written anew every turn: what leaves the context is gone from it at once.
#[track_caller]
fn check_every_turn(lines: &[&str], promised: &[&str]) -> Neap {
    let neap = Neap::new();
    let ran = neap.fed(&["chat", "--set", "epoch=every-turn"], lines.join("\n"));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    in_order(&ran.out, promised);
    neap
}

#[track_caller]
fn in_order(said: &str, promised: &[&str]) {
    let mut rest = said;
    for words in promised {
        let Some(at) = rest.find(words) else { panic!("{words:?} is not in what is left: {rest}\n\nof: {said}") };
        rest = &rest[at + words.len()..];
    }
    assert!(!said.contains('\u{1b}'), "no escape sequences in a pipe: {said:?}");
}

#[test]
fn a_greeting_is_answered_without_a_tool() {
    let neap = check(&["hello!"], &["Hello."]);
    assert_eq!(neap.json(&["session", "efforts"]), json!([]));
    assert_eq!(neap.json(&["explain"])["rounds"], json!([]));
}

#[test]
fn a_problem_opens_an_effort_and_its_details_stay_in_it() {
    let neap =
        check(&LOGIN[..3], &["--- Started effort: login-failing-mobile ---\n", "Noted under", "Noted under"]);
    let efforts = neap.json(&["session", "efforts"]);
    assert_eq!(
        (&efforts[0]["id"], &efforts[0]["place"], &efforts[0]["exchanges"]),
        (&json!(ID), &json!("active"), &json!(3))
    );
    assert_eq!(efforts.as_array().map(Vec::len), Some(1));
}

#[test]
fn an_explicit_sign_closes_it_and_a_pause_does_not() {
    let closed = ["--- Concluded effort: login-failing-mobile ---\nSummary: login keeps failing"];
    let neap = check(&LOGIN, &closed);
    assert_eq!(neap.json(&["session", "efforts"])[0]["status"], "concluded");
    let neap = check(&[LOGIN[0], "let's put this on hold"], &[]);
    assert_eq!(neap.json(&["session", "efforts"])[0]["status"], "open");
}

#[test]
fn a_question_about_a_concluded_effort_is_answered_from_its_log() {
    let asked = [&LOGIN[..], &["what exactly was the pool size in the login problem?"]].concat();
    let quoted = "> The pool size was 5, we raised it to 20\n";
    check_every_turn(&asked, &["--- Expanded effort: login-failing-mobile (", quoted]);
    // A prompt that grows still has the log: nothing needs to come back.
    let neap = check(&asked, &["From the log of login-failing-mobile:\n", quoted]);
    assert_eq!(neap.json(&["explain"])["rounds"], json!([]));
}

#[test]
fn a_fix_told_in_the_sentence_that_closes_is_quoted() {
    let lines = [
        "users get a 401 an hour after login",
        "The refresh token expires after 3600 seconds",
        "That is fixed: the clock was 2 seconds late. Thanks!",
        "what was the fix for the login?",
    ];
    check(&lines, &["From the log of users-401-hour:\n", "> That is fixed: the clock was 2 seconds late.\n"]);
}

/// What a person does between turns is told to the model, though its prompt only grows.
#[test]
fn a_switch_by_hand_is_followed_by_the_model() {
    let lines = [
        "Help me plan the kitchen renovation",
        "New topic: garden irrigation",
        "/switch kitchen-renovation",
        "The budget is 4000 euros",
        "That is done, thanks!",
    ];
    let neap = check(
        &lines,
        &["--- Switched to effort: kitchen-renovation ---", "--- Concluded effort: kitchen-renovation ---"],
    );
    let efforts = neap.json(&["session", "efforts"]);
    let open: Vec<&serde_json::Value> =
        efforts.as_array().expect("efforts").iter().filter(|e| e["status"] == "open").map(|e| &e["id"]).collect();
    assert_eq!(open, ["garden-irrigation"]);
}

/// Chatter that opens nothing and mentions nothing.
fn chatter(count: usize) -> Vec<&'static str> {
    let said = ["nice weather today", "thanks!", "My favourite colour is blue", "good morning", "tell me a joke"];
    said.into_iter().cycle().take(count).collect()
}

#[test]
fn a_topic_evicted_long_ago_is_found_by_search() {
    let mut lines = LOGIN.to_vec();
    lines.extend(chatter(22));
    lines.extend(["/efforts", "what did we decide about the size of the database pool?"]);
    let neap = check_every_turn(
        &lines,
        &["login-failing-mobile  evicted", "From the record of login-failing-mobile:\n", "The pool size was 5"],
    );
    let called = neap.json(&["explain"])["rounds"].to_string();
    assert!(called.contains("search_efforts"), "{called}");
}

#[test]
fn a_second_process_goes_on_where_the_first_ended() {
    let asked = [&LOGIN[..], &["what exactly was the pool size in the login problem?"]].concat();
    let neap = check_every_turn(&asked, &["--- Expanded effort"]);
    assert_eq!(neap.json(&["session", "efforts"])[0]["place"], "expanded");
    neap.chat(&["good morning"]);
    let shown = neap.json(&["session", "show"]);
    assert_eq!(shown["turns"], 6);
    assert_eq!(neap.json(&["session", "efforts"])[0]["place"], "shown", "a restart clears expansions");
    assert_eq!(neap.json(&["explain", "--turn", "6"])["message"], "good morning");
}

#[test]
fn every_command_answers() {
    let mut lines = vec!["/help", "/efforts", "/context"];
    lines.extend(LOGIN);
    lines.extend([
        "/status",
        "/efforts",
        "/search pool",
        "/search zebra",
        "/search",
        "/expand login-failing-mobile",
        "/context",
        "/collapse login-failing-mobile",
        "Help me plan the kitchen renovation",
        "New topic: garden irrigation",
        "/switch kitchen-renovation",
        "/close",
        "/close garden-irrigation",
        "/why",
        "/why 1",
        "/quit",
        "never said",
    ]);
    let promised = [
        "/quit      end the chat; everything is stored\n",
        "No efforts yet",
        "── protocol · ",
        "── total ",
        "--- Started effort: login-failing-mobile ---\n",
        "--- Concluded effort: login-failing-mobile ---\n",
        "context_tokens_peak",
        "login-failing-mobile  shown",
        "login-failing-mobile summary\n",
        "The pool size was 5",
        "Nothing found for \"zebra\".\n",
        "Give the words to search for",
        "--- Expanded effort: login-failing-mobile (",
        "── expanded · ",
        "user: The pool size was 5",
        "--- Collapsed effort: login-failing-mobile (back to summary) ---\n",
        "--- Started effort: kitchen-renovation ---\n",
        "--- Started effort: garden-irrigation ---\n",
        "--- Switched to effort: kitchen-renovation ---\n",
        "--- Concluded effort: kitchen-renovation ---\n",
        "--- Concluded effort: garden-irrigation ---\n",
        "turn 6 in garden-irrigation\n",
        "turn 1 in login-failing-mobile\n  said: login keeps failing",
    ];
    let neap = check_every_turn(&lines, &promised);
    assert_eq!(neap.json(&["session", "show"])["turns"], 6, "commands are no turns, and /quit ends the chat");
}

#[test]
fn what_a_command_cannot_do_is_told_and_the_chat_goes_on() {
    let lines = [
        "/expand nothing", "/expand", "/collapse nothing", "/switch nothing", "/close", "/why soon", "hello!",
        "// not a command", "/etc/hosts is a file",
    ];
    let promised = [
        "No effort with id 'nothing'.\nhint: /efforts",
        "needs the argument 'id'.\nhint: ",
        "No effort with id 'nothing'.\nhint: ",
        "No effort with id 'nothing'.\nhint: ",
        "No active effort to close.\nhint: ",
        "Give the number of a turn",
        "Hello.",
    ];
    let neap = check(&lines, &promised);
    assert_eq!(neap.json(&["session", "show"])["turns"], 3);
    let unknown = neap.fed(&["chat"], "/frob it\n /frob, as it is\n");
    assert_eq!(unknown.code, 2, "what was typed was not said to anyone");
    assert!(
        unknown.out.starts_with("There is no command /frob.\nhint: /help lists the commands"),
        "{}",
        unknown.out
    );
    assert_eq!(neap.json(&["session", "show"])["turns"], 4, "behind a space it is said");
    let ran = neap.fed(&["chat"], "/why 99\nhello again\n");
    assert_eq!(ran.code, 0);
    assert!(ran.err.starts_with("error: session 'default' has no turn 99\nhint: "), "{}", ran.err);
}

/// Stored text must not drive the terminal of whoever looks at it later, by any door.
#[test]
fn stored_escape_sequences_are_shown_never_sent() {
    let neap = Neap::new();
    let evil = "login keeps failing \u{1b}]0;owned\u{7} \u{1b}[2J \u{9b}31m \u{7f} \u{8} end";
    neap.chat(&[evil, "The pool\u{1b}[8m size was 5", "done", "what exactly was the pool size of the login?"]);
    let id = neap.json(&["session", "efforts"])[0]["id"].as_str().expect("an id").to_owned();
    let mut said =
        neap.chat(&["/context", "/why", "/search pool", "/efforts", "/status", &format!("/expand {id}")]);
    for args in [
        &["session", "show"][..],
        &["session", "show", "--turn", "1"],
        &["session", "export", "default"],
        &["session", "efforts"],
        &["search", "pool"],
        &["search", "login"],
        &["explain"],
        &["explain", "--turn", "1"],
        &["report"],
    ] {
        said += &neap.ok(args);
        said += &neap.ok(&[args, &["--json"]].concat());
    }
    let raw: Vec<char> = said.chars().filter(|c| c.is_control() && !"\n\t".contains(*c)).collect();
    assert_eq!(raw, Vec::<char>::new(), "control characters reach the output");
    assert_eq!(neap.json(&["explain", "--turn", "1"])["message"], evil, "and yet nothing of it is lost");
}

#[test]
fn the_answer_does_not_wait_for_the_end_of_the_pipe() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let neap = Neap::new();
    let mut child = neap.command(&["chat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"hello!\n").expect("it reads");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it answers");
    assert!(line.starts_with("Hello."), "{line}");
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
}

/// With nobody at a keyboard, Ctrl-C is for the program, not for a reply.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_chat_in_a_pipe() {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    // A shell has what it starts in the background ignore interrupts, and so does all that this starts.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    if ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|bits| bits & 2 != 0) {
        return crate::disk::skip("an interrupt in a pipe", "interrupts are ignored here");
    }
    let neap = Neap::new();
    let mut child = neap.command(&["chat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"hello!\n").expect("it reads");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it answers");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    // Were the signal ignored, the end of the pipe would end it instead.
    drop(stdin);
    assert_eq!(child.wait().expect("it ends").signal(), Some(2));
    assert_eq!(neap.json(&["session", "show"])["turns"], 1);
}

#[test]
fn what_was_said_last_is_taken_back_and_said_otherwise() {
    let neap = Neap::new();
    let said = neap.chat(&[
        "my locker code is 4711",
        "/undo",
        "/undo",
        "my locker code is 4712",
        "/retry my locker code is 4713",
        "/retry",
        "/context",
    ]);
    in_order(
        &said,
        &[
            "--- Undid turn 1; `neap session original t1` still shows it ---",
            "There is no turn to undo.",
            "--- Undid turn 2;",
            "--- Undid turn 3;",
            "my locker code is 4713",
        ],
    );
    assert!(!said.contains("code is 4711") && !said.contains("code is 4712"), "{said}");
    let found = neap.ok(&["search", "locker code"]);
    assert!(found.contains("4713") && !found.contains("4711") && !found.contains("4712"), "{found}");
    assert!(neap.ok(&["session", "original", "t1"]).contains("4711"));
    assert!(neap.ok(&["explain", "--turn", "1"]).contains("undone"));
}
