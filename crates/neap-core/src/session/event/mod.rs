//! The event log: what happened, in the past tense. Everything else is a fold over these events.
//!
//! Events are nested by family here; a stored event names only its kind.

mod client;
mod effort;
mod read;
mod session;
mod turn;
mod window;

use serde::de::{self, MapAccess};
use serde::{Deserialize, Serialize};

use crate::base::ids::{Seq, Stamp, TurnNo};
use crate::base::message::CountedMessage;
use crate::memory::{MemoryEvent, MemoryId, MemoryWrite};
pub use client::ClientEvent;
pub use effort::{CollapseCause, EffortEvent};
pub use session::SessionEvent;
pub use turn::{AbandonReason, RoundVisibility, TurnEvent};
pub use window::{EpochCause, WindowEvent};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedEvent {
    pub seq: Seq,
    /// The recording process's clock. Events are ordered by `seq`, never by this.
    pub at: Stamp,
    pub event: Event,
}

macro_rules! families {
    ($( $name:ident($family:ident) ),* $(,)?) => {
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Event {
            $( $name($family) ),*
        }

        $(
            impl From<$family> for Event {
                fn from(event: $family) -> Self {
                    Event::$name(event)
                }
            }
        )*

        impl Event {
            /// The name of its kind in the store.
            pub fn kind(&self) -> &'static str {
                match self {
                    $( Event::$name(event) => event.kind() ),*
                }
            }

            fn read<'de, A: MapAccess<'de>>(kind: &str, fields: A) -> Result<Self, A::Error> {
                $(
                    if $family::KINDS.contains(&kind) {
                        return $family::read(kind, fields).map(Event::$name);
                    }
                )*
                let kinds = [$( $family::KINDS ),*].concat().join("`, `");
                Err(de::Error::custom(format!("unknown variant `{kind}`, expected one of `{kinds}`")))
            }
        }
    };
}

// The most frequent families are first, where reading looks first.
families! {
    Turn(TurnEvent),
    Client(ClientEvent),
    Memory(MemoryEvent),
    Effort(EffortEvent),
    Window(WindowEvent),
    Session(SessionEvent),
}

impl From<MemoryWrite> for Event {
    fn from(write: MemoryWrite) -> Self {
        Event::Memory(write.into())
    }
}

impl Event {
    pub fn as_memory(&self) -> Option<&MemoryEvent> {
        if let Event::Memory(event) = self { Some(event) } else { None }
    }

    pub fn memory_id(&self) -> Option<MemoryId> {
        self.as_memory().and_then(MemoryEvent::memory_id)
    }

    pub fn turn(&self) -> Option<TurnNo> {
        match self {
            Event::Turn(event) => Some(event.turn()),
            Event::Client(event) => Some(event.turn()),
            Event::Memory(event) => event.turn(),
            Event::Effort(event) => Some(event.turn()),
            Event::Window(event) => Some(event.turn()),
            Event::Session(_) => None,
        }
    }

    /// The messages it adds to the transcript: the user's message, a host's tool rounds, the reply.
    pub fn transcript_messages(&self) -> Vec<&CountedMessage> {
        if let Event::Turn(event) = self { event.transcript_messages() } else { Vec::new() }
    }
}
