//! A summary that covers the closing exchange is made off the reply's path, and is not forgotten if the process ends
//! before.

#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use crate::stage::{Stage, effort};
use neap_core::base::ids::{Seq, TurnNo};
use neap_core::session::event::{EffortEvent, Event};
use neap_engine::Author;
use neap_store::StoredEvent;
use serde_json::json;

const REPLY: &str = "Then the build fell from 14 minutes to 90 seconds.";

async fn closed() -> Stage {
    let mut stage = Stage::new().await;
    stage.say("The build is slow.", &[("open_effort", json!({"name": "build"}))], "Let us see.").await;
    let said = "Done: we moved the cache to /var/cache/build.";
    stage.say(said, &[("close_effort", json!({}))], REPLY).await;
    stage
}

fn summary(stage: &Stage) -> String {
    stage.effort("build").summary.as_ref().unwrap().text.clone()
}

fn due(stage: &Stage) -> Vec<(&str, TurnNo)> {
    stage.session.state().head().summaries_due.iter().map(|(id, turn)| (id.as_str(), *turn)).collect()
}

/// Every summary that was recorded: of which turn, and whether it is to be made again.
async fn recorded(stage: &Stage) -> Vec<(TurnNo, bool)> {
    let stored = stage.engine.store().events(stage.session.id(), Seq(1), usize::MAX).await.unwrap();
    let mut out = Vec::new();
    for event in stored {
        let StoredEvent::Whole(recorded) = event else { panic!("{event:?}") };
        if let Event::Effort(EffortEvent::Concluded { turn, provisional, receipt, .. }) = &recorded.event {
            assert!(receipt.is_some());
            out.push((*turn, *provisional));
        }
        if let Event::Effort(EffortEvent::Summarized { turn, receipt, .. }) = &recorded.event {
            assert!(receipt.is_some());
            out.push((*turn, false));
        }
    }
    out
}

#[tokio::test]
async fn upkeep_makes_it_once_and_it_belongs_to_the_turn_that_closed() {
    let mut stage = closed().await;
    assert!(!summary(&stage).contains("90 seconds"), "the reply was not there yet: {}", summary(&stage));
    assert_eq!(due(&stage), [("build", TurnNo(2))]);
    stage.chatter().await;
    assert_eq!(stage.session.run_upkeep().await.unwrap(), 1);
    assert!(summary(&stage).contains("90 seconds"), "{}", summary(&stage));
    assert_eq!(due(&stage), []);
    assert_eq!(stage.session.run_upkeep().await.unwrap(), 0, "nothing is left to do");
    assert_eq!(recorded(&stage).await, [(TurnNo(2), true), (TurnNo(2), false)]);
    let accounts = stage.engine.receipts(stage.session.id(), 10).await.unwrap();
    assert_eq!(accounts.len(), 1, "one conclusion, one account: {accounts:?}");
}

/// The process ends after the reply and before upkeep: whoever goes on finds what is due.
#[tokio::test]
async fn a_restart_does_not_forget_it() {
    let mut stage = closed().await;
    stage.restart().await;
    assert_eq!(due(&stage), [("build", TurnNo(2))]);
    assert_eq!(stage.session.run_upkeep().await.unwrap(), 1);
    assert!(summary(&stage).contains("90 seconds"), "{}", summary(&stage));
    stage.restart().await;
    assert_eq!(due(&stage), []);
}

/// What was taken up again is no longer what the summary stands for.
#[tokio::test]
async fn a_reopened_effort_is_not_summarised() {
    let mut stage = closed().await;
    stage.call("reopen_effort", json!({"id": "build"})).await;
    assert_eq!(due(&stage), []);
    assert_eq!(stage.session.run_upkeep().await.unwrap(), 0);
    // Closed outside a turn, nothing comes after: its summary is final at once.
    stage.call("close_effort", json!({"id": "build"})).await;
    assert!(summary(&stage).contains("90 seconds"), "{}", summary(&stage));
    assert_eq!(due(&stage), []);
    assert_eq!(recorded(&stage).await, [(TurnNo(2), true), (TurnNo(2), false)]);
}

/// A turn that closed an effort and got no reply ended all the same: what was said in it is covered.
#[tokio::test]
async fn a_turn_without_a_reply_counts() {
    let mut stage = Stage::new().await;
    stage.say("The build is slow.", &[("open_effort", json!({"name": "build"}))], "Let us see.").await;
    let close =
        neap_core::base::message::ToolCall { id: "c".into(), name: "close_effort".into(), arguments: "{}".into() };
    stage.model.push(neap_core::turn::ModelReply { text: String::new(), calls: vec![close], is_truncated: false });
    stage.model.push_error(neap_model::ModelError::Refused("overloaded".into()));
    let said = "Done: we moved the cache to /var/cache/build.";
    stage.session.turn(Author::Person, said, &mut neap_engine::NullObserver).await.unwrap_err();
    assert_eq!(due(&stage), [("build", TurnNo(2))]);
    assert_eq!(stage.session.run_upkeep().await.unwrap(), 1);
    assert!(stage.session.state().effort(&effort("build")).unwrap().is_concluded());
    assert!(summary(&stage).contains("/var/cache/build"), "{}", summary(&stage));
    assert_eq!(due(&stage), []);
}
