//! Grouping and importing of records.

use super::*;
use crate::base::ids::TurnNo;
use crate::base::message::{CountedMessage, Exchange, Message, Role, ToolCall};
use crate::base::testing::WordCounter;
use crate::base::tokens::Tokens;
use crate::client::{ContentBlock, Speaker};
use crate::session::event::{ClientEvent, Event, TurnEvent};
use crate::session::state::SessionState;

fn item(speaker: Speaker, blocks: Vec<ContentBlock>) -> HistoryItem {
    HistoryItem { speaker, blocks: blocks.into(), tokens: Tokens::ZERO }
}

fn words(speaker: Speaker, text: &str) -> HistoryItem {
    item(speaker, vec![ContentBlock::Text(text.to_owned())])
}

fn call(id: &str) -> HistoryItem {
    let call = ToolCall { id: id.to_owned(), name: "bash".to_owned(), arguments: "{}".to_owned() };
    item(Speaker::Assistant, vec![ContentBlock::ToolCall(call)])
}

fn answer(id: &str, text: &str) -> HistoryItem {
    let content = vec![ContentBlock::Text(text.to_owned())];
    item(Speaker::User, vec![ContentBlock::ToolResult { id: id.to_owned(), content, failed: false }])
}

fn record(at: i64, message: Option<&str>, item: HistoryItem) -> TranscriptRecord {
    let keys = vec![Digest::of("record", &[at.to_string().as_bytes()])];
    TranscriptRecord {
        keys,
        at: Some(Stamp(at)),
        message_id: message.map(str::to_owned),
        body: RecordBody::Message(item),
    }
}

fn message_steps(records: &[TranscriptRecord]) -> Vec<(Speaker, usize, usize)> {
    let all: Vec<&TranscriptRecord> = records.iter().collect();
    group_records(&all)
        .into_iter()
        .filter_map(|step| match step.body {
            RecordBody::Message(item) => Some((item.speaker, item.blocks.len(), step.keys.len())),
            RecordBody::Compacted(_) => None,
        })
        .collect()
}

#[test]
fn parts_of_one_message_are_one_step_and_only_neighbours_are() {
    let check =
        |records: &[TranscriptRecord], want: &[(Speaker, usize, usize)]| assert_eq!(message_steps(records), want);
    use Speaker::{Assistant, User};
    let hi = || words(User, "hi");
    check(
        &[record(1, None, hi()), record(2, Some("m"), words(Assistant, "a")), record(3, Some("m"), call("c"))],
        &[(User, 1, 1), (Assistant, 2, 2)],
    );
    let (a, b) = (words(Assistant, "a"), words(Assistant, "b"));
    check(
        &[record(1, Some("m"), a.clone()), record(2, None, hi()), record(3, Some("m"), b.clone())],
        &[(Assistant, 1, 1), (User, 1, 1), (Assistant, 1, 1)],
    );
    check(&[record(1, Some("m"), a), record(2, Some("n"), b)], &[(Assistant, 1, 1), (Assistant, 1, 1)]);
}

#[test]
fn i7_a_call_without_a_result_gets_one_before_the_person_speaks_again() {
    use Speaker::{Assistant, Tool, User};
    let go = |at| record(at, None, words(User, "go"));
    let open = [go(1), record(2, None, call("c")), go(3)];
    assert_eq!(message_steps(&open), [(User, 1, 1), (Assistant, 1, 1), (Tool, 1, 0), (User, 1, 1)]);
    let whole = [go(1), record(2, None, call("c")), record(3, None, answer("c", "out")), go(4)];
    assert_eq!(message_steps(&whole), [(User, 1, 1), (Assistant, 1, 1), (User, 1, 1), (User, 1, 1)]);
    // At the end, the result may still come.
    assert_eq!(message_steps(&[go(1), record(2, None, call("c"))]), [(User, 1, 1), (Assistant, 1, 1)]);
}

/// Also returns the steps before which an effort was concluded, and the number of masked secrets.
fn imported(records: &[TranscriptRecord]) -> (SessionState, Vec<Event>, Vec<usize>, u64) {
    let mut state = SessionState::default();
    let mut importer = TranscriptImporter::resumed(&state, None);
    let (mut events, mut concluded) = (Vec::new(), Vec::new());
    let all: Vec<&TranscriptRecord> = records.iter().collect();
    let steps = group_records(&all);
    for (at, step) in steps.iter().enumerate() {
        if importer.should_conclude(&state, None, Some(step)) {
            concluded.push(at);
        }
        let made = importer.apply(&mut state, &WordCounter, step, Author::Import, Stamp(0));
        events.extend(made.into_iter().map(|recorded| recorded.event));
    }
    if importer.should_conclude(&state, steps.last(), None) {
        concluded.push(steps.len());
    }
    (state, events, concluded, importer.masked_count)
}

