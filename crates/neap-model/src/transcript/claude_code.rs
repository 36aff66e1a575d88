//! `~/.claude/projects/<folder>/<session>.jsonl`: a record for each content block of a message, joined by the message's id.
//!
//! Records form a tree by `parentUuid`; what was said on a branch that was given up was said all the same, and is kept in the order in
//! which it was written. A helper's records (`isSidechain`) are a conversation of their own.

use std::collections::BTreeMap;

use neap_core::ingest::{Api, Block, Item, Speaker};
use neap_core::memory::Author;
use neap_core::transcript::{Program, Record, Sayings, Transcript, What};

use super::{Left, Read, stamp};
use crate::wire::heard::uncounted;
use crate::wire::json::Object;

/// Kinds in which nobody says anything.
const SILENT: [&str; 16] = [
    "agent-name",
    "ai-title",
    "attachment",
    "custom-title",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "saved_hook_context",
    "summary",
    "system",
    "tag",
    "worktree-state",
];
/// What the program writes in the person's place begins so.
const BY_PROGRAM: [&str; 9] = [
    "<bash-input>",
    "<bash-stdout>",
    "<command-message>",
    "<command-name>",
    "<local-command-caveat>",
    "<local-command-stdout>",
    "<system-reminder>",
    "<task-notification>",
    "[Request interrupted by user",
];

pub(super) fn read(session: &str, lines: &mut dyn Iterator<Item = (u64, &str)>, sayings: &mut Sayings) -> Read {
    let mut left = Left::default();
    let mut by_name: BTreeMap<String, Vec<Record>> = BTreeMap::new();
    for (place, line) in lines {
        let Ok(object) = Object::parse(line) else {
            left.damaged += 1;
            continue;
        };
        match object.text_of("type").as_deref() {
            Some("user" | "assistant") => match record(&object) {
                Some(mut record) => {
                    let name = name(session, &object);
                    // Known by nothing but its own id, which no hook tells.
                    if let ([_], What::Said(item)) = (record.keys.as_slice(), &record.what)
                        && item.begins_turn()
                    {
                        let session = Program::ClaudeCode.session(&name);
                        let key = sayings.add(&session, &item.text(), place);
                        record.keys.push(key);
                    }
                    by_name.entry(name).or_default().push(record);
                }
                None => left.silent += 1,
            },
            Some(kind) if SILENT.contains(&kind) => left.silent += 1,
            kind => left.unknown(kind.unwrap_or_default()),
        }
    }
    let transcript = |(name, records): (String, Vec<Record>)| Transcript {
        session: Program::ClaudeCode.session(&name),
        source: format!("claude-code {name}"),
        author: Author::Import,
        records,
    };
    Read { transcripts: by_name.into_iter().map(transcript).collect(), left }
}

/// What the conversation is called that a record belongs to: the session, and the helper if it is one's.
fn name(session: &str, object: &Object) -> String {
    let helper = object.read::<bool>("isSidechain").unwrap_or(false).then(|| object.text_of("agentId"));
    match helper {
        Some(Some(agent)) if !session.ends_with(&agent) => format!("{session} {agent}"),
        Some(None) => format!("{session} helpers"),
        Some(Some(_)) | None => session.to_owned(),
    }
}

fn record(object: &Object) -> Option<Record> {
    let is = |key: &str| object.read::<bool>(key).unwrap_or(false);
    let uuid = object.text_of("uuid")?;
    let message = object.object("message")?;
    let at = stamp(object.text_of("timestamp"));
    let mut keys = vec![Program::ClaudeCode.key(&["record", &uuid])];
    let mut item = uncounted(Api::Messages, &message.to_json());
    if is("isCompactSummary") {
        return Some(Record { keys, at, message: None, what: What::Compacted(item.text()) });
    }
    if is("isMeta") {
        return None;
    }
    item.blocks.retain(|block| !is_by_program(block));
    if item.is_hollow() || item.blocks.is_empty() {
        return None;
    }
    if item.begins_turn()
        && let Some(id) = object.text_of("promptId")
    {
        keys.push(Program::ClaudeCode.prompt_key(&id, &item.text()));
    }
    let part_of = if item.speaker == Speaker::Assistant { message.text_of("id") } else { None };
    Some(Record { keys, at, message: part_of, what: What::Said(only_said(item)) })
}

fn is_by_program(block: &Block) -> bool {
    let Block::Text(text) = block else { return false };
    let text = text.trim_start();
    BY_PROGRAM.iter().any(|beginning| text.starts_with(beginning))
}

/// Without what the model thought.
pub(super) fn only_said(mut item: Item) -> Item {
    item.blocks.retain(|block| !matches!(block, Block::Thinking));
    item
}
