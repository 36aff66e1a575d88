//! An event as agents tell it, in JSON: Claude Code and Codex use the same names.

use serde::Deserialize;
use serde_json::Value;

use crate::ids::{SessionId, Stamp};
use crate::ingest::{Block, Digest, Item, Speaker};
use crate::memory::Author;
use crate::tokens::Tokens;
use crate::transcript::{Program, Record, Saying, Transcript, What};

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

/// What stands on the wire; whatever else does is passed over. Of what can be done without, any value is taken: a field that has another
/// type than before must not cost a prompt.
#[derive(Debug, Deserialize)]
struct Wire {
    hook_event_name: String,
    session_id: Value,
    #[serde(default)]
    transcript_path: Value,
    #[serde(default)]
    agent_transcript_path: Value,
    #[serde(default)]
    prompt: Value,
    #[serde(default)]
    prompt_id: Value,
    #[serde(default)]
    turn_id: Value,
    #[serde(default)]
    compact_summary: Value,
}

/// The words of a field; none where there are none.
fn words(field: Value) -> Option<String> {
    let text = match field {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

/// What a person asked: words, or a list of parts with words.
fn asked(prompt: Value) -> Result<Option<String>, String> {
    let odd = || Err("its prompt is neither words nor parts with words".to_owned());
    match prompt {
        Value::Object(mut part) => match part.remove("text") {
            Some(Value::String(text)) => asked(Value::String(text)),
            Some(_) | None => odd(),
        },
        Value::Array(parts) => {
            let parts = parts.into_iter().map(asked).collect::<Result<Vec<_>, String>>()?;
            Ok(Some(parts.into_iter().flatten().collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty()))
        }
        Value::Bool(_) => odd(),
        plain @ (Value::Null | Value::Number(_) | Value::String(_)) => Ok(words(plain)),
    }
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
    /// Reads an event. Who calls is known by what it says of itself, unless that is said. Fails where a prompt would be lost.
    pub fn read(program: Option<Program>, json: &str) -> Result<Self, String> {
        let wire: Wire = serde_json::from_str(json).map_err(|error| format!("not an event: {error}"))?;
        let moment = Moment::ALL.into_iter().find(|moment| moment.as_str() == wire.hook_event_name);
        let session = words(wire.session_id).ok_or("not an event: its session_id has no words")?;
        let (path, turn_id) = (words(wire.transcript_path), words(wire.turn_id));
        let is_codex = || {
            let file = path.as_deref().and_then(|path| path.rsplit(['/', '\\']).next());
            turn_id.is_some() || file.is_some_and(|file| file.starts_with("rollout-"))
        };
        let program = program.unwrap_or_else(|| if is_codex() { Program::Codex } else { Program::ClaudeCode });
        let of_helper = moment == Some(Moment::SubagentStop);
        let has_prompt = !wire.prompt.is_null();
        let prompt = asked(wire.prompt);
        if moment.is_none() && has_prompt {
            return Err(format!("a prompt at an unknown moment: {}", name_of(&wire.hook_event_name)));
        }
        let asks = moment == Some(Moment::UserPromptSubmit);
        if asks && !has_prompt {
            return Err("an event about a prompt, without a prompt".to_owned());
        }
        Ok(Self {
            program,
            moment,
            session,
            transcript: if of_helper { words(wire.agent_transcript_path) } else { path },
            prompt: if asks { prompt? } else { prompt.unwrap_or_default() },
            prompt_id: words(wire.prompt_id).or(turn_id),
            summary: words(wire.compact_summary),
        })
    }

    /// The session that it is.
    pub fn session(&self) -> SessionId {
        self.program.session(&self.session)
    }

    /// What the event itself tells that is not in the transcript yet: what was asked, and what was put in the place of what was said.
    pub fn told(&self, now: Stamp) -> Option<Told> {
        let mut unnamed = None;
        let asked = self.prompt.as_ref().map(|prompt| {
            let blocks = vec![Block::Text(prompt.clone())].into();
            let item = Item { speaker: Speaker::User, blocks, tokens: Tokens::ZERO, marks: 0 };
            let key = self.prompt_id.as_ref().map(|id| self.program.prompt_key(id, prompt));
            if key.is_none() {
                unnamed = Some(Saying::of(&self.session(), prompt));
            }
            (key, What::Said(item))
        });
        let compacted = self.summary.as_ref().map(|summary| {
            (Some(self.program.key(&["compacted", &self.session, summary])), What::Compacted(summary.clone()))
        });
        let record = |(key, what): (Option<Digest>, What)| Record {
            keys: key.into_iter().collect(),
            at: Some(now),
            message: None,
            what,
        };
        let records: Vec<Record> = asked.into_iter().chain(compacted).map(record).collect();
        let source = format!("{} {}", self.program.as_str(), self.session);
        let transcript = Transcript { session: self.session(), source, author: Author::Person, records };
        (!transcript.records.is_empty()).then_some(Told { transcript, unnamed, at: now })
    }
}

/// What an event tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// What is taken in.
    pub transcript: Transcript,
    /// What stands for its first record, where that is a prompt without an id. It is not known by anything yet.
    pub unnamed: Option<Saying>,
    /// When.
    pub at: Stamp,
}

/// A name from outside, short enough for a line.
fn name_of(name: &str) -> String {
    name.chars().filter(|char| !char.is_control()).take(40).collect()
}
