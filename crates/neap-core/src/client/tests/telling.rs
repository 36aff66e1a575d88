//! Recording of history items.

use super::*;
use crate::base::ids::{EffortId, Stamp, TurnNo};
use crate::base::message::{CountedMessage, Message, Role, Scope};
use crate::client::{ProviderReply, append_routed_message, enter_effort, item_messages};
use crate::memory::Author;
use crate::session::event::{EffortEvent, Event, TurnEvent};
use crate::session::state::SessionState;

#[test]
fn an_item_is_the_messages_that_it_says() {
    assert_eq!(item_messages(&user("hi")), [Message::user("hi")]);
    let messages = item_messages(&calls("c"));
    assert_eq!((messages.len(), &*messages[0].content, messages[0].tool_calls.len()), (1, "let me see", 1));
    let both = item(Speaker::User, vec![answer("c", "1"), answer("d", "2"), text("<reminder>")]);
    let roles: Vec<Role> = item_messages(&both).iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::Tool, Role::Tool, Role::System], "a reminder beside answers begins no turn");
    assert_eq!(item_messages(&item(Speaker::Assistant, vec![ContentBlock::Thinking, text(" ")])), []);
    assert_eq!(&*item_messages(&item(Speaker::User, vec![unknown("image")]))[0].content, "[image]");
}

#[test]
fn a_reply_is_the_items_that_its_format_lists() {
    let call = ToolCall { id: "c".to_owned(), name: "run".to_owned(), arguments: "{}".to_owned() };
    let reply = ProviderReply { text: "hi".to_owned(), calls: vec![call], ..ProviderReply::default() };
    assert_eq!((reply.items(WireApi::Chat).len(), reply.items(WireApi::Messages).len()), (1, 1));
    assert_eq!(reply.items(WireApi::Responses).len(), 2);
}

/// An exchange goes to the log of the effort that was active when it began.
#[test]
fn an_exchange_belongs_to_the_effort_that_it_was_in() {
    let mut state = SessionState::default();
    let append = |state: &mut SessionState, words: &str| {
        let events =
            append_routed_message(state, CountedMessage::new(&WordCounter, Message::user(words)), Author::Model);
        events.into_iter().map(|event| state.record(Stamp(1), event).event).collect::<Vec<_>>()
    };
    append(&mut state, "one");
    let id = EffortId::from_name("fix it").expect("a name");
    let opened = enter_effort(&state, "fix it").expect("it is new");
    assert_eq!(opened, EffortEvent::Opened { id: id.clone(), name: "fix it".to_owned(), turn: TurnNo(1) });
    state.record(Stamp(1), opened);
    assert_eq!(enter_effort(&state, "Fix it!"), None, "it is the one in play");
    assert_eq!(enter_effort(&state, "?!"), None, "no name");
    let events = append(&mut state, "two");
    assert_eq!(events[0], Event::Turn(TurnEvent::Closed { turn: TurnNo(1), scope: Scope::Effort(id) }));
}

#[test]
fn half_a_reply_is_recorded_as_it_came() {
    let half = ProviderReply { text: "The port".to_owned(), is_truncated: true, ..ProviderReply::default() };
    assert_eq!(half.items(WireApi::Chat)[0].text(), "The port");
    let nothing = ProviderReply { is_truncated: true, ..ProviderReply::default() };
    assert!(nothing.is_empty() && item_messages(&nothing.items(WireApi::Chat)[0]).is_empty());
}
