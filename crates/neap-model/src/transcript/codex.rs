//! Codex sessions, `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`. Lines of kind `response_item`
//! carry the conversation.

use crate::transcript::Program;
use neap_core::base::digest::Digest;
use neap_core::base::project_id::Place;
use neap_core::client::transcript::{PromptOccurrences, RecordBody, Transcript, TranscriptRecord};
use neap_core::client::{ContentBlock, Speaker, WireApi};
use neap_core::memory::Author;

use super::claude_code::without_thinking;
use super::{ParsedTranscripts, Skipped, parse_timestamp};
use crate::wire::json::Object;
use crate::wire::request::parse_item;

/// Lines without conversation content.
const SILENT_KINDS: [&str; 8] = [
    "event_msg",
    "inter_agent_communication_metadata",
    "rollout_metadata",
    "session_meta",
    "state",
    "token_usage_record",
    "turn_context",
    "world_state",
];
const SILENT_ITEMS: [&str; 6] =
    ["additional_tools", "compaction_trigger", "configuration_update", "ghost_snapshot", "other", "reasoning"];
/// Prefixes of text that the program writes in the user's place.
const PROGRAM_PREFIXES: [&str; 7] = [
    "# AGENTS.md instructions", "<environment_context>", "<hook_context>", "<skill>", "<turn_aborted>",
    "<user_instructions>", "<user_shell_command>",
];
/// Length of the session id at the end of a file name.
const ID_CHARS: usize = 36;

pub(super) fn session_id(name: &str) -> &str {
    let start = name.len().saturating_sub(ID_CHARS);
    if name.starts_with("rollout-") && name.is_char_boundary(start) { &name[start..] } else { name }
}

pub(super) fn read(
    session: &str,
    lines: &mut dyn Iterator<Item = (u64, &str)>,
    occurrences: &mut PromptOccurrences,
) -> ParsedTranscripts {
    let (mut skipped, mut records, mut place) = (Skipped::default(), Vec::new(), Place::Unknown);
    for (offset, line) in lines {
        let Ok(object) = Object::parse(line) else {
            skipped.damaged += 1;
            continue;
        };
        let kind = object.text_of("type").unwrap_or_default();
        let Some(payload) = object.object("payload") else {
            skipped.count_unknown(&kind);
            continue;
        };
        let at = parse_timestamp(object.text_of("timestamp"));
        let keys = vec![Program::Codex.record_key(&["line", session, line])];
        match kind.as_str() {
            "response_item" => match parse_payload(&payload, &mut skipped) {
                Some((body, prompt)) => {
                    let occurrence = match &body {
                        RecordBody::Message(item) if prompt.is_none() && item.is_turn_start() => Some(item.text()),
                        RecordBody::Message(_) | RecordBody::Compacted(_) => None,
                    };
                    let occurrence =
                        occurrence.map(|text| occurrences.add(&Program::Codex.session_id(session), &text, offset));
                    let keys = keys.into_iter().chain(prompt).chain(occurrence).collect();
                    records.push(TranscriptRecord { keys, at, message_id: None, body });
                }
                None => skipped.silent += 1,
            },
            "compacted" => {
                let summary = payload.text_of("message").unwrap_or_default();
                records.push(TranscriptRecord {
                    keys,
                    at,
                    message_id: None,
                    body: RecordBody::Compacted(summary),
                });
            }
            _ if SILENT_KINDS.contains(&kind.as_str()) => {
                let folder = payload.text_of("cwd").filter(|_| place == Place::Unknown);
                place = folder.map_or(place, Place::Folder);
                skipped.silent += 1;
            }
            _ => skipped.count_unknown(&kind),
        }
    }
    let transcript = Transcript {
        session: Program::Codex.session_id(session),
        source: format!("codex {session}"),
        author: Author::Import,
        place,
        records,
    };
    let transcripts = if transcript.records.is_empty() { Vec::new() } else { vec![transcript] };
    ParsedTranscripts { transcripts, skipped }
}

/// The item and the key of the prompt, if it is one; `None` for items without conversation content.
fn parse_payload(payload: &Object, skipped: &mut Skipped) -> Option<(RecordBody, Option<Digest>)> {
    let kind = payload.text_of("type").unwrap_or_default();
    if SILENT_ITEMS.contains(&kind.as_str()) {
        return None;
    }
    let mut item = parse_item(WireApi::Responses, &payload.to_json());
    if let [ContentBlock::Other { kind, .. }] = item.blocks.as_slice()
        && !kind.ends_with("_call")
        && kind != "compaction"
        && kind != "message"
    {
        skipped.count_unknown(kind);
    }
    if item.speaker == Speaker::System || item.speaker == Speaker::Other {
        return None;
    }
    item.blocks.retain(|block| !is_by_program(block));
    if item.has_no_content() || item.blocks.is_empty() {
        return None;
    }
    let metadata = payload.object("internal_chat_message_metadata_passthrough");
    let turn = metadata.and_then(|metadata| metadata.text_of("turn_id")).filter(|_| item.is_turn_start());
    let prompt = turn.map(|id| Program::Codex.prompt_key(&id, &item.text()));
    Some((RecordBody::Message(without_thinking(item)), prompt))
}

fn is_by_program(block: &ContentBlock) -> bool {
    let ContentBlock::Text(text) = block else { return false };
    let text = text.trim_start();
    PROGRAM_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}
