//! Tests of each ranking factor by itself.

use super::super::{ParsedQuestion, RankWeights, Ranked, Ranking, TextId, likely_conversations};
use super::{DAY, Talk};
use crate::base::ids::Stamp;

const NOW: Stamp = Stamp(40 * DAY);

fn order(talk: &Talk, question: &str, weights: &RankWeights) -> Vec<Ranked> {
    let parsed = ParsedQuestion::parse(question, NOW);
    Ranking::new(&parsed, weights, talk.proposed(&parsed)).rank(Vec::new())
}

fn first(talk: &Talk, question: &str) -> TextId {
    order(talk, question, &RankWeights::default())[0].candidate.id.clone()
}

#[test]
fn a_rare_word_counts_more_than_a_common_one() {
    let mut talk = Talk::default();
    let wanted = talk.say("a", 1, "user", "the zebra was in the garden");
    for _ in 0..6 {
        talk.say("b", 1, "user", "we worked in the garden again today");
    }
    assert_eq!(first(&talk, "zebra in the garden"), wanted);
}

#[test]
fn what_follows_a_question_counts_for_its_answer() {
    let mut talk = Talk::default();
    talk.say("a", 1, "user", "hello there");
    talk.say("a", 1, "Ann", "What is the name of your turtle?");
    let answer = talk.say("a", 1, "Bob", "Shelly, since last summer");
    let far = talk.say("b", 1, "Bob", "Something else altogether");
    let ranked = order(&talk, "turtle", &RankWeights::default());
    let place = |id: &TextId| ranked.iter().position(|ranked| ranked.candidate.id == *id);
    assert!(place(&answer) < place(&far));
    let alone = RankWeights { before: 0.0, after: 0.0, conversation: 0.0, ..RankWeights::default() };
    let beside = order(&talk, "turtle", &alone).iter().map(|ranked| ranked.factors.beside).sum::<f64>();
    assert_eq!(beside, 0.0);
}

#[test]
fn who_is_named_counts_and_being_addressed_does_not() {
    let mut talk = Talk::default();
    talk.say("a", 1, "Bob", "Caroline, which painting do you mean?");
    let hers = talk.say("b", 1, "Caroline", "a painting of the sea");
    assert_eq!(first(&talk, "Which painting did Caroline make?"), hers);
}

#[test]
fn a_named_time_counts() {
    let mut talk = Talk::default();
    talk.say("old", 3, "user", "I bought a lamp for the desk");
    let lately = talk.say("new", 33, "user", "I bought a chair for the desk");
    let words_alone = RankWeights { recency: 0.0, ..RankWeights::default() };
    let ranked = order(&talk, "What did I buy for the desk a week ago?", &words_alone);
    assert_eq!(ranked[0].candidate.id, lately);
    assert!(ranked[0].factors.time > 0.0);
}

#[test]
fn a_model_counts_less_than_a_person() {
    let mut talk = Talk::default();
    talk.say("a", 1, "assistant", "you like green tea");
    let by_user = talk.say("b", 1, "user", "I like green tea");
    assert_eq!(first(&talk, "green tea"), by_user);
}

#[test]
fn what_is_said_around_counts_less_for_what_a_model_said() {
    let mut talk = Talk::default();
    let mut beside = Vec::new();
    for (session, who) in [("a", "assistant"), ("b", "user")] {
        talk.say(session, 1, "user", "I like green tea");
        beside.push(talk.say(session, 1, who, "that is good to hear"));
    }
    let ranked = order(&talk, "green tea", &RankWeights::default());
    let score = |id: &TextId| {
        ranked.iter().find(|ranked| ranked.candidate.id == *id).map_or(0.0, |ranked| ranked.factors.beside)
    };
    let (model, person) = (score(&beside[0]), score(&beside[1]));
    assert!(model > 0.0 && (person - 2.0 * model).abs() < 1e-9, "{model} {person}");
}

