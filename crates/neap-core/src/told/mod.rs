//! A conversation that a host tells message by message: where each message belongs, and what is shown of it.
//!
//! A user message begins an exchange; what follows belongs to it until the next one. An assistant that works on
//! for long begins another by itself, so that no exchange grows without end: always with its own message, before
//! the results of what it calls. Whatever comes first begins one, whoever says it. All of it is ambient.

mod fit;
mod recall;
mod show;

pub use recall::{Chunk, best, chunks, recalled};
pub use show::{LEAST, Shown, Told};

use crate::event::Event;
use crate::memory::Author;
use crate::message::{Counted, Role, Scope};
use crate::state::SessionState;
use crate::tokens::Tokens;

/// An exchange of this length ends before the assistant's next message.
const EXCHANGE_TOKENS: Tokens = Tokens(2_048);
/// One of this length ends before any message.
const EXCHANGE_TOKENS_MAX: Tokens = Tokens(16_384);

/// What happens when a message is told. `author` is whose words a message in the user's role is: a role is what a
/// program wrote beside the words, and vouches for nobody.
pub fn tell(state: &SessionState, message: Counted, author: Author) -> Vec<Event> {
    let pending = &state.head().pending;
    let longest = match message.message.role {
        Role::User => Tokens::ZERO,
        Role::Assistant => EXCHANGE_TOKENS,
        Role::Tool | Role::System => EXCHANGE_TOKENS_MAX,
    };
    match pending.last_key_value() {
        Some((turn, begun)) if begun.tokens < longest => vec![Event::MessageAdded { turn: *turn, message }],
        Some(_) | None => {
            let closed = pending.keys().map(|turn| Event::TurnClosed { turn: *turn, scope: Scope::Ambient });
            let turn = state.turn().next();
            let author = match message.message.role {
                Role::User => author,
                Role::Assistant | Role::System => Author::Model,
                Role::Tool => Author::Tool,
            };
            closed.chain([Event::TurnStarted { turn, message, turn_id: None, author: Some(author) }]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Stamp;
    use crate::message::Message;
    use crate::testing::WordCounter;

    /// Tells messages and says to which turn each went.
    fn turns(said: &[(Role, &str)]) -> Vec<u64> {
        let mut state = SessionState::default();
        let mut told = |(role, text): &(Role, &str)| {
            let message = Message { role: *role, ..Message::user(*text) };
            for event in tell(&state, Counted::new(&WordCounter, message), Author::Model) {
                state.record(Stamp(1), event);
            }
            assert_eq!(state.head().pending.len(), 1);
            state.turn().0
        };
        said.iter().map(&mut told).collect()
    }

    #[test]
    fn a_user_message_begins_an_exchange_and_the_rest_belongs_to_it() {
        use Role::{Assistant, System, Tool, User};
        let check = |roles: &[Role], want: &[u64]| {
            let said: Vec<(Role, &str)> = roles.iter().map(|role| (*role, "x")).collect();
            assert_eq!(turns(&said), want, "{roles:?}");
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
            let message = Counted::new(&WordCounter, Message { role, ..Message::user(text) });
            for event in tell(&state, message, Author::Model) {
                state.record(Stamp(1), event);
            }
        }
        let size = state.log_size(&Scope::Ambient);
        assert_eq!((size.exchanges, size.tokens), (1, Tokens(11)));
    }
}
