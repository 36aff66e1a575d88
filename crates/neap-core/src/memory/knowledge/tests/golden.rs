//! The seed's example, among distractors: same sections, same order, same selection.

use super::*;

/// 003, Example: "Should we use Redis for caching in Newton?", with the expected selection and as many other
/// records as the search returned there: 12 decisions, 25 facts, 3 procedures, 5 episodes.
fn redis() -> World {
    let all = ["redis", "caching", "newton"];
    let mut memories = vec![
        memory(
            "d3",
            40,
            &all,
            decision(
                "Chose Postgres + pgvector over separate ChromaDB for unified storage",
                Outcome::Success,
                0.85,
                "Unification reduces operational surface. One backup, one monitor, one connection pool.",
            ),
        ),
        memory(
            "d1",
            60,
            &["caching", "newton"],
            decision(
                "Built CE with SQLite first, migrated to Postgres later",
                Outcome::Success,
                0.80,
                "Start simple, migrate when proven. Abstract storage layer made migration painless.",
            ),
        ),
        memory(
            "d7",
            60,
            &["redis", "newton"],
            decision(
                "Rejected Qdrant in favor of pgvector",
                Outcome::Success,
                0.82,
                "Operational simplicity beat raw vector performance.",
            ),
        ),
        memory(
            "f9",
            10,
            &all,
            fact("PostgreSQL supports UNLOGGED tables for cache-like workloads (no WAL overhead)"),
        ),
        memory("f4", 10, &["caching"], fact("Redis adds a separate service to manage, monitor, and backup")),
        memory(
            "f6",
            10,
            &["caching"],
            fact("Newton's docker-compose currently has 3 services (newton, postgres, dashboard)"),
        ),
        memory(
            "f2",
            10,
            &["redis", "newton"],
            fact("pgvector query performance: 0.37s for hybrid search over 300+ records"),
        ),
        memory(
            "p1",
            90,
            &["caching", "newton"],
            procedure(
                "Architecture Decision",
                &[
                    "Query similar past decisions before committing",
                    "Evaluate at least 2 alternatives with pros/cons",
                    "Record decision with confidence BEFORE implementing",
                    "Consider operational cost, not just capability",
                ],
                12,
            ),
        ),
        memory(
            "e2",
            40,
            &["redis", "caching"],
            episode(
                "Newton storage architecture discussion",
                Some(120),
                &["Tim"],
                "chose Postgres + pgvector, rejected multi-service approaches",
            ),
        ),
        memory(
            "e5",
            60,
            &["redis", "newton"],
            episode(
                "CE SQLite migration",
                Some(180),
                &[],
                "abstracting storage layer first made backend swap painless",
            ),
        ),
    ];
    for n in 0..9 {
        let (id, tag) = (format!("d{}", 20 + n), ["caching", "redis", "newton"][n % 3]);
        memories.push(memory(
            &id,
            5,
            &[tag],
            decision(&format!("Settled release matter {n}"), Outcome::Success, 0.9, ""),
        ));
    }
    for n in 0..21 {
        let (id, tag) = (format!("f{}", 20 + n), ["caching", "redis", "newton"][n % 3]);
        memories.push(memory(&id, 1, &[tag], fact(&format!("The meeting room number {n} has a window"))));
    }
    memories.push(memory("p8", 1, &["newton"], procedure("Infrastructure Evaluation", &["Measure first"], 900)));
    memories.push(memory("p9", 1, &["newton"], procedure("Deployment", &["Branch, review, merge"], 900)));
    for n in 0..3 {
        memories.push(memory(
            &format!("e{}", 20 + n),
            1,
            &["newton"],
            episode("Lunch about plans", Some(30), &[], ""),
        ));
    }
    let mut world = World::asking("Should we use Redis for caching in Newton?", memories);
    assert_eq!(world.terms, ["use", "redi", "cach", "newton"]);
    world.recalled.text_count = 2_000;
    world.recalled.document_frequencies = vec![400, 60, 50, 300];
    world.identity = "Newton agent. Analytical, cautious, curious.".to_owned();
    world.focus = Focus::with_task(Some("Designing Newton's storage and runtime architecture."));
    for censor in [
        memory(
            "c1",
            99,
            &[],
            censor(
                CensorAction::Steer,
                "Don't decide without at least 2 alternatives",
                "architecture decisions need comparison",
            ),
        ),
        memory(
            "c2",
            99,
            &[],
            censor(
                CensorAction::Abort,
                "Don't add infrastructure without evaluating operational cost",
                "learned from over-engineering incidents",
            ),
        ),
    ] {
        world.agent.censors.insert(censor.id, censor);
    }
    world.agent.reviews = crate::memory::ReviewStats {
        count: 100,
        confidence_sum: 90_000,
        value_sum: 97_000,
        squares_sum: 1_900_000,
    };
    world
}

#[test]
fn the_redis_example_is_assembled_as_the_seed_shows() {
    let knowledge = redis().build();
    assert_eq!(knowledge.frame, "decision");
    assert_eq!(ids(&knowledge), ["d3", "d1", "d7", "f9", "f4", "f6", "f2", "p1", "e2", "e5"]);
    let page = knowledge.text();
    let headings: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(
        headings,
        [
            "## Identity",
            "## Active Constraints",
            "## Current Approach: Decision",
            "## Relevant Past Decisions",
            "## Known Information",
            "## Procedure: Architecture Decision (p1, person, 2025-12-18)",
            "## Past Experience",
            "## Note",
            "## Current Focus",
        ]
    );
    // The seed's "Total: ~1,800 tokens" is generous; the page is well under budget and within each layer's cap.
    assert!(knowledge.tokens.total() < Tokens(1_800));
    insta::assert_snapshot!(page);
}

/// 003, Step 7, with a system text that is not ours: the same sections as one block of data.
#[test]
fn at_the_end_of_a_prompt_the_page_is_one_block() {
    let (system, mut world) = (redis().build(), redis());
    world.placement = Placement::Tail;
    let tail = world.build().text();
    let stripped = |text: &str| {
        let mut lines: Vec<String> =
            text.lines().filter(|line| !line.starts_with(prompt::MARK)).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(stripped(&tail), stripped(&system.text()));
    assert!(tail.starts_with(prompt::KNOWLEDGE_TAIL_OPEN) && tail.ends_with(prompt::KNOWLEDGE_TAIL_CLOSE));
    assert_eq!(tail.matches(prompt::MARK).count(), 2, "marks stand around all of it, not within");
}

/// `--explain` lists every candidate once, with its terms.
#[test]
fn every_candidate_is_accounted_for() {
    let knowledge = redis().build();
    assert_eq!(knowledge.candidates.len(), 12 + 25 + 3 + 5);
    let loaded = knowledge.candidates.iter().filter(|w| matches!(w.outcome, SelectionOutcome::Loaded(_))).count();
    assert_eq!(loaded, knowledge.items.len());
    let out = knowledge.candidates.iter().find(|w| w.id.to_string() == "p9").unwrap();
    assert!(out.outcome.explain().starts_with("out: likeness below 0."), "{}", out.outcome.explain());
    assert_eq!(out.breakdown.similarity.thousandths(), 421);
    let record = knowledge.to_memory_load(LoadCause::First);
    assert_eq!((record.considered, record.tokens, record.items.len()), (45, knowledge.tokens.total(), 10));
}

use crate::base::prompt;
