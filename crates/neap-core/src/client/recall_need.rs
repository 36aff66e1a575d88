//! Decides what a client's message needs of the past. Recalled text costs tokens in every request until the next cut, so
//! a message gets none if it neither asks about the past nor names anything that the model no longer sees.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::request::{ContentBlock, HistoryItem};
use crate::base::ids::Stamp;
use crate::base::tokens::Tokens;
use crate::recall::{ParsedQuestion, Ranked, SEARCHED_SIMILARITY_MIN, TextId, UNASKED_SIMILARITY_MIN};
use crate::text::phrases::{FOLLOW_UP, PAST, QUESTIONS, normalize};
use crate::text::terms::terms;

/// Most that is recalled for a message that does not ask about the past.
const UNASKED_TOKENS_MAX: Tokens = Tokens(400);
/// Of a message with pasted text, this share is recalled at most: it has a context of its own.
const PASTED_PERCENT: u64 = 5;
/// Less is not worth a page.
const RECALL_MIN: Tokens = Tokens(64);
/// Texts that differ in their numbers only, of which this many are shown.
const ALIKE_MAX: usize = 2;
/// Bytes of a message that are searched for.
const QUERY_BYTES_MAX: usize = 4_096;
/// A longer message has pasted text in it.
const OWN_BYTES_MAX: usize = 600;
/// Most bytes of a paragraph that a person writes around pasted text.
const OWN_PARAGRAPH_BYTES_MAX: usize = 300;

/// Most that may be recalled for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallBudget {
    /// If it asks something.
    pub asked: Tokens,
    pub unasked: Tokens,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecallNeed {
    /// What is searched for.
    pub question: String,
    pub budget: Tokens,
    /// What a text must be or contain; nothing if the message asks about the past.
    relevance: Option<Relevance>,
    /// Texts of this shape say what the message says.
    own_shape: String,
}

#[derive(Debug, Clone, PartialEq)]
struct Relevance {
    /// For each term of the message, whether the model no longer sees it.
    unseen_terms: Vec<bool>,
    similarity_min: f64,
}

impl RecallNeed {
    /// What a message needs, within `budget`; `seen` is the text that the model still has.
    pub fn of<'t>(
        message: &HistoryItem,
        now: Stamp,
        seen: impl IntoIterator<Item = &'t str>,
        budget: RecallBudget,
    ) -> Option<Self> {
        let (text, tokens) = (last_text(message), message.tokens);
        let own_shape = shape(text);
        let own = own_words(text);
        let is_pasted = own.len() < text.trim().len();
        let words = normalize(&own);
        let asks = own.contains(['?', '？', '؟']) || QUESTIONS.begins(&words);
        if PAST.occurs_in(&words) || (asks && !ParsedQuestion::parse(&own, now).times.is_empty()) {
            let need = Self { question: own.into_owned(), budget: budget.asked, relevance: None, own_shape };
            return Some(need).filter(|need| need.budget >= RECALL_MIN);
        }
        if FOLLOW_UP.has_entry(words.trim_matches(|c: char| !c.is_alphanumeric())) {
            return None;
        }
        let mut most = if asks { budget.asked } else { budget.unasked }.min(UNASKED_TOKENS_MAX);
        if is_pasted {
            most = most.min(tokens.percent(PASTED_PERCENT));
        }
        let query = query_text(message);
        let question = ParsedQuestion::parse(query, now);
        let relevance = Relevance::of(&question, asks, seen).filter(|_| most >= RECALL_MIN)?;
        Some(Self { question: query.to_owned(), budget: most, relevance: Some(relevance), own_shape })
    }

    /// Drops texts that share only words with the message that the model still sees, and repetitions.
    pub fn filter(&self, ranked: Vec<Ranked>, texts: &BTreeMap<TextId, Arc<str>>) -> Vec<Ranked> {
        let mut shapes: BTreeMap<String, usize> = [(self.own_shape.clone(), ALIKE_MAX)].into();
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
    /// None if the model still sees all that the message names; for a question, in one text.
    fn of<'t>(question: &ParsedQuestion, asks: bool, seen: impl IntoIterator<Item = &'t str>) -> Option<Self> {
        let mut unseen: BTreeSet<&str> = question.terms.iter().map(String::as_str).collect();
        let all = unseen.clone();
        let mut is_answered = !asks;
        for text in seen {
            if unseen.is_empty() && is_answered {
                return None;
            }
            let terms = terms(text);
            let here: BTreeSet<&str> = terms.iter().map(String::as_str).collect();
            is_answered = is_answered || all.is_subset(&here);
            unseen.retain(|term| !here.contains(term));
        }
        if unseen.is_empty() && is_answered {
            return None;
        }
        Some(Self {
            unseen_terms: question.terms.iter().map(|term| unseen.contains(term.as_str())).collect(),
            // A search asks for less than a message that nobody meant as one.
            similarity_min: if asks { SEARCHED_SIMILARITY_MIN } else { UNASKED_SIMILARITY_MIN },
        })
    }

    fn admits(&self, Ranked { candidate, .. }: &Ranked) -> bool {
        let hits = candidate.hits.iter().zip(&self.unseen_terms);
        hits.into_iter().any(|(hits, is_unseen)| *is_unseen && *hits > 0)
            || candidate.similarity.is_some_and(|similarity| similarity >= self.similarity_min)
    }
}

