//! Texts, read by their ids.

use neap_core::base::ids::{Seq, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::recall::{TextId, TextKey};
use neap_core::session::event::{AbandonReason, Event, TurnEvent};

use super::candidates::{MODEL, embed_all, message};
use super::faults;
use super::fixture::{TestStream, effort, effort_concluded, effort_opened, memory, memory_id, turn_started};
use crate::Store;

pub async fn texts_are_read_by_their_ids(store: &dyn Store) {
    let mut stream = TestStream::create(store, "texts").await;
    for n in 1..=200 {
        stream.add_turn(store, &format!("question {n}"), &format!("answer {n}"), Scope::Ambient).await;
    }
    stream
        .append(
            store,
            vec![effort_opened("auth bug", TurnNo(200)), effort_concluded("auth bug", "Fixed.", TurnNo(200))],
        )
        .await
        .expect("it opens and concludes");
    let mut newton = TestStream::create_agent(store, "newton").await;
    newton.add_memory(store, &memory("f1", "apple falls", 5)).await;
    let text_id = |stream: &StreamId, key| TextId { stream: stream.clone(), key };
    let cases = [
        (message(&stream, 399), Some("answer 199")),
        (message(&stream, 2), Some("question 1")),
        (text_id(&newton.id, TextKey::Memory(memory_id("f1"))), Some("apple falls")),
        (message(&stream, 399), Some("answer 199")),
        (message(&stream, 1), None),
        (text_id(&stream.id, TextKey::Effort(effort("auth bug"))), Some("auth-bug auth bug Fixed.")),
        (text_id(&stream.id, TextKey::Effort(effort("none"))), None),
        (text_id(&stream.id, TextKey::Memory(memory_id("f1"))), None),
        (text_id(&newton.id, TextKey::Memory(memory_id("f2"))), None),
        (message(&stream, 9_999), None),
        (message(&stream, u64::MAX), None),
        (text_id(&super::session("never was"), TextKey::Message(Seq(2))), None),
        (message(&stream, 200), Some("question 100")),
    ];
    let (ids, expected): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let texts = store.texts(&ids).await.expect("they can be read");
    let texts: Vec<_> = texts.iter().map(|text| text.as_deref().map(str::trim)).collect();
    assert_eq!(texts, expected);
}

pub async fn a_withheld_turn_has_no_words(store: &dyn Store) {
    let mut stream = TestStream::create(store, "withheld").await;
    stream.add_turn(store, "good morning", "and to you", Scope::Ambient).await;
    let turn = TurnNo(2);
    let reason = AbandonReason::Censored { id: memory_id("c1"), reason: "a secret".to_owned() };
    let ended = Event::Turn(TurnEvent::Abandoned { turn, reason, scope: Scope::Ambient });
    stream.append(store, vec![turn_started(turn, "the launch code", None), ended]).await.expect("it ends");
    let reason = AbandonReason::Interrupted;
    let ended = Event::Turn(TurnEvent::Abandoned { turn: TurnNo(3), reason, scope: Scope::Ambient });
    stream.append(store, vec![turn_started(TurnNo(3), "never mind", None), ended]).await.expect("it ends");
    for _ in 0..2 {
        let ids = [2, 4, 6].map(|seq| message(&stream, seq));
        let texts = store.texts(&ids).await.expect("they can be read");
        let texts: Vec<_> = texts.iter().map(Option::as_deref).collect();
        assert_eq!(texts, [Some("good morning"), None, Some("never mind")]);
        assert_eq!(faults(store).await, []);
        store.rebuild(&stream.id).await.expect("it can be rebuilt");
    }
    assert_eq!(embed_all(store, MODEL).await, 4, "nothing waits for ever");
}
