//! When memories are selected again, what leaves under pressure, and what a reply used.

use super::*;

fn redis() -> World {
    let mut world = World::asking(
        "Should we use Redis for caching sessions?",
        vec![
            memory(
                "d1",
                90,
                &["redis"],
                decision("Rejected Memcached for caching sessions", Outcome::Success, 0.8, ""),
            ),
            memory("f1", 1, &["caching"], fact("Redis keeps sessions in memory and snapshots them hourly")),
            memory("f2", 300, &["redis"], fact("Sessions expire after forty minutes of caching")),
        ],
    );
    world.identity = "Newton.".to_owned();
    let rule = memory("c1", 1, &[], censor(CensorAction::Abort, "plaintext passwords", "they leak"));
    world.agent.censors.insert(rule.id, rule);
    world
}

#[track_caller]
fn check(input: &str, want: Option<LoadCause>) {
    let knowledge = redis().build();
    let frames = FrameSet::built_in();
    assert_eq!(load_cause(&knowledge, &select(&frames, input), input, is_follow_up(input)), want, "{input}");
}

/// 003, Context Refresh 1: frame switches reload; without a clear match the frame stays.
#[test]
fn refresh_1_on_a_frame_switch() {
    check("there is an error and the sessions caching is broken", Some(LoadCause::FrameChanged));
    check("should sessions in Redis expire?", None);
    check("redis sessions memory", None);
}

/// 003, Context Refresh 2: significant new information; `similarity < 0.5`.
#[test]
fn refresh_2_on_something_not_in_the_context() {
    check("should the kubernetes ingress get certificates?", Some(LoadCause::NewTopic));
    check("should kubernetes keep the sessions?", None); // keep and session of three are known
    check("kubernetes?", None); // one term says too little
    check("kubernetes ingress", Some(LoadCause::NewTopic));
    check("and the second one?", None);
}

/// A topic already asked about is not new.
#[test]
fn what_was_asked_once_is_not_new_again() {
    let mut knowledge = redis().build();
    let frames = FrameSet::built_in();
    let input = "kubernetes ingress certificates";
    assert_eq!(load_cause(&knowledge, &select(&frames, input), input, false), Some(LoadCause::NewTopic));
    knowledge.note_question(input);
    assert_eq!(load_cause(&knowledge, &select(&frames, input), input, false), None);
}

/// 003, Context Refresh 3: a decision point is reached.
#[test]
fn refresh_3_before_a_decision() {
    let frames = FrameSet::built_in();
    let mut world = redis();
    world.question = "What does Redis do for caching sessions".to_owned();
    let knowledge = world.build();
    let input = "OK, let's go with Redis";
    assert_eq!(knowledge.frame, "question");
    let chosen = select(&frames, input);
    assert_eq!(load_cause(&knowledge, &chosen, input, is_follow_up(input)), Some(LoadCause::BeforeAction));
    assert!(!announces_action("we let them go without us"));
}

/// 003, Context Refresh 4: the lowest relevance leaves first; censors and frame stay.
#[test]
fn refresh_4_under_pressure_the_least_relevant_leaves_first() {
    let mut knowledge = redis().build();
    let mut by_score: Vec<(Confidence, MemoryId)> =
        knowledge.items.iter().map(|item| (item.score, item.id)).collect();
    by_score.sort();
    let mut left = Vec::new();
    let mut room = knowledge.tokens.total();
    while room > Tokens::ZERO {
        room = Tokens(room.0 - 1);
        let before: BTreeSet<MemoryId> = knowledge.items.iter().map(|item| item.id).collect();
        shrink_to(&mut knowledge, room);
        assert!(
            knowledge.tokens.total() <= room
                && WordCounter.count(&join_sections(&knowledge.sections)) == knowledge.tokens.total()
        );
        let after: BTreeSet<MemoryId> = knowledge.items.iter().map(|item| item.id).collect();
        left.extend(before.difference(&after).copied());
        let text = knowledge.text();
        if !knowledge.items.is_empty() {
            assert!(text.contains("## Active Constraints") && text.contains("## Current Approach"));
        }
        assert!(text.contains("## Active Constraints") || text.is_empty(), "censors leave last:\n{text}");
    }
    assert_eq!(left, by_score.into_iter().map(|(_, id)| id).collect::<Vec<_>>());
    assert!(knowledge.candidates.iter().all(|w| w.outcome == SelectionOutcome::DroppedForRoom));
}

/// 003, Key Metrics, recall precision: at least 40 % of an item's distinctive terms and at least two, or its id.
#[test]
fn an_item_is_used_when_the_reply_has_enough_of_it() {
    let knowledge = redis().build();
    assert_eq!(ids(&knowledge), ["d1", "f1", "f2"]);
    let used = |reply: &str| used_memories(&knowledge, reply).iter().map(MemoryId::to_string).collect::<Vec<_>>();
    assert_eq!(used("Its snapshots are hourly and memory is cheap."), ["f1"]);
    assert_eq!(used("Redis for caching sessions, you ask: should you use it? A person must say."), [""; 0]);
    assert_eq!(used("As we found in D1, no."), ["d1"]);
    assert_eq!(used("They expire after forty minutes."), ["f2"]);
    assert_eq!(used("They expire."), [""; 0], "one term is too little");
    assert_eq!(used(""), [""; 0]);
}
