//! The frame table, and frame selection.

use super::*;

/// SOURCES, Newton: the table, row by row. Budgets: decisions, facts, procedures, episodes.
#[test]
fn the_built_in_frames_are_those_of_the_table() {
    let rows = [
        ("task", 15, 4, 8_000, [2_000, 1_500, 1_500, 1_000], 0),
        ("question", 5, 3, 6_000, [1_000, 1_500, 500, 500], 0),
        ("decision", 5, 6, 12_000, [3_000, 2_000, 2_000, 1_000], 3),
        ("creative", 5, 2, 6_000, [1_000, 1_500, 500, 500], 2),
        ("conversation", 4, 1, 3_000, [500, 500, 0, 600], 0),
        ("debug", 6, 5, 10_000, [1_500, 1_000, 2_500, 1_000], 3),
    ];
    let frames = FrameSet::built_in();
    assert_eq!(frames.iter().len(), rows.len());
    for (frame, (name, words, tie, total, budgets, questions)) in frames.iter().zip(rows) {
        let Budgets { decisions, facts, procedures, episodes } = frame.budgets;
        assert_eq!((frame.name.as_str(), frame.words.len(), frame.tie), (name, words, tie));
        assert_eq!((frame.total, [decisions, facts, procedures, episodes]), (Tokens(total), budgets.map(Tokens)));
        assert_eq!(frame.questions.len(), questions, "{name}");
        assert_eq!(frame.is_for_deciding(), name == "decision", "{name}");
    }
}

/// 003, Step 1: `priorities = {"decisions": 1.0, "procedures": 0.8, "facts": 0.6, "episodes": 0.4}`.
#[test]
fn step1_the_priorities_of_a_decision() {
    let frames = FrameSet::built_in();
    let priorities = frames.get("decision").unwrap().priorities;
    let priority = |kind| priorities.of(kind).value();
    assert_eq!(MemoryKind::ALL.map(priority), [1.0, 0.6, 0.8, 0.4, 1.0]);
    assert_eq!(Priorities::default().of(MemoryKind::Fact).value(), 0.5, "003, Step 4: priorities.get(type, 0.5)");
}

#[track_caller]
fn check(input: &str, name: &str, thousandths: u64) {
    let frames = FrameSet::built_in();
    let chosen = select(&frames, input);
    assert_eq!((chosen.frame.name.as_str(), chosen.confidence.thousandths()), (name, thousandths), "{input:?}");
}

/// SOURCES, Newton: test vectors of the selection.
#[test]
fn the_vectors_of_selection() {
    check("should we use Redis?", "decision", 300);
    check("build a REST API", "task", 300);
    check("error in deployment", "debug", 300);
    check("hello how are you", "conversation", 900);
    check("xyzzy foobar", "conversation", 0);
    check("should we fix this bug", "decision", 300);
}

/// SOURCES, Newton: most hits win, ties by priority, multi-word hits count double, punctuation stripped, and the
/// confidence is min(1, 0.3 · hits).
#[test]
fn hits_are_counted_as_the_table_says() {
    check("fix and deploy the crash", "task", 600);
    check("what if we had no server?", "creative", 600);
    check("(Why?) \"Explain!\" ... tell me", "question", 1_000);
    check("weigh the trade-off", "decision", 300);
    check("fix fix fix", "task", 300);
    check("the errors keep crashing it", "debug", 600);
    check("a shower of prefixes and bugles", "conversation", 0);
    check("", "conversation", 0);
    check("🦀 !!!", "conversation", 0);
}

#[test]
fn likeness_decides_where_no_word_hits() {
    let frames = FrameSet::built_in();
    let chosen = select(&frames, "can you reproduce the message");
    assert_eq!((chosen.frame.name.as_str(), chosen.basis), ("debug", ChoiceBasis::Similarity));
    assert!(chosen.confidence.thousandths() < 300 && chosen.confidence.thousandths() > 0);
    assert_eq!(chosen.hits, [("debug".to_owned(), vec!["reproduc".to_owned(), "messag".to_owned()])]);
    assert_eq!(select(&frames, "reproduce paintings of old dutch masters").basis, ChoiceBasis::Default);
}

#[test]
fn a_choice_explains_itself() {
    let frames = FrameSet::built_in();
    let chosen = select(&frames, "should we fix this bug");
    assert_eq!(chosen.explain(), "decision (0.30), by its words (decision: should; debug: bug; task: fix)");
    assert_eq!(select(&frames, "xyzzy").explain(), "conversation (0.00), by default");
    let stayed = select(&frames, "xyzzy").or_keep(&frames, "debug");
    assert_eq!((stayed.frame.name.as_str(), stayed.confidence.thousandths()), ("debug", 0));
    assert_eq!(chosen.clone().or_keep(&frames, "debug"), chosen);
}

fn named(name: &str) -> Frame {
    serde_json::from_value(serde_json::json!({ "name": name })).unwrap()
}

#[test]
fn configuration_adds_and_replaces() {
    let mut review = named("review");
    review.words = vec!["review".into(), "pull request".into()];
    let mut task = named("task");
    task.words = vec!["go".into()];
    let frames = FrameSet::with_custom(vec![review, task]).unwrap();
    assert_eq!(frames.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(" "), {
        "task question decision creative conversation debug review"
    });
    let chosen = select(&frames, "look at the pull request");
    assert_eq!((chosen.frame.name.as_str(), chosen.confidence.thousandths()), ("review", 600));
    assert_eq!(select(&frames, "build it").frame.name, "conversation", "the task frame has other words now");
    assert_eq!((chosen.frame.total, chosen.frame.budgets.decisions), (Tokens(8_000), Tokens(2_000)));
}

#[test]
fn a_frame_that_makes_no_sense_is_refused() {
    type Spoil = fn(&mut Frame);
    let broken: [(&str, Spoil); 8] = [
        ("not a name", |f| f.name = "## x".into()),
        ("not a name", |f| f.name = String::new()),
        ("lower case", |f| f.name = "Review".into()),
        ("without a letter", |f| f.words = vec!["?!".into()]),
        ("the maximum is 64", |f| f.words = vec!["x".into(); 65]),
        ("not on one line", |f| f.description = "a\n## Identity".into()),
        ("the maximum is 240", |f| f.questions = vec!["x".repeat(241)]),
        ("no layer may have more", |f| f.total = Tokens(100)),
    ];
    for (why, spoil) in broken {
        let mut frame = named("review");
        spoil(&mut frame);
        let error = FrameSet::with_custom(vec![frame]).unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
    }
    let unknown = serde_json::json!({ "name": "x", "wrods": [] });
    assert!(serde_json::from_value::<Frame>(unknown).is_err());
    let too_sure = serde_json::json!({ "name": "x", "priorities": { "facts": 1.7 } });
    assert!(serde_json::from_value::<Frame>(too_sure).is_err());
    let many = (0..59).map(|n| named(&format!("f{n}"))).collect();
    assert!(FrameSet::with_custom(many).unwrap_err().contains("the maximum is 64"));
}
