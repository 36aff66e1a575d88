//! Parses hook events. Claude Code and Codex use the same JSON.

use neap_core::base::digest::Digest;
use neap_core::base::ids::{SessionId, Stamp};
use neap_core::base::project_id::Place;
use neap_core::client::transcript::{HookTranscript, PromptFingerprint, RecordBody, Transcript, TranscriptRecord};
use neap_core::client::{ContentBlock, HistoryItem, Speaker};
use neap_core::memory::Author;
use serde::Deserialize;
use serde_json::Value;

use crate::transcript::Program;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookKind {
    /// A conversation begins, resumes, or was cleared or compacted.
    SessionStart,
    UserPromptSubmit,
    PostToolUse,
    /// The agent is about to replace its history with a summary.
    PreCompact,
    PostCompact,
    Stop,
    SubagentStop,
    SessionEnd,
}

impl HookKind {
    pub const ALL: [HookKind; 8] = [
        HookKind::SessionStart,
        HookKind::UserPromptSubmit,
        HookKind::PostToolUse,
        HookKind::PreCompact,
        HookKind::PostCompact,
        HookKind::Stop,
        HookKind::SubagentStop,
        HookKind::SessionEnd,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            HookKind::SessionStart => "SessionStart",
            HookKind::UserPromptSubmit => "UserPromptSubmit",
            HookKind::PostToolUse => "PostToolUse",
            HookKind::PreCompact => "PreCompact",
            HookKind::PostCompact => "PostCompact",
            HookKind::Stop => "Stop",
            HookKind::SubagentStop => "SubagentStop",
            HookKind::SessionEnd => "SessionEnd",
        }
    }
}

/// Optional fields may have any type: a field that changes its type must not cost a prompt.
#[derive(Debug, Deserialize)]
struct HookJson {
    hook_event_name: String,
    session_id: Value,
    #[serde(default)]
    transcript_path: Value,
    #[serde(default)]
    agent_transcript_path: Value,
    #[serde(default)]
    cwd: Value,
    #[serde(default)]
    prompt: Value,
    #[serde(default)]
    prompt_id: Value,
    #[serde(default)]
    turn_id: Value,
    #[serde(default)]
    compact_summary: Value,
}

/// The text of a string or number; none if it is blank.
fn scalar_text(field: Value) -> Option<String> {
    let text = match field {
        Value::String(text) => text,
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

fn prompt_text(prompt: Value) -> Result<Option<String>, String> {
    let odd = || Err("the prompt of the hook event is neither text nor parts with text".to_owned());
    match prompt {
        Value::Object(mut part) => match part.remove("text") {
            Some(Value::String(text)) => prompt_text(Value::String(text)),
            Some(_) | None => odd(),
        },
        Value::Array(parts) => {
            let parts = parts.into_iter().map(prompt_text).collect::<Result<Vec<_>, String>>()?;
            Ok(Some(parts.into_iter().flatten().collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty()))
        }
        Value::Bool(_) => odd(),
        plain @ (Value::Null | Value::Number(_) | Value::String(_)) => Ok(scalar_text(plain)),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEvent {
    pub program: Program,
    /// None for an event at which nothing is done.
    pub kind: Option<HookKind>,
    /// The agent's id of the conversation.
    pub client_session: String,
    /// The agent's transcript; at [`HookKind::SubagentStop`] the subagent's.
    pub transcript_path: Option<String>,
    pub place: Place,
    pub prompt: Option<String>,
    pub prompt_id: Option<String>,
    /// The summary that replaced the history.
    pub summary: Option<String>,
}

impl HookEvent {
    /// Without `program`, the fields tell the agent. Fails where a prompt would be lost.
    pub fn parse(program: Option<Program>, json: &str) -> Result<Self, String> {
        let wire: HookJson =
            serde_json::from_str(json).map_err(|error| format!("the input is not a hook event: {error}"))?;
        let kind = HookKind::ALL.into_iter().find(|kind| kind.as_str() == wire.hook_event_name);
        let client_session = scalar_text(wire.session_id).ok_or("the hook event has no session_id")?;
        let (path, turn_id) = (scalar_text(wire.transcript_path), scalar_text(wire.turn_id));
        let is_codex = || {
            let file = path.as_deref().and_then(|path| path.rsplit(['/', '\\']).next());
            turn_id.is_some() || file.is_some_and(|file| file.starts_with("rollout-"))
        };
        let program = program.unwrap_or_else(|| if is_codex() { Program::Codex } else { Program::ClaudeCode });
        let is_subagent = kind == Some(HookKind::SubagentStop);
        let has_prompt = !wire.prompt.is_null();
        let prompt = prompt_text(wire.prompt);
        if kind.is_none() && has_prompt {
            return Err(format!(
                "the hook event has a prompt but an unknown name: {}",
                printable_name(&wire.hook_event_name)
            ));
        }
        let is_prompt = kind == Some(HookKind::UserPromptSubmit);
        if is_prompt && !has_prompt {
            return Err("the hook event UserPromptSubmit has no prompt".to_owned());
        }
        Ok(Self {
            program,
            kind,
            client_session,
            transcript_path: if is_subagent { scalar_text(wire.agent_transcript_path) } else { path },
            place: scalar_text(wire.cwd).map_or(Place::Unknown, Place::Folder),
            prompt: if is_prompt { prompt? } else { prompt.unwrap_or_default() },
            prompt_id: scalar_text(wire.prompt_id).or(turn_id),
            summary: scalar_text(wire.compact_summary),
        })
    }

    pub fn session_id(&self) -> SessionId {
        self.program.session_id(&self.client_session)
    }

    /// The records that are not in the transcript yet: the prompt, and the summary after a compaction.
    pub fn to_transcript(&self, now: Stamp) -> Option<HookTranscript> {
        let mut unkeyed_prompt = None;
        let prompt_record = self.prompt.as_ref().map(|prompt| {
            let blocks = vec![ContentBlock::Text(prompt.clone())];
            let item = HistoryItem::uncounted(Speaker::User, blocks);
            let key = self.prompt_id.as_ref().map(|id| self.program.prompt_key(id, prompt));
            if key.is_none() {
                unkeyed_prompt = Some(PromptFingerprint::of(&self.session_id(), prompt));
            }
            (key, RecordBody::Message(item))
        });
        let compaction_record = self.summary.as_ref().map(|summary| {
            (
                Some(self.program.record_key(&["compacted", &self.client_session, summary])),
                RecordBody::Compacted(summary.clone()),
            )
        });
        let record = |(key, body): (Option<Digest>, RecordBody)| TranscriptRecord {
            keys: key.into_iter().collect(),
            at: Some(now),
            message_id: None,
            body,
        };
        let records: Vec<TranscriptRecord> =
            prompt_record.into_iter().chain(compaction_record).map(record).collect();
        let source = format!("{} {}", self.program.as_str(), self.client_session);
        let (session, place) = (self.session_id(), self.place.clone());
        let transcript = Transcript { session, source, author: Author::Person, place, records };
        (!transcript.records.is_empty()).then_some(HookTranscript { transcript, unkeyed_prompt, at: now })
    }
}

fn printable_name(name: &str) -> String {
    name.chars().filter(|char| !char.is_control()).take(40).collect()
}
