//! The composite score at known points.

use super::*;
use crate::memory::MemoryKind;
use crate::text::terms::query_terms;

/// Changes applied to a record.
type Spoil = fn(&mut Memory);

fn frame_of(name: &str) -> Frame {
    FrameSet::built_in().get(name).unwrap().clone()
}

fn terms_of(memory: &Memory, similarity: f64) -> ScoreBreakdown {
    score(memory, sure(similarity), &frame_of("decision"), NOW)
}

/// 003, Step 4: the weights 0.50, 0.15, 0.15, 0.10, 0.05, 0.05.
#[test]
fn step4_the_weights() {
    let best = memory("d1", 0, &[], decision("x", Outcome::Success, 1.0, ""));
    // Similarity 1, priority 1, recency 1, outcome 1, usage 0 (a decision has none), confidence 1.
    assert_eq!(terms_of(&best, 1.0).score.thousandths(), 950);
    assert_eq!(terms_of(&best, 0.0).score.thousandths(), 450, "similarity weighs 0.50");
    let old = memory("d1", 100_000, &[], decision("x", Outcome::Success, 1.0, ""));
    assert_eq!(terms_of(&old, 1.0).score.thousandths(), 800, "recency weighs 0.15");
    let failed = memory("d1", 0, &[], decision("x", Outcome::Failure, 1.0, ""));
    assert_eq!(terms_of(&failed, 1.0).score.thousandths(), 850, "outcome weighs 0.10");
    let unsure = memory("d1", 0, &[], decision("x", Outcome::Success, 0.0, ""));
    assert_eq!(terms_of(&unsure, 1.0).score.thousandths(), 900, "confidence weighs 0.05");
    let episode_memory = memory("e1", 0, &[], episode("x", None, &[], ""));
    // Priority 0.4 and outcome 0.5: 0.50 + 0.06 + 0.15 + 0.05 + 0 + 0.05.
    assert_eq!(terms_of(&episode_memory, 1.0).score.thousandths(), 810, "priority weighs 0.15");
    let worn = memory("p1", 0, &[], procedure("x", &["y"], 100_000));
    // Priority 0.8, outcome 0.5, usage 1: 0.50 + 0.12 + 0.15 + 0.05 + 0.05 + 0.05.
    assert_eq!(terms_of(&worn, 1.0).score.thousandths(), 920, "usage weighs 0.05");
}

/// 003, Step 4: exponential decay, half-life 30 days, in whole days.
#[test]
fn step4_recency_halves_in_thirty_days() {
    for (days, want) in [(0, 1_000), (1, 977), (15, 707), (30, 500), (60, 250), (90, 125), (100_000, 0)] {
        let terms = terms_of(&memory("f1", days, &[], fact("x")), 0.0);
        assert_eq!(terms.recency.thousandths(), want, "{days} days");
    }
    let mut tomorrow = memory("f1", 0, &[], fact("x"));
    tomorrow.created = Stamp(NOW.0 + DAY);
    assert_eq!(terms_of(&tomorrow, 0.0).recency.thousandths(), 1_000, "a clock that was wrong does no harm");
}

/// 003, Step 4: success 1.2, partial 1.0, failure 0.8, pending 0.9, none 1.0; scaled as (x − 0.8) / 0.4.
#[test]
fn step4_outcome_boosts() {
    let outcomes =
        [(Outcome::Success, 1_000), (Outcome::Partial, 500), (Outcome::Pending, 250), (Outcome::Failure, 0)];
    for (outcome, want) in outcomes {
        let terms = terms_of(&memory("d1", 0, &[], decision("x", outcome, 0.5, "")), 0.0);
        assert_eq!(terms.outcome.thousandths(), want, "{outcome:?}");
    }
    assert_eq!(terms_of(&memory("f1", 0, &[], fact("x")), 0.0).outcome.thousandths(), 500);
}

