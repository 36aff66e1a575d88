//! An event as agents tell it, in JSON: Claude Code and Codex use the same names.

use serde::Deserialize;

use crate::ids::{SessionId, Stamp};
use crate::ingest::{Block, Item, Speaker};
use crate::memory::Author;
use crate::tokens::Tokens;
use crate::transcript::{Program, Record, Transcript, What};

/// When an agent calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// A conversation begins, goes on, or was cleared or compacted.
    SessionStart,
    /// A person asked something.
    UserPromptSubmit,
    /// A tool has answered.
    PostToolUse,
    /// A summary is about to be put in the place of what was said.
    PreCompact,
    /// It was.
    PostCompact,
    /// The model has answered.
    Stop,
    /// A helper has.
    SubagentStop,
    /// The conversation is over.
    SessionEnd,
}

impl Moment {
    /// All of them.
    pub const ALL: [Moment; 8] = [
        Moment::SessionStart,
        Moment::UserPromptSubmit,
        Moment::PostToolUse,
        Moment::PreCompact,
        Moment::PostCompact,
        Moment::Stop,
        Moment::SubagentStop,
        Moment::SessionEnd,
    ];

    /// As agents call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Moment::SessionStart => "SessionStart",
            Moment::UserPromptSubmit => "UserPromptSubmit",
            Moment::PostToolUse => "PostToolUse",
            Moment::PreCompact => "PreCompact",
            Moment::PostCompact => "PostCompact",
            Moment::Stop => "Stop",
            Moment::SubagentStop => "SubagentStop",
            Moment::SessionEnd => "SessionEnd",
        }
    }
}

/// What stands on the wire; whatever else does is passed over.
#[derive(Debug, Deserialize)]
struct Wire {
    hook_event_name: String,
    session_id: String,
    #[serde(default)]
    transcript_path: Option<String>,
    #[serde(default)]
    agent_transcript_path: Option<String>,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    prompt_id: Option<String>,
    #[serde(default)]
    turn_id: Option<String>,
    #[serde(default)]
    compact_summary: Option<String>,
}

/// An event that an agent told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// Who.
    pub program: Program,
    /// When; none at a moment that nothing is done at.
    pub moment: Option<Moment>,
    /// What it calls the conversation.
    pub session: String,
    /// Where it writes it down; of a helper that is done, the helper's.
    pub transcript: Option<String>,
    /// What was asked.
    pub prompt: Option<String>,
    /// What it calls what was asked.
    pub prompt_id: Option<String>,
    /// What it put in the place of what was said.
    pub summary: Option<String>,
}

impl Called {
    /// Reads an event. Who calls is known by what it says of itself, unless that is said.
    pub fn read(program: Option<Program>, json: &str) -> Result<Self, String> {
        let wire: Wire = serde_json::from_str(json).map_err(|error| format!("not an event: {error}"))?;
        let moment = Moment::ALL.into_iter().find(|moment| moment.as_str() == wire.hook_event_name);
        let is_codex = || {
            let file = wire.transcript_path.as_deref().and_then(|path| path.rsplit(['/', '\\']).next());
            wire.turn_id.is_some() || file.is_some_and(|file| file.starts_with("rollout-"))
        };
        let program = program.unwrap_or_else(|| if is_codex() { Program::Codex } else { Program::ClaudeCode });
        let of_helper = moment == Some(Moment::SubagentStop);
        let told = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Ok(Self {
            program,
            moment,
            session: wire.session_id,
            transcript: told(if of_helper { wire.agent_transcript_path } else { wire.transcript_path }),
            prompt: told(wire.prompt),
            prompt_id: told(wire.prompt_id).or_else(|| told(wire.turn_id)),
            summary: told(wire.compact_summary),
        })
    }

    /// The session that it is.
    pub fn session(&self) -> SessionId {
        self.program.session(&self.session)
    }

    /// What the event itself tells that is not in the transcript yet: what was asked, if it can be known again there, and what was put
    /// in the place of what was said.
    pub fn told(&self, now: Stamp) -> Option<Transcript> {
        let asked = self.prompt.as_ref().zip(self.prompt_id.as_ref()).map(|(prompt, id)| {
            let blocks = vec![Block::Text(prompt.clone())].into();
            let item = Item { speaker: Speaker::User, blocks, tokens: Tokens::ZERO, marks: 0 };
            (self.program.prompt_key(id, prompt), What::Said(item))
        });
        let compacted = self.summary.as_ref().map(|summary| {
            (self.program.key(&["compacted", &self.session, summary]), What::Compacted(summary.clone()))
        });
        let record = |(key, what)| Record { keys: vec![key], at: Some(now), message: None, what };
        let records: Vec<Record> = asked.into_iter().chain(compacted).map(record).collect();
        let source = format!("{} {}", self.program.as_str(), self.session);
        (!records.is_empty()).then(|| Transcript {
            session: self.session(),
            source,
            author: Author::Person,
            records,
        })
    }
}
