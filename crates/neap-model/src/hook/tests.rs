//! Events of Claude Code and Codex.

use neap_core::base::ids::Stamp;
use neap_core::client::HistoryItem;
use neap_core::client::transcript::{PromptFingerprint, RecordBody};

use super::*;
use crate::transcript::Program;

const CLAUDE: &str = r#"{"session_id":"2bd1","transcript_path":"/h/.claude/projects/p/2bd1.jsonl","cwd":"/h","prompt_id":"f8bc","permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"do it"}"#;
const CODEX: &str = r#"{"session_id":"01a1","turn_id":"t-1","transcript_path":"/h/.codex/sessions/2026/11/15/rollout-2026-11-15T22-38-11-01a1.jsonl","cwd":"/h","hook_event_name":"UserPromptSubmit","model":"gpt-5-codex","prompt":"hello"}"#;

#[test]
fn who_calls_is_known_by_what_it_says() {
    let claude = HookEvent::parse(None, CLAUDE).expect("an event");
    assert_eq!((claude.program, claude.kind), (Program::ClaudeCode, Some(HookKind::UserPromptSubmit)));
    assert_eq!(claude.session_id().as_str(), "claude-code-2bd1");
    let codex = HookEvent::parse(None, CODEX).expect("an event");
    assert_eq!((codex.program, codex.prompt_id.as_deref()), (Program::Codex, Some("t-1")));
    let start = r#"{"session_id":"s","transcript_path":"/x/rollout-1.jsonl","hook_event_name":"SessionStart","source":"startup"}"#;
    assert_eq!(HookEvent::parse(None, start).expect("an event").program, Program::Codex);
    assert_eq!(HookEvent::parse(Some(Program::Codex), CLAUDE).expect("an event").program, Program::Codex);
}

#[test]
fn what_is_no_event_is_refused_and_an_unknown_moment_is_none() {
    for text in [
        "",
        "null",
        "[]",
        "{}",
        "{\"hook_event_name\":\"Stop\"}",
        "{\"session_id\":true,\"hook_event_name\":\"Stop\"}",
        "{\"session_id\":\" \",\"hook_event_name\":\"Stop\"}",
        "{\"session_id\":\"s\",\"hook_event_name\":\"UserPromptSubmit\"}",
        "{\"session_id\":\"s\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":null}",
        "{\"session_id\":\"s\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":{\"x\":1}}",
        "{\"session_id\":\"s\",\"hook_event_name\":\"Teleport\",\"prompt\":\"lost?\"}",
    ] {
        assert!(HookEvent::parse(None, text).is_err(), "{text}");
    }
    let odd = r#"{"session_id":"../../x","hook_event_name":"Teleport","transcript_path":null}"#;
    let event = HookEvent::parse(None, odd).expect("an event");
    assert_eq!((event.kind, event.prompt.as_deref(), event.session_id().as_str()), (None, None, "claude-code-x"));
}

#[test]
fn what_was_asked_is_known_by_its_id_or_else_by_its_words() {
    let event = HookEvent::parse(None, CLAUDE).expect("an event");
    let imported = event.to_transcript(Stamp(7)).expect("words");
    let [record] = imported.transcript.records.as_slice() else { panic!("{imported:?}") };
    assert_eq!(record.keys, [Program::ClaudeCode.prompt_key("f8bc", "do it")]);
    assert_eq!(imported.unkeyed_prompt, None);
    let RecordBody::Message(HistoryItem { .. }) = &record.body else { panic!("{record:?}") };
    let imported = HookEvent { prompt_id: None, ..event.clone() }.to_transcript(Stamp(7)).expect("words");
    assert_eq!(imported.unkeyed_prompt, Some(PromptFingerprint::of(&event.session_id(), "do it")));
    assert_eq!((imported.transcript.records.len(), imported.transcript.records[0].keys.len()), (1, 0));
    let compacted = HookEvent { prompt: None, summary: Some("In short.".to_owned()), ..event };
    let imported = compacted.to_transcript(Stamp(7)).expect("a summary");
    assert_eq!(imported.transcript.records[0].body, RecordBody::Compacted("In short.".to_owned()));
}

/// Optional fields may hold anything: the prompt is still read.
#[test]
fn odd_fields_do_not_cost_a_prompt() {
    for odd in ["null", "7", "true", "[]", "{\"a\":[1]}", "\"\"", "\"x\""] {
        for field in ["transcript_path", "prompt_id", "turn_id", "compact_summary", "cwd", "agent_transcript_path"]
        {
            let json = format!(
                r#"{{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"do it","{field}":{odd}}}"#
            );
            let event = HookEvent::parse(Some(Program::ClaudeCode), &json)
                .unwrap_or_else(|error| panic!("{error}: {json}"));
            assert_eq!((event.prompt.as_deref(), event.client_session.as_str()), (Some("do it"), "s"), "{json}");
        }
    }
    for (prompt, want) in [
        (r#""do it""#, Some("do it")),
        (r#"[{"type":"text","text":"do"},{"type":"text","text":"it"}]"#, Some("do\nit")),
        (r#"{"text":"do it"}"#, Some("do it")),
        ("12", Some("12")),
        (r#""  ""#, None),
    ] {
        let json = format!(r#"{{"hook_event_name":"UserPromptSubmit","session_id":12,"prompt":{prompt}}}"#);
        let event = HookEvent::parse(None, &json).unwrap_or_else(|error| panic!("{error}: {json}"));
        assert_eq!((event.prompt.as_deref(), event.client_session.as_str()), (want, "12"), "{json}");
    }
}

#[test]
fn only_two_moments_are_answered_and_the_last_only_notes() {
    for kind in HookKind::ALL {
        let actions = kind.actions();
        let speaks = matches!(kind, HookKind::SessionStart | HookKind::UserPromptSubmit);
        assert_eq!(actions.reply != HookReply::Nothing, speaks, "{kind:?}");
        assert_eq!(
            (actions.is_deferred, actions.imports),
            (kind == HookKind::SessionEnd, kind != HookKind::SessionEnd)
        );
    }
}
