//! Events as Claude Code and Codex tell them, and what is answered.

use super::*;
use crate::ids::{EffortId, SessionId, Stamp};
use crate::ingest::Item;
use crate::prompt;
use crate::testing::WordCounter;
use crate::tokens::{TokenCounter as _, Tokens};
use crate::transcript::{Program, Saying, What};

const CLAUDE: &str = r#"{"session_id":"2bd1","transcript_path":"/h/.claude/projects/p/2bd1.jsonl","cwd":"/h","prompt_id":"f8bc","permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"do it"}"#;
const CODEX: &str = r#"{"session_id":"01a1","turn_id":"t-1","transcript_path":"/h/.codex/sessions/2026/11/15/rollout-2026-11-15T22-38-11-01a1.jsonl","cwd":"/h","hook_event_name":"UserPromptSubmit","model":"gpt-5-codex","prompt":"hello"}"#;

#[test]
fn who_calls_is_known_by_what_it_says() {
    let claude = Called::read(None, CLAUDE).expect("an event");
    assert_eq!((claude.program, claude.moment), (Program::ClaudeCode, Some(Moment::UserPromptSubmit)));
    assert_eq!(claude.session().as_str(), "claude-code-2bd1");
    let codex = Called::read(None, CODEX).expect("an event");
    assert_eq!((codex.program, codex.prompt_id.as_deref()), (Program::Codex, Some("t-1")));
    let start = r#"{"session_id":"s","transcript_path":"/x/rollout-1.jsonl","hook_event_name":"SessionStart","source":"startup"}"#;
    assert_eq!(Called::read(None, start).expect("an event").program, Program::Codex);
    assert_eq!(Called::read(Some(Program::Codex), CLAUDE).expect("an event").program, Program::Codex);
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
        assert!(Called::read(None, text).is_err(), "{text}");
    }
    let odd = r#"{"session_id":"../../x","hook_event_name":"Teleport","transcript_path":null}"#;
    let called = Called::read(None, odd).expect("an event");
    assert_eq!(
        (called.moment, called.prompt.as_deref(), called.session().as_str()),
        (None, None, "claude-code-x")
    );
}

#[test]
fn what_was_asked_is_known_by_its_id_or_else_by_its_words() {
    let called = Called::read(None, CLAUDE).expect("an event");
    let told = called.told(Stamp(7)).expect("words");
    let [record] = told.transcript.records.as_slice() else { panic!("{told:?}") };
    assert_eq!(record.keys, [Program::ClaudeCode.prompt_key("f8bc", "do it")]);
    assert_eq!(told.unnamed, None);
    let What::Said(Item { .. }) = &record.what else { panic!("{record:?}") };
    let told = Called { prompt_id: None, ..called.clone() }.told(Stamp(7)).expect("words");
    assert_eq!(told.unnamed, Some(Saying::of(&called.session(), "do it")));
    assert_eq!((told.transcript.records.len(), told.transcript.records[0].keys.len()), (1, 0));
    let compacted = Called { prompt: None, summary: Some("In short.".to_owned()), ..called };
    let told = compacted.told(Stamp(7)).expect("a summary");
    assert_eq!(told.transcript.records[0].what, What::Compacted("In short.".to_owned()));
}

/// Fields that can be done without may be anything: the prompt is read all the same.
#[test]
fn odd_fields_do_not_cost_a_prompt() {
    for odd in ["null", "7", "true", "[]", "{\"a\":[1]}", "\"\"", "\"x\""] {
        for field in ["transcript_path", "prompt_id", "turn_id", "compact_summary", "cwd", "agent_transcript_path"]
        {
            let json = format!(
                r#"{{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"do it","{field}":{odd}}}"#
            );
            let called =
                Called::read(Some(Program::ClaudeCode), &json).unwrap_or_else(|error| panic!("{error}: {json}"));
            assert_eq!((called.prompt.as_deref(), called.session.as_str()), (Some("do it"), "s"), "{json}");
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
        let called = Called::read(None, &json).unwrap_or_else(|error| panic!("{error}: {json}"));
        assert_eq!((called.prompt.as_deref(), called.session.as_str()), (want, "12"), "{json}");
    }
}

#[test]
fn only_two_moments_are_answered_and_the_last_only_notes() {
    for moment in Moment::ALL {
        let todo = moment.todo();
        let speaks = matches!(moment, Moment::SessionStart | Moment::UserPromptSubmit);
        assert_eq!(todo.says != Says::Nothing, speaks, "{moment:?}");
        assert_eq!((todo.waits, todo.takes_in), (moment == Moment::SessionEnd, moment != Moment::SessionEnd));
    }
}

#[test]
fn an_answer_stays_within_what_agents_take() {
    let part = |c: char, n: usize| c.to_string().repeat(n);
    assert_eq!(answer(&[]), "");
    assert_eq!(answer(&[" ".into(), "a\n".into(), String::new(), "b".into()]), "a\n\nb");
    // What does not fit is passed over; what is shorter may.
    let text = answer(&[part('a', 9_000), part('b', 2_000), part('ü', 498)]);
    assert_eq!(text.chars().count(), 9_500);
    assert!(!text.contains('b'));
}

#[test]
fn open_work_is_listed_the_latest_first_within_its_room() {
    let work = |session: &str, id: &str, updated: i64| OpenWork {
        session: SessionId::from_name(session).expect("a name"),
        id: EffortId::from_name(id).expect("a name"),
        updated: Stamp(updated),
    };
    let all = vec![work("a", "old work", 1), work("b", "new work", 86_400_000)];
    let text = open_work(all.clone(), &WordCounter, Tokens(100));
    assert!(text.find("new-work (b, last 1970-01-02)") < text.find("old-work"), "{text}");
    assert!(text.starts_with(prompt::MARK) && text.ends_with(']'), "{text}");
    assert_eq!(open_work(Vec::new(), &WordCounter, Tokens(100)), "");
    for room in 0..40 {
        assert!(WordCounter.count(&open_work(all.clone(), &WordCounter, Tokens(room))) <= Tokens(room));
    }
}
