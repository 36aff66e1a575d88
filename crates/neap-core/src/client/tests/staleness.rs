//! What is stale in a history, case by case.

use serde_json::json;

use super::bounds::plan;
use super::*;
use crate::client::RenderedHistory;

fn file_call(id: &str, name: &str, path: &str) -> ContentBlock {
    let arguments = json!({"file_path": path}).to_string();
    ContentBlock::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), arguments })
}

fn reads(id: &str, path: &str, words: &str) -> [HistoryItem; 2] {
    [item(Speaker::Assistant, vec![file_call(id, "Read", path)]), answers(id, words)]
}

fn edits(id: &str, path: &str) -> [HistoryItem; 2] {
    [item(Speaker::Assistant, vec![file_call(id, "Edit", path)]), answers(id, "ok")]
}

fn image(n: usize) -> ContentBlock {
    ContentBlock::Other { kind: "image".to_owned(), json: json!({"type": "image", "n": n}) }
}

/// Turns without calls.
fn chat(turns: usize, words: usize) -> Vec<HistoryItem> {
    let turn = |n| [user(&format!("question {n}")), assistant(&"said ".repeat(words))];
    (0..turns).flat_map(turn).collect()
}

/// Cut to half of the room: a history beside a long system prompt, where a longer tail costs little.
fn rendered(mut items: Vec<HistoryItem>) -> RenderedHistory {
    items.push(user("and now"));
    let request = ClientRequest { fixed_tokens: Tokens(50_000), ..request(items) };
    let budget = Tokens(request.tokens().0 - 1);
    assert!(budget.0 * 95 > 50_000 * 100, "the history takes more than a twentieth");
    plan(&request, &Bounds::new(budget)).render(&request)
}

/// The texts in place of an item's blocks, if the item is sent.
fn replaced(rendered: &RenderedHistory, item: usize) -> Option<Vec<String>> {
    rendered.parts.iter().find_map(|part| match part {
        HistoryPart::Item { at, shortened, .. } if *at == item => {
            Some(shortened.iter().map(|(_, text)| text.to_string()).collect())
        }
        HistoryPart::Item { .. } | HistoryPart::Note { .. } => None,
    })
}

#[test]
fn a_line_with_the_handle_takes_the_place_of_a_stale_result_and_its_call_stays() {
    let mut items = chat(2, 20);
    for n in 0..16 {
        items.extend(reads(&format!("c{n}"), "/a.rs", &"one ".repeat(400)));
    }
    let rendered = rendered(items);
    let line = replaced(&rendered, 5).expect("the pair stays").pop().expect("with a line");
    assert!(line.starts_with("§[... about 400 tokens left out here: a later call has it again"), "{line}");
    assert!(line.contains("fetch_original t5"), "{line}");
    assert_eq!(replaced(&rendered, 4), Some(vec![]), "the call is as it was");
    assert_eq!(replaced(&rendered, 35), Some(vec![]), "and so is the newest content");
    assert_eq!(rendered.changes.dropped, 0, "what is stale goes first");
}

/// A client says that a file has not changed since; and a read may fail.
#[test]
fn a_read_without_the_content_replaces_none() {
    let failed =
        ContentBlock::ToolResult { id: "b".into(), content: vec![text(&"no ".repeat(450))], failed: true };
    for answer in [answer("b", "unchanged since the last read"), failed] {
        let mut items = chat(40, 100);
        items.extend(reads("a", "/a.rs", &"one ".repeat(400)));
        items.push(item(Speaker::Assistant, vec![file_call("b", "Read", "/a.rs")]));
        items.push(item(Speaker::User, vec![answer]));
        let rendered = rendered(items);
        assert_eq!(replaced(&rendered, 81), Some(vec![]), "the content stays");
    }
}

#[test]
fn a_file_that_is_no_longer_worked_on_is_stale_once_it_was_edited() {
    for (turns, is_stale) in [(8, false), (12, true)] {
        let mut items = vec![user("begin")];
        items.extend(reads("a", "/a.rs", &"one ".repeat(400)));
        items.extend(edits("b", "/a.rs"));
        items.push(assistant("done"));
        items.extend(chat(turns, 300));
        let rendered = rendered(items);
        let sent = replaced(&rendered, 2);
        assert_eq!(sent == Some(vec![]), !is_stale, "{turns}: {sent:?}");
    }
}

#[test]
fn a_content_that_was_written_and_then_changed_is_cut_from_its_call_without_a_mark() {
    let mut items = chat(2, 20);
    for n in 0..8 {
        let (id, arguments) = (format!("c{n}"), json!({"file_path": "/a.rs", "content": "one ".repeat(600)}));
        let call = ToolCall { id: id.clone(), name: "Write".into(), arguments: arguments.to_string() };
        items.extend([item(Speaker::Assistant, vec![ContentBlock::ToolCall(call)]), answers(&id, "ok")]);
    }
    items.extend(reads("b", "/a.rs", &"two ".repeat(600)));
    let rendered = rendered(items);
    let arguments = replaced(&rendered, 4).expect("the pair stays").pop().expect("it is shortened");
    let arguments: serde_json::Value = serde_json::from_str(&arguments).expect("JSON");
    assert_eq!(arguments["file_path"], "/a.rs");
    let content = arguments["content"].as_str().expect("a text");
    assert!(content.starts_with("one one") && content.len() < 200 && !content.contains('§'), "{content}");
    let question = rendered.parts.last();
    assert!(
        matches!(question, Some(HistoryPart::Item { appended: Some(_), .. })),
        "the model is told: {question:?}"
    );
}

