//! Logs: the newest part, whole exchanges, in the order in which they ended.

use neap_core::ids::TurnNo;
use neap_core::log::{Log, LogRequest};
use neap_core::message::Scope;
use neap_core::tokens::Tokens;

use super::told::{Told, complete, effort, open, session, start, tools};
use crate::Store;

async fn log(store: &dyn Store, told: &Told, scope: Scope, tokens: u64) -> Log {
    let request = LogRequest::newest(scope, Tokens(tokens));
    store.log(&told.id, &request).await.expect("a log can be read")
}

fn turns(log: &Log) -> Vec<u64> {
    log.exchanges().map(|exchange| exchange.turn.0).collect()
}

/// As many exchanges as it takes to reach what was asked for, and no more.
pub async fn a_log_is_its_newest_part(store: &dyn Store) {
    let mut told = Told::begin(store, "tail").await;
    for n in 1..=6 {
        let name = effort("side");
        if n == 3 {
            told.tell(store, vec![open("side", TurnNo(2))]).await.expect("an effort can be opened");
        }
        let scope = if n % 3 == 0 { Scope::Effort(name) } else { Scope::Ambient };
        told.turn(store, "one two three", "four five", scope).await;
    }
    let all = log(store, &told, Scope::Ambient, u64::MAX).await;
    assert_eq!(turns(&all), [1, 2, 4, 5]);
    let each = all.exchanges().next().expect("there is one").tokens().0;
    assert_eq!(turns(&log(store, &told, Scope::Ambient, 1).await), [5]);
    assert_eq!(turns(&log(store, &told, Scope::Ambient, each).await), [5]);
    assert_eq!(turns(&log(store, &told, Scope::Ambient, each + 1).await), [4, 5]);
    assert_eq!(turns(&log(store, &told, Scope::Ambient, 0).await), [0; 0]);
    assert_eq!(turns(&log(store, &told, Scope::Effort(effort("side")), u64::MAX).await), [3, 6]);
    assert_eq!(turns(&log(store, &told, Scope::Effort(effort("none")), u64::MAX).await), [0; 0]);
    let nobody = Told { id: session("nobody"), ..told };
    assert_eq!(turns(&log(store, &nobody, Scope::Ambient, u64::MAX).await), [0; 0]);
}

/// I7: a tool call and its result are there together, between what was asked and the answer.
pub async fn tool_rounds_are_whole(store: &dyn Store) {
    let mut told = Told::begin(store, "rounds").await;
    let turn = TurnNo(1);
    told.tell(store, vec![start(turn, "look", None)]).await.expect("a turn can begin");
    told.tell(store, vec![tools(turn, "found")]).await.expect("a tool can be called");
    told.tell(store, vec![complete(turn, "done", Scope::Ambient)]).await.expect("a turn can end");
    let log = log(store, &told, Scope::Ambient, 1).await;
    let words: Vec<_> = log.exchanges().flat_map(|e| &e.messages).map(|m| m.message.role.as_str()).collect();
    assert_eq!(words, ["user", "assistant", "tool", "assistant"]);
}

/// Two turns at once do not get into each other's words.
pub async fn turns_may_overlap(store: &dyn Store) {
    let mut told = Told::begin(store, "overlap").await;
    let (one, two) = (TurnNo(1), TurnNo(2));
    told.tell(store, vec![start(one, "first question", None)]).await.expect("a turn can begin");
    told.tell(store, vec![start(two, "second question", None)]).await.expect("another can");
    assert_eq!(turns(&log(store, &told, Scope::Ambient, u64::MAX).await), [0; 0]);
    told.tell(store, vec![complete(two, "second answer", Scope::Ambient)]).await.expect("a turn can end");
    told.tell(store, vec![complete(one, "first answer", Scope::Ambient)]).await.expect("the other can");
    let log = log(store, &told, Scope::Ambient, u64::MAX).await;
    let words: Vec<_> = log.exchanges().flat_map(|e| &e.messages).map(|m| &*m.message.content).collect();
    assert_eq!(words, ["second question", "second answer", "first question", "first answer"]);
}
