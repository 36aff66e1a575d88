//! What simpler ways would find in the same budgets: the most recent turns, and the best by words alone.

use std::collections::BTreeMap;

use neap_core::terms::{query_terms, terms};
use neap_model::bpe::counter_for;

use super::Options;
use super::data::{Conversation, Question};
use super::tally::{Baseline, Tally};

const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// A turn as a plain search engine sees it.
struct Document {
    terms: BTreeMap<String, f64>,
    length: f64,
    tokens: u64,
    session: i64,
}

/// Answers every question with evidence in both ways.
pub(crate) fn ask_all(conversation: &Conversation, options: &Options, tally: &mut Tally) {
    let counter = counter_for("o200k_base");
    let document = |turn: &super::data::Turn| {
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        for term in terms(&turn.text) {
            *counts.entry(term).or_default() += 1.0;
        }
        let tokens = counter.count(&format!("{}: {}\n", turn.who, turn.text)).0;
        Document { length: counts.values().sum(), terms: counts, tokens, session: turn.session }
    };
    let documents: Vec<Document> = conversation.turns.iter().map(document).collect();
    for question in conversation.questions.iter().filter(|question| !question.evidence.is_empty()) {
        let searched: Vec<usize> = (0..documents.len())
            .filter(|at| question.before.is_none_or(|before| documents[*at].session < before))
            .collect();
        let by_words = by_words(&documents, &searched, question);
        let recent: Vec<usize> = searched.iter().rev().copied().collect();
        for budget in &options.budgets {
            let found = |order: &[usize]| recall(conversation, &documents, question, order, *budget);
            tally.baselines.entry((Baseline::Words, *budget)).or_default().push(found(&by_words));
            tally.baselines.entry((Baseline::Recent, *budget)).or_default().push(found(&recent));
        }
    }
}

/// BM25, best first.
fn by_words(documents: &[Document], searched: &[usize], question: &Question) -> Vec<usize> {
    let all = searched.len() as f64;
    let mean = searched.iter().map(|at| documents[*at].length).sum::<f64>() / all.max(1.0);
    let mut scores: Vec<(f64, usize)> = searched.iter().map(|at| (0.0, *at)).collect();
    for term in query_terms(&question.q) {
        let with = searched.iter().filter(|at| documents[**at].terms.contains_key(&term)).count() as f64;
        let telling = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
        for (score, at) in &mut scores {
            let document = &documents[*at];
            let hits = document.terms.get(&term).copied().unwrap_or(0.0);
            let long = 1.0 - LENGTH + LENGTH * document.length / mean.max(1.0);
            *score += telling * hits * (SATURATION + 1.0) / (hits + SATURATION * long);
        }
    }
    scores.sort_by(|(a, a_at), (b, b_at)| b.total_cmp(a).then_with(|| b_at.cmp(a_at)));
    scores.into_iter().map(|(_, at)| at).collect()
}

/// The share of the evidence among the first that fit.
fn recall(
    conversation: &Conversation,
    documents: &[Document],
    question: &Question,
    order: &[usize],
    budget: u64,
) -> f64 {
    let (mut left, mut found) = (budget, 0);
    for at in order {
        if documents[*at].tokens <= left {
            left -= documents[*at].tokens;
            found += usize::from(question.evidence.contains(&conversation.turns[*at].id));
        }
    }
    found as f64 / question.evidence.len() as f64
}
