//! What is proposed of some speakers, and of an effort.

use std::collections::BTreeSet;

use neap_core::event::Event;
use neap_core::ids::TurnNo;
use neap_core::message::Scope;
use neap_core::recall::{Filter, Limits, Query, TextKey, TextKind};

use super::proposals::{MODEL, embed_all, meant, propose};
use super::told::{Told, complete, conclude, effort, open, start};
use crate::Store;

/// A user message of somebody.
fn said_by(who: &str, turn: TurnNo, said: &str) -> Event {
    let mut event = start(turn, said, None);
    if let Event::TurnStarted { message, .. } = &mut event {
        message.message.name = Some(who.to_owned());
    }
    event
}

/// By who said it and in which effort, for words as for meaning; in large or small letters; the effort's own text with it.
pub async fn proposals_are_narrowed_to_speakers_and_efforts(store: &dyn Store) {
    let mut told = Told::begin(store, "one").await;
    let mut other = Told::begin(store, "two").await;
    for (of, who) in [(&mut told, "Tim"), (&mut other, "Ada")] {
        let id = effort("apple tart");
        of.tell(store, vec![said_by(who, TurnNo(1), "apple"), open("apple tart", TurnNo(1))])
            .await
            .expect("it opens");
        of.tell(store, vec![complete(TurnNo(1), "an apple", Scope::Effort(id.clone()))]).await.expect("it ends");
        of.tell(store, vec![said_by("tim", TurnNo(2), "apple"), conclude("apple tart", "apple", TurnNo(2))])
            .await
            .expect("it concludes");
        of.tell(store, vec![complete(TurnNo(2), "an apple", Scope::Effort(id))]).await.expect("it ends");
        of.turn(store, "apple", "an apple", Scope::Ambient).await;
    }
    embed_all(store, MODEL).await;
    let who = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>());
    let tart = || Some(effort("apple tart"));
    let one = || Some(BTreeSet::from([told.id.clone()]));
    let kinds = Some(BTreeSet::from([TextKind::Assistant]));
    for (filter, count) in [
        (Filter { who: who(&["TIM"]), ..Filter::default() }, 3),
        (Filter { who: who(&["Ada"]), ..Filter::default() }, 1),
        (Filter { who: who(&["Ada", "Tim"]), ..Filter::default() }, 4),
        (Filter { who: who(&["Ada"]), streams: one(), ..Filter::default() }, 0),
        (Filter { who: who(&["nobody"]), ..Filter::default() }, 0),
        (Filter { who: who(&[]), ..Filter::default() }, 0),
        (Filter { effort: tart(), ..Filter::default() }, 10),
        (Filter { effort: tart(), streams: one(), ..Filter::default() }, 5),
        (Filter { effort: tart(), kinds: kinds.clone(), ..Filter::default() }, 4),
        (Filter { effort: tart(), who: who(&["tim"]), streams: one(), ..Filter::default() }, 2),
        (Filter { effort: tart(), who: who(&["Ada"]), kinds, ..Filter::default() }, 0),
        (Filter { effort: Some(effort("pear tart")), ..Filter::default() }, 0),
    ] {
        for (lexical_max, semantic_max) in [(99, 0), (0, 99), (99, 99)] {
            let limits = Limits { lexical_max, semantic_max, ..Limits::default() };
            let query = Query { filter: filter.clone(), limits, ..meant("apple") };
            let proposed = propose(store, &query).await;
            assert_eq!(proposed.cards.len(), count, "{query:?}");
            assert_eq!((proposed.texts, proposed.waiting), (14, 0), "what is counted stays the store's");
            for card in &proposed.cards {
                let is_effort = matches!(card.id.key, TextKey::Effort(_));
                assert!(
                    filter.who.is_none() || !is_effort && filter.admits_speaker(card.who.as_deref()),
                    "{card:?}"
                );
            }
        }
    }
}

/// However many others have the word, and however few are visited: what is left is found.
pub async fn what_is_narrowed_to_is_found_among_many(store: &dyn Store) {
    let mut told = Told::begin(store, "one").await;
    let id = effort("apple tart");
    told.tell(store, vec![said_by("Ada", TurnNo(1), "apple"), open("apple tart", TurnNo(1))])
        .await
        .expect("it opens");
    told.tell(store, vec![complete(TurnNo(1), "an apple", Scope::Effort(id.clone()))]).await.expect("it ends");
    told.tell(store, vec![start(TurnNo(2), "done", None), conclude("apple tart", "apple", TurnNo(2))])
        .await
        .expect("it concludes");
    told.tell(store, vec![complete(TurnNo(2), "good", Scope::Effort(id.clone()))]).await.expect("it ends");
    let mut other = Told::begin(store, "two").await;
    for _ in 0..9 {
        other.turn(store, "apple", "an apple", Scope::Ambient).await;
    }
    let efforts = Filter { kinds: Some([TextKind::Effort].into()), ..Filter::default() };
    let ada = Filter { who: Some(["Ada".to_owned()].into()), ..Filter::default() };
    let tart = Filter { effort: Some(id), ..Filter::default() };
    for (filter, count) in [(efforts, 1), (ada, 1), (tart, 3), (Filter::default(), 4)] {
        let limits = Limits { visits_max: 4, semantic_max: 0, ..Limits::default() };
        let query = Query { filter, limits, ..meant("apple") };
        assert_eq!(propose(store, &query).await.cards.len(), count, "{query:?}");
    }
}
