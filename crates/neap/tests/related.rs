//! Past decisions and procedures that bear on a choice are in its page, though they share no word with the question.

use crate::rig::Neap;

/// A choice, and what is stored.
struct Case {
    question: &'static str,
    facts: &'static [&'static str],
    /// Decisions that bear on it, with a reason each.
    decisions: &'static [(&'static str, &'static str)],
    /// A decision that does not.
    other: (&'static str, &'static str),
}

/// The worked example of design 003, as stored by a person.
const REDIS: Case = Case {
    question: "Should we use Redis for caching in Newton?",
    facts: &[
        "PostgreSQL supports UNLOGGED tables for cache-like workloads (no WAL overhead)",
        "Redis adds a separate service to manage, monitor, and backup",
        "Newton's docker-compose currently has 3 services (newton, postgres, dashboard)",
        "pgvector query performance: 0.37s for hybrid search over 300+ records",
    ],
    decisions: &[
        (
            "Chose Postgres + pgvector over separate ChromaDB for unified storage",
            "analysis: Unification reduces operational surface. One backup, one monitor, one connection pool.",
        ),
        (
            "Built CE with SQLite first, migrated to Postgres later",
            "experience: Start simple, migrate when proven. Abstract storage layer made migration painless.",
        ),
        ("Rejected Qdrant in favor of pgvector", "analysis: Operational simplicity beat raw vector performance."),
    ],
    other: ("Publish the newsletter on Fridays", "evidence: open rates were highest then"),
};

const CASES: [Case; 10] = [
    Case {
        question: "Should we adopt Kafka for order events?",
        facts: &["Kafka needs a cluster of three brokers that somebody has to patch and watch at night"],
        decisions: &[(
            "Run background jobs from a database table",
            "constraint: nobody is on call to watch brokers at night",
        )],
        other: ("Print the catalogue on recycled paper", "preference: customers asked"),
    },
    Case {
        question: "Should we choose GraphQL for the mobile app?",
        facts: &["GraphQL responses cannot be cached by the CDN without persisted queries"],
        decisions: &[(
            "Serve product pages as static files",
            "evidence: the CDN cached ninety percent of responses",
        )],
        other: ("Hold the retrospective standing", "experience: it is shorter"),
    },
    Case {
        question: "Should we buy the Miele dishwasher?",
        facts: &["The Miele dishwasher is 60 cm wide and draws 16 ampere from its own socket"],
        decisions: &[(
            "Took the narrow oven",
            "constraint: the kitchen socket gives 10 ampere and 45 cm were free",
        )],
        other: ("Learn Portuguese before the summer", "preference: the trip to Porto"),
    },
    Case {
        question: "Should I decide for the train to Vienna?",
        facts: &["The night train to Vienna leaves at 22:10 and has no bicycle compartment"],
        decisions: &[("Went to Graz by bus", "constraint: bicycle compartment was sold out on the night service")],
        other: ("Switch the newsletter to plain text", "evidence: fewer complaints"),
    },
    Case {
        question: "Should we compare Terraform with anything else?",
        facts: &["Terraform keeps its state in a bucket that every runner must lock"],
        decisions: &[(
            "Deploy from one runner only",
            "experience: two runners overwrote the bucket without a lock",
        )],
        other: ("Paint the meeting room green", "preference: the team voted"),
    },
    Case {
        question: "Should we choose Elasticsearch for the help pages?",
        facts: &["Elasticsearch wants 8 GB of heap on every node, and snapshots to object storage"],
        decisions: &[("Index documents inside SQLite", "constraint: the node has 2 GB of heap to spare")],
        other: ("Ship invoices as PDF", "authority: the auditor asked for it"),
    },
    Case {
        question: "Should we decide on oak for the terrace?",
        facts: &["Oak boards warp in rain unless oiled twice a year"],
        decisions: &[("Built the bench of larch", "experience: boards oiled once a year had warped")],
        other: ("Use blue ink for signatures", "authority: the notary asked"),
    },
    Case {
        question: "Should we use Stripe for the donations?",
        facts: &["Stripe settles payouts after seven days and charges a fee per refund"],
        decisions: &[(
            "Took bank transfers for tickets",
            "analysis: each refund cost a fee, and payouts were late",
        )],
        other: ("Plant tomatoes in the south bed", "experience: more sun"),
    },
    Case {
        question: "Should the team choose Rust for the importer?",
        facts: &["Rust builds of the importer take eleven minutes on the shared runner without a warm cache"],
        decisions: &[(
            "Wrote the exporter in Go",
            "evidence: builds on the shared runner stayed under two minutes",
        )],
        other: ("Close the office in August", "preference: everybody is away"),
    },
    Case {
        question: "Should we choose Lisbon for the offsite?",
        facts: &["Lisbon flights from Tallinn have one stop and land after midnight"],
        decisions: &[("Met in Riga last spring", "constraint: flights with a stop that land late cost us a day")],
        other: ("Back up the photos to two disks", "experience: one disk failed"),
    },
];

/// Stores a case in a fresh place; gives its page as text, and the ids of what was loaded.
fn page_of(case: &Case, procedures: &[(&str, &str)]) -> (String, Vec<String>) {
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
    for fact in case.facts {
        neap.ok(&["remember", fact]);
    }
    for (text, reason) in case.decisions.iter().chain([&case.other]) {
        neap.ok(&["memory", "decide", text, "--confidence", "0.85", "--reason", reason]);
    }
    for (name, pattern) in procedures {
        neap.ok(&["remember", name, "--kind", "procedure", "--pattern", pattern]);
    }
    let page = neap.json(&["context", case.question]);
    let loaded = page["items"].as_array().expect("items").iter();
    let ids = loaded.map(|item| item["id"].as_str().expect("an id").to_owned()).collect();
    (page["text"].as_str().expect("text").to_owned(), ids)
}

fn has_decision(ids: &[String], nth: usize) -> bool {
    ids.iter().any(|id| *id == format!("d{nth}"))
}

#[test]
fn the_worked_example_has_its_decisions_and_its_procedure() {
    let procedures = [
        ("Architecture Decision", "Query similar past decisions before committing"),
        ("Deployment", "Tag, build, roll out to one machine first"),
    ];
    let (text, ids) = page_of(&REDIS, &procedures);
    assert!(
        text.contains("## Relevant Past Decisions") && text.contains("## Procedure: Architecture Decision"),
        "{text}"
    );
    for nth in 1..=REDIS.decisions.len() {
        assert!(has_decision(&ids, nth), "d{nth}: {text}");
    }
    assert!(!has_decision(&ids, REDIS.decisions.len() + 1) && !text.contains("Deployment"), "{text}");
}

/// Each case has one decision that shares words with what the question finds, and none with the question.
#[test]
fn decisions_about_the_same_things_are_found_and_no_others() {
    let mut wrong = Vec::new();
    for case in &CASES {
        let (text, ids) = page_of(case, &[]);
        if !has_decision(&ids, 1) || has_decision(&ids, 2) {
            wrong.push(format!("{}: {ids:?}\n{text}", case.question));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
