//! A session told event by event, for tests.

use neap_core::effort::Summary;
use neap_core::event::{Event, Recorded, RoundVisibility};
use neap_core::ids::{AgentId, EffortId, Seq, SessionId, Stamp, TurnNo};
use neap_core::ledger::Ledger;
use neap_core::memory::{
    Action, Author, Body, Censor, Change, Confidence, Decision, Episode, Fact, Lines, Memory, MemoryId,
    MemoryKind, MemoryWrite, Pattern, Procedure, Provenance, Side, Status,
};
use neap_core::message::{Counted, Message, Scope, ToolCall, ToolRound};
use neap_core::policy::Policy;
use neap_core::project::{InFlight, project};
use neap_core::state::SessionState;
use neap_core::testing::WordCounter;
use neap_core::tokens::Tokens;

use crate::{Commit, Store, StoreError};

/// The id of a name.
pub fn session(name: &str) -> SessionId {
    SessionId::from_name(name).expect("a test's name has letters")
}

/// The id of an agent's stream.
pub fn agent(name: &str) -> SessionId {
    AgentId::from_name(name).expect("a test's name has letters").stream()
}

/// The id of a name.
pub fn effort(name: &str) -> EffortId {
    EffortId::from_name(name).expect("a test's name has letters")
}

/// A session as its only writer knows it.
#[derive(Debug, Clone)]
pub struct Told {
    /// Its id.
    pub id: SessionId,
    /// Its state.
    pub state: SessionState,
    /// All events so far.
    pub events: Vec<Recorded>,
}

impl Told {
    /// A session that does not exist yet.
    pub fn new(name: &str) -> Self {
        Self { id: session(name), state: SessionState::default(), events: Vec::new() }
    }

    /// One that exists from now on.
    pub async fn begin(store: &dyn Store, name: &str) -> Self {
        let mut told = Self::new(name);
        told.tell(store, vec![told.created()]).await.expect("a new session can be stored");
        told
    }

    /// An agent's stream that exists from now on.
    pub async fn begin_agent(store: &dyn Store, name: &str) -> Self {
        let mut told = Self { id: agent(name), ..Self::new(name) };
        told.tell(store, vec![told.created()]).await.expect("a new agent can be stored");
        told
    }

    /// Stores a new memory.
    pub async fn learn(&mut self, store: &dyn Store, memory: &Memory) {
        let event = MemoryWrite::new(memory.clone()).event();
        self.tell(store, vec![event]).await.expect("a memory can be stored");
    }

    /// Stores a memory in another status.
    pub async fn move_to(&mut self, store: &dyn Store, memory: &Memory, status: Status) -> Memory {
        let (event, after) = moved(memory, status);
        self.tell(store, vec![event]).await.expect("a memory can be changed");
        after
    }

    /// The event that begins it.
    pub fn created(&self) -> Event {
        Event::SessionCreated {
            session: self.id.clone(),
            encoding: "words".to_owned(),
            policy: Policy::default(),
            imported_from: None,
        }
    }

    /// The commit that these events would be, and the session after it. Each event is a second after the last.
    pub fn commit(&self, events: Vec<Event>) -> (Commit, Told) {
        let mut after = self.clone();
        let in_flight = InFlight::of(&self.state);
        let expected = self.state.seq();
        let mut recorded = Vec::new();
        for event in events {
            let at = Stamp(1_771_178_400_000 + 1_000 * after.state.seq().0 as i64);
            recorded.push(after.state.record(at, event));
        }
        let projection = project(&in_flight, &after.state, &recorded);
        after.events.extend(recorded.iter().cloned());
        (Commit { session: self.id.clone(), expected, events: recorded, projection }, after)
    }

    /// Stores events in one commit. If it is refused, nothing has been told.
    pub async fn tell(&mut self, store: &dyn Store, events: Vec<Event>) -> Result<(), StoreError> {
        let (commit, after) = self.commit(events);
        store.commit(commit).await?;
        *self = after;
        Ok(())
    }

