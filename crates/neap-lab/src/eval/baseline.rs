//! Baselines within the same budgets: the most recent turns, and BM25.

use std::collections::BTreeMap;

use neap_core::text::terms::{query_terms, terms};
use neap_model::bpe::counter_for;

use super::EvalOptions;
use super::data::{Conversation, Question};
use super::tally::{Baseline, EvalTally};

const BM25_K1: f64 = 1.2;
const BM25_B: f64 = 0.75;

struct Document {
    terms: BTreeMap<String, f64>,
    length: f64,
    tokens: u64,
    session: i64,
}

pub(crate) fn ask_all(conversation: &Conversation, options: &EvalOptions, tally: &mut EvalTally) {
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
        let by_words = bm25_order(&documents, &searched, question);
        let recent: Vec<usize> = searched.iter().rev().copied().collect();
        for budget in &options.budgets {
            let found = |order: &[usize]| recall_within(conversation, &documents, question, order, *budget);
            tally.baselines.entry((Baseline::Words, *budget)).or_default().push(found(&by_words));
            tally.baselines.entry((Baseline::Recent, *budget)).or_default().push(found(&recent));
        }
    }
}

/// Best first.
fn bm25_order(documents: &[Document], searched: &[usize], question: &Question) -> Vec<usize> {
    let count = searched.len() as f64;
    let mean = searched.iter().map(|at| documents[*at].length).sum::<f64>() / count.max(1.0);
    let mut scores: Vec<(f64, usize)> = searched.iter().map(|at| (0.0, *at)).collect();
    for term in query_terms(&question.q) {
        let containing = searched.iter().filter(|at| documents[**at].terms.contains_key(&term)).count() as f64;
        let idf = (1.0 + (count - containing + 0.5) / (containing + 0.5)).ln();
        for (score, at) in &mut scores {
            let document = &documents[*at];
            let hits = document.terms.get(&term).copied().unwrap_or(0.0);
            let length_norm = 1.0 - BM25_B + BM25_B * document.length / mean.max(1.0);
            *score += idf * hits * (BM25_K1 + 1.0) / (hits + BM25_K1 * length_norm);
        }
    }
    scores.sort_by(|(a, a_at), (b, b_at)| b.total_cmp(a).then_with(|| b_at.cmp(a_at)));
    scores.into_iter().map(|(_, at)| at).collect()
}

/// The share of the evidence among the first documents that fit.
fn recall_within(
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