#[test]
fn efforts_are_found_where_work_begins_and_end_only_on_a_sign() {
    use Speaker::{Assistant, User};
    let records = [
        record(1_000, None, words(User, "help me fix the login timeout in src/auth/session.rs please")),
        record(2_000, None, words(Assistant, "The token expires after 3600 seconds.")),
        record(3_000, None, words(User, "That's fixed now, thanks!")),
        record(4_000, None, words(Assistant, "Glad to hear.")),
        record(5_000, None, words(User, "New topic: plan a birthday party with balloons, cake and music")),
        record(6_000, None, words(Assistant, "Balloons first.")),
    ];
    let (state, events, concluded, _) = imported(&records);
    assert_eq!(state.efforts().len(), 2, "{events:?}");
    // Before the fifth record, once the closing exchange has its reply; the other effort is not over.
    assert_eq!(concluded, [4]);
    assert_eq!(state.turn(), TurnNo(3));
    let (_, _, at_the_end, _) = imported(&records[..4]);
    assert_eq!(at_the_end, [4]);
    let (_, _, unanswered, _) = imported(&records[..3]);
    assert_eq!(unanswered, Vec::<usize>::new());
}

#[test]
fn secrets_are_masked_in_words_calls_and_results() {
    let key = "sk-proj-4f9aT7bQ2mX8vL1cR6yN3wK5dH0sJ9eG";
    let mut calling = call("c");
    if let Some(ContentBlock::ToolCall(call)) = calling.blocks.first_mut() {
        call.arguments = format!("{{\"key\":\"{key}\"}}");
    }
    let records = [
        record(1, None, words(Speaker::User, &format!("use {key} for it"))),
        record(2, None, calling),
        record(3, None, answer("c", &format!("OPENAI_API_KEY={key}"))),
    ];
    let (_, events, _, masked) = imported(&records);
    assert!(masked >= 3, "{masked}");
    assert!(!format!("{events:?}").contains("4f9aT7bQ2mX8"), "{events:?}");
}

fn exchange(turn: u64, texts: &[(Role, &str)]) -> Exchange {
    let messages = texts
        .iter()
        .map(|(role, text)| CountedMessage::new(&WordCounter, Message { role: *role, ..Message::user(*text) }))
        .collect();
    Exchange { turn: TurnNo(turn), at: Stamp(1), messages }
}

#[test]
fn a_receipt_names_what_a_clients_summary_dropped_and_where_it_is() {
    let since = [
        exchange(
            3,
            &[(Role::User, "The staging database is heron-7 on port 6543."), (Role::Tool, "tool says 9999")],
        ),
        exchange(
            4,
            &[(Role::User, "Deploy to /srv/app on Friday."), (Role::Assistant, "I will deploy on Friday.")],
        ),
    ];
    let mut state = SessionState::default();
    for turn in 1..=4 {
        let message = CountedMessage::new(&WordCounter, Message::user("x"));
        state.record(Stamp(1), TurnEvent::Started { turn: TurnNo(turn), message, turn_id: None, author: None });
    }
    let event = compaction_event(&state, &WordCounter, &since, "They deploy to /srv/app on Friday.")
        .map(Event::Client)
        .expect("something was said");
    let Event::Client(ClientEvent::Compacted { turn, first, receipt, places, .. }) = &event else {
        panic!("{event:?}")
    };
    assert_eq!((*first, *turn, receipt.handle.as_deref()), (TurnNo(3), TurnNo(4), Some("t3-4")));
    let named: Vec<(&str, u64)> = receipt
        .recoverable
        .iter()
        .map(|probe| probe.value.as_str())
        .zip(places.iter().map(|turn| turn.0))
        .collect();
    assert!(named.iter().any(|(value, turn)| value.contains("6543") && *turn == 3), "{named:?}");
    assert!(!named.iter().any(|(value, _)| value.contains("9999") || value.contains("/srv/app")), "{named:?}");
    let text = render_loss(&WordCounter, &event, "codex-1", Tokens(500));
    assert!(text.contains("6543") && text.contains("t3") && text.contains("--session codex-1"), "{text}");
    for room in 0..80 {
        assert!(WordCounter.count(&render_loss(&WordCounter, &event, "s", Tokens(room))) <= Tokens(room));
    }
    assert_eq!(compaction_event(&state, &WordCounter, &[], "nothing"), None);
}

use crate::base::tokens::TokenCounter as _;
