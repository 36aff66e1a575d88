//! Claude Code sessions, `~/.claude/projects/<folder>/<session>.jsonl`: one record per content block, joined by
//! the message's id.
//!
//! Records form a tree by `parentUuid`. Abandoned branches are kept, in file order. A subagent's records
//! (`isSidechain`) are a separate conversation.

use std::collections::BTreeMap;

use crate::transcript::Program;
use neap_core::base::project_id::Place;
use neap_core::client::transcript::{PromptOccurrences, RecordBody, Transcript, TranscriptRecord};
use neap_core::client::{ContentBlock, HistoryItem, Speaker, WireApi};
use neap_core::memory::Author;

use super::{ParsedTranscripts, Skipped, parse_timestamp};
use crate::wire::json::Object;
use crate::wire::request::parse_item;

/// Records without conversation content.
const SILENT_KINDS: [&str; 16] = [
    "agent-name", "ai-title", "attachment", "custom-title", "file-history-snapshot", "last-prompt", "mode",
    "permission-mode", "pr-link", "progress", "queue-operation", "saved_hook_context", "summary", "system", "tag",
    "worktree-state",
];
/// Prefixes of text that the program writes in the user's place.
const PROGRAM_PREFIXES: [&str; 9] = [
    "<bash-input>", "<bash-stdout>", "<command-message>", "<command-name>", "<local-command-caveat>",
    "<local-command-stdout>", "<system-reminder>", "<task-notification>", "[Request interrupted by user",
];

pub(super) fn read(
    session: &str,
    lines: &mut dyn Iterator<Item = (u64, &str)>,
    occurrences: &mut PromptOccurrences,
) -> ParsedTranscripts {
    let mut skipped = Skipped::default();
    let mut by_name: BTreeMap<String, (Place, Vec<TranscriptRecord>)> = BTreeMap::new();
    for (offset, line) in lines {
        let Ok(object) = Object::parse(line) else {
            skipped.damaged += 1;
            continue;
        };
        match object.text_of("type").as_deref() {
            Some("user" | "assistant") => match parse_record(&object) {
                Some(mut record) => {
                    let name = conversation_name(session, &object);
                    // Without a prompt id, a hook can match this prompt only by text and occurrence.
                    if let ([_], RecordBody::Message(item)) = (record.keys.as_slice(), &record.body)
                        && item.is_turn_start()
                    {
                        let session = Program::ClaudeCode.session_id(&name);
                        let key = occurrences.add(&session, &item.text(), offset);
                        record.keys.push(key);
                    }
                    let (place, records) = by_name.entry(name).or_default();
                    // The session began in the first folder; later ones are where a command went.
                    if *place == Place::Unknown {
                        *place = object.text_of("cwd").map_or(Place::Unknown, Place::Folder);
                    }
                    records.push(record);
                }
                None => skipped.silent += 1,
            },
            Some(kind) if SILENT_KINDS.contains(&kind) => skipped.silent += 1,
            kind => skipped.count_unknown(kind.unwrap_or_default()),
        }
    }
    let transcript = |(name, (place, records)): (String, (Place, Vec<TranscriptRecord>))| Transcript {
        session: Program::ClaudeCode.session_id(&name),
        source: format!("claude-code {name}"),
        author: Author::Import,
        place,
        records,
    };
    ParsedTranscripts { transcripts: by_name.into_iter().map(transcript).collect(), skipped }
}

/// The session, followed by the subagent's id if the record is a subagent's.
fn conversation_name(session: &str, object: &Object) -> String {
    let helper = object.read::<bool>("isSidechain").unwrap_or(false).then(|| object.text_of("agentId"));
    match helper {
        Some(Some(agent)) if !session.ends_with(&agent) => format!("{session} {agent}"),
        Some(None) => format!("{session} helpers"),
        Some(Some(_)) | None => session.to_owned(),
    }
}

fn parse_record(object: &Object) -> Option<TranscriptRecord> {
    let is = |key: &str| object.read::<bool>(key).unwrap_or(false);
    let uuid = object.text_of("uuid")?;
    let message = object.object("message")?;
    let at = parse_timestamp(object.text_of("timestamp"));
    let mut keys = vec![Program::ClaudeCode.record_key(&["record", &uuid])];
    let mut item = parse_item(WireApi::Messages, &message.to_json());
    if is("isCompactSummary") {
        return Some(TranscriptRecord { keys, at, message_id: None, body: RecordBody::Compacted(item.text()) });
    }
    if is("isMeta") {
        return None;
    }
    item.blocks.retain(|block| !is_by_program(block));
    if item.has_no_content() || item.blocks.is_empty() {
        return None;
    }
    if item.is_turn_start()
        && let Some(id) = object.text_of("promptId")
    {
        keys.push(Program::ClaudeCode.prompt_key(&id, &item.text()));
    }
    let message_id = if item.speaker == Speaker::Assistant { message.text_of("id") } else { None };
    Some(TranscriptRecord { keys, at, message_id, body: RecordBody::Message(without_thinking(item)) })
}

fn is_by_program(block: &ContentBlock) -> bool {
    let ContentBlock::Text(text) = block else { return false };
    let text = text.trim_start();
    PROGRAM_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

pub(super) fn without_thinking(mut item: HistoryItem) -> HistoryItem {
    item.blocks.retain(|block| !matches!(block, ContentBlock::Thinking));
    item
}
