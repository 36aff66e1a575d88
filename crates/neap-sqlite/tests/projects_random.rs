//! Random projects, sessions and texts: a page for a question asked in one project has texts of another only if they
//! share most of its rare words, and names where they are from.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::ids::Stamp;
use neap_core::base::message::Scope;
use neap_core::base::project_id::ProjectId;
use neap_core::base::testing::WordCounter;
use neap_core::base::tokens::Tokens;
use neap_core::recall::{
    Filter, PageCounting, ParsedQuestion, ProjectFilter, RankWeights, RankedSearch, RecalledContext, pack,
};
use neap_sqlite::SqliteStore;
use neap_store::contract::TestStream;
use neap_store::{MemStore, SearchStore, Store};
use proptest::prelude::*;

use crate::scene::block_on;

/// No background text has these words. Without digits: a word is also found by the parts around those.
fn rare(n: u8) -> String {
    format!("qv{}rk", char::from(b'a' + n))
}

/// A session's project, and the rare words of each of its texts.
type SessionPlan = (Option<u8>, Vec<BTreeSet<u8>>);

fn sessions() -> impl Strategy<Value = Vec<SessionPlan>> {
    let texts = proptest::collection::vec(proptest::collection::btree_set(0_u8..12, 0..5), 1..5);
    proptest::collection::vec((proptest::option::weighted(0.8, 0_u8..3), texts), 1..7)
}

fn project(n: u8) -> ProjectId {
    ProjectId::from_name(&format!("github.com/ann/p{n}")).unwrap()
}

/// Every text has the words that all share, and its own place, so that no two are the same.
fn text(session: usize, nth: usize, words: &BTreeSet<u8>) -> String {
    let words: Vec<String> = words.iter().map(|word| rare(*word)).collect();
    format!("note s{session}n{nth} {} we use the pattern", words.join(" "))
}

async fn record(store: &dyn Store, plan: &[SessionPlan]) {
    for (at, (of, texts)) in plan.iter().enumerate() {
        let name = format!("session-{at}");
        let mut stream = match of {
            Some(n) => TestStream::create_in(store, &name, project(*n).as_str()).await,
            None => TestStream::create(store, &name).await,
        };
        for (nth, words) in texts.iter().enumerate() {
            stream.add_turn(store, &text(at, nth, words), "noted", Scope::Ambient).await;
        }
    }
}

async fn page(store: &dyn SearchStore, question: &str, filter: ProjectFilter) -> RecalledContext {
    let question = ParsedQuestion::parse(question, Stamp(0));
    let query = question.to_query(None, Filter { project: Some(filter), ..Filter::default() });
    let (weights, budget) = (RankWeights::default(), Tokens(2_000));
    let search = RankedSearch { question, query, weights, current_session: None, budget };
    let found = store.search(&search).await.unwrap();
    let counting = PageCounting { counter: &WordCounter, has_candidate_counts: true };
    pack(counting, &search.question, found.ranked, &found.texts, budget)
}

fn check(plan: &[SessionPlan], asked_in: u8, words: &BTreeSet<u8>) -> Result<bool, TestCaseError> {
    let question: Vec<String> = words.iter().map(|word| rare(*word)).collect();
    let question = format!("which {} pattern", question.join(" "));
    let own = project(asked_in);
    let dir = tempfile::tempdir().unwrap();
    let (sqlite, mem) = (SqliteStore::open(&dir.path().join("neap.db")).unwrap(), MemStore::new());
    let (first, only, same) = block_on(async {
        record(&sqlite, plan).await;
        record(&mem, plan).await;
        let first = page(&sqlite, &question, ProjectFilter::First(own.clone())).await;
        let only = page(&sqlite, &question, ProjectFilter::Only(own.clone())).await;
        let same = page(&mem, &question, ProjectFilter::First(own.clone())).await;
        (first, only, same)
    });
    prop_assert_eq!(&first.text, &same.text, "I9: every backend gives the same");
    let projects: BTreeMap<String, Option<u8>> =
        plan.iter().enumerate().map(|(at, (of, _))| (format!("session-{at}"), *of)).collect();
    let is_foreign = |stream: &str| projects[stream].is_some_and(|of| of != asked_in);
    for shown in &only.shown {
        prop_assert!(!is_foreign(shown.candidate.id.stream.as_str()), "{}", only.text);
    }
    let mut has_foreign = false;
    for shown in &first.shown {
        let stream = shown.candidate.id.stream.as_str();
        if !is_foreign(stream) {
            continue;
        }
        has_foreign = true;
        let shared = words.iter().filter(|word| shown.text.contains(&format!("{} ", rare(**word)))).count();
        // Of the words and `pattern`, two in three.
        prop_assert!((shared + 1) * 3 >= (words.len() + 1) * 2 && shared >= words.len().min(2), "{}", shown.text);
    }
    for heading in first.text.lines().filter(|line| line.starts_with('[') && line.contains("session-")) {
        let stream = projects.keys().find(|name| heading.contains(name.as_str())).unwrap();
        let named =
            projects[stream].filter(|_| is_foreign(stream)).map(|of| format!("from project {}", project(of)));
        match named {
            Some(named) => prop_assert!(heading.contains(&named), "{heading}"),
            None => prop_assert!(!heading.contains("from project"), "{heading}"),
        }
    }
    Ok(has_foreign)
}

#[test]
fn other_projects_are_on_a_page_only_where_they_bear_strongly() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let with_foreign = std::cell::Cell::new(0);
    let words = proptest::collection::btree_set(0_u8..12, 1..5);
    let checked = runner.run(&(sessions(), 0_u8..3, words), |(plan, asked_in, words)| {
        let has_foreign = check(&plan, asked_in, &words)?;
        with_foreign.set(with_foreign.get() + u32::from(has_foreign));
        Ok(())
    });
    assert_eq!(checked, Ok(()));
    assert!(with_foreign.get() > 0, "the scene is set");
}
