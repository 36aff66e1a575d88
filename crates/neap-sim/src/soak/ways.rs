//! The ways in which turns come: said in a chat, sent by a client through the proxy, told over MCP, read from a transcript by hooks.

use async_trait::async_trait;
use neap_core::ids::{SessionId, Stamp};
use neap_core::ingest::{Block, Item, Reply, Speaker};
use neap_core::memory::Author;
use neap_core::recall::Embedding;
use neap_core::tokens::Tokens;
use neap_core::transcript::{Program, Record, Transcript, What};
use neap_engine::{Asking, CacheSize, Engine, Incoming, Quiet, Session, SessionOptions};
use neap_model::{Embedder, ModelError};
use serde_json::{Value, json};

use super::told;

/// By which way turns come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Said in one chat that never ends.
    Chat,
    /// Sent by clients with their histories, one conversation after the other.
    Proxy,
    /// Told by a host, with searches between.
    Mcp,
    /// Read from transcripts, with questions between.
    Hooks,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Proxy, Self::Mcp, Self::Hooks];

    /// What it is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Proxy => "proxy",
            Self::Mcp => "mcp",
            Self::Hooks => "hooks",
        }
    }
}

/// Turns of a conversation before a client begins another.
const CONVERSATION: u64 = 30;

/// Whether a client of the proxy begins another conversation. Half of the turns are of long ones, the others of many short ones: as many
/// as are kept in memory come soon.
fn begins(turn: u64) -> bool {
    let at = turn % (2 * CONVERSATION);
    at == 1 || at > CONVERSATION && at % 2 == 1
}

/// What the proxy may send on.
const BUDGET: Tokens = Tokens(3_000);
const SUBJECTS: [&str; 8] =
    ["the login page", "the garden fence", "the pump", "a parser", "the invoices", "a bridge", "the index", "tea"];

fn said(turn: u64) -> String {
    let subject = SUBJECTS[(turn / CONVERSATION % SUBJECTS.len() as u64) as usize];
    format!("About {subject}: step {turn} fails with code {}, what should I look at next?", turn * 7919 % 10_007)
}

fn answer(turn: u64) -> String {
    format!("Look at part {} first, then run check {turn} again and compare both.", turn * 31 % 97)
}

/// Stands for what a text means, at no cost.
pub(super) struct Meaning;

#[async_trait]
impl Embedder for Meaning {
    fn identity(&self) -> &str {
        "soak/1"
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        let value = |text: &str, at: usize| {
            let byte = text.as_bytes().get(at % text.len().max(1)).copied().unwrap_or(1);
            f32::from(byte.wrapping_mul(31).wrapping_add(at as u8)) - 127.5
        };
        let embedding = |text: &&str| Embedding::of(&(0..384).map(|at| value(text, at)).collect::<Vec<_>>());
        Ok(texts.iter().map(embedding).collect())
    }
}

/// Takes turns, one after the other.
pub(super) struct Driver {
    way: Way,
    session: Option<Session>,
    /// What the client has of its conversation.
    history: Vec<Value>,
}

impl Driver {
    pub(super) async fn new(way: Way, engine: &Engine) -> Result<Self, String> {
        let session = match way {
            Way::Chat => Some(engine.resume(&id("chat")?, &SessionOptions::default()).await.map_err(told)?),
            Way::Proxy | Way::Mcp | Way::Hooks => None,
        };
        Ok(Self { way, session, history: Vec::new() })
    }

    pub(super) fn cache_sizes(&self) -> Vec<CacheSize> {
        self.session.as_ref().map(Session::cache_sizes).unwrap_or_default()
    }

    pub(super) async fn turn(&mut self, engine: &Engine, turn: u64) -> Result<(), String> {
        match self.way {
            Way::Chat => {
                if let Some(session) = &mut self.session {
                    session.turn(Author::Person, &said(turn), &mut Quiet).await.map_err(told)?;
                    session.tend().await.map_err(told)?;
                }
                Ok(())
            }
            Way::Proxy => self.pass_on(engine, turn).await,
            Way::Mcp => self.tell(engine, turn).await,
            Way::Hooks => self.read(engine, turn).await,
        }
    }

    async fn pass_on(&mut self, engine: &Engine, turn: u64) -> Result<(), String> {
        if begins(turn) {
            self.history.clear();
        }
        self.history.push(json!({"role": "user", "content": said(turn)}));
        let body = json!({"model": "m", "max_tokens": 500, "messages": self.history}).to_string();
        let headers = [("x-api-key".to_owned(), "sk-soak-4f9aT7bQ2mX8vL1c".to_owned())];
        let incoming = Incoming::new("/v1/messages", &headers, &body, BUDGET);
        let plan = engine.ingest(&incoming).await;
        if let Some(fault) = plan.fault {
            return Err(fault);
        }
        let reply = Reply { text: answer(turn), calls: Vec::new(), id: None, used: None, is_half: false };
        engine.answered(&plan, &reply).await.map_err(told)?;
        self.history.push(json!({"role": "assistant", "content": answer(turn)}));
        Ok(())
    }

    async fn tell(&mut self, engine: &Engine, turn: u64) -> Result<(), String> {
        let session = id(&format!("told {}", turn / (10 * CONVERSATION)))?;
        let mut open = engine.resume(&session, &SessionOptions::default()).await.map_err(told)?;
        open.record(Author::Model, &said(turn), &answer(turn), Some(&format!("turn-{turn}")))
            .await
            .map_err(told)?;
        if turn.is_multiple_of(5) {
            engine.recollect(&Asking::new(said(turn / 2), Tokens(500))).await.map_err(told)?;
        }
        Ok(())
    }

    async fn read(&mut self, engine: &Engine, turn: u64) -> Result<(), String> {
        let name = format!("transcript {}", turn / (10 * CONVERSATION));
        let record = |speaker, text: String, part: &str| Record {
            keys: vec![Program::ClaudeCode.key(&["record", part, &turn.to_string()])],
            at: Some(Stamp(1_780_000_000_000 + turn as i64 * 60_000)),
            message: None,
            what: What::Said(Item {
                speaker,
                blocks: vec![Block::Text(text)].into(),
                tokens: Tokens::ZERO,
                marks: 0,
            }),
        };
        let session = Program::ClaudeCode.session(&name);
        let records =
            vec![record(Speaker::User, said(turn), "asked"), record(Speaker::Assistant, answer(turn), "answered")];
        let (source, author) = ("claude-code".to_owned(), Author::Person);
        let transcript = Transcript { session: session.clone(), source, author, records };
        engine.take_in(&transcript).await.map_err(told)?;
        if turn.is_multiple_of(5) {
            engine.remind(&session, &said(turn / 2)).await.map_err(told)?;
        }
        Ok(())
    }
}

fn id(name: &str) -> Result<SessionId, String> {
    SessionId::from_name(name).map_err(told)
}
