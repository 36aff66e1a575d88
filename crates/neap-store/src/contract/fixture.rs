//! Builds streams event by event, for tests.

use neap_core::base::ids::{AgentId, EffortId, Seq, SessionId, Stamp, StreamId, TurnNo};
use neap_core::base::ledger::Ledger;
use neap_core::base::message::{CountedMessage, Message, Scope, ToolCall, ToolRound};
use neap_core::base::policy::Policy;
use neap_core::base::project_id::ProjectId;
use neap_core::base::testing::WordCounter;
use neap_core::base::tokens::Tokens;
use neap_core::memory::{
    Author, Body, Censor, CensorAction, CensorPattern, CensorSide, Change, Confidence, Decision, Episode, Fact,
    Memory, MemoryId, MemoryKind, MemoryWrite, Procedure, Provenance, RenderedMemory, Status,
};
use neap_core::session::effort::Summary;
use neap_core::session::event::{EffortEvent, Event, RecordedEvent, RoundVisibility, SessionEvent, TurnEvent};
use neap_core::session::project::{TurnsInFlight, project};
use neap_core::session::state::SessionState;

use crate::{Commit, Store, StoreError};

pub fn session(name: &str) -> StreamId {
    SessionId::from_name(name).expect("a test's name has letters").into()
}

pub fn agent(name: &str) -> StreamId {
    AgentId::from_name(name).expect("a test's name has letters").stream()
}

pub fn effort(name: &str) -> EffortId {
    EffortId::from_name(name).expect("a test's name has letters")
}

/// A stream as its only writer knows it.
#[derive(Debug, Clone)]
pub struct TestStream {
    pub id: StreamId,
    pub state: SessionState,
    pub events: Vec<RecordedEvent>,
}

impl TestStream {
    pub fn new(name: &str) -> Self {
        Self { id: session(name), state: SessionState::default(), events: Vec::new() }
    }

    pub async fn create(store: &dyn Store, name: &str) -> Self {
        let mut stream = Self::new(name);
        stream.append(store, vec![stream.created_event()]).await.expect("a new session can be stored");
        stream
    }

    pub async fn create_agent(store: &dyn Store, name: &str) -> Self {
        let mut stream = Self { id: agent(name), ..Self::new(name) };
        stream.append(store, vec![stream.created_event()]).await.expect("a new agent can be stored");
        stream
    }

    pub async fn create_in(store: &dyn Store, name: &str, project: &str) -> Self {
        let mut stream = Self::create(store, name).await;
        stream.set_project(store, Some(project)).await;
        stream
    }

    pub async fn set_project(&mut self, store: &dyn Store, project: Option<&str>) {
        let project = project.map(|name| ProjectId::from_name(name).expect("a test's name has letters"));
        let set = SessionEvent::ProjectSet { project };
        self.append(store, vec![Event::Session(set)]).await.expect("a project can be set");
    }

    pub async fn add_memory(&mut self, store: &dyn Store, memory: &Memory) {
        let event = MemoryWrite::new(memory.clone()).into();
        self.append(store, vec![event]).await.expect("a memory can be stored");
    }

    pub async fn set_status(&mut self, store: &dyn Store, memory: &Memory, status: Status) -> Memory {
        let (event, after) = memory_moved(memory, status);
        self.append(store, vec![event]).await.expect("a memory can be changed");
        after
    }

    pub fn created_event(&self) -> Event {
        Event::Session(SessionEvent::Created {
            session: self.id.clone(),
            encoding: "words".to_owned(),
            policy: Policy::default(),
            imported_from: None,
        })
    }

    /// The commit of these events, and the stream after it. Each event is a second after the last.
    pub fn build_commit(&self, events: Vec<Event>) -> (Commit, TestStream) {
        let mut after = self.clone();
        let in_flight = TurnsInFlight::of(&self.state);
        let expected = self.state.seq();
        let mut recorded = Vec::new();
        for event in events {
            let at = Stamp(1_771_178_400_000 + 1_000 * after.state.seq().0 as i64);
            recorded.push(after.state.record(at, event));
        }
        let projection = project(&in_flight, &after.state, &recorded);
        after.events.extend(recorded.iter().cloned());
        (Commit { stream: self.id.clone(), expected, events: recorded, projection }, after)
    }

