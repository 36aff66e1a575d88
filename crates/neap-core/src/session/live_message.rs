//! What a person just said on any surface, as the events of a commit have it. Their preferences and standing
//! instructions are remembered by one rule ([`LiveMessage::commands`]), whoever holds the conversation.
//!
//! Only what is said live counts. A file that is read afterwards tells what held when it was written, which may have changed
//! since, and a client that resends its whole history says again what was said before.

use std::sync::Arc;

use crate::base::ids::{StreamId, TurnNo};
use crate::base::message::Role;
use crate::base::project_id::ProjectId;
use crate::memory::learn::MemoryCommand;
use crate::memory::stated::{stated, stated_drafts};
use crate::memory::{AgentHead, Author, Provenance};
use crate::session::event::{Event, RecordedEvent, TurnEvent};

/// The latest message in the user's role that was said live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveMessage {
    pub stream: StreamId,
    pub turn: TurnNo,
    /// As vouched by the surface that received it.
    pub author: Author,
    pub text: Arc<str>,
}

impl LiveMessage {
    /// The latest live message among events of one commit.
    pub fn last_of(stream: &StreamId, events: &[RecordedEvent]) -> Option<Self> {
        events.iter().rev().find_map(|recorded| {
            let Event::Turn(TurnEvent::Started { turn, message, author: Some(author), .. }) = &recorded.event
            else {
                return None;
            };
            let is_live = match author {
                Author::Person | Author::Model => message.message.role == Role::User,
                Author::Tool | Author::Import => false,
            };
            let text = || message.message.content.clone();
            is_live.then(|| Self { stream: stream.clone(), turn: *turn, author: *author, text: text() })
        })
    }

    pub fn states_something(&self) -> bool {
        !stated(&self.text).is_empty()
    }

    /// Remembers what the message states (see [`stated_drafts`]), given its session's project.
    pub fn commands(&self, agent: &AgentHead, project: Option<&ProjectId>) -> Vec<MemoryCommand> {
        let (session, turn) = (self.stream.session(), Some(self.turn));
        let said = Provenance { session, turn, ..Provenance::from_author(self.author) };
        let drafts = stated_drafts(&self.text, &said, agent).into_iter();
        drafts.map(|draft| MemoryCommand::Remember(Box::new(draft.recorded_in(project)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{Seq, Stamp};
    use crate::base::message::{CountedMessage, Message};
    use crate::base::testing::WordCounter;

    fn started(turn: u64, author: Option<Author>, message: Message) -> RecordedEvent {
        let message = CountedMessage::new(&WordCounter, message);
        let event = TurnEvent::Started { turn: TurnNo(turn), message, turn_id: None, author };
        RecordedEvent { seq: Seq(turn), at: Stamp(1), event: event.into() }
    }

    fn live_message(events: &[RecordedEvent]) -> Option<(u64, Author)> {
        let stream = StreamId::parse("talk").expect("an id");
        LiveMessage::last_of(&stream, events).map(|live_message| (live_message.turn.0, live_message.author))
    }

    #[test]
    fn only_the_latest_live_message_counts() {
        let by = |turn, author| started(turn, Some(author), Message::user("I prefer tea."));
        assert_eq!(live_message(&[by(1, Author::Person), by(2, Author::Model)]), Some((2, Author::Model)));
        assert_eq!(live_message(&[by(1, Author::Person), by(2, Author::Import)]), Some((1, Author::Person)));
        assert_eq!(
            live_message(&[by(1, Author::Import), by(2, Author::Tool)]),
            None,
            "read from a file, or a tool's"
        );
        assert_eq!(live_message(&[started(1, Some(Author::Model), Message::assistant("I prefer tea."))]), None);
        assert_eq!(live_message(&[started(1, None, Message::user("I prefer tea."))]), None, "nobody vouches");
    }

    #[test]
    fn what_it_states_is_remembered_with_its_place() {
        let stream = StreamId::parse("talk").expect("an id");
        let events = [started(3, Some(Author::Model), Message::user("I prefer tea. Is it raining?"))];
        let live_message = LiveMessage::last_of(&stream, &events).expect("it is live");
        assert!(live_message.states_something());
        let [MemoryCommand::Remember(draft)] = &live_message.commands(&AgentHead::default(), None)[..] else {
            panic!("one statement")
        };
        let Provenance { author, session, turn, .. } = &draft.provenance;
        assert_eq!((*author, session.clone(), *turn), (Author::Model, stream.session(), Some(TurnNo(3))));
    }
}
