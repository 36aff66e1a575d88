//! Invented logs, and the facts that their summaries must keep.

use neap_core::base::message::Message;
use neap_core::session::summary::SummarizerKind;

use super::*;
use crate::bpe::BpeCounter;

fn summary_of(messages: Vec<Message>, tokens_max: u64) -> Option<String> {
    let request = SummaryRequest {
        topic: "x".into(),
        summarizer: SummarizerKind::BuiltIn,
        messages,
        tokens_max: Tokens(tokens_max),
    };
    let counter = BpeCounter::o200k();
    let source_tokens: Tokens = request.messages.iter().map(|m| counter.count(&m.content)).sum();
    let summary = ExtractiveSummarizer::new(Arc::new(counter)).summary(&request);
    if let Some(text) = &summary {
        assert!(counter.count(text) <= Tokens(tokens_max).min(source_tokens), "too long: {text}");
        assert!(!text.contains('\n'));
    }
    summary
}

/// Lines alternate between user and assistant.
#[track_caller]
fn check(log: &[&str], facts: &[&str], dropped: &[&str]) {
    let turn =
        |(at, text): (usize, &&str)| if at % 2 == 0 { Message::user(*text) } else { Message::assistant(*text) };
    let summary = summary_of(log.iter().enumerate().map(turn).collect(), 128).expect("a summary");
    for fact in facts {
        assert!(summary.contains(fact), "{fact:?} is not in: {summary}");
    }
    for word in dropped {
        assert!(!summary.contains(word), "{word:?} is in: {summary}");
    }
}

#[test]
fn an_auth_bug() {
    check(
        &[
            "Hi! I need to debug why users get logged out of the web app after exactly one hour.",
            "Sure, happy to help. Could you share how the session is stored? Is there a refresh token?",
            "We use JWT access tokens and a refresh token in an httpOnly cookie. The server logs show 401 on /api/refresh.",
            "That helps. A 401 on /api/refresh means the server rejects the refresh token. Let me know which library verifies it. \
             Common suspects are clock skew, a rotated signing key or a cookie that is not sent.",
            "It is jsonwebtoken 9.0.2 in src/auth/verify.ts. The cookie is sent, I checked in the browser.",
            "Then look at the options. Can you paste the verify call?",
            "```ts\nconst claims = verifyToken(raw, { maxAge: '1h' });\nreturn claims;\n```",
            "The root cause is maxAge: '1h' in verifyToken: it applies to refresh tokens too, so they are rejected after an hour. \
             Remove maxAge for refresh tokens or pass 30d.",
            "We decided to pass maxAge '30d' only for refresh tokens instead of removing it.",
            "Good choice. Add a test for it as well.",
            "Done, commit 4f2a91c is deployed and users stay logged in. Thanks a lot!",
            "Great, glad it works!",
        ],
        &["logged out", "maxAge: '1h'", "root cause", "'30d' only for refresh tokens", "4f2a91c"],
        &["Thanks", "glad", "happy to help"],
    );
}

#[test]
fn a_performance_fix() {
    check(
        &[
            "The dashboard page takes 8 seconds to load since last week and customers complain.",
            "Let's find out where the time goes. Is it the server or the browser? Could you share a trace?",
            "The trace shows GET /api/orders takes 7.4 s, and the query log shows 1,200 SELECTs on order_items.",
            "That is an N+1 query: the page loads each order's items on its own. In Django, use prefetch_related('items').",
            "I added prefetch_related in orders/views.py. It went from 7.4 s to 900 ms.",
            "Good. The rest may be the missing index on order_items.order_id. Would you like to check with EXPLAIN?",
            "EXPLAIN shows a Seq Scan on order_items. I created the index idx_order_items_order_id.",
            "That should remove the scan. Measure again.",
            "Now it is 180 ms. We chose not to add a cache because the data must be fresh.",
            "Makes sense.",
            "All sorted, we can close this.",
            "Great!",
        ],
        &[
            "8 seconds", "N+1", "prefetch_related", "idx_order_items_order_id", "180 ms",
            "not to add a cache because",
        ],
        &["Great", "Makes sense"],
    );
}

