//! Decides what a client's message needs of the past. Recalled text costs tokens in every request until the next cut, so
//! a message gets none if it neither asks about the past nor names anything that the model no longer sees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::hook_reply::SIMILARITY_MIN as UNASKED_SIMILARITY_MIN;
use crate::base::tokens::Tokens;
use crate::recall::{ParsedQuestion, Ranked, SEARCHED_SIMILARITY_MIN, TextId};
use crate::text::phrases::{FOLLOW_UP, PAST, QUESTIONS, normalize};
use crate::text::terms::terms;

/// Most that is recalled for a message that does not ask about the past.
const UNASKED_TOKENS_MAX: Tokens = Tokens(400);
/// Texts that differ in their numbers only, of which this many are shown.
const ALIKE_MAX: usize = 2;

#[derive(Debug, Clone, PartialEq)]
pub struct RecallNeed {
    pub budget: Tokens,
    /// What a text must be or contain; nothing if the message asks about the past.
    relevance: Option<Relevance>,
}

#[derive(Debug, Clone, PartialEq)]
struct Relevance {
    /// For each term of the message, whether the model no longer sees it.
    unseen_terms: Vec<bool>,
    similarity_min: f64,
}

impl RecallNeed {
    /// What a message needs, at most `budget`; `seen` is the text that the model still has.
    pub fn of<'t>(
        question: &ParsedQuestion,
        seen: impl IntoIterator<Item = &'t str>,
        budget: Tokens,
    ) -> Option<Self> {
        let text = normalize(&question.question);
        if PAST.occurs_in(&text) || !question.times.is_empty() {
            return Some(Self { budget, relevance: None });
        }
        if FOLLOW_UP.has_entry(text.trim_matches(|c: char| !c.is_alphanumeric())) {
            return None;
        }
        let mut unseen: BTreeSet<&str> = question.terms.iter().map(String::as_str).collect();
        for text in seen {
            if unseen.is_empty() {
                break;
            }
            terms(text).iter().for_each(|term| {
                unseen.remove(term.as_str());
            });
        }
        if unseen.is_empty() {
            return None;
        }
        let asks = question.question.contains(['?', '？', '؟']) || QUESTIONS.begins(&text);
        let relevance = Relevance {
            unseen_terms: question.terms.iter().map(|term| unseen.contains(term.as_str())).collect(),
            // A search asks for less than a message that nobody meant as one.
            similarity_min: if asks { SEARCHED_SIMILARITY_MIN } else { UNASKED_SIMILARITY_MIN },
        };
        Some(Self { budget: budget.min(UNASKED_TOKENS_MAX), relevance: Some(relevance) })
    }

    /// Drops texts that share only words with the message that the model still sees, and repetitions.
    pub fn filter(&self, ranked: Vec<Ranked>, texts: &BTreeMap<TextId, Arc<str>>) -> Vec<Ranked> {
        let mut shapes: BTreeMap<String, usize> = BTreeMap::new();
        let mut is_repetition = |ranked: &Ranked| {
            let Some(text) = texts.get(&ranked.candidate.id) else { return false };
            let count = shapes.entry(shape(text)).or_default();
            *count += 1;
            *count > ALIKE_MAX
        };
        let is_relevant = |ranked: &Ranked| self.relevance.as_ref().is_none_or(|least| least.admits(ranked));
        ranked.into_iter().filter(|ranked| is_relevant(ranked) && !is_repetition(ranked)).collect()
    }
}

impl Relevance {
    fn admits(&self, Ranked { candidate, .. }: &Ranked) -> bool {
        let hits = candidate.hits.iter().zip(&self.unseen_terms);
        hits.into_iter().any(|(hits, is_unseen)| *is_unseen && *hits > 0)
            || candidate.similarity.is_some_and(|similarity| similarity >= self.similarity_min)
    }
}