/// A text that resembles one conversation continues it, however many there are; one that resembles none goes with
/// the many.
#[test]
fn conversations_that_are_nothing_alike_still_count_together() {
    let mut talk = Talk::default();
    talk.say("tea", 1, "user", "which green tea shall I order");
    for (day, session) in (2..).zip(["a", "b", "c", "d", "e", "f"]) {
        talk.say(session, day, "user", "something else again");
    }
    for (text, is_of_tea) in [("the green tea that I order", true), ("hello there", false)] {
        let belongs = likely_conversations(&order(&talk, text, &RankWeights::default()));
        assert_eq!(belongs.len(), 7, "{text}");
        let sum = |of_tea: bool| -> f64 {
            belongs.iter().filter(|(id, _)| (id.as_str() == "tea") == of_tea).map(|(_, weight)| weight).sum()
        };
        assert_eq!(sum(true) > sum(false), is_of_tea, "{text}: {belongs:?}");
    }
}

#[test]
fn what_means_alike_is_found_without_a_word_in_common() {
    let mut talk = Talk::default();
    let car = talk.say("a", 1, "user", "my automobile broke down");
    talk.say("b", 1, "user", "the cake was good");
    let question = ParsedQuestion::parse("vehicle trouble", NOW);
    let mut proposed = talk.proposed(&question);
    for card in &mut proposed.items {
        card.similarity = Some(if card.id == car { 0.7 } else { 0.1 });
    }
    let weights = RankWeights::default();
    let found = Ranking::new(&question, &weights, proposed.clone()).into_matches();
    assert_eq!(
        found.iter().map(|ranked| &ranked.candidate.id).collect::<Vec<_>>(),
        [&car],
        "what is nearest is no answer"
    );
    let ranked = Ranking::new(&question, &weights, proposed).rank(Vec::new());
    assert_eq!(ranked[0].candidate.id, car);
    assert_eq!(likely_conversations(&ranked)[0].0, car.stream);
}

/// A name in the question makes all that its owner said similar.
#[test]
fn a_text_with_a_named_speaker_must_be_more_similar() {
    let mut talk = Talk::default();
    let own = talk.say("a", 1, "user", "my automobile broke down");
    let named = talk.say("b", 1, "Ann", "my automobile broke down");
    let question = ParsedQuestion::parse("vehicle trouble", NOW);
    for (similarity, expected) in [(0.44, &[][..]), (0.5, &[own.clone()][..]), (0.56, &[named, own][..])] {
        let mut proposed = talk.proposed(&question);
        proposed.items.iter_mut().for_each(|card| card.similarity = Some(similarity));
        let found = Ranking::new(&question, &RankWeights::default(), proposed).into_matches();
        let mut found: Vec<TextId> = found.into_iter().map(|ranked| ranked.candidate.id).collect();
        found.sort_by(|a, b| b.cmp(a));
        assert_eq!(found, expected, "{similarity}");
    }
}

/// Candidates in any order, or given as neighbours, rank the same; equals go by time, then by id.
#[test]
fn the_order_does_not_depend_on_the_stores() {
    let mut talk = Talk::default();
    for session in ["a", "b", "c"] {
        for _ in 0..3 {
            talk.say(session, 2, "user", "the same words");
        }
    }
    let (question, weights) = (ParsedQuestion::parse("same words", NOW), RankWeights::default());
    let straight = Ranking::new(&question, &weights, talk.proposed(&question)).rank(Vec::new());
    let mut reversed = talk.proposed(&question);
    reversed.items.reverse();
    let beside = reversed.items.split_off(4);
    let mixed = Ranking::new(&question, &weights, reversed).rank(beside.iter().chain(&beside).cloned().collect());
    let ids = |ranked: &[Ranked]| ranked.iter().map(|ranked| ranked.candidate.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&straight), ids(&mixed));
}

#[test]
fn nothing_proposed_is_nothing_found() {
    let question = ParsedQuestion::parse("", NOW);
    assert!(question.is_empty());
    assert_eq!(order(&Talk::default(), "anything", &RankWeights::default()), []);
    let long = "word ".repeat(1_000_000);
    assert!(ParsedQuestion::parse(&long, NOW).question.len() < 20_000);
}