#[test]
fn a_trip_plan() {
    check(
        &[
            "Help me plan a trip to Lisbon for my parents in October.",
            "Lovely! How many days, and what is the budget? Do they like walking?",
            "Five days, 12 to 17 October, about 1,800 euros for both. My father uses a cane, so no steep hills.",
            "Then Baixa is better than Alfama, because it is flat. Hotels there cost 110 to 140 euros a night. \
             You could visit Belém by tram 15E. The Oceanarium is step-free.",
            "We will stay in Baixa then. I booked Hotel Duas Nações for 5 nights, 590 euros.",
            "Nice. For Belém, buy tickets for the Jerónimos Monastery ahead; it is closed on Mondays.",
            "OK. Flights are with TAP, TP553 from Munich, 310 euros for both.",
            "Noted. That leaves about 900 euros for food and museums.",
            "Perfect, the plan is finished.",
            "Enjoy!",
        ],
        &["Lisbon", "Baixa", "Hotel Duas Nações", "590 euros", "TP553", "12 to 17 October"],
        &["Enjoy", "Lovely"],
    );
}

#[test]
fn a_database_migration() {
    check(
        &[
            "We need to migrate the billing database from MySQL 5.7 to Postgres 16 with less than 10 minutes of downtime.",
            "Understood. How large is it, and do you use stored procedures? Options are pgloader, AWS DMS or logical dumps.",
            "It is 240 GB with 3 stored procedures. The largest table is invoices.",
            "pgloader alone takes hours for 240 GB. With AWS DMS you can copy first and replicate changes, then switch in minutes.",
            "We decided on AWS DMS with change data capture instead of pgloader.",
            "Mind that TINYINT(1) becomes smallint in DMS; map it to boolean in the table mapping rules.",
            "The first run failed with ERROR 1236 because binlog_format was STATEMENT.",
            "DMS needs binlog_format=ROW and binlog retention of at least 24 hours.",
            "Set both, and it works now. Row counts match on all 61 tables. Cutover took 6 minutes on Sunday.",
            "Excellent work!",
        ],
        &["MySQL 5.7 to Postgres 16", "AWS DMS", "binlog_format", "6 minutes", "61 tables", "instead of pgloader"],
        &["Excellent"],
    );
}

#[test]
fn a_log_in_german() {
    check(
        &[
            "Hallo, der Druckdienst auf srv-druck02 stürzt jede Nacht gegen 2:30 Uhr ab.",
            "Guten Tag! Kannst du mir das Ereignisprotokoll zeigen? Gibt es um diese Zeit einen geplanten Task?",
            "Im Protokoll steht Fehler 0xc0000005 in spoolsv.exe, und um 2:30 Uhr läuft die Datensicherung.",
            "Die Ursache ist wahrscheinlich ein alter Treiber, weil spoolsv.exe bei VSS-Snapshots mit Treibern vom Typ 3 abstürzt.",
            "Stimmt, es war der Treiber HP UPD 6.1. Wir haben uns entschieden, auf Version 7.0 zu wechseln, statt den Task zu verschieben.",
            "Gut. Danach bitte den Dienst neu starten.",
            "Erledigt, seit drei Nächten läuft der Dienst ohne Absturz. Vielen Dank!",
            "Gern geschehen!",
        ],
        &["srv-druck02", "0xc0000005", "HP UPD 6.1", "Version 7.0", "drei Nächten", "Ursache"],
        &["Gern", "Vielen Dank"],
    );
}

#[test]
fn a_log_in_chinese() {
    check(
        &[
            "你好，我们的支付服务在高峰期经常超时，需要排查原因。",
            "好的，请告诉我错误码和日志。数据库连接数是多少？",
            "日志显示错误码 504，连接池上限是 20，高峰期有 300 个并发请求。",
            "根本原因是连接池太小，因为每个请求平均占用连接 2 秒。建议把上限调到 100。",
            "我们决定把 max_connections 调到 120，而不是增加服务器。",
            "可以，同时注意数据库的上限。",
            "已经上线，超时问题解决了，平均响应时间从 2.3 秒降到 180 毫秒。谢谢！",
            "不客气！",
        ],
        &["支付服务", "504", "连接池太小", "max_connections 调到 120", "180 毫秒"],
        &["不客气", "谢谢"],
    );
}