/// What a person wrote of a long message, as far as its layout tells: the first paragraph, and the last if it asks. Of a
/// message that is one paragraph, the sentence at its end if it asks.
fn own_words(message: &str) -> Cow<'_, str> {
    let message = message.trim();
    if message.len() <= OWN_BYTES_MAX {
        return Cow::Borrowed(message);
    }
    let first = message.split("\n\n").next().unwrap_or_default();
    let start = &first[..first.floor_char_boundary(OWN_PARAGRAPH_BYTES_MAX)];
    let whole_words = || start.rsplit_once(char::is_whitespace).map_or("", |(words, _)| words);
    let first = if start.len() < first.len() { whole_words() } else { first };
    let last = match message.rsplit_once("\n\n") {
        Some((_, last)) => last,
        None => last_sentence(message),
    };
    let asks = last.len() <= OWN_PARAGRAPH_BYTES_MAX && last.trim_end().ends_with(['?', '？', '؟']);
    if asks { Cow::Owned(format!("{first}\n\n{last}")) } else { Cow::Borrowed(first) }
}

fn last_sentence(paragraph: &str) -> &str {
    let before_end = paragraph.trim_end_matches(|c: char| !c.is_alphanumeric());
    let ends = [". ", "! ", "? ", "\n", "。", "！", "？", "؟ "];
    let start = ends.iter().filter_map(|end| before_end.rfind(end).map(|at| at + end.len())).max();
    &paragraph[start.unwrap_or(0)..]
}

/// What is searched for: the end of an item's last text, in whole words. Part of a word may be part of a secret, which
/// masking would not recognise.
pub fn query_text(item: &HistoryItem) -> &str {
    let text = last_text(item);
    let end = &text[text.ceil_char_boundary(text.len().saturating_sub(QUERY_BYTES_MAX))..];
    let is_cut = end.len() < text.len();
    let whole_words = is_cut.then(|| end.split_once(char::is_whitespace).map(|(_, rest)| rest)).flatten();
    whole_words.unwrap_or(end)
}

