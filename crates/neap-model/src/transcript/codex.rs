//! `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`: of the lines of several kinds, `response_item` is what was said.

use neap_core::ingest::{Api, Block, Digest, Speaker};
use neap_core::memory::Author;
use neap_core::transcript::{Program, Record, Sayings, Transcript, What};

use super::claude_code::only_said;
use super::{Left, Read, stamp};
use crate::wire::heard::uncounted;
use crate::wire::json::Object;

/// Kinds of lines in which nobody says anything: what was said is told by the others.
const SILENT: [&str; 8] = [
    "event_msg",
    "inter_agent_communication_metadata",
    "rollout_metadata",
    "session_meta",
    "state",
    "token_usage_record",
    "turn_context",
    "world_state",
];
/// Kinds of items in which nobody says anything.
const SILENT_ITEMS: [&str; 6] =
    ["additional_tools", "compaction_trigger", "configuration_update", "ghost_snapshot", "other", "reasoning"];
/// What the program writes in the person's place begins so.
const BY_PROGRAM: [&str; 7] = [
    "# AGENTS.md instructions",
    "<environment_context>",
    "<hook_context>",
    "<skill>",
    "<turn_aborted>",
    "<user_instructions>",
    "<user_shell_command>",
];
/// Characters of a session's id, at the end of a file's name.
const ID_CHARS: usize = 36;

/// The session that a file is of, by the file's name.
pub(super) fn session_of(name: &str) -> &str {
    let start = name.len().saturating_sub(ID_CHARS);
    if name.starts_with("rollout-") && name.is_char_boundary(start) { &name[start..] } else { name }
}

pub(super) fn read(session: &str, lines: &mut dyn Iterator<Item = (u64, &str)>, sayings: &mut Sayings) -> Read {
    let (mut left, mut records) = (Left::default(), Vec::new());
    for (place, line) in lines {
        let Ok(object) = Object::parse(line) else {
            left.damaged += 1;
            continue;
        };
        let kind = object.text_of("type").unwrap_or_default();
        let Some(payload) = object.object("payload") else {
            left.unknown(&kind);
            continue;
        };
        let at = stamp(object.text_of("timestamp"));
        let keys = vec![Program::Codex.key(&["line", session, line])];
        match kind.as_str() {
            "response_item" => match said(&payload, &mut left) {
                Some((what, prompt)) => {
                    let unnamed = match &what {
                        What::Said(item) if prompt.is_none() && item.begins_turn() => Some(item.text()),
                        What::Said(_) | What::Compacted(_) => None,
                    };
                    let unnamed = unnamed.map(|text| sayings.add(&Program::Codex.session(session), &text, place));
                    let keys = keys.into_iter().chain(prompt).chain(unnamed).collect();
                    records.push(Record { keys, at, message: None, what });
                }
                None => left.silent += 1,
            },
            "compacted" => {
                let summary = payload.text_of("message").unwrap_or_default();
                records.push(Record { keys, at, message: None, what: What::Compacted(summary) });
            }
            _ if SILENT.contains(&kind.as_str()) => left.silent += 1,
            _ => left.unknown(&kind),
        }
    }
    let transcript = Transcript {
        session: Program::Codex.session(session),
        source: format!("codex {session}"),
        author: Author::Import,
        records,
    };
    let transcripts = if transcript.records.is_empty() { Vec::new() } else { vec![transcript] };
    Read { transcripts, left }
}

/// What an item says, and what stands for it if a person asks it; none if nobody says anything.
fn said(payload: &Object, left: &mut Left) -> Option<(What, Option<Digest>)> {
    let kind = payload.text_of("type").unwrap_or_default();
    if SILENT_ITEMS.contains(&kind.as_str()) {
        return None;
    }
    let mut item = uncounted(Api::Responses, &payload.to_json());
    if let [Block::Other { kind, .. }] = item.blocks.as_slice()
        && !kind.ends_with("_call")
        && kind != "compaction"
        && kind != "message"
    {
        left.unknown(kind);
    }
    if item.speaker == Speaker::System || item.speaker == Speaker::Other {
        return None;
    }
    item.blocks.retain(|block| !is_by_program(block));
    if item.is_hollow() || item.blocks.is_empty() {
        return None;
    }
    let about = payload.object("internal_chat_message_metadata_passthrough");
    let turn = about.and_then(|about| about.text_of("turn_id")).filter(|_| item.begins_turn());
    let prompt = turn.map(|id| Program::Codex.prompt_key(&id, &item.text()));
    Some((What::Said(only_said(item)), prompt))
}

fn is_by_program(block: &Block) -> bool {
    let Block::Text(text) = block else { return false };
    let text = text.trim_start();
    BY_PROGRAM.iter().any(|beginning| text.starts_with(beginning))
}