/// 003, Step 4: min(1.0 + log10(activations) · 0.1, 1.5), nothing for none; scaled as (x − 1.0) / 0.5.
#[test]
fn step4_usage_boosts() {
    for (activations, want) in
        [(0, 0), (1, 0), (10, 200), (100, 400), (1_000, 600), (100_000, 1_000), (u32::MAX, 1_000)]
    {
        let terms = terms_of(&memory("p1", 0, &[], procedure("x", &["y"], activations)), 0.0);
        assert_eq!(terms.usage.thousandths(), want, "{activations}");
    }
}

/// 003, Step 4: `frame.priorities.get(result.type, 0.5)` and `getattr(result, 'confidence', 1.0)`.
#[test]
fn step4_priority_and_confidence() {
    let records = [
        (memory("d1", 0, &[], decision("x", Outcome::Pending, 0.85, "")), 1_000, 850),
        (memory("p1", 0, &[], procedure("x", &["y"], 0)), 800, 1_000),
        (memory("f1", 0, &[], fact("x")), 600, 1_000),
        (memory("e1", 0, &[], episode("x", None, &[], "")), 400, 1_000),
    ];
    for (record, priority, confidence) in records {
        let terms = terms_of(&record, 0.0);
        assert_eq!((terms.priority.thousandths(), terms.confidence.thousandths()), (priority, confidence));
    }
}

/// 003, Garbage Collection: core facts rank higher, superseded ones lower; so do contested and shaken ones.
#[test]
fn what_became_of_a_record_moves_its_rank() {
    let plain = memory("f1", 0, &[], fact("x"));
    let base = terms_of(&plain, 0.6).score.thousandths();
    // 0.30 + 0.09 + 0.15 + 0.05 + 0 + 0.05.
    assert_eq!(base, 640);
    let spoil: [(&str, Spoil, u64); 5] = [
        ("core", |m| m.status = Status::Core, 640 + 36),
        ("superseded", |m| m.status = Status::Superseded, 320),
        ("contested", |m| m.contested_with = vec!["f2".parse().unwrap()], 512),
        ("shaken", |m| m.shaken_by = vec!["f2".parse().unwrap()], 512),
        (
            "core, but contested",
            |m| {
                m.status = Status::Core;
                m.contested_with = vec!["f2".parse().unwrap()]
            },
            512,
        ),
    ];
    for (what, spoil, want) in spoil {
        let mut record = plain.clone();
        spoil(&mut record);
        assert_eq!(terms_of(&record, 0.6).score.thousandths(), want, "{what}");
    }
}

/// A text that calls itself past ranks like one that was superseded.
#[test]
fn what_calls_itself_past_does_not_come_before_what_holds() {
    let score_of = |content: &str| {
        let mut record = memory("f1", 0, &[], fact("x"));
        if let Body::Fact(fact) = &mut record.body {
            fact.content = content.to_owned();
        }
        // The current one says less of the question.
        let similarity = if content.contains("lives") { 0.5 } else { 0.7 };
        terms_of(&record, similarity).score.thousandths()
    };
    let current = score_of("Tim lives in Bergen");
    for past in [
        "Tim used to live in Oslo",
        "Previously Tim had a flat in Oslo",
        "Until last year Tim was in Oslo",
        "Tim formerly resided in Oslo",
        "Tim's flat in Oslo was replaced by a house",
        "Tim no longer has the flat in Oslo",
    ] {
        assert!(score_of(past) < current, "{past}");
    }
}

#[track_caller]
fn check_similarity(content: &str, with: &[u64], want: u64) {
    let terms = ["redi".to_owned(), "cach".to_owned()];
    let recalled = RecallResponse {
        memories: Vec::new(),
        text_count: 10_000,
        document_frequencies: with.to_vec(),
        ..RecallResponse::default()
    };
    let question = QuestionScorer::new("", &terms, &recalled);
    assert_eq!(question.similarity(&memory("f1", 0, &[], fact(content))).thousandths(), want, "{content}");
}

