//! Each kind of result, by example.

use serde_json::json;

use super::*;
use crate::client::Speaker;
use crate::client::tests::{item, user};

fn run_tests(count: usize, failing: &[usize]) -> String {
    let line = |n| {
        let result = if failing.contains(&n) { "FAILED" } else { "ok" };
        let module = ["parser", "lexer", "printer"][n % 3];
        format!("test {module}::tests::reads_error_number_{n} ... {result}\n")
    };
    let mut out = format!("\nrunning {count} tests\n{}", (0..count).map(line).collect::<String>());
    for n in failing {
        out.push_str(&format!(
            "\n---- parser::tests::reads_error_number_{n} stdout ----\n\nthread 'parser::tests::reads_error_number_{n}' \
             panicked at src/parser.rs:{n}:9:\nassertion `left == right` failed\n  left: {n}\n right: 0\n"
        ));
    }
    out.push_str(&format!("\ntest result: FAILED. {} passed; {} failed\n", count - failing.len(), failing.len()));
    out
}

#[test]
fn output_of_tests_keeps_what_failed_and_its_end() {
    let short = trimmed(&run_tests(400, &[17, 230]));
    assert!(short.starts_with("§[Output of 41"), "{short}");
    for line in [
        "test printer::tests::reads_error_number_17 ... FAILED",
        "test printer::tests::reads_error_number_230 ... FAILED",
        "panicked at src/parser.rs:230:9:",
        "assertion `left == right` failed",
        "  left: 230",
        "test result: FAILED. 398 passed; 2 failed",
        "running 400 tests",
    ] {
        assert!(short.contains(line), "{line}\n{short}");
    }
    assert!(
        short.lines().any(|line| line.starts_with("§[... ") && line.ends_with(" lines left out ...]")),
        "{short}"
    );
}

#[test]
fn lines_that_repeat_are_folded() {
    let text: String =
        (0..900).map(|n| format!("2026-01-01T00:00:{:02} INFO fetched page {n} of 900\n", n % 60)).collect();
    let short = trimmed(&text);
    assert!(wire_tokens(&short) < Tokens(120), "{short}");
    assert!(short.contains("§[... 899 more lines like this ...]"), "{short}");
}

#[test]
fn a_listing_keeps_its_ends_and_counts_places() {
    let text: String = (0..600).map(|n| format!("./crates/part{}/src/file_{n}.rs\n", n % 3)).collect();
    let short = trimmed(&text);
    assert!(short.starts_with("§[Listing of 600 lines, shown in part"), "{short}");
    assert!(
        short.contains("§[by place: crates/part0/src 200, crates/part1/src 200, crates/part2/src 200]"),
        "{short}"
    );
    assert!(short.contains("file_0.rs\n") && short.ends_with("file_599.rs"), "{short}");
}

#[test]
fn a_document_around_an_output_stays_one() {
    let output = run_tests(400, &[17]);
    let text = json!({"metadata": {"exit_code": 101}, "output": output}).to_string();
    let short = trimmed(&text);
    let value: Value = serde_json::from_str(&short).expect("JSON");
    assert_eq!(value["metadata"]["exit_code"], 101);
    let output = value["output"].as_str().expect("a text");
    assert!(
        output.starts_with("§[Output of 40") && output.contains("reads_error_number_17 ... FAILED"),
        "{output}"
    );
}

#[test]
fn files_diffs_and_code_stay_as_they_are() {
    let code: String =
        (0..300).map(|n| format!("    let value_{n} = compute({n});\n    check(value_{n});\n")).collect();
    let numbered: String = (1..400).map(|n| format!("{n:>6}→some words of a file\n")).collect();
    let diff = format!(
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n{}",
        "-old words here\n+new\n".repeat(400)
    );
    for text in [code, numbered, diff] {
        assert_eq!(trim_text(&WordCounter, &long(&text)), None, "{}", &text[..80]);
        let wrapped = json!({"output": text}).to_string();
        assert_eq!(trim_text(&WordCounter, &long(&wrapped)), None);
    }
}

#[test]
fn our_marks_in_a_result_are_broken() {
    let text =
        format!("§[Output of 3 lines]\n{}§[end]", "some words that are not alike at all here\nx\n".repeat(400));
    let short = trimmed(&text);
    assert!(short.contains("\n§ [Output of 3 lines]\n") && short.ends_with("\n§ [end]"), "{short}");
}

#[test]
fn a_result_under_the_threshold_is_not_touched() {
    let text = "word ".repeat(TRIM_TOKENS_MIN.0 as usize - 1);
    assert_eq!(trim_text(&WordCounter, &long(&text)), None);
    assert!(trim_text(&WordCounter, &long(&(text + "word"))).is_some());
}

fn history(name: &str, arguments: Value, content: Vec<ContentBlock>) -> Vec<HistoryItem> {
    let call = ToolCall { id: "c".to_owned(), name: name.to_owned(), arguments: arguments.to_string() };
    let result = ContentBlock::ToolResult { id: "c".to_owned(), content, failed: false };
    vec![
        user("go"),
        item(Speaker::Assistant, vec![ContentBlock::ToolCall(call)]),
        item(Speaker::User, vec![result]),
    ]
}

#[test]
fn only_long_texts_of_results_with_a_known_call_are_trimmed() {
    let text = run_tests(400, &[17]);
    let content = || vec![ContentBlock::Text("short".to_owned()), ContentBlock::Text(text.clone())];
    let places = |items: &[HistoryItem]| {
        let trim = |long: &LongText<'_>| trim_text(&WordCounter, long).map(Into::into);
        trim_results(items, trim).iter().map(|text| (text.at, text.block, text.part)).collect::<Vec<_>>()
    };
    let run = history("Bash", json!({"command": "cargo test"}), content());
    assert_eq!(places(&run), [(2, 0, 1)]);
    assert_eq!(places(&history("Read", json!({"file_path": "a.rs"}), content())), []);
    assert_eq!(places(&history("Bash", json!({"command": "cat notes.md"}), content())), []);
    assert_eq!(places(&run[2..]), [], "its call is not there");
    let image = ContentBlock::Other { kind: "image".to_owned(), json: json!({"data": text}) };
    assert_eq!(places(&history("Bash", json!({"command": "x"}), vec![image])), []);
}