/// A text without its numbers: "run the check of part 7" and "… of part 8" are one request, made twice.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        match c.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.extend(c.to_lowercase()),
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{Seq, Stamp, StreamId, TurnNo};
    use crate::recall::{Candidate, RankFactors, TextKey, TextKind};

    const ROOM: Tokens = Tokens(2_000);

    fn need(question: &str, seen: &[&str]) -> Option<RecallNeed> {
        RecallNeed::of(&ParsedQuestion::parse(question, Stamp(0)), seen.iter().copied(), ROOM)
    }

    #[test]
    fn whoever_asks_about_the_past_gets_all_there_is_room_for() {
        for question in
            ["What did we decide about the port?", "remind me of the port", "which port was it yesterday"]
        {
            let need = need(question, &["the port we decide on, yesterday, remind"]);
            assert_eq!(need.map(|need| (need.budget, need.relevance)), Some((ROOM, None)), "{question}");
        }
    }

    #[test]
    fn what_is_still_seen_needs_nothing() {
        let seen = ["I changed src/part_6.rs", "The parser reads the header."];
        assert_eq!(need("The parser: change the header", &seen), None);
        assert_eq!(need("Ok!", &seen), None, "it goes on");
    }

    #[test]
    fn a_name_that_is_no_longer_seen_brings_little() {
        let need = need("Which port has the staging database?", &["the database is up"]).expect("staging");
        assert_eq!(need.budget, UNASKED_TOKENS_MAX);
        let relevance = need.relevance.expect("it does not ask about the past");
        assert!(relevance.unseen_terms.contains(&true) && relevance.unseen_terms.contains(&false));
        assert!(relevance.similarity_min < UNASKED_SIMILARITY_MIN, "a question");
    }

    fn ranked(seq: u64, hits: Vec<u32>, similarity: Option<f64>) -> Ranked {
        let id = TextId { stream: StreamId::parse("talk").expect("an id"), key: TextKey::Message(Seq(seq)) };
        let candidate = Candidate {
            id,
            kind: TextKind::User,
            turn: TurnNo(seq),
            position: seq,
            at: Stamp(1),
            speaker: None,
            tokens: Tokens(1),
            term_count: 1,
            hits,
            similarity,
        };
        Ranked { candidate, score: 1.0, factors: RankFactors::default(), matched_idf: 0.0 }
    }

    fn kept(need: &RecallNeed, ranked: Vec<Ranked>, texts: &[&str]) -> Vec<u64> {
        let texts =
            ranked.iter().zip(texts).map(|(one, text)| (one.candidate.id.clone(), Arc::from(*text))).collect();
        need.filter(ranked, &texts).iter().map(|one| one.candidate.turn.0).collect()
    }

    #[test]
    fn a_text_must_have_an_unseen_word_or_the_meaning() {
        let relevance = Relevance { unseen_terms: vec![true, false], similarity_min: 0.6 };
        let need = RecallNeed { budget: ROOM, relevance: Some(relevance) };
        let all = || {
            let rest = [(3, vec![0, 0], Some(0.61)), (4, vec![0, 0], Some(0.59)), (5, vec![0, 0], None)];
            [(1, vec![1, 0], None), (2, vec![0, 7], None)].into_iter().chain(rest)
        };
        let all = || all().map(|(seq, hits, similarity)| ranked(seq, hits, similarity)).collect();
        let texts = ["a", "b", "c", "d", "e"];
        assert_eq!(kept(&need, all(), &texts), [1, 3]);
        assert_eq!(kept(&RecallNeed { relevance: None, ..need }, all(), &texts), [1, 2, 3, 4, 5], "the past");
    }

    #[test]
    fn a_request_that_was_made_often_is_recalled_twice() {
        let need = RecallNeed { budget: ROOM, relevance: None };
        let all = (1..=5).map(|seq| ranked(seq, Vec::new(), None)).collect();
        let texts = ["run part 1", "the port is 9", "Run part 22", "run part 3", "run  part 4"];
        assert_eq!(kept(&need, all, &texts), [1, 2, 3]);
    }

    #[test]
    fn texts_that_differ_in_numbers_are_alike() {
        assert_eq!(shape("Run part 116,\n please"), shape("run  part 7, please"));
        assert_ne!(shape("Run part 116"), shape("Run parts 116"));
    }
}