/// The square root of the IDF-weighted share of the question's terms that a record has.
#[test]
fn likeness_is_the_root_of_the_weighed_share() {
    check_similarity("Redis is a cache", &[1_000, 1_000], 1_000);
    check_similarity("Redis is a store", &[1_000, 1_000], 707);
    check_similarity("bananas", &[1_000, 1_000], 0);
    // ln(1 + 9000.5 / 1000.5) = 2.302 against ln(1 + 1000.5 / 9000.5) = 0.105: the rare term dominates.
    check_similarity("Redis is a store", &[1_000, 9_000], 978);
    check_similarity("a cache", &[1_000, 9_000], 209);
    // 256 distinct terms are four times 64: damped by the fourth root of 4.
    let long: String = (0..255).map(|n| format!("w{n:03}x ")).collect();
    let terms = ["redi".to_owned()];
    let mut recalled = RecallResponse::default();
    let record = memory("f1", 0, &[], fact(&long.replace('w', "q")));
    assert_eq!(QuestionScorer::new("", &terms, &recalled).similarity(&record).thousandths(), 0);
    recalled.similarities.insert(record.id, Confidence::try_from(0.8).unwrap());
    assert_eq!(
        QuestionScorer::new("", &terms, &recalled).similarity(&record).thousandths(),
        800,
        "it means the same"
    );
    let named = memory("f1", 0, &[], fact("Redis"));
    assert_eq!(
        QuestionScorer::new("", &terms, &recalled).similarity(&named).thousandths(),
        1_000,
        "words say more"
    );
}

/// An agent's first memory is found: in a small collection a word is as common as in ordinary writing.
#[test]
fn few_texts_make_no_name_common() {
    let mut world = World::asking(
        "Which unit does Tim prefer for temperatures?",
        vec![memory("f1", 0, &[], fact("Tim prefers Celsius, not Fahrenheit"))],
    );
    assert_eq!(world.terms, ["unit", "tim", "prefer", "temperatur"]);
    (world.recalled.text_count, world.recalled.document_frequencies) = (1, vec![0, 1, 1, 0]);
    let knowledge = world.build();
    assert_eq!(ids(&knowledge), ["f1"]);
    // Two of four terms. The names count ln(1 + 999.5 / 1.5) = 6.503 and 7.602; of ordinary paragraphs 0.4 % have
    // "prefer", which counts 5.223, and 0.6 % "unit", 5.038.
    assert_eq!(knowledge.items[0].similarity.thousandths(), 694);
}

/// Two records share a common word with the question, one a name.
#[test]
fn common_words_weigh_less_than_names_in_a_small_store() {
    let terms = ["use".to_owned(), "heron".to_owned()];
    let recalled = RecallResponse { text_count: 9, document_frequencies: vec![1, 1], ..RecallResponse::default() };
    let question = QuestionScorer::new("", &terms, &recalled);
    let [common, name] = ["we use tabs", "heron is a database"]
        .map(|content| question.similarity(&memory("f1", 0, &[], fact(content))));
    assert!(name.thousandths() > 850 && common.thousandths() < 550, "{common} {name}");
}

/// An error log around a question makes no record unlike it.
#[test]
fn a_long_message_is_compared_by_its_best_sentence() {
    let asked = "Which port has the heron database?";
    let log = "2026-03-02 10:11:12 ERROR worker-3 connection reset by peer at server.rs:114\n".repeat(6);
    let message = format!("{log}I ran it twice this morning and it looks the same.\n{asked}");
    let record = memory("f1", 0, &[], fact("The heron database is on port 7411"));
    let recalled = RecallResponse { text_count: 5_000, ..RecallResponse::default() };
    let likeness = |message: &str| {
        let terms = query_terms(message);
        QuestionScorer::new(message, &terms, &recalled).similarity(&record).thousandths()
    };
    assert_eq!((likeness(asked), likeness(&message)), (1_000, 1_000));
}