fn last_text(item: &HistoryItem) -> &str {
    fn text(block: &ContentBlock) -> Option<&str> {
        match block {
            ContentBlock::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
            ContentBlock::Text(_)
            | ContentBlock::Thinking
            | ContentBlock::ToolCall(_)
            | ContentBlock::ToolResult { .. }
            | ContentBlock::Other { .. } => None,
        }
    }
    item.blocks.iter().rev().find_map(text).unwrap_or_default()
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
    use crate::base::ids::{Seq, StreamId, TurnNo};
    use crate::client::request::Speaker;
    use crate::recall::{Candidate, RankFactors, TextKey, TextKind};

    const ROOM: Tokens = Tokens(2_000);

    fn need(question: &str, seen: &[&str]) -> Option<RecallNeed> {
        let message = HistoryItem {
            speaker: Speaker::User,
            blocks: vec![ContentBlock::Text(question.to_owned())].into(),
            tokens: Tokens(question.len() as u64 / 4),
        };
        RecallNeed::of(&message, Stamp(0), seen.iter().copied(), RecallBudget { asked: ROOM, unasked: ROOM })
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

    /// A pasted text is not what its sender asks, whatever it says of times and of the past.
    #[test]
    fn what_is_pasted_asks_nothing() {
        let pasted =
            "Yesterday we decided on 12 May 2024 that the port was 9. What did we say earlier? ".repeat(20);
        let seen = ["keep what matters of this part of a document"];
        let message = format!("Keep what matters of this part of a document:\n\n{pasted}");
        let little = need(&message, &seen).map(|need| (need.budget, need.relevance.is_some()));
        assert!(little.is_none_or(|(budget, has_floor)| budget.0 <= 25 && has_floor), "{little:?}");
        let long = format!("{message}{}", pasted.repeat(4));
        let some = need(&long, &seen).expect("it names much");
        assert!(some.relevance.is_some() && some.budget.0 <= long.len() as u64 / 80, "{}", some.budget);
        let asking = need(&format!("{message}\n\nWhat did we decide about the port?"), &seen).expect("it asks");
        assert_eq!((asking.budget, &asking.relevance), (ROOM, &None));
        assert!(asking.question.contains("about the port") && asking.question.len() < 200, "{}", asking.question);
    }

    #[test]
    fn a_question_at_the_end_of_a_long_paragraph_is_asked() {
        let told = "The staging server was slow again, so I looked at its disk. ".repeat(12);
        let seen = [told.as_str()];
        let asking = need(&format!("{told}What did we decide about the port?"), &seen).expect("it asks");
        assert_eq!((asking.budget, &asking.relevance), (ROOM, &None));
        assert!(asking.question.ends_with("\n\nWhat did we decide about the port?"), "{}", asking.question);
        let told_again = need(&format!("{told}We talked about what we decided yesterday."), &seen);
        assert!(told_again.is_none_or(|need| need.relevance.is_some()), "it ends with no question");
    }

    /// Words that stand here and there answer nothing.
    #[test]
    fn a_question_is_answered_where_its_words_stand_together() {
        let apart = ["the staging server is up", "the port of the database"];
        let question = "Which port has the staging server?";
        let by_meaning = need(question, &apart).and_then(|need| need.relevance).expect("by similarity");
        assert!(!by_meaning.unseen_terms.contains(&true));
        assert_eq!(need(question, &["the staging server has the port 9", apart[1]]), None);
        assert_eq!(need("The port has the staging server", &apart), None, "it asks nothing");
    }

    fn asked() -> RecallNeed {
        RecallNeed { question: String::new(), budget: ROOM, relevance: None, own_shape: shape("look") }
    }

    fn ranked(seq: u64, hits: Vec<u32>, similarity: Option<f64>) -> Ranked {
        let id = TextId { stream: StreamId::parse("talk").expect("an id"), key: TextKey::Message(Seq(seq)) };
        let candidate = Candidate {
            id,
            kind: TextKind::User,
            turn: TurnNo(seq),
            position: seq,
            at: Stamp(1),
            project: None,
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
        let need = RecallNeed { relevance: Some(relevance), ..asked() };
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
        let need = asked();
        let all = (1..=5).map(|seq| ranked(seq, Vec::new(), None)).collect();
        let texts = ["run part 1", "the port is 9", "Run part 22", "run part 3", "run  part 4"];
        assert_eq!(kept(&need, all, &texts), [1, 2, 3]);
    }

    #[test]
    fn what_says_the_same_as_the_message_is_not_recalled() {
        let need = RecallNeed { own_shape: shape("Run part 5"), ..asked() };
        let all = (1..=2).map(|seq| ranked(seq, Vec::new(), None)).collect();
        assert_eq!(kept(&need, all, &["run part 1", "part 1 is red"]), [2]);
    }

    #[test]
    fn texts_that_differ_in_numbers_are_alike() {
        assert_eq!(shape("Run part 116,\n please"), shape("run  part 7, please"));
        assert_ne!(shape("Run part 116"), shape("Run parts 116"));
    }
}
