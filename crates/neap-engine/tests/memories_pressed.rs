//! What leaves a prompt for lack of room is told (003, Context Refresh: token pressure).

#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::sync::Arc;

use crate::stage::Stage;
use crate::stage::draft::fact;
use neap_core::base::ids::Seq;
use neap_core::memory::MemoryEvent;
use neap_core::memory::knowledge::{LoadCause, MemoryLoad};
use neap_core::session::event::Event;
use neap_store::{MemStore, StoredEvent};

const QUESTION: &str = "What is known of the billing timeout?";

async fn loads(stage: &Stage) -> Vec<MemoryLoad> {
    let stored = stage.engine.store().events(stage.session.id(), Seq(1), usize::MAX).await.unwrap();
    let loaded = |stored| {
        let StoredEvent::Whole(recorded) = stored else { return None };
        if let Event::Memory(MemoryEvent::Loaded { loaded, .. }) = recorded.event { Some(*loaded) } else { None }
    };
    stored.into_iter().filter_map(loaded).collect()
}

#[tokio::test]
async fn memories_that_leave_for_lack_of_room_are_told_once() {
    for epoch in ["every-turn", "by-cost"] {
        let set = [("epoch", epoch), ("context_tokens_max", "4000")];
        let mut stage = Stage::of_agent(Arc::new(MemStore::default()), &set).await;
        for place in ["Oslo", "Lima", "Cairo", "Quito", "Hanoi", "Accra", "Dakar", "Sofia"] {
            let said = format!(
                "The billing timeout of the {place} office is its own: it was set by hand last year, after the people \
                 there had asked for one that fits their slow lines, and nobody else may change it without a word to \
                 them and to the auditors, who look at it once a quarter and keep a list of what it was before"
            );
            stage.teach(fact(&format!("billing timeout of {place}"), &said)).await;
        }
        let all = stage.say(QUESTION, &[], "That each office has its own.").await.ledger.memories;
        assert_eq!(all.len(), 8, "{epoch}");
        // Longer than the budget by itself: little room is left beside it.
        let paste = format!("{QUESTION} {}", "The log says nothing about that. ".repeat(2_000));
        let left = stage.say(&paste, &[], "Still that.").await.ledger.memories;
        let told = loads(&stage).await;
        assert_eq!(
            told.iter().map(|loaded| loaded.cause).collect::<Vec<_>>(),
            [LoadCause::First, LoadCause::Pressure]
        );
        let pressed = &told[1];
        assert!(left.len() < all.len(), "{epoch}: {left:?}");
        assert_eq!(
            pressed.items.iter().map(|item| item.id).collect::<Vec<_>>(),
            left,
            "{epoch}: those that stayed"
        );
        assert!(pressed.tokens <= pressed.budget && pressed.budget < told[0].budget);

        let figures = stage.session.state().metrics().memories.clone();
        assert_eq!((figures.loads, figures.refreshes, figures.items), (1, 1, 8), "{epoch}: none came twice");
        stage.say(&paste, &[], "Still that.").await;
        assert_eq!(loads(&stage).await.len(), 2, "{epoch}: the same ones are out");
        assert_eq!(
            stage.say(QUESTION, &[], "That.").await.ledger.memories.len(),
            8,
            "{epoch}: there is room again"
        );
    }
}