    /// Stores events in one commit; a refused commit leaves `self` unchanged.
    pub async fn append(&mut self, store: &dyn Store, events: Vec<Event>) -> Result<(), StoreError> {
        let (commit, after) = self.build_commit(events);
        store.commit(commit).await?;
        *self = after;
        Ok(())
    }

    pub async fn add_turn(&mut self, store: &dyn Store, text: &str, reply: &str, scope: Scope) -> TurnNo {
        let turn = self.state.turn().next();
        self.append(store, vec![turn_started(turn, text, None)]).await.expect("a turn can begin");
        self.append(store, vec![turn_completed(turn, reply, scope)]).await.expect("a turn can end");
        turn
    }

    pub fn seq(&self) -> Seq {
        self.state.seq()
    }
}

pub fn turn_started(turn: TurnNo, text: &str, turn_id: Option<&str>) -> Event {
    let message = CountedMessage::new(&WordCounter, Message::user(text));
    Event::Turn(TurnEvent::Started { turn, message, turn_id: turn_id.map(str::to_owned), author: None })
}

pub fn turn_completed(turn: TurnNo, reply: &str, scope: Scope) -> Event {
    let reply = CountedMessage::new(&WordCounter, Message::assistant(reply));
    Event::Turn(TurnEvent::Completed { turn, reply, scope, ledger: Box::new(Ledger::default()) })
}

pub fn tools_called(turn: TurnNo, result: &str) -> Event {
    let call =
        ToolCall { id: format!("call-{turn}"), name: "grep".to_owned(), arguments: "{\"q\": 1}".to_owned() };
    let asking = Message { tool_calls: vec![call], ..Message::assistant("") };
    let answer = Message::tool(format!("call-{turn}"), result);
    let round = ToolRound {
        assistant: CountedMessage::new(&WordCounter, asking),
        results: vec![CountedMessage::new(&WordCounter, answer)],
        seals: Vec::new(),
        notes: Vec::new(),
    };
    Event::Turn(TurnEvent::ToolsCalled { turn, round, visibility: RoundVisibility::Transcript })
}

pub fn effort_opened(name: &str, turn: TurnNo) -> Event {
    Event::Effort(EffortEvent::Opened { id: effort(name), name: name.to_owned(), turn })
}

/// Concludes an effort and leaves none active.
pub fn effort_concluded(name: &str, summary: &str, turn: TurnNo) -> Event {
    let summary = Summary { text: summary.to_owned(), tokens: Tokens(summary.len() as u64), at: None };
    Event::Effort(EffortEvent::Concluded {
        id: effort(name),
        summary,
        turn,
        next_active: None,
        provisional: false,
        receipt: None,
    })
}

pub fn memory_id(text: &str) -> MemoryId {
    text.parse().expect("a test's id is one")
}

pub fn memory(id: &str, says: &str, created: i64) -> Memory {
    let id = memory_id(id);
    let (sure, pattern) = (Confidence::FULL, CensorPattern::Words(says.to_owned()));
    let body = match id.kind() {
        MemoryKind::Decision => Body::Decision(Decision::new(says, sure)),
        MemoryKind::Fact => Body::Fact(Fact::new("", says, sure)),
        MemoryKind::Procedure => Body::Procedure(Procedure::new(says)),
        MemoryKind::Episode => Body::Episode(Episode::new(says)),
        MemoryKind::Censor => Body::Censor(Censor::new(pattern, CensorSide::Output, CensorAction::Steer, says)),
    };
    Memory {
        id,
        body,
        status: Status::initial(id.kind()),
        provenance: Provenance::from_author(Author::Person),
        tags: Vec::new(),
        project: None,
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
        lines: RenderedMemory::default(),
    }
}

pub fn memory_moved(memory: &Memory, status: Status) -> (Event, Memory) {
    let after = Memory { status, ..memory.clone() };
    let change = Change::Moved { from: memory.status, reason: "a test says so".to_owned() };
    (MemoryWrite::update(change, memory, after.clone()).into(), after)
}
