//! Texts found by position: beside another text, at the start, at the end.

use std::collections::BTreeSet;

use neap_core::base::ids::{Seq, Stamp, TurnNo};
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::recall::{
    Candidate, Filter, NeighbourQuery, ParsedQuestion, Query, RankWeights, RankedResults, RankedSearch, Ranking,
    TextId, TextKey, TextKind,
};

use super::candidates::{MODEL, embed_all, embedded_query, message};
use super::fixture::{TestStream, effort, effort_opened};
use crate::Store;

/// Neighbouring messages, whatever events lie between; without the given texts themselves, each once.
pub async fn what_was_said_beside_is_found(store: &dyn Store) {
    let mut stream = TestStream::create(store, "beside").await;
    let mut other = TestStream::create(store, "other").await;
    for n in 1..=6 {
        stream.add_turn(store, &format!("question {n}"), &format!("answer {n}"), Scope::Ambient).await;
        stream.append(store, vec![effort_opened(&format!("effort {n}"), TurnNo(n))]).await.expect("it opens");
        other.add_turn(store, "elsewhere", "too", Scope::Ambient).await;
    }
    // Events 2 and 3 are the first turn, 4 an effort, 5 and 6 the second.
    let query = embedded_query("question");
    embed_all(store, MODEL).await;
    let beside = async |ids: &[TextId], distance| {
        let around = NeighbourQuery { texts: ids.to_vec(), distance, ..NeighbourQuery::default() };
        let cards = store.neighbours(&around, &query).await.expect("neighbours can be found");
        assert!(cards.iter().all(|card| card.id.stream == stream.id && card.similarity.is_some()));
        assert!(cards.iter().all(|card| card.hits == [u32::from(card.kind == TextKind::User)]));
        let seq = |card: Candidate| if let TextKey::Message(seq) = card.id.key { seq.0 } else { 0 };
        cards.into_iter().map(seq).collect::<Vec<_>>()
    };
    let at = |seqs: &[u64]| seqs.iter().map(|seq| message(&stream, *seq)).collect::<Vec<_>>();
    assert_eq!(beside(&at(&[5]), 1).await, [3, 6]);
    assert_eq!(beside(&at(&[2]), 2).await, [3, 5]);
    assert_eq!(beside(&at(&[5, 6]), 1).await, [3, 8]);
    assert_eq!(beside(&at(&[18]), 1).await, [17]);
    assert_eq!(beside(&at(&[5]), 0).await, [0; 0]);
    assert_eq!(beside(&at(&[5, 5]), u64::MAX).await.len(), 11);
    let effort = TextId { stream: stream.id.clone(), key: TextKey::Effort(effort("effort 1")) };
    let unknown = TextId { stream: super::session("never was"), key: TextKey::Message(Seq(2)) };
    assert_eq!(beside(&[effort, unknown, message(&stream, 4), message(&stream, u64::MAX)], 9).await, [0; 0]);
    let ends = NeighbourQuery {
        openings: [stream.id.clone(), super::session("never was")].into(),
        latest: Some((stream.id.clone(), 3)),
        ..NeighbourQuery::default()
    };
    let cards = store.neighbours(&ends, &query).await.expect("ends can be found");
    assert_eq!(cards.iter().map(|card| card.position).collect::<Vec<_>>(), [1, 10, 11, 12]);
    let scopes = store.scopes(&at(&[5, 4, 99])).await.expect("scopes can be told");
    assert_eq!(scopes, [Some(Scope::Ambient), None, None]);
}

/// A whole search returns the same as its single steps.
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
        let proposed = store.find_candidates(&request.query).await.expect("a proposal can be made");
        let mut ranking = Ranking::new(&request.question, &request.weights, proposed);
        if let Some((session, in_sight)) = &request.current_session {
            ranking = ranking.with_current_session(session, *in_sight);
        }
        let around =
            store.neighbours(&ranking.neighbour_query(), &request.query).await.expect("neighbours can be found");
        let steps = ranking.rank(around);
        assert!(steps.len() > 60, "{}", steps.len());
        assert_eq!(ranked, steps);
        let best: BTreeSet<_> = ranked[..texts.len()].iter().map(|ranked| &ranked.candidate.id).collect();
        assert_eq!(texts.keys().collect::<BTreeSet<_>>(), best);
        assert_eq!(texts.get(&message(&stream, 62)).map(AsRef::as_ref), Some("where are pears of row 31?"));
    }
}
