//! What a question looks for.

use super::when::spans;
use super::{Embedding, Filter, Limits, Query};
use crate::ids::Stamp;
use crate::terms::query_terms;

/// Terms of a question that are looked for, at most; a text pasted into a question has more than tell.
const TERMS_MAX: usize = 64;
/// So much of a question is looked at, in bytes: its beginning and its end.
const QUESTION_BYTES_MAX: usize = 16_384;

/// A question, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Its words.
    pub question: String,
    /// The terms to look for.
    pub terms: Vec<String>,
    /// The times that it names: the first moment of each, and the one that is no longer part of it.
    pub times: Vec<(Stamp, Stamp)>,
}

impl Wanted {
    /// Reads a question that is asked at a moment.
    pub fn of(question: &str, now: Stamp) -> Self {
        let question = shortened(question);
        let mut terms = query_terms(&question);
        terms.truncate(TERMS_MAX);
        let times = spans(&question, now);
        Self { question, terms, times }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.question.trim().is_empty()
    }

    /// Whether a moment is in a time that it names.
    pub fn names(&self, at: Stamp) -> bool {
        self.times.iter().any(|(first, end)| (*first..*end).contains(&at))
    }

    /// What the store is asked; what the question means comes with the name of the model that says so.
    pub fn query(&self, meant: Option<(String, Embedding)>, filter: Filter) -> Query {
        let (model, embedding) = meant.map_or_else(Default::default, |(model, of)| (model, Some(of)));
        Query { terms: self.terms.clone(), embedding, model, filter, limits: Limits::default() }
    }
}

fn shortened(question: &str) -> String {
    if question.len() <= QUESTION_BYTES_MAX {
        return question.to_owned();
    }
    let half = QUESTION_BYTES_MAX / 2;
    let (head, tail) = (question.floor_char_boundary(half), question.ceil_char_boundary(question.len() - half));
    format!("{}\n{}", &question[..head], &question[tail..])
}