#[test]
fn old_images_go_and_the_words_beside_them_stay() {
    let mut items = chat(1, 20);
    for n in 0..80 {
        let id = format!("c{n}");
        let content = vec![text(&format!("screen {n}")), image(n)];
        let shot = HistoryItem {
            tokens: Tokens(2_000),
            ..item(Speaker::User, vec![ContentBlock::ToolResult { id: id.clone(), content, failed: false }])
        };
        items.extend([item(Speaker::Assistant, vec![call_named(&id)]), shot]);
    }
    items.extend([
        assistant("seen"),
        HistoryItem { tokens: Tokens(2_000), ..item(Speaker::User, vec![text("look"), image(9)]) },
        assistant("I do"),
    ]);
    let rendered = rendered(items);
    let texts = replaced(&rendered, 3).expect("the first result is sent");
    assert_eq!(texts, ["screen 0\n§[... an older image left out here; it came in t3 ...]"]);
    assert_eq!(replaced(&rendered, 17).map(|texts| texts.len()), Some(1), "the eighth");
    for at in [159, 161, 163] {
        assert_eq!(replaced(&rendered, at), Some(vec![]), "the newest three stay: item {at}");
    }
}

fn call_named(id: &str) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        id: id.into(),
        name: "screenshot".into(),
        arguments: format!("{{\"n\":\"{id}\"}}"),
    })
}

/// I7: of calls that were made at once, only those of files in work stay, each with its result.
#[test]
fn a_file_in_work_is_kept_without_the_calls_beside_it() {
    let mut items = vec![
        user("begin"),
        item(
            Speaker::Assistant,
            vec![text("both"), file_call("a", "Read", "/a.rs"), file_call("b", "Read", "/b.rs")],
        ),
        item(Speaker::User, vec![answer("a", &"one ".repeat(60)), answer("b", &"two ".repeat(400))]),
    ];
    items.extend(edits("c", "/a.rs"));
    for n in 0..8 {
        items.push(assistant(&"words ".repeat(350)));
        items.push(user(&format!("question {n}")));
    }
    items.push(assistant("ok"));
    let rendered = rendered(items);
    let omitted = |item: usize| {
        rendered.parts.iter().find_map(|part| match part {
            HistoryPart::Item { at, omitted, .. } if *at == item => Some(omitted.clone()),
            HistoryPart::Item { .. } | HistoryPart::Note { .. } => None,
        })
    };
    assert_eq!((omitted(1), omitted(2)), (Some(vec![0, 2]), Some(vec![1])));
    assert_eq!((omitted(3), omitted(4)), (Some(vec![]), Some(vec![])), "and the edit");
    assert_eq!(omitted(5), None, "while the turns around it go");
}

fn shot(n: usize) -> HistoryItem {
    HistoryItem { tokens: Tokens(2_000), ..item(Speaker::User, vec![text(&format!("see {n}")), image(n)]) }
}

#[test]
fn a_persons_images_stay_in_the_question_in_progress_and_in_the_first_one() {
    let own = (0..5).map(image).collect();
    let mut items = vec![HistoryItem { tokens: Tokens(5_000), ..item(Speaker::User, own) }, assistant("seen")];
    for n in 0..40 {
        items.extend([shot(n), assistant(&"said ".repeat(100))]);
    }
    let own = (0..6).map(image).collect();
    items.push(HistoryItem { tokens: Tokens(6_000), ..item(Speaker::User, own) });
    let last = items.len() - 1;
    let request = ClientRequest { fixed_tokens: Tokens(50_000), ..request(items) };
    let rendered = plan(&request, &Bounds::new(Tokens(request.tokens().0 - 1))).render(&request);
    assert_eq!(replaced(&rendered, 0), Some(vec![]));
    assert_eq!(replaced(&rendered, last), Some(vec![]));
    assert!(rendered.changes.shortened > 0, "others go");
}

/// Calls with the same words of which a later one is no newer answer: it failed, says less, continues, or ran elsewhere.
#[test]
fn an_answer_that_a_later_call_does_not_repeat_stays() {
    fn runs(id: &str, name: &str, arguments: serde_json::Value, result: ContentBlock) -> [HistoryItem; 2] {
        let call = ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_string() };
        [item(Speaker::Assistant, vec![ContentBlock::ToolCall(call)]), item(Speaker::User, vec![result])]
    }
    let long = |id: &str| answer(id, &"one ".repeat(400));
    let failed = |id: &str| ContentBlock::ToolResult {
        id: id.to_owned(),
        content: vec![text(&"no ".repeat(450))],
        failed: true,
    };
    let command = |text: &str| json!({"command": text});
    let cases = [
        ("Grep", json!({"pattern": "x"}), command("true"), failed("b"), false),
        ("Grep", json!({"pattern": "x"}), command("true"), answer("b", "no match"), false),
        ("Grep", json!({"pattern": "x"}), command("true"), long("b"), true),
        ("Bash", command("make"), command("true"), failed("b"), true),
        ("Bash", command("make"), command("true"), answer("b", "nothing to do"), true),
        ("Bash", command("make"), command("cd sub"), long("b"), false),
        ("Bash", command("cat notes.txt"), command("cd sub"), long("b"), false),
        ("BashOutput", json!({"bash_id": "7"}), command("true"), long("b"), false),
        ("Bash", command("make"), command("true"), long("b"), true),
        ("Bash", command("cd /r && make"), command("cd sub"), long("b"), true),
    ];
    for (name, arguments, between, second, is_stale) in cases {
        let mut items = chat(40, 100);
        items.extend(runs("a", name, arguments.clone(), long("a")));
        items.extend(runs("m", "Bash", between.clone(), answer("m", "ok")));
        items.extend(runs("b", name, arguments.clone(), second));
        let rendered = rendered(items);
        let lines = replaced(&rendered, 81).expect("it is sent");
        assert_eq!(!lines.is_empty(), is_stale, "{name} {arguments} {between}: {lines:?}");
    }
}
