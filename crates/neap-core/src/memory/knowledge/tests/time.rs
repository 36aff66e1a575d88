//! Questions about a time.

use super::*;

#[track_caller]
fn check(question: &str, want: Option<(&str, &str)>) {
    let found = question_time_range(question, NOW).map(|(from, until)| (from.iso(), until.iso()));
    let want = want.map(|(from, until)| (format!("2026-{from}"), format!("2026-{until}")));
    assert_eq!(found, want, "{question}");
}

const MIDNIGHT: &str = "T00:00:00Z";

/// Now is Wednesday, 2026-03-18, 10:00.
#[test]
fn recency_questions_name_a_window() {
    let day = |day: &str| format!("{day}{MIDNIGHT}");
    let now = "03-18T10:00:00Z";
    for (question, from, until) in [
        ("What did we do yesterday?", day("03-17"), day("03-18")),
        ("what happened today", day("03-18"), now.to_owned()),
        ("What did we decide last week?", day("03-09"), day("03-16")),
        ("what have we done this week?", day("03-16"), now.to_owned()),
        ("What was decided last month?", day("02-01"), day("03-01")),
        ("catch me up", day("03-12"), now.to_owned()),
        ("Recap, please", day("03-12"), now.to_owned()),
        ("recap yesterday", day("03-17"), day("03-18")),
        ("what have you worked on recently?", day("03-12"), now.to_owned()),
        ("Summarize last week", day("03-09"), day("03-16")),
        ("what did we do 3 days ago?", day("03-15"), day("03-16")),
        ("what was done in the last two weeks?", day("03-05"), now.to_owned()),
    ] {
        check(question, Some((&from, &until)));
    }
    for question in [
        "deploy the app today",
        "What is Redis?",
        "what should we do today?",
        "yesterday",
        "the weekly report was late",
        "should we use last week's numbers",
        "",
    ] {
        check(question, None);
    }
}

/// Decision 15: by time, not by similarity: newest first, no floor, no terms.
#[test]
fn recency_questions_take_the_time_path() {
    let question = "What did we do yesterday?";
    let frames = FrameSet::built_in();
    let request = recall_request(question, select(&frames, question).frame, NOW);
    assert_eq!(request.terms, Vec::<String>::new());
    assert_eq!(request.from.map(Stamp::iso).as_deref(), Some("2026-03-17T00:00:00Z"));
    let episode_at = |id: &str, hours: i64| {
        let mut record = memory(id, 1, &[], episode("Nothing that the question says", None, &[], ""));
        record.created = Stamp(NOW.0 - hours * 3_600_000);
        record
    };
    let knowledge =
        World::asking(question, vec![episode_at("e1", 30), episode_at("e3", 11), episode_at("e2", 20)]).build();
    assert_eq!(ids(&knowledge), ["e3", "e2", "e1"]);
    assert!(knowledge.text().contains("## Past Experience"));
}

/// 003, Step 3: limits of 20 decisions, 30 facts, 10 procedures, 10 episodes; censors come from the head.
#[test]
fn step3_every_kind_is_asked_for_at_once() {
    let frames = FrameSet::built_in();
    let request = recall_request("Should we use Redis?", frames.get("decision").unwrap(), NOW);
    let limits: Vec<(&str, usize)> = request.limits.iter().map(|(kind, max)| (kind.as_str(), *max)).collect();
    assert_eq!(limits, [("decision", 20), ("fact", 30), ("procedure", 10), ("episode", 10)]);
    assert_eq!(
        (request.terms, request.superseded, request.from),
        (vec!["use".to_owned(), "redi".to_owned()], false, None)
    );
    let chat = recall_request("Redis", frames.get("conversation").unwrap(), NOW);
    assert_eq!(chat.limits.len(), 3, "a kind without any room is not searched");
    let long: String = (0..5_000).map(|n| format!("word{n} ")).collect();
    assert_eq!(recall_request(&long, frames.get("task").unwrap(), NOW).terms.len(), 64);
}
