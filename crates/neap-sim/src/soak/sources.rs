//! Sources of turns: a chat, clients of the proxy, a host over MCP, transcripts imported by hooks.

use async_trait::async_trait;
use neap_core::base::ids::{SessionId, Stamp};
use neap_core::base::tokens::Tokens;
use neap_core::client::{ContentBlock, ProviderReply, Speaker, WireApi};
use neap_core::memory::Author;
use neap_core::recall::Embedding;
use neap_engine::{CacheSize, Engine, IncomingRequest, NullObserver, RetrievalRequest, Session, SessionOptions};
use neap_model::{Embedder, ModelError};
use serde_json::Value;

use super::error_text;
use crate::transcript::{PROGRAM, record, transcript};
use crate::wire;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnSource {
    Chat,
    /// Clients that send their histories, one conversation after the other.
    Proxy,
    /// A host that records turns, with searches between.
    Mcp,
    /// Imported transcripts, with prompt contexts between.
    Hooks,
}

impl TurnSource {
    pub const ALL: [Self; 4] = [Self::Chat, Self::Proxy, Self::Mcp, Self::Hooks];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Proxy => "proxy",
            Self::Mcp => "mcp",
            Self::Hooks => "hooks",
        }
    }
}

/// Turns of a client's conversation before it begins another.
const CONVERSATION_TURNS: u64 = 30;

/// Half of the turns belong to long conversations, the others to many short ones: enough to fill the caches soon.
fn is_new_conversation(turn: u64) -> bool {
    let at = turn % (2 * CONVERSATION_TURNS);
    at == 1 || at > CONVERSATION_TURNS && at % 2 == 1
}

const BUDGET: Tokens = Tokens(3_000);
const SUBJECTS: [&str; 8] =
    ["the login page", "the garden fence", "the pump", "a parser", "the invoices", "a bridge", "the index", "tea"];

fn user_text(turn: u64) -> String {
    let subject = SUBJECTS[(turn / CONVERSATION_TURNS % SUBJECTS.len() as u64) as usize];
    format!("About {subject}: step {turn} fails with code {}, what should I look at next?", turn * 7919 % 10_007)
}

fn reply_text(turn: u64) -> String {
    format!("Look at part {} first, then run check {turn} again and compare both.", turn * 31 % 97)
}

/// Derives embeddings from bytes, at no cost.
pub(super) struct SoakEmbedder;

#[async_trait]
impl Embedder for SoakEmbedder {
    fn identity(&self) -> &str {
        "soak/1"
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        let value = |text: &str, at: usize| {
            let byte = text.as_bytes().get(at % text.len().max(1)).copied().unwrap_or(1);
            f32::from(byte.wrapping_mul(31).wrapping_add(at as u8)) - 127.5
        };
        let embedding = |text: &&str| Embedding::quantize(&(0..384).map(|at| value(text, at)).collect::<Vec<_>>());
        Ok(texts.iter().map(embedding).collect())
    }
}

pub(super) struct Driver {
    source: TurnSource,
    session: Option<Session>,
    /// The client's copy of its conversation.
    history: Vec<Value>,
}

impl Driver {
    pub(super) async fn new(source: TurnSource, engine: &Engine) -> Result<Self, String> {
        let session = match source {
            TurnSource::Chat => {
                Some(engine.resume(&id("chat")?, &SessionOptions::default()).await.map_err(error_text)?)
            }
            TurnSource::Proxy | TurnSource::Mcp | TurnSource::Hooks => None,
        };
        Ok(Self { source, session, history: Vec::new() })
    }

    pub(super) fn cache_sizes(&self) -> Vec<CacheSize> {
        self.session.as_ref().map(Session::cache_sizes).unwrap_or_default()
    }

    pub(super) async fn turn(&mut self, engine: &Engine, turn: u64) -> Result<(), String> {
        match self.source {
            TurnSource::Chat => {
                if let Some(session) = &mut self.session {
                    session.turn(Author::Person, &user_text(turn), &mut NullObserver).await.map_err(error_text)?;
                    session.run_upkeep().await.map_err(error_text)?;
                }
                Ok(())
            }
            TurnSource::Proxy => self.send_through_proxy(engine, turn).await,
            TurnSource::Mcp => self.record_over_mcp(engine, turn).await,
            TurnSource::Hooks => self.import_by_hook(engine, turn).await,
        }
    }

    async fn send_through_proxy(&mut self, engine: &Engine, turn: u64) -> Result<(), String> {
        if is_new_conversation(turn) {
            self.history.clear();
        }
        self.history.push(wire::user(&user_text(turn)));
        let body = wire::body(WireApi::Messages, &self.history).to_string();
        let headers = [("x-api-key".to_owned(), "sk-soak-4f9aT7bQ2mX8vL1c".to_owned())];
        let incoming = IncomingRequest::new(wire::path(WireApi::Messages), &headers, &body, BUDGET);
        let plan = engine.ingest(&incoming).await;
        if let Some(fault) = plan.fault {
            return Err(fault);
        }
        let reply = ProviderReply { text: reply_text(turn), ..ProviderReply::default() };
        engine.complete_request(&plan, &reply).await.map_err(error_text)?;
        self.history.extend(wire::reply(WireApi::Messages, &reply));
        Ok(())
    }

    async fn record_over_mcp(&mut self, engine: &Engine, turn: u64) -> Result<(), String> {
        let session = id(&format!("told {}", turn / (10 * CONVERSATION_TURNS)))?;
        let mut open = engine.resume(&session, &SessionOptions::default()).await.map_err(error_text)?;
        open.record(Author::Model, &user_text(turn), &reply_text(turn), Some(&format!("turn-{turn}")))
            .await
            .map_err(error_text)?;
        if turn.is_multiple_of(5) {
            engine.retrieve(&RetrievalRequest::new(user_text(turn / 2), Tokens(500))).await.map_err(error_text)?;
        }
        Ok(())
    }

    async fn import_by_hook(&mut self, engine: &Engine, turn: u64) -> Result<(), String> {
        let name = format!("transcript {}", turn / (10 * CONVERSATION_TURNS));
        let record = |speaker, text: String, part: &str| {
            let keys = vec![PROGRAM.record_key(&["record", part, &turn.to_string()])];
            record(keys, Stamp(1_780_000_000_000 + turn as i64 * 60_000), speaker, ContentBlock::Text(text))
        };
        let records = vec![
            record(Speaker::User, user_text(turn), "asked"),
            record(Speaker::Assistant, reply_text(turn), "answered"),
        ];
        let transcript = transcript(&name, Author::Person, records);
        engine.import_transcript(&transcript).await.map_err(error_text)?;
        if turn.is_multiple_of(5) {
            engine.prompt_context(&transcript.session, &user_text(turn / 2)).await.map_err(error_text)?;
        }
        Ok(())
    }
}

fn id(name: &str) -> Result<SessionId, String> {
    SessionId::from_name(name).map_err(error_text)
}
