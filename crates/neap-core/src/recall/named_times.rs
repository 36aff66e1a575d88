//! Candidates from the times that a question names: what was said then need not share a rare word with the question.

use super::{Candidates, ParsedQuestion, Query, SearchLimits};

/// Times that are searched by themselves; a question that names more than these is about none of them.
const TIMES_MAX: usize = 4;
/// What one of them adds is small beside the search of everything.
const LIMITS: SearchLimits = SearchLimits { visits_max: 1_024, lexical_max: 32, semantic_max: 24 };

impl Query {
    /// The same search within each time that the question names.
    pub fn in_named_times(&self, question: &ParsedQuestion) -> Vec<Query> {
        let within = |(first, end): &_| {
            let mut query = Query { limits: LIMITS, ..self.clone() };
            query.filter.from = query.filter.from.max(Some(*first));
            query.filter.until = Some(query.filter.until.map_or(*end, |until| until.min(*end)));
            query
        };
        question.times.iter().take(TIMES_MAX).map(within).collect()
    }
}

impl Candidates {
    /// Adds candidates of a narrower query; the corpus's figures stay those of the wider.
    pub fn add_more(&mut self, more: Candidates) {
        self.items.extend(more.items);
        self.items.sort_by(|a, b| a.id.cmp(&b.id));
        self.items.dedup_by(|b, a| a.id == b.id);
    }
}
