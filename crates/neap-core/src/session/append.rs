//! Where a message belongs that a program appends to a conversation. A user message begins an exchange; what follows
//! belongs to it until the next one. So that no exchange grows without bound, a long one also ends before the
//! assistant's next message, so that calls stay with their results, and a very long one before any message. Whatever
//! comes first begins one, in any role. All of it is ambient.

use crate::base::message::{CountedMessage, Role, Scope};
use crate::base::tokens::Tokens;
use crate::memory::Author;
use crate::session::event::TurnEvent;
use crate::session::state::SessionState;

/// An exchange this long ends before the assistant's next message.
const EXCHANGE_TOKENS: Tokens = Tokens(2_048);
/// An exchange this long ends before any message.
const EXCHANGE_TOKENS_MAX: Tokens = Tokens(16_384);

/// `author` is for messages in the user role: a role is only what a program wrote, and vouches for nobody.
pub fn append_message(state: &SessionState, message: CountedMessage, author: Author) -> Vec<TurnEvent> {
    let pending = &state.head().pending;
    let max = match message.message.role {
        Role::User => Tokens::ZERO,
        Role::Assistant => EXCHANGE_TOKENS,
        Role::Tool | Role::System => EXCHANGE_TOKENS_MAX,
    };
    match pending.last_key_value() {
        Some((turn, exchange)) if exchange.tokens < max => {
            vec![TurnEvent::MessageAdded { turn: *turn, message }]
        }
        Some(_) | None => begin_exchange(state, message, author, None),
    }
}

/// A message that begins an exchange, whatever its role. `turn_id` is the caller's: the store accepts it once.
pub fn begin_exchange(
    state: &SessionState,
    message: CountedMessage,
    author: Author,
    turn_id: Option<String>,
) -> Vec<TurnEvent> {
    let pending = state.head().pending.keys();
    let closed = pending.map(|turn| TurnEvent::Closed { turn: *turn, scope: Scope::Ambient });
    let turn = state.turn().next();
    let author = match message.message.role {
        Role::User => author,
        Role::Assistant | Role::System => Author::Model,
        Role::Tool => Author::Tool,
    };
    closed.chain([TurnEvent::Started { turn, message, turn_id, author: Some(author) }]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::Stamp;
    use crate::base::message::Message;
    use crate::base::testing::WordCounter;

    /// Appends messages and returns the turn of each.
    fn turns(messages: &[(Role, &str)]) -> Vec<u64> {
        let mut state = SessionState::default();
        let mut append = |(role, text): &(Role, &str)| {
            let message = Message { role: *role, ..Message::user(*text) };
            for event in append_message(&state, CountedMessage::new(&WordCounter, message), Author::Model) {
                state.record(Stamp(1), event);
            }
            assert_eq!(state.head().pending.len(), 1);
            state.turn().0
        };
        messages.iter().map(&mut append).collect()
    }

    #[test]
    fn a_user_message_begins_an_exchange_and_the_rest_belongs_to_it() {
        use Role::{Assistant, System, Tool, User};
        let check = |roles: &[Role], want: &[u64]| {
            let messages: Vec<(Role, &str)> = roles.iter().map(|role| (*role, "x")).collect();
            assert_eq!(turns(&messages), want, "{roles:?}");
        };
        check(&[User, Assistant, User, Assistant], &[1, 1, 2, 2]);
        check(&[User, Assistant, Tool, Tool, Assistant, System, User], &[1, 1, 1, 1, 1, 1, 2]);
        check(&[User, User, User], &[1, 2, 3]);
        check(&[Assistant, Tool, User], &[1, 1, 2]);
        check(&[Tool, Tool], &[1, 1]);
        check(&[System, User], &[1, 2]);
    }

    #[test]
    fn a_long_exchange_ends_before_the_assistants_next_message() {
        use Role::{Assistant, Tool, User};
        let (long, longest) = ("x ".repeat(2_100), "x ".repeat(17_000));
        assert_eq!(turns(&[(User, "go"), (Assistant, &long), (Tool, "r"), (Assistant, "y")]), [1, 1, 1, 2]);
        assert_eq!(turns(&[(User, "go"), (Tool, &longest), (Tool, "r")]), [1, 1, 2]);
    }

    #[test]
    fn what_is_told_adds_up() {
        let mut state = SessionState::default();
        for (role, text) in [(Role::User, "one two"), (Role::Assistant, "three"), (Role::User, "")] {
            let message = CountedMessage::new(&WordCounter, Message { role, ..Message::user(text) });
            for event in append_message(&state, message, Author::Model) {
                state.record(Stamp(1), event);
            }
        }
        let size = state.log_size(&Scope::Ambient);
        assert_eq!((size.exchanges, size.tokens), (1, Tokens(11)));
    }
}
