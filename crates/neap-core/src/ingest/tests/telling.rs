//! What is recorded of a history.

use super::*;
use crate::event::Event;
use crate::ids::{EffortId, Stamp, TurnNo};
use crate::ingest::{Reply, messages, open, tell};
use crate::memory::Author;
use crate::message::{Counted, Message, Role, Scope};
use crate::state::SessionState;

#[test]
fn an_item_is_the_messages_that_it_says() {
    assert_eq!(messages(&user("hi")), [Message::user("hi")]);
    let said = messages(&calls("c"));
    assert_eq!((said.len(), &*said[0].content, said[0].tool_calls.len()), (1, "let me see", 1));
    let both = item(Speaker::User, vec![answer("c", "1"), answer("d", "2"), text("<reminder>")]);
    let roles: Vec<Role> = messages(&both).iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::Tool, Role::Tool, Role::System], "a reminder beside answers begins no turn");
    assert_eq!(messages(&item(Speaker::Assistant, vec![Block::Thinking, text(" ")])), []);
    assert_eq!(&*messages(&item(Speaker::User, vec![unknown("image")]))[0].content, "[image]");
}

#[test]
fn a_reply_is_the_items_that_its_format_lists() {
    let call = ToolCall { id: "c".to_owned(), name: "run".to_owned(), arguments: "{}".to_owned() };
    let reply = Reply { text: "hi".to_owned(), calls: vec![call], ..Reply::default() };
    assert_eq!((reply.items(Api::Chat).len(), reply.items(Api::Messages).len()), (1, 1));
    assert_eq!(reply.items(Api::Responses).len(), 2);
}

/// DESIGN, decision 3.
#[test]
fn an_exchange_belongs_to_the_effort_that_it_was_in() {
    let mut state = SessionState::default();
    let hear = |state: &mut SessionState, words: &str| {
        let told = tell(state, Counted::new(&WordCounter, Message::user(words)), Author::Model);
        told.into_iter().map(|event| state.record(Stamp(1), event).event).collect::<Vec<_>>()
    };
    hear(&mut state, "one");
    let id = EffortId::from_name("fix it").expect("a name");
    let opened = open(&state, "fix it").expect("it is new");
    assert_eq!(opened, Event::EffortOpened { id: id.clone(), name: "fix it".to_owned(), turn: TurnNo(1) });
    state.record(Stamp(1), opened);
    assert_eq!(open(&state, "Fix it!"), None, "it is the one in play");
    assert_eq!(open(&state, "?!"), None, "no name");
    let events = hear(&mut state, "two");
    assert_eq!(events[0], Event::TurnClosed { turn: TurnNo(1), scope: Scope::Effort(id) });
}

#[test]
fn half_a_reply_is_recorded_as_it_came() {
    let half = Reply { text: "The port".to_owned(), is_half: true, ..Reply::default() };
    assert_eq!(half.items(Api::Chat)[0].text(), "The port");
    let nothing = Reply { is_half: true, ..Reply::default() };
    assert!(nothing.says_nothing() && messages(&nothing.items(Api::Chat)[0]).is_empty());
}