#[test]
fn long_records_are_damped() {
    let long: String = (0..255)
        .map(|n: u8| {
            format!(
                "a{} ",
                ["b", "c", "d", "f"]
                    .iter()
                    .enumerate()
                    .map(|(i, s)| s.repeat(usize::from(n >> (2 * i)) % 4 + 1))
                    .collect::<String>()
            )
        })
        .collect();
    let terms = ["redi".to_owned()];
    let recalled = RecallResponse::default();
    let question = QuestionScorer::new("", &terms, &recalled);
    let record = memory("f1", 0, &[], fact(&format!("Redis {long}")));
    let distinct = crate::text::terms::query_terms(&record.search_text()).len();
    assert_eq!(distinct, 256);
    assert_eq!(question.similarity(&record).thousandths(), 707);
}

/// Decision 11: nothing below the floor is loaded, however large the budget.
#[test]
fn below_the_floor_nothing_is_loaded() {
    assert_eq!(MemoryKind::ALL.map(|kind| similarity_floor(kind).thousandths()), [450, 450, 450, 450, 0]);
    let question = "zebra yak walrus vulture urchin tapir snake raven quail panda";
    // One of ten equally rare terms: √0.1 = 0.316.
    let world = World::asking(
        question,
        vec![
            memory("f1", 0, &[], fact("a panda")),
            memory("d1", 0, &[], decision("a panda", Outcome::Success, 1.0, "")),
        ],
    );
    let knowledge = world.build();
    assert_eq!(knowledge.items, []);
    assert!(knowledge.candidates.iter().all(|w| matches!(w.outcome, SelectionOutcome::BelowFloor(_))));
    assert!(!knowledge.text().contains('['), "no marks around nothing");
}

/// Decision 11: ties go to the lower id.
#[test]
fn ties_go_by_id() {
    let twin = |id: &str| memory(id, 3, &[], fact("Redis is single-threaded"));
    let knowledge = World::asking("Redis", vec![twin("f10"), twin("f2"), twin("f7")]).build();
    assert_eq!(ids(&knowledge), ["f2", "f7", "f10"]);
}

/// Decision 13: outdated records rank lower; wrong or currently invalid ones are never loaded.
#[test]
fn what_does_not_hold_now_is_not_loaded() {
    let spoil: [(&str, Spoil); 4] = [
        ("f1", |m| m.status = Status::Inactive),
        ("f2", |m| m.valid_until = Some(NOW)),
        ("f3", |m| m.valid_from = Some(Stamp(NOW.0 + 1))),
        ("f4", |m| {
            m.valid_from = Some(NOW);
            m.valid_until = Some(Stamp(NOW.0 + 1))
        }),
    ];
    let memories = spoil.map(|(id, spoil)| {
        let mut record = memory(id, 0, &[], fact("Redis is single-threaded"));
        spoil(&mut record);
        record
    });
    let knowledge = World::asking("Redis", memories.to_vec()).build();
    assert_eq!(ids(&knowledge), ["f4"]);
}

#[test]
fn who_decides_weighs_what_is_less_like_the_question() {
    let best = Confidence::try_from(0.8).unwrap();
    for (frame, floor) in [(FrameSet::built_in().default_frame(), 680), (&frame_of("decision"), 520)] {
        assert_eq!(relevance_floor(MemoryKind::Fact, best, frame).thousandths(), floor, "{}", frame.name);
    }
}

#[test]
fn a_cosine_counts_as_the_words_that_say_as_much() {
    let (short, long) = ("Where did I park?", "line of a log ".repeat(40));
    for (cosine, question, similarity) in
        [(0.35, short, 450), (1.0, short, 1_000), (0.0, short, 0), (-0.5, short, 0), (0.35, &long, 350)]
    {
        assert_eq!(similarity_from_cosine(cosine, question).thousandths(), similarity, "{cosine} {question:.20}");
    }
}
