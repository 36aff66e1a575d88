//! Accumulates scores by category and budget.

use std::collections::BTreeMap;

use serde::Serialize;

use super::RankingTerm;

#[derive(Debug, Clone)]
pub struct QuestionScore {
    /// For each evidence turn, oldest first, whether it is in the context.
    pub evidence: Vec<bool>,
    pub first_has_answer: bool,
    pub has_answer: bool,
    pub tokens: u64,
}

#[derive(Debug, Clone, Default)]
pub struct ScoreSum {
    /// Questions with evidence, and the sum of their recall.
    pub with_evidence: u64,
    pub recall: f64,
    /// Questions with several evidence turns: all, with the newest found, with only older ones found.
    pub several: u64,
    pub newest: u64,
    pub stale_only: u64,
    /// Questions with an answer but no evidence: all, with it in the best hit, with it in the context.
    pub answer_only: u64,
    pub first: u64,
    pub anywhere: u64,
    pub tokens: u64,
    pub questions: u64,
}

impl ScoreSum {
    fn add(&mut self, score: &QuestionScore) {
        self.questions += 1;
        self.tokens += score.tokens;
        let QuestionScore { evidence, .. } = score;
        let found = evidence.iter().filter(|is_found| **is_found).count();
        if let Some(newest) = evidence.last() {
            self.with_evidence += 1;
            self.recall += found as f64 / evidence.len() as f64;
            if evidence.len() > 1 {
                self.several += 1;
                self.newest += u64::from(*newest);
                self.stale_only += u64::from(!newest && found > 0);
            }
        } else {
            self.answer_only += 1;
            self.first += u64::from(score.first_has_answer);
            self.anywhere += u64::from(score.has_answer);
        }
    }

    fn join(&mut self, other: &ScoreSum) {
        self.with_evidence += other.with_evidence;
        self.recall += other.recall;
        self.several += other.several;
        self.newest += other.newest;
        self.stale_only += other.stale_only;
        self.answer_only += other.answer_only;
        self.first += other.first;
        self.anywhere += other.anywhere;
        self.tokens += other.tokens;
        self.questions += other.questions;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Baseline {
    Words,
    Recent,
}

impl std::fmt::Display for Baseline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Baseline::Words => "BM25",
            Baseline::Recent => "most recent turns",
        })
    }
}

#[derive(Debug, Clone, Default)]
pub struct EvalTally {
    /// By category and budget.
    pub sums: BTreeMap<(String, u64), ScoreSum>,
    /// Over all categories, without one ranking term.
    pub ablations: BTreeMap<(RankingTerm, u64), ScoreSum>,
    /// Milliseconds.
    pub assembly_ms: Vec<f64>,
    pub embedding_ms: Vec<f64>,
    pub turns: u64,
    pub index_bytes: u64,
    pub text_bytes: u64,
    /// First messages of sessions that continue a project, and how many were matched to it.
    pub openings: u64,
    pub placed_right: u64,
    /// Moves to an earlier file, and how many recalled it, by budget.
    pub moves: BTreeMap<u64, (u64, u64)>,
    pub baselines: BTreeMap<(Baseline, u64), Vec<f64>>,
}

impl EvalTally {
    pub fn add(&mut self, category: &str, budget: u64, score: &QuestionScore) {
        self.sums.entry((category.to_owned(), budget)).or_default().add(score);
    }

    pub fn add_without(&mut self, term: RankingTerm, budget: u64, score: &QuestionScore) {
        self.ablations.entry((term, budget)).or_default().add(score);
    }

    pub fn join(&mut self, other: EvalTally) {
        for (key, sum) in other.sums {
            self.sums.entry(key).or_default().join(&sum);
        }
        for (key, sum) in other.ablations {
            self.ablations.entry(key).or_default().join(&sum);
        }
        self.assembly_ms.extend(other.assembly_ms);
        self.embedding_ms.extend(other.embedding_ms);
        self.turns += other.turns;
        self.index_bytes += other.index_bytes;
        self.text_bytes += other.text_bytes;
        self.openings += other.openings;
        self.placed_right += other.placed_right;
        for (key, shares) in other.baselines {
            self.baselines.entry(key).or_default().extend(shares);
        }
        for (budget, (all, recalled)) in other.moves {
            let sum = self.moves.entry(budget).or_default();
            *sum = (sum.0 + all, sum.1 + recalled);
        }
    }

    /// By category and budget, then over all categories.
    pub fn rows(&self) -> Vec<ScoreRow> {
        let rows = self.sums.iter().map(|((category, budget), sum)| ScoreRow::new(category, *budget, sum));
        let overall = self.overall();
        rows.chain(overall.iter().map(|(budget, sum)| ScoreRow::new("all", *budget, sum))).collect()
    }

    /// Over all categories, each without one ranking term.
    pub fn ablation_rows(&self) -> Vec<ScoreRow> {
        let row =
            |((term, budget), sum): (&(RankingTerm, u64), &ScoreSum)| ScoreRow::new(term.name(), *budget, sum);
        self.ablations.iter().map(row).collect()
    }

    pub fn overall(&self) -> BTreeMap<u64, ScoreSum> {
        let mut all: BTreeMap<u64, ScoreSum> = BTreeMap::new();
        for ((_, budget), sum) in &self.sums {
            all.entry(*budget).or_default().join(sum);
        }
        all
    }
}

/// Shares are in per cent, and absent where no question applies.
#[derive(Debug, Clone, Serialize)]
pub struct ScoreRow {
    pub category: String,
    pub budget: u64,
    pub questions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_only: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_first: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_in: Option<f64>,
    pub tokens: u64,
}

impl ScoreRow {
    pub fn new(category: &str, budget: u64, sum: &ScoreSum) -> Self {
        let share = |part: f64, of: u64| (of > 0).then(|| percent(part, of));
        Self {
            category: category.to_owned(),
            budget,
            questions: sum.questions,
            recall: share(sum.recall, sum.with_evidence),
            newest: share(sum.newest as f64, sum.several),
            stale_only: share(sum.stale_only as f64, sum.several),
            answer_first: share(sum.first as f64, sum.answer_only),
            answer_in: share(sum.anywhere as f64, sum.answer_only),
            tokens: sum.tokens / sum.questions.max(1),
        }
    }
}

/// In per cent, to a tenth.
pub fn percent(part: f64, of: u64) -> f64 {
    (part * 1_000.0 / of.max(1) as f64).round() / 10.0
}
