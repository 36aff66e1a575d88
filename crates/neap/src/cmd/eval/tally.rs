//! What questions came to, by category and budget.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::cli::Reason;

/// What one question came to.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// Whether each turn that answers it is in the context, oldest first.
    pub(crate) evidence: Vec<bool>,
    /// Whether the best text that was found has the answer in it.
    pub(crate) first_has_answer: bool,
    /// Whether the context has.
    pub(crate) has_answer: bool,
    pub(crate) tokens: u64,
    pub(crate) took: Duration,
}

/// Sums over questions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sum {
    /// Questions with evidence, and the shares of it that were found.
    pub(crate) with_evidence: u64,
    pub(crate) recall: f64,
    /// Questions with several pieces of evidence, with the newest found, with only older ones found.
    pub(crate) several: u64,
    pub(crate) newest: u64,
    pub(crate) stale_only: u64,
    /// Questions with an answer but no evidence, and how many had it first, or at all.
    pub(crate) answer_only: u64,
    pub(crate) first: u64,
    pub(crate) anywhere: u64,
    pub(crate) tokens: u64,
    pub(crate) questions: u64,
}

impl Sum {
    fn add(&mut self, answered: &Answered) {
        self.questions += 1;
        self.tokens += answered.tokens;
        let Answered { evidence, .. } = answered;
        let found = evidence.iter().filter(|is_there| **is_there).count();
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
            self.first += u64::from(answered.first_has_answer);
            self.anywhere += u64::from(answered.has_answer);
        }
    }

    fn join(&mut self, other: &Sum) {
        let Sum {
            with_evidence,
            recall,
            several,
            newest,
            stale_only,
            answer_only,
            first,
            anywhere,
            tokens,
            questions,
        } = other;
        self.with_evidence += with_evidence;
        self.recall += recall;
        self.several += several;
        self.newest += newest;
        self.stale_only += stale_only;
        self.answer_only += answer_only;
        self.first += first;
        self.anywhere += anywhere;
        self.tokens += tokens;
        self.questions += questions;
    }
}

/// A simpler way to fill a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Baseline {
    /// The best by words alone.
    Words,
    /// The most recent.
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

/// Everything that was asked of one file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// By category and budget.
    pub(crate) sums: BTreeMap<(String, u64), Sum>,
    /// All together, with one reason left out of the order.
    pub(crate) without: BTreeMap<(Reason, u64), Sum>,
    pub(crate) took: Vec<Duration>,
    pub(crate) embedding: Vec<Duration>,
    pub(crate) turns: u64,
    pub(crate) index_bytes: u64,
    pub(crate) said_bytes: u64,
    /// Messages that begin an occasion of a known piece of work, and how many were taken for that work.
    pub(crate) openings: u64,
    pub(crate) placed: u64,
    /// Moves to a file that was seen before, and how many had it in the context, by budget.
    pub(crate) moves: BTreeMap<u64, (u64, u64)>,
    /// Shares of the evidence that simpler ways find.
    pub(crate) baselines: BTreeMap<(Baseline, u64), Vec<f64>>,
}

impl Tally {
    pub(crate) fn add(&mut self, category: &str, budget: u64, answered: Answered) {
        self.took.push(answered.took);
        self.sums.entry((category.to_owned(), budget)).or_default().add(&answered);
    }

    pub(crate) fn add_without(&mut self, reason: Reason, budget: u64, answered: &Answered) {
        self.without.entry((reason, budget)).or_default().add(answered);
    }

    pub(crate) fn embedded(&mut self, took: Duration) {
        self.embedding.push(took);
    }

    /// Joins what was asked of another conversation.
    pub(crate) fn join(&mut self, other: Tally) {
        let Tally {
            sums,
            without,
            took,
            embedding,
            turns,
            index_bytes,
            said_bytes,
            openings,
            placed,
            moves,
            baselines,
        } = other;
        for (key, sum) in sums {
            self.sums.entry(key).or_default().join(&sum);
        }
        for (key, sum) in without {
            self.without.entry(key).or_default().join(&sum);
        }
        self.took.extend(took);
        self.embedding.extend(embedding);
        self.turns += turns;
        self.index_bytes += index_bytes;
        self.said_bytes += said_bytes;
        self.openings += openings;
        self.placed += placed;
        for (key, shares) in baselines {
            self.baselines.entry(key).or_default().extend(shares);
        }
        for (budget, (all, seen)) in moves {
            let sum = self.moves.entry(budget).or_default();
            *sum = (sum.0 + all, sum.1 + seen);
        }
    }

    /// All categories together, by budget.
    pub(crate) fn overall(&self) -> BTreeMap<u64, Sum> {
        let mut all: BTreeMap<u64, Sum> = BTreeMap::new();
        for ((_, budget), sum) in &self.sums {
            all.entry(*budget).or_default().join(sum);
        }
        all
    }
}

/// A row of figures; shares in per cent, absent where nothing was asked that has them.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) category: String,
    pub(crate) budget: u64,
    pub(crate) questions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recall: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) newest: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stale_only: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer_first: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer_in: Option<f64>,
    pub(crate) tokens: u64,
}

impl Row {
    pub(crate) fn new(category: &str, budget: u64, sum: &Sum) -> Self {
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

/// A share in per cent, to a tenth.
pub(crate) fn percent(part: f64, of: u64) -> f64 {
    (part * 1_000.0 / of.max(1) as f64).round() / 10.0
}

/// The time under which this share of all lies, in milliseconds.
pub(crate) fn percentile(times: &[Duration], share: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = ((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1);
    sorted.get(at).map_or(0.0, |time| (time.as_secs_f64() * 1e6).round() / 1e3)
}