    /// Stores a whole turn: what was said and the answer.
    pub async fn turn(&mut self, store: &dyn Store, said: &str, reply: &str, scope: Scope) -> TurnNo {
        let turn = self.state.turn().next();
        self.tell(store, vec![start(turn, said, None)]).await.expect("a turn can begin");
        self.tell(store, vec![complete(turn, reply, scope)]).await.expect("a turn can end");
        turn
    }

    /// The last event's place.
    pub fn seq(&self) -> Seq {
        self.state.seq()
    }
}

/// A user message.
pub fn start(turn: TurnNo, said: &str, turn_id: Option<&str>) -> Event {
    let message = Counted::new(&WordCounter, Message::user(said));
    Event::TurnStarted { turn, message, turn_id: turn_id.map(str::to_owned), author: None }
}

/// The answer to it.
pub fn complete(turn: TurnNo, reply: &str, scope: Scope) -> Event {
    let reply = Counted::new(&WordCounter, Message::assistant(reply));
    Event::TurnCompleted { turn, reply, scope, ledger: Box::new(Ledger::default()) }
}

/// A call of a tool of the host's with its result.
pub fn tools(turn: TurnNo, result: &str) -> Event {
    let call =
        ToolCall { id: format!("call-{turn}"), name: "grep".to_owned(), arguments: "{\"q\": 1}".to_owned() };
    let asking = Message { tool_calls: vec![call], ..Message::assistant("") };
    let answer = Message::tool(format!("call-{turn}"), result);
    let round = ToolRound {
        assistant: Counted::new(&WordCounter, asking),
        results: vec![Counted::new(&WordCounter, answer)],
        seals: Vec::new(),
        notes: Vec::new(),
    };
    Event::ToolsCalled { turn, round, visibility: RoundVisibility::Transcript }
}

/// An effort begins.
pub fn open(name: &str, turn: TurnNo) -> Event {
    Event::EffortOpened { id: effort(name), name: name.to_owned(), turn }
}

/// An effort ends, and none is active.
pub fn conclude(name: &str, summary: &str, turn: TurnNo) -> Event {
    let summary = Summary { text: summary.to_owned(), tokens: Tokens(summary.len() as u64), at: None };
    Event::EffortConcluded {
        id: effort(name),
        summary,
        turn,
        next_active: None,
        provisional: false,
        receipt: None,
    }
}

/// The id of a memory.
pub fn memory_id(text: &str) -> MemoryId {
    text.parse().expect("a test's id is one")
}

/// A memory with this id that says this, written at this moment.
pub fn memory(id: &str, says: &str, created: i64) -> Memory {
    let id = memory_id(id);
    let (sure, pattern) = (Confidence::FULL, Pattern::Words(says.to_owned()));
    let body = match id.kind() {
        MemoryKind::Decision => Body::Decision(Decision::new(says, sure)),
        MemoryKind::Fact => Body::Fact(Fact::new("", says, sure)),
        MemoryKind::Procedure => Body::Procedure(Procedure::new(says)),
        MemoryKind::Episode => Body::Episode(Episode::new(says)),
        MemoryKind::Censor => Body::Censor(Censor::new(pattern, Side::Output, Action::Steer, says)),
    };
    Memory {
        id,
        body,
        status: Status::first(id.kind()),
        provenance: Provenance::of(Author::Person),
        tags: Vec::new(),
        domain: None,
        pinned: false,
        created: Stamp(created),
        updated: Stamp(created),
        valid_from: None,
        valid_until: None,
        contested_with: Vec::new(),
        shaken_by: Vec::new(),
        masked: 0,
        pin_asked: false,
        forget_asked: false,
        lines: Lines::default(),
    }
}

/// A memory in another status, and the event that moves it there.
pub fn moved(memory: &Memory, status: Status) -> (Event, Memory) {
    let after = Memory { status, ..memory.clone() };
    let change = Change::Moved { from: memory.status, reason: "a test says so".to_owned() };
    (MemoryWrite::of(change, memory, after.clone()).event(), after)
}
