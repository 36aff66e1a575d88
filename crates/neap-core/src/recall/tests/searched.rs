//! Tests of whole searches: what is proposed, raised and read.

use std::collections::BTreeSet;
use std::convert::Infallible;

use super::super::{
    Candidates, NeighbourQuery, ParsedQuestion, Query, RankWeights, RankedResults, RankedSearch, TextId,
};
use super::{DAY, Talk};
use crate::base::ids::{SessionId, Stamp, StreamId};
use crate::base::tokens::Tokens;

const NOW: Stamp = Stamp(400 * DAY);

/// Searches as a store would, if it proposed only texts with a term of the question, at most `max`.
fn search(talk: &Talk, question: &str, current_session: Option<(StreamId, u64)>, max: usize) -> RankedResults {
    let question = ParsedQuestion::parse(question, NOW);
    let query = Query::new(question.terms.clone());
    let all = talk.proposed(&question);
    let propose = |query: &Query| {
        let mut items = all.items.clone();
        items.retain(|card| card.hits.iter().any(|hits| *hits > 0) && query.filter.matches(card.kind, card.at));
        items.truncate(max);
        Ok::<_, Infallible>(Candidates { items, ..all.clone() })
    };
    let around = |wanted: &NeighbourQuery| {
        let is_near = |id: &TextId, position: u64| {
            all.items.iter().any(|card| {
                wanted.texts.contains(&card.id)
                    && card.id.stream == id.stream
                    && card.position.abs_diff(position) <= wanted.distance
            })
        };
        let is_latest = |id: &TextId| wanted.latest.as_ref().is_some_and(|(session, _)| *session == id.stream);
        let mut items = all.items.clone();
        items.retain(|card| is_near(&card.id, card.position) || is_latest(&card.id));
        Ok(items)
    };
    let words = |ids: &[TextId]| Ok(ids.iter().map(|id| talk.texts.get(id).cloned()).collect());
    let weights = RankWeights::default();
    let search = RankedSearch { question, query, weights, current_session, budget: Tokens(200) };
    search.run(propose, around, words).expect("nothing fails")
}

fn best(found: &RankedResults) -> &TextId {
    &found.ranked[0].candidate.id
}

#[test]
fn who_works_is_shown_the_files_that_he_left_last() {
    let mut talk = Talk::default();
    let names = ["cart.rs", "shop.rs", "user.rs"];
    let of_files: Vec<TextId> = names
        .iter()
        .map(|name| talk.say("work", 1, "tool", &format!("Read file: src/{name}\nfn main() {{}}")))
        .collect();
    talk.say("work", 1, "tool", "Read file: src/cart.rs\nfn main() {}");
    talk.say("work", 1, "assistant", "the parser wants another pass");
    let session: StreamId = SessionId::from_name("work").expect("it is a name").into();
    let found = search(&talk, "the parser passes now", Some((session.clone(), 1)), 10);
    let raised: Vec<f64> = of_files
        .iter()
        .map(|id| found.ranked.iter().find(|ranked| ranked.candidate.id == *id).expect("it is there").factors.file)
        .collect();
    assert!(raised[0] == 0.0, "a newer text has the same file");
    assert!(raised[2] > raised[1] && raised[1] > 0.0, "{raised:?}");
    let asked = search(&talk, "what did we say about the parser?", Some((session, 1)), 10);
    assert!(asked.ranked.iter().all(|ranked| ranked.factors.file == 0.0), "the past is asked for by its words");
}

#[test]
fn a_named_time_proposes_what_was_said_then() {
    let mut talk = Talk::default();
    for day in 0..30 {
        talk.say(&format!("a{day}"), day, "user", "we talked about the garden");
    }
    let then = talk.say("then", 397, "user", "the garden got a fence");
    let found = search(&talk, "What happened in the garden 3 days ago?", None, 5);
    assert_eq!(best(&found), &then);
    let ids: BTreeSet<&TextId> = found.ranked.iter().map(|ranked| &ranked.candidate.id).collect();
    assert_eq!(ids.len(), found.ranked.len(), "each once");
}

#[test]
fn a_decision_is_the_message_that_settled_it() {
    let mut talk = Talk::default();
    talk.say("fence", 1, "user", "which paint for the garden fence?");
    for _ in 0..8 {
        talk.say("fence", 1, "user", "blue lasts, green hides the dirt");
    }
    let settled = talk.say("fence", 1, "user", "fine, blue it is then");
    for session in ["a", "b"] {
        talk.say(session, 2, "user", "the fence again");
        talk.say(session, 2, "user", "let's go with tea");
    }
    let place = |question| {
        let ranked = search(&talk, question, None, 10).ranked;
        ranked.iter().position(|ranked| ranked.candidate.id == settled).unwrap_or(usize::MAX)
    };
    let (decided, weighed) =
        (place("Which paint did we decide on for the fence?"), place("Which paint is there for the fence?"));
    assert!(decided <= 2 && weighed > decided, "{decided} {weighed}");
}

#[test]
fn who_asks_for_the_reply_gets_the_assistants_words() {
    for (question, who) in
        [("What did you recommend about green tea?", "assistant"), ("What do I like about green tea?", "user")]
    {
        let mut talk = Talk::default();
        let said =
            [talk.say("a", 2, "assistant", "green tea is good"), talk.say("b", 1, "user", "green tea is good")];
        let wanted = if who == "assistant" { &said[0] } else { &said[1] };
        assert_eq!(best(&search(&talk, question, None, 10)), wanted, "{question}");
    }
}
