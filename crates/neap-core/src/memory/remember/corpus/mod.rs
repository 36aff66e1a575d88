//! Lists of statements that are all true at once, and of statements that replace others, told to an agent.

mod changes;
mod distinct;
mod held_out;
mod templates;

use std::collections::BTreeSet;

use super::tests::{Mind, fact};
use super::*;
use crate::base::testing::WordCounter;
use crate::text::terms::terms;

struct Telling {
    mind: Mind,
    /// Terms of each record, in the order of the records.
    terms: Vec<(MemoryId, BTreeSet<String>)>,
}

impl Telling {
    fn new() -> Self {
        Self { mind: Mind::default(), terms: Vec::new() }
    }

    /// Remembers a statement beside the current records that share the most words with it.
    fn tell(&mut self, text: &str) -> RememberPlan {
        let own: BTreeSet<String> = terms(text).into_iter().collect();
        let shared = |(id, other): &(MemoryId, BTreeSet<String>)| (own.intersection(other).count(), *id);
        let mut near: Vec<(usize, MemoryId)> = self.terms.iter().map(shared).filter(|(n, _)| *n > 0).collect();
        near.sort_by_key(|(n, id)| (std::cmp::Reverse(*n), *id));
        let ids = near.iter().take(SIMILAR_FACTS_MAX).map(|(_, id)| id);
        let similar: Vec<Memory> = ids.map(|id| self.mind.records[id].clone()).collect();
        let now = self.mind.now();
        let plan = remember(&self.mind.head, &similar, fact("", text), &WordCounter, now).expect("a fact");
        self.mind.keep(&plan.writes, now);
        if self.terms.iter().all(|(id, _)| *id != plan.id) {
            self.terms.push((plan.id, own));
        }
        plan
    }
}

/// Tells all statements; returns those that were not simply added, and why.
fn losses(statements: &[String]) -> Vec<String> {
    let mut telling = Telling::new();
    let mut out = Vec::new();
    for text in statements {
        let plan = telling.tell(text);
        if plan.outcome != DraftOutcome::New {
            out.push(format!("{}: {text} | {}", plan.outcome.as_str(), plan.note));
        }
    }
    out
}

/// The pairs of which the second was just added beside the first.
fn missed(pairs: &[(String, String)]) -> Vec<String> {
    let mut out = Vec::new();
    for (old, new) in pairs {
        let mut telling = Telling::new();
        let first = telling.tell(old).id;
        let plan = telling.tell(new);
        let is_contested = telling.mind.records[&first].contested_with.contains(&plan.id);
        if !plan.superseded.contains(&first) && !is_contested {
            out.push(format!("{}: {old} | {new}", plan.outcome.as_str()));
        }
    }
    out
}

fn is_distinct(statements: &[String]) -> bool {
    statements.iter().collect::<BTreeSet<_>>().len() == statements.len()
}

#[track_caller]
fn check_found(pairs: &[(String, String)], percent: usize) {
    let missed = missed(pairs);
    assert!((pairs.len() - missed.len()) * 100 >= percent * pairs.len(), "{}", missed.join("\n"));
}

#[test]
fn no_statement_takes_the_place_of_another() {
    let statements = distinct::distinct();
    assert!(is_distinct(&statements) && statements.len() >= 1_000, "{}", statements.len());
    let lost = losses(&statements);
    assert_eq!(lost, Vec::<String>::new());
}

#[test]
fn what_changed_is_noticed() {
    let pairs = changes::changes();
    assert!(pairs.len() >= 300, "{}", pairs.len());
    check_found(&pairs, 90);
}

#[test]
fn statements_kept_from_the_rules_stand_side_by_side() {
    let statements = held_out::distinct();
    assert!(is_distinct(&statements), "told once each");
    assert_eq!(losses(&statements), Vec::<String>::new());
}

#[test]
fn changes_kept_from_the_rules_are_noticed() {
    check_found(&held_out::changes(), 75);
}