#[test]
fn whatever_comes_in_nothing_longer_comes_out() {
    assert_eq!(summary_of(Vec::new(), 128), None);
    assert_eq!(summary_of(vec![Message::user(" \n ")], 128), None);
    assert_eq!(summary_of(vec![Message::user("hello")], 128).as_deref(), Some("hello"));
    assert_eq!(summary_of(vec![Message::user("Refactoring")], 128).as_deref(), Some("Refactoring"));
    let line = "we moved the cache to redis and then the latency fell and nobody complained ".repeat(3000);
    assert!(summary_of(vec![Message::user(line)], 128).is_some());
    assert!(summary_of(vec![Message::user("x".repeat(300_000))], 128).is_some());
    assert!(summary_of(vec![Message::user("修".repeat(50_000))], 64).is_some());
    assert!(summary_of(vec![Message::user("one two three four five")], 1).is_some());
    assert_eq!(summary_of(vec![Message::user("one two")], 0), None);
}

#[test]
fn two_hundred_thousand_tokens_keep_the_needle() {
    let mut messages = vec![Message::user("I need to find out why the nightly export job is slow.")];
    for n in 0..9000 {
        messages.push(Message::assistant(format!(
            "Step {n} looked at the worker queue and the lock table, and showed that nothing much had changed there."
        )));
    }
    messages.push(Message::user("The root cause was vm.swappiness=90 on host exp-7, and the job is fixed now."));
    let summary = summary_of(messages, 256).expect("a summary");
    assert!(summary.contains("nightly export job") && summary.contains("vm.swappiness=90"), "{summary}");
}

proptest::proptest! {
    #[test]
    fn any_text_is_summarised_within_its_room(texts in proptest::collection::vec("\\PC{0,300}", 0..6), max in 0u64..200) {
        summary_of(texts.into_iter().map(Message::user).collect(), max);
    }
}

/// The offline model's phrases say nothing about the work, even where they name the effort.
#[test]
fn phrases_of_the_built_in_model_are_left_out() {
    let messages = vec![
        Message::user("Users get a 401 about an hour after login."),
        Message::assistant("Noted under users-401-hour. This is the built-in offline model: it keeps things."),
        Message::user("Only one tab may renew; we take the lock auth-refresh."),
        Message::assistant("Concluded users-401-hour; its summary stands for it now."),
    ];
    let request = SummaryRequest {
        topic: "x".into(),
        summarizer: SummarizerKind::BuiltIn,
        messages,
        tokens_max: Tokens(128),
    };
    let summary = ExtractiveSummarizer::new(crate::bpe::counter_for("o200k_base")).summary(&request).unwrap();
    assert_eq!(
        summary,
        "Users get a 401 about an hour after login. Only one tab may renew; we take the lock auth-refresh."
    );
}

/// A clause that does not fit is left out whole: a number without its end says something else.
#[test]
fn no_clause_is_cut_inside() {
    let log = [
        Message::user("The build takes 58 seconds on my machine, which is slow."),
        Message::assistant("The linker takes 41 s of the 58 seconds that the whole build of the workspace takes."),
        Message::user("I switched to mold and it takes 9 seconds."),
    ];
    for tokens_max in 14..60 {
        let Some(summary) = summary_of(log.to_vec(), tokens_max) else { continue };
        for part in summary.split("; ").flat_map(|part| part.split_inclusive(". ")) {
            let part = part.trim().trim_end_matches(['.', ',']);
            let whole = |message: &Message| {
                message.content.contains(&format!("{part},")) || message.content.ends_with(&format!("{part}."))
            };
            assert!(log.iter().any(whole), "{part:?} is cut, at {tokens_max}: {summary}");
        }
    }
}

/// Where the assistant carried the work, its words are the summary, not the person's `done`.
#[test]
fn a_log_carried_by_the_assistant_is_summarized_by_its_words() {
    let log = [
        "go on",
        "The importer read every row twice because the cursor was not moved; I moved it in src/import.rs.",
        "ok",
        "All 212 tests pass, and the import of 40,000 rows takes 9 s instead of 31 s.",
        "done",
    ];
    check(&log, &["src/import.rs", "9 s"], &["done", "go on"]);
}
