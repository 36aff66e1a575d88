//! Texts found by position: beside another text, at the start, at the end.

use std::collections::BTreeSet;

use neap_core::base::ids::{Stamp, TurnNo};
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::recall::{Filter, ParsedQuestion, Query, RankWeights, Ranked, RankedResults, RankedSearch, TextId};

use super::candidates::{MODEL, embed_all, embedded_query, message};
use super::fixture::{TestStream, effort_opened};
use crate::Store;

/// A search returns what was said beside a match, whatever events lie between, how its conversation began, and the latest
/// messages of the current one; each once.
pub async fn what_was_said_beside_is_found(store: &dyn Store) {
    let mut stream = TestStream::create(store, "beside").await;
    let mut other = TestStream::create(store, "other").await;
    for n in 1..=50 {
        let question = if n == 10 { "where are the pears?" } else { "and then?" };
        stream.add_turn(store, question, "behind the shed", Scope::Ambient).await;
        stream.append(store, vec![effort_opened(&format!("effort {n}"), TurnNo(n))]).await.expect("it opens");
        other.add_turn(store, "elsewhere", "too", Scope::Ambient).await;
    }
    embed_all(store, MODEL).await;
    let latest: BTreeSet<u64> = (37..=100).collect();
    for (current_session, latest) in [(None, BTreeSet::new()), (Some((stream.id.clone(), 0)), latest)] {
        let question = ParsedQuestion::parse("pears", Stamp(0));
        let query = Query::new(question.terms.clone());
        let weights = RankWeights::for_search();
        let request = RankedSearch { question, query, weights, current_session, budget: Tokens(90) };
        let RankedResults { ranked, .. } = store.search(&request).await.expect("it is answered");
        assert!(ranked.iter().all(|ranked| ranked.candidate.id.stream == stream.id));
        let has_word = |ranked: &Ranked| ranked.candidate.hits == [1];
        assert!(ranked.iter().all(|ranked| has_word(ranked) == (ranked.candidate.position == 19)));
        let positions: Vec<u64> = ranked.iter().map(|ranked| ranked.candidate.position).collect();
        let expected: BTreeSet<u64> = (14..=24).chain([1]).chain(latest).collect();
        assert_eq!((positions.iter().copied().collect(), positions.len()), (expected.clone(), expected.len()));
    }
    let at: Vec<TextId> = [5, 4, 99_999].iter().map(|seq| message(&stream, *seq)).collect();
    let scopes = store.scopes(&at).await.expect("scopes can be told");
    assert_eq!(scopes, [Some(Scope::Ambient), None, None]);
}

/// A search has the texts of its best results.
pub async fn a_question_is_answered_at_once(store: &dyn Store) {
    let mut stream = TestStream::create(store, "at once").await;
    for n in 1..=60 {
        stream
            .add_turn(store, &format!("where are pears of row {n}?"), &format!("behind shed {n}"), Scope::Ambient)
            .await;
    }
    embed_all(store, MODEL).await;
    let in_session = Filter { streams: Some([stream.id.clone()].into()), ..Filter::default() };
    for (filter, current_session) in [(Filter::default(), None), (in_session, Some((stream.id.clone(), 7)))] {
        let question = ParsedQuestion::parse("where are the pears of row 31?", Stamp(0));
        let query = Query { filter, ..embedded_query("where are the pears of row 31?") };
        let request =
            RankedSearch { question, query, weights: RankWeights::default(), current_session, budget: Tokens(90) };
        let RankedResults { ranked, texts } = store.search(&request).await.expect("it is answered");
        assert!(ranked.len() > 60, "{}", ranked.len());
        let best: BTreeSet<_> = ranked[..texts.len()].iter().map(|ranked| &ranked.candidate.id).collect();
        assert_eq!(texts.keys().collect::<BTreeSet<_>>(), best);
        assert_eq!(texts.get(&message(&stream, 62)).map(AsRef::as_ref), Some("where are pears of row 31?"));
    }
}
