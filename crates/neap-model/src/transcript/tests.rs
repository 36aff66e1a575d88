//! Files as programs write them, and the records parsed from them.

use crate::transcript::Program;
use neap_core::client::transcript::{PromptFingerprint, RecordBody, TranscriptRecord};
use neap_core::client::{ContentBlock, HistoryItem};

use super::*;

const CLAUDE_CODE: &str = include_str!("../../tests/transcripts/7f3c1a52-9b1e-4c0d-8f61-2d5e7a9b4c10.jsonl");
const GROWN: &str = include_str!("../../tests/transcripts/grown-claude-code.jsonl");
const CODEX: &str =
    include_str!("../../tests/transcripts/rollout-2026-04-11T14-00-00-0199f00d-1111-7222-8333-444455556666.jsonl");
const CHATGPT: &str = include_str!("../../tests/transcripts/chatgpt.json");
const CLAUDE_AI: &str = include_str!("../../tests/transcripts/claude-ai.json");

/// A record as one line: the speaker, and each block.
fn line(record: &TranscriptRecord) -> String {
    match &record.body {
        RecordBody::Compacted(summary) => format!("compacted: {summary}"),
        RecordBody::Message(HistoryItem { speaker, blocks, .. }) => {
            let block = |block: &ContentBlock| match block {
                ContentBlock::Text(text) => text.chars().take(24).collect(),
                ContentBlock::Thinking => "(thinking)".to_owned(),
                ContentBlock::ToolCall(call) => format!("{}→{}", call.id, call.name),
                ContentBlock::ToolResult { id, .. } => {
                    format!("{id}⇒{}", block.text().chars().take(16).collect::<String>())
                }
                ContentBlock::Other { kind, .. } => format!("[{kind}]"),
            };
            format!("{}: {}", speaker.as_str(), blocks.iter().map(block).collect::<Vec<_>>().join(" | "))
        }
    }
}

fn rendered(read: &ParsedTranscripts) -> Vec<(String, Vec<String>)> {
    let render = |transcript: &Transcript| {
        (transcript.session.to_string(), transcript.records.iter().map(line).collect::<Vec<_>>())
    };
    read.transcripts.iter().map(render).collect()
}

fn skipped(unknown: &[(&str, u64)], damaged: u64, silent: u64) -> Skipped {
    Skipped { unknown: unknown.iter().map(|(kind, n)| ((*kind).to_owned(), *n)).collect(), damaged, silent }
}

#[test]
fn claude_code_is_read_as_it_was_said() {
    let read = read(Program::ClaudeCode, "7f3c1a52-9b1e-4c0d-8f61-2d5e7a9b4c10", CLAUDE_CODE);
    let want = [
        "user: Help me fix the checkout",
        "assistant: I will look at the gatew",
        "assistant: toolu_1→Read",
        "user: toolu_1⇒const TIMEOUT: u",
        "assistant: TIMEOUT is 30 seconds. I",
        "user: That's fixed, works now.",
        "assistant: Good. The staging key wa",
        "user: New task: write the rele",
        "assistant: toolu_2→Bash",
        "user: Never mind the log, just",
        "assistant: Release notes for 4.2 ar",
    ];
    let session = "claude-code-7f3c1a52-9b1e-4c0d-8f61-2d5e7a9b4c10".to_owned();
    assert_eq!(rendered(&read), [(session, want.map(str::to_owned).to_vec())]);
    assert_eq!(read.skipped, skipped(&[("hologram", 1)], 0, 8));
    let records = &read.transcripts[0].records;
    assert_eq!(records[0].at, Some(Stamp(1_772_442_001_000)));
    // Parts of one message share its id; a prompt also has a key from its own id.
    assert_eq!(
        (records[1].message_id.as_deref(), records[2].message_id.as_deref()),
        (Some("msg_1"), Some("msg_1"))
    );
    let RecordBody::Message(prompt) = &records[0].body else { panic!("words") };
    assert_eq!(records[0].keys[1], Program::ClaudeCode.prompt_key("p-1", &format!("  {}\n", prompt.text())));
    assert_eq!(records[3].keys.len(), 1);
}

#[test]
fn what_grew_is_read_with_its_compaction_and_helpers_apart() {
    let read = read_appended(Program::ClaudeCode, "s1", GROWN, 0, &mut PromptOccurrences::default());
    let rendered = rendered(&read);
    assert_eq!(
        rendered.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
        ["claude-code-s1", "claude-code-s1-a490af55"]
    );
    assert!(rendered[0].1[0].starts_with("compacted: This session is being continued"), "{rendered:?}");
    assert_eq!((rendered[0].1.len(), rendered[1].1.len()), (3, 2));
}

#[test]
fn codex_is_read_by_its_items_alone() {
    let name = "rollout-2026-04-11T14-00-00-0199f00d-1111-7222-8333-444455556666";
    let read = read(Program::Codex, name, CODEX);
    let want = [
        "user: Please add a tide table ",
        "assistant: call_1→shell",
        "tool: call_1⇒00000040: 2a00 3",
        "assistant: call_2→apply_patch",
        "tool: call_2⇒Done!",
        "assistant: The parser is in src/tid",
        "compacted: A tide table parser was added in src/tide.rs.",
        "user: Does it need a checksum?",
        "assistant: No, the harbour file has",
    ];
    let session = "codex-0199f00d-1111-7222-8333-444455556666".to_owned();
    assert_eq!(rendered(&read), [(session, want.map(str::to_owned).to_vec())]);
    assert_eq!(read.skipped, skipped(&[("starlight", 1)], 0, 7));
    let keys = &read.transcripts[0].records[7].keys;
    assert_eq!(keys[1], Program::Codex.prompt_key("turn-2", "Does it need a checksum?"));
}

