//! Sessions by project.

use std::collections::BTreeSet;

use neap_core::base::message::Scope;
use neap_core::base::project_id::ProjectId;
use neap_core::recall::{Filter, ProjectFilter, Query, SearchLimits};

use super::candidates::{MODEL, embed_all, embedded_query, propose};
use super::fixture::{TestStream, memory};
use crate::Store;

fn project(name: &str) -> ProjectId {
    ProjectId::from_name(name).expect("a test's name has letters")
}

/// A project's texts and those of none are proposed; a session may move, and its project is listed.
pub async fn proposals_are_narrowed_to_projects(store: &dyn Store) {
    let mut streams = Vec::new();
    for (name, of) in [("one", Some("shop")), ("two", Some("barn")), ("three", None), ("four", Some("shop"))] {
        let mut stream = match of {
            Some(project) => TestStream::create_in(store, name, project).await,
            None => TestStream::create(store, name).await,
        };
        stream.add_turn(store, "apple", "an apple", Scope::Ambient).await;
        streams.push(stream);
    }
    let mut agent = TestStream::create_agent(store, "newton").await;
    agent.add_memory(store, &memory("f1", "apples fall", 1)).await;
    embed_all(store, MODEL).await;
    let found = async |filter: &Filter| {
        let mut per_limit = Vec::new();
        for (lexical_max, semantic_max) in [(99, 0), (0, 99), (99, 99)] {
            let limits = SearchLimits { lexical_max, semantic_max, ..SearchLimits::default() };
            let query = Query { filter: filter.clone(), limits, ..embedded_query("apple") };
            let proposed = propose(store, &query).await;
            assert_eq!(proposed.text_count, if filter.streams.is_some() { 9 } else { 8 }, "all are counted");
            let names: BTreeSet<String> =
                proposed.items.iter().map(|card| card.id.stream.as_str().to_owned()).collect();
            per_limit.push(names.into_iter().collect::<Vec<_>>());
        }
        assert!(per_limit.iter().all(|names| *names == per_limit[0]), "{per_limit:?}");
        per_limit.swap_remove(0)
    };
    let filter = |project| Filter { project: Some(project), ..Filter::default() };
    assert_eq!(found(&filter(ProjectFilter::Only(project("shop")))).await, ["four", "one", "three"]);
    assert_eq!(found(&filter(ProjectFilter::First(project("barn")))).await, ["three", "two"]);
    assert_eq!(found(&filter(ProjectFilter::Others(project("shop")))).await, ["two"]);
    assert_eq!(found(&filter(ProjectFilter::Only(project("gone")))).await, ["three"]);
    let named = [&streams[1].id, &streams[3].id, &agent.id].map(Clone::clone);
    let both = Filter { streams: Some(named.into()), ..filter(ProjectFilter::Only(project("shop"))) };
    assert_eq!(found(&both).await, ["@newton", "four"], "an agent has no project");
    streams[0].set_project(store, Some("barn")).await;
    streams[3].set_project(store, None).await;
    assert_eq!(found(&filter(ProjectFilter::Only(project("barn")))).await, ["four", "one", "three", "two"]);
    let listed = store.sessions().await.expect("sessions can be listed").into_iter();
    let listed: Vec<_> =
        listed.map(|info| (info.session.as_str().to_owned(), info.project.map(String::from))).collect();
    let barn = || Some("barn".to_owned());
    let want = [("four", None), ("one", barn()), ("three", None), ("two", barn())];
    assert_eq!(listed, want.map(|(name, project)| (name.to_owned(), project)));
}
