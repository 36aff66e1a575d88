//! What is found for where it is: beside another text, at the beginning, at the end.

use std::collections::BTreeSet;

use neap_core::ids::{Seq, Stamp, TurnNo};
use neap_core::message::Scope;
use neap_core::recall::{
    Around, Card, Consult, Consulted, Filter, Query, Ranking, TextId, TextKey, TextKind, Wanted, Weights,
};
use neap_core::tokens::Tokens;

use super::proposals::{MODEL, embed_all, meant, message};
use super::told::{Told, effort, open};
use crate::Store;

/// Neighbours by what was said, whatever lies between; themselves left out, each once.
pub async fn what_was_said_beside_is_found(store: &dyn Store) {
    let mut told = Told::begin(store, "beside").await;
    let mut other = Told::begin(store, "other").await;
    for n in 1..=6 {
        told.turn(store, &format!("question {n}"), &format!("answer {n}"), Scope::Ambient).await;
        told.tell(store, vec![open(&format!("effort {n}"), TurnNo(n))]).await.expect("it opens");
        other.turn(store, "elsewhere", "too", Scope::Ambient).await;
    }
    // Events 2 and 3 are the first turn, 4 an effort, 5 and 6 the second.
    let query = meant("question");
    embed_all(store, MODEL).await;
    let beside = async |ids: &[TextId], distance| {
        let around = Around { of: ids.to_vec(), distance, ..Around::default() };
        let cards = store.around(&around, &query).await.expect("neighbours can be found");
        assert!(cards.iter().all(|card| card.id.stream == told.id && card.near.is_some()));
        assert!(cards.iter().all(|card| card.hits == [u32::from(card.kind == TextKind::User)]));
        let seq = |card: Card| if let TextKey::Message(seq) = card.id.key { seq.0 } else { 0 };
        cards.into_iter().map(seq).collect::<Vec<_>>()
    };
    let at = |seqs: &[u64]| seqs.iter().map(|seq| message(&told, *seq)).collect::<Vec<_>>();
    assert_eq!(beside(&at(&[5]), 1).await, [3, 6]);
    assert_eq!(beside(&at(&[2]), 2).await, [3, 5]);
    assert_eq!(beside(&at(&[5, 6]), 1).await, [3, 8]);
    assert_eq!(beside(&at(&[18]), 1).await, [17]);
    assert_eq!(beside(&at(&[5]), 0).await, [0; 0]);
    assert_eq!(beside(&at(&[5, 5]), u64::MAX).await.len(), 11);
    let effort = TextId { stream: told.id.clone(), key: TextKey::Effort(effort("effort 1")) };
    let unknown = TextId { stream: super::session("never was"), key: TextKey::Message(Seq(2)) };
    assert_eq!(beside(&[effort, unknown, message(&told, 4), message(&told, u64::MAX)], 9).await, [0; 0]);
    let ends = Around {
        openings: [told.id.clone(), super::session("never was")].into(),
        latest: Some((told.id.clone(), 3)),
        ..Around::default()
    };
    let cards = store.around(&ends, &query).await.expect("ends can be found");
    assert_eq!(cards.iter().map(|card| card.nth).collect::<Vec<_>>(), [1, 10, 11, 12]);
    let scopes = store.scopes(&at(&[5, 4, 99])).await.expect("scopes can be told");
    assert_eq!(scopes, [Some(Scope::Ambient), None, None]);
}

/// All that a question needs, at once: the same as step by step.
pub async fn a_question_is_answered_at_once(store: &dyn Store) {
    let mut told = Told::begin(store, "at once").await;
    for n in 1..=60 {
        told.turn(store, &format!("where are pears of row {n}?"), &format!("behind shed {n}"), Scope::Ambient)
            .await;
    }
    embed_all(store, MODEL).await;
    let in_session = Filter { streams: Some([told.id.clone()].into()), ..Filter::default() };
    for (filter, here) in [(Filter::default(), None), (in_session, Some((told.id.clone(), 7)))] {
        let wanted = Wanted::of("where are the pears of row 31?", Stamp(0));
        let query = Query { filter, ..meant("where are the pears of row 31?") };
        let consult = Consult { wanted, query, weights: Weights::default(), here, budget: Tokens(90) };
        let Consulted { ranked, texts } = store.consult(&consult).await.expect("it is answered");
        let proposed = store.propose(&consult.query).await.expect("a proposal can be made");
        let mut ranking = Ranking::new(&consult.wanted, &consult.weights, proposed);
        if let Some((session, in_sight)) = &consult.here {
            ranking = ranking.goes_on(session, *in_sight);
        }
        let around = store.around(&ranking.around(), &consult.query).await.expect("neighbours can be found");
        let steps = ranking.order(around);
        assert!(steps.len() > 60, "{}", steps.len());
        assert_eq!(ranked, steps);
        let best: BTreeSet<_> = ranked[..texts.len()].iter().map(|ranked| &ranked.card.id).collect();
        assert_eq!(texts.keys().collect::<BTreeSet<_>>(), best);
        assert_eq!(texts.get(&message(&told, 62)).map(AsRef::as_ref), Some("where are pears of row 31?"));
    }
}