#[test]
fn of_a_chatgpt_export_the_branch_that_was_kept_is_read() {
    let read = read(Program::ChatGpt, "conversations", CHATGPT);
    let want = [
        "user: Which bread should I bak",
        "assistant: n4→python",
        "tool: n4⇒3",
        "assistant: Bake a rye loaf: 500 g f",
        "user: And how hot is the oven?",
        "assistant: Start at 250 degrees, th",
    ];
    assert_eq!(rendered(&read), [("chatgpt-68aa-bread".to_owned(), want.map(str::to_owned).to_vec())]);
    assert_eq!(read.skipped, skipped(&[("conversation", 1)], 0, 1));
    assert_eq!(read.transcripts[0].source, "chatgpt Rye bread");
    assert_eq!(read.transcripts[0].records[0].at, Some(Stamp(1_767_000_002_500)));
}

#[test]
fn of_a_claude_ai_export_tools_and_files_are_kept() {
    let read = read(Program::ClaudeAi, "conversations", CLAUDE_AI);
    let want = [
        "user: [file beds.txt]\nbed 1: 4 | Plan the vegetable beds:",
        "assistant: Let me check the frost d | g2.1→web_search",
        "user: g2.1⇒Last frost: 14 A",
        "assistant: Beans in bed 3 after Apr",
        "user: Old ones have only text",
    ];
    assert_eq!(rendered(&read), [("claude-ai-5b1c-garden".to_owned(), want.map(str::to_owned).to_vec())]);
    assert_eq!(read.skipped, skipped(&[("narrator", 1)], 0, 0));
}

#[test]
fn whatever_is_in_a_file_readers_do_not_fail_and_count_it() {
    let programs = [Program::ClaudeCode, Program::Codex, Program::ChatGpt, Program::ClaudeAi];
    let odd = [
        "",
        "\n\n",
        "null",
        "{}",
        "[]",
        "[null, 1, \"x\", {}]",
        "{\"type\":\"user\"}\n{\"type\":\"user\",\"uuid\":\"a\",\"message\":7}\nnot json\n",
        "{\"type\":\"response_item\",\"payload\":{\"type\":\"message\"}}\n{\"type\":\"compacted\",\"payload\":{}}\n",
        "[{\"uuid\":\"a\",\"chat_messages\":[null,{},{\"uuid\":\"b\",\"sender\":\"human\"}]}]",
        "[{\"conversation_id\":\"a\",\"mapping\":{\"x\":{\"parent\":\"x\",\"message\":null}},\"current_node\":\"x\"}]",
    ];
    for program in programs {
        for text in odd {
            let read = read(program, "x", text);
            assert!(read.transcripts.iter().all(|transcript| transcript.records.len() < 3), "{text}");
        }
    }
    let damaged = read(Program::ClaudeCode, "x", "not json\n{\"type\":\"user\"}\n{\"half\":");
    // An unterminated last line is still being written.
    assert_eq!(damaged.skipped, skipped(&[], 1, 1));
}

#[test]
fn the_same_file_gives_the_same_keys_and_no_two_records_share_one() {
    let both = |program, name, text| (read(program, name, text), read(program, name, text));
    for (first, second) in [
        both(Program::ClaudeCode, "s", CLAUDE_CODE),
        both(Program::Codex, "s", CODEX),
        both(Program::ChatGpt, "s", CHATGPT),
        both(Program::ClaudeAi, "s", CLAUDE_AI),
    ] {
        assert_eq!(first, second);
        let keys =
            first.transcripts.iter().flat_map(|transcript| &transcript.records).flat_map(|record| &record.keys);
        let all: Vec<_> = keys.collect();
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}

/// A prompt without an id is keyed by its text and occurrence, whether the file is read at once or as it grows.
#[test]
fn prompts_without_an_id_are_numbered_by_their_words() {
    let line = |uuid: &str, role: &str, text: &str, more: &str| {
        format!(r#"{{"type":"{role}","uuid":"{uuid}","message":{{"role":"{role}","content":"{text}"}}{more}}}"#)
            + "\n"
    };
    let file = [
        line("a", "user", "go on", ""),
        line("b", "assistant", "done", ""),
        line("c", "user", " go on", ""),
        line("d", "user", "go on", r#","promptId":"p9""#),
        line("e", "user", "and now?", ""),
    ];
    let text = file.concat();
    let session = Program::ClaudeCode.session_id("s");
    let key = |words: &str, nth| Some(PromptFingerprint::of(&session, words).nth_key(nth));
    let whole = read(Program::ClaudeCode, "s", &text);
    let second: Vec<_> = whole.transcripts[0].records.iter().map(|record| record.keys.get(1).copied()).collect();
    let named = Some(Program::ClaudeCode.prompt_key("p9", "go on"));
    assert_eq!(second, [key("go on", 1), None, key("go on", 2), named, key("and now?", 1)]);
    for cut in 0..=file.len() {
        let (first, rest) = (file[..cut].concat(), file[cut..].concat());
        let mut occurrences = PromptOccurrences::default();
        let mut records = Vec::new();
        for (text, offset) in [(&first, 0), (&rest, first.len() as u64)] {
            let read = read_appended(Program::ClaudeCode, "s", text, offset, &mut occurrences);
            records.extend(read.transcripts.into_iter().flat_map(|transcript| transcript.records));
        }
        assert_eq!(records, whole.transcripts[0].records, "cut after {cut} lines");
        let third = (file[0].len() + file[1].len()) as u64;
        let seen = [0, 1, third, third + 1]
            .map(|place| occurrences.count(&PromptFingerprint::of(&session, "go on"), place).before);
        assert_eq!(seen, [0, 1, 1, 2]);
    }
}
