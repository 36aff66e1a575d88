//! Candidates filtered by speaker and effort.

use std::collections::BTreeSet;

use neap_core::base::ids::TurnNo;
use neap_core::base::message::Scope;
use neap_core::recall::{Filter, Query, SearchLimits, TextKey, TextKind};
use neap_core::session::event::{Event, TurnEvent};

use super::candidates::{MODEL, embed_all, embedded_query, propose};
use super::fixture::{TestStream, effort, effort_concluded, effort_opened, turn_completed, turn_started};
use crate::Store;

fn turn_started_by(who: &str, turn: TurnNo, text: &str) -> Event {
    let mut event = turn_started(turn, text, None);
    if let Event::Turn(TurnEvent::Started { message, .. }) = &mut event {
        message.message.name = Some(who.to_owned());
    }
    event
}

/// Case does not matter, and an effort's own text is included.
pub async fn proposals_are_narrowed_to_speakers_and_efforts(store: &dyn Store) {
    let mut stream = TestStream::create(store, "one").await;
    let mut other = TestStream::create(store, "two").await;
    for (current, who) in [(&mut stream, "Tim"), (&mut other, "Ada")] {
        let id = effort("apple tart");
        current
            .append(store, vec![turn_started_by(who, TurnNo(1), "apple"), effort_opened("apple tart", TurnNo(1))])
            .await
            .expect("it opens");
        current
            .append(store, vec![turn_completed(TurnNo(1), "an apple", Scope::Effort(id.clone()))])
            .await
            .expect("it ends");
        current
            .append(
                store,
                vec![
                    turn_started_by("tim", TurnNo(2), "apple"),
                    effort_concluded("apple tart", "apple", TurnNo(2)),
                ],
            )
            .await
            .expect("it concludes");
        current
            .append(store, vec![turn_completed(TurnNo(2), "an apple", Scope::Effort(id))])
            .await
            .expect("it ends");
        current.add_turn(store, "apple", "an apple", Scope::Ambient).await;
    }
    embed_all(store, MODEL).await;
    let who = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>());
    let tart = || Some(effort("apple tart"));
    let one = || Some(BTreeSet::from([stream.id.clone()]));
    let kinds = Some(BTreeSet::from([TextKind::Assistant]));
    for (filter, count) in [
        (Filter { speakers: who(&["TIM"]), ..Filter::default() }, 3),
        (Filter { speakers: who(&["Ada"]), ..Filter::default() }, 1),
        (Filter { speakers: who(&["Ada", "Tim"]), ..Filter::default() }, 4),
        (Filter { speakers: who(&["Ada"]), streams: one(), ..Filter::default() }, 0),
        (Filter { speakers: who(&["nobody"]), ..Filter::default() }, 0),
        (Filter { speakers: who(&[]), ..Filter::default() }, 0),
        (Filter { effort: tart(), ..Filter::default() }, 10),
        (Filter { effort: tart(), streams: one(), ..Filter::default() }, 5),
        (Filter { effort: tart(), kinds: kinds.clone(), ..Filter::default() }, 4),
        (Filter { effort: tart(), speakers: who(&["tim"]), streams: one(), ..Filter::default() }, 2),
        (Filter { effort: tart(), speakers: who(&["Ada"]), kinds, ..Filter::default() }, 0),
        (Filter { effort: Some(effort("pear tart")), ..Filter::default() }, 0),
    ] {
        for (lexical_max, semantic_max) in [(99, 0), (0, 99), (99, 99)] {
            let limits = SearchLimits { lexical_max, semantic_max, ..SearchLimits::default() };
            let query = Query { filter: filter.clone(), limits, ..embedded_query("apple") };
            let proposed = propose(store, &query).await;
            assert_eq!(proposed.items.len(), count, "{query:?}");
            assert_eq!((proposed.text_count, proposed.unembedded), (14, 0), "what is counted stays the store's");
            for card in &proposed.items {
                let is_effort = matches!(card.id.key, TextKey::Effort(_));
                assert!(
                    filter.speakers.is_none() || !is_effort && filter.matches_speaker(card.speaker.as_deref()),
                    "{card:?}"
                );
            }
        }
    }
}

/// However many other texts have the term, and however few are visited, the matching ones are found.
pub async fn what_is_narrowed_to_is_found_among_many(store: &dyn Store) {
    let mut stream = TestStream::create(store, "one").await;
    let id = effort("apple tart");
    stream
        .append(store, vec![turn_started_by("Ada", TurnNo(1), "apple"), effort_opened("apple tart", TurnNo(1))])
        .await
        .expect("it opens");
    stream
        .append(store, vec![turn_completed(TurnNo(1), "an apple", Scope::Effort(id.clone()))])
        .await
        .expect("it ends");
    stream
        .append(
            store,
            vec![turn_started(TurnNo(2), "done", None), effort_concluded("apple tart", "apple", TurnNo(2))],
        )
        .await
        .expect("it concludes");
    stream
        .append(store, vec![turn_completed(TurnNo(2), "good", Scope::Effort(id.clone()))])
        .await
        .expect("it ends");
    let mut other = TestStream::create(store, "two").await;
    for _ in 0..9 {
        other.add_turn(store, "apple", "an apple", Scope::Ambient).await;
    }
    let efforts = Filter { kinds: Some([TextKind::Effort].into()), ..Filter::default() };
    let ada = Filter { speakers: Some(["Ada".to_owned()].into()), ..Filter::default() };
    let tart = Filter { effort: Some(id), ..Filter::default() };
    for (filter, count) in [(efforts, 1), (ada, 1), (tart, 3), (Filter::default(), 4)] {
        let limits = SearchLimits { visits_max: 4, semantic_max: 0, ..SearchLimits::default() };
        let query = Query { filter, limits, ..embedded_query("apple") };
        assert_eq!(propose(store, &query).await.items.len(), count, "{query:?}");
    }
}
