//! Parses a question into search terms and the times that it names.

use super::asked_for::{asks_for_decision, asks_for_reply};
use super::time_mentions::time_ranges;
use super::{Embedding, Filter, Query, SearchLimits};
use crate::base::ids::Stamp;
use crate::text::terms::query_terms;

/// Most terms searched for; a pasted text has more than are useful.
const TERMS_MAX: usize = 64;
/// Bytes of a question that are parsed: half from its beginning, half from its end.
const QUESTION_BYTES_MAX: usize = 16_384;

#[derive(Debug, Clone, PartialEq)]
pub struct ParsedQuestion {
    pub question: String,
    pub terms: Vec<String>,
    /// Times it names, as half-open ranges.
    pub times: Vec<(Stamp, Stamp)>,
    /// It asks for what the assistant said.
    pub asks_for_reply: bool,
    pub asks_for_decision: bool,
}

impl ParsedQuestion {
    pub fn parse(question: &str, now: Stamp) -> Self {
        let question = clip_middle(question);
        let mut terms = query_terms(&question);
        terms.truncate(TERMS_MAX);
        let times = time_ranges(&question, now);
        let (asks_for_reply, asks_for_decision) = (asks_for_reply(&question), asks_for_decision(&question));
        Self { question, terms, times, asks_for_reply, asks_for_decision }
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.question.trim().is_empty()
    }

    pub fn is_in_named_time(&self, at: Stamp) -> bool {
        self.times.iter().any(|(first, end)| (*first..*end).contains(&at))
    }

    /// `query_embedding` comes with its embedder's name.
    pub fn to_query(&self, query_embedding: Option<(String, Embedding)>, filter: Filter) -> Query {
        let (model, embedding) =
            query_embedding.map_or_else(Default::default, |(model, embedding)| (model, Some(embedding)));
        Query { terms: self.terms.clone(), embedding, model, filter, limits: SearchLimits::default() }
    }
}

fn clip_middle(question: &str) -> String {
    if question.len() <= QUESTION_BYTES_MAX {
        return question.to_owned();
    }
    let half = QUESTION_BYTES_MAX / 2;
    let (head, tail) = (question.floor_char_boundary(half), question.ceil_char_boundary(question.len() - half));
    format!("{}\n{}", &question[..head], &question[tail..])
}
