//! Candidates from the times that a question names: what was said then need not share a rare word with the question.

use std::collections::BTreeSet;

use super::{Candidates, Filter, ParsedQuestion, Query, SearchLimits};
use crate::base::ids::Stamp;

/// A text that names more times is a log or a calendar, and about none of them.
const TIMES_MAX: usize = 4;
/// Of each time, less than of everything. Words are looked for in as many postings: the newest, if a word has more.
const LIMITS: SearchLimits = SearchLimits { visits_max: 4_096, lexical_max: 32, semantic_max: 24 };

impl Query {
    /// The same search within each time that the question names.
    pub fn in_named_times(&self, question: &ParsedQuestion) -> Vec<Query> {
        let times: BTreeSet<_> = question.times.iter().copied().collect();
        if times.len() > TIMES_MAX {
            return Vec::new();
        }
        let within = |(first, end): (Stamp, Stamp)| {
            let from = self.filter.from.map_or(first, |from| from.max(first));
            let until = self.filter.until.map_or(end, |until| until.min(end));
            let filter = Filter { from: Some(from), until: Some(until), ..self.filter.clone() };
            (from < until).then(|| Query { limits: LIMITS, filter, ..self.clone() })
        };
        times.into_iter().filter_map(within).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    fn ranges(question: &str, filter: Filter) -> Vec<(Option<Stamp>, Option<Stamp>)> {
        let parsed = ParsedQuestion::parse(question, Stamp(20_000 * DAY));
        let query = Query { filter, ..Query::new(parsed.terms.clone()) };
        query.in_named_times(&parsed).into_iter().map(|query| (query.filter.from, query.filter.until)).collect()
    }

    #[test]
    fn each_named_time_is_searched_once_and_within_the_filter() {
        let since = |day: i64| Filter { from: Some(Stamp(day * DAY)), ..Filter::default() };
        assert_eq!(ranges("what happened yesterday, I mean yesterday?", Filter::default()).len(), 1);
        assert_eq!(ranges("what happened yesterday?", since(19_999))[0].0, Some(Stamp(19_999 * DAY)));
        assert_eq!(ranges("what happened yesterday?", since(20_000)), []);
        let log: String = (1..=9).map(|day| format!("2024-01-0{day} started\n")).collect();
        assert_eq!(ranges(&log, Filter::default()), []);
    }

    #[test]
    fn a_candidate_that_is_proposed_twice_is_there_once() {
        let mut talk = super::super::tests::Talk::default();
        talk.say("a", 1, "user", "roses");
        talk.say("b", 2, "user", "roses");
        let proposed = talk.proposed(&ParsedQuestion::parse("roses", Stamp(0)));
        let mut all = proposed.clone();
        all.items.remove(0);
        all.add_more(proposed.clone());
        assert_eq!(all, proposed);
    }
}
