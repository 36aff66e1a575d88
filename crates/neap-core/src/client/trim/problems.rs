//! Recognises lines that report a problem, by the words that compilers, test runners and servers use.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    Warning,
    Error,
}

const ERROR_WORDS: [&str; 44] = [
    "abort", "aborted", "aborting", "assert", "assertion", "assertions", "asserts", "cannot", "crash", "crashed",
    "critical", "denied", "eacces", "eaddrinuse", "econnrefused", "econnreset", "enoent", "eperm", "eresolve",
    "err", "error", "errors", "etimedout", "exception", "exceptions", "fail", "failed", "failing", "fails",
    "failure", "failures", "fatal", "killed", "panic", "panicked", "panics", "refused", "segfault", "severe",
    "sigabrt", "sigkill", "sigsegv", "traceback", "unresolved",
];
const WARNING_WORDS: [&str; 5] = ["deprecated", "deprecation", "warn", "warning", "warnings"];
/// Ends of the names of exceptions.
const ERROR_SUFFIXES: [&str; 4] = ["Error", "Errors", "Exception", "Failure"];
const WARNING_SUFFIX: &str = "Warning";
const ERROR_PHRASES: [[&str; 2]; 6] =
    [["could", "not"], ["no", "such"], ["not", "found"], ["not", "ok"], ["timed", "out"], ["unable", "to"]];
/// Begin a line of a failed test.
const ERROR_SIGNS: [&str; 6] = ["✗", "✘", "✖", "❌", "×", "E   "];
/// Begin a line about something that passed, whatever its name says.
const PASSED_SIGNS: [&str; 7] = ["✓", "✔", "√", "ok ", "ok\t", "PASS ", "--- PASS"];
/// Words that take back a problem named after them.
const DENIALS: [&str; 4] = ["0", "no", "without", "zero"];
/// Values that take back a problem named before them.
const NOTHING: [&str; 6] = ["false", "nil", "none", "null", "0", "undefined"];

/// Every line that reports a problem has one of these.
static STEMS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let stems = [
        "abort", "assert", "cannot", "could not", "crash", "critical", "denied", "deprecat", "eacces",
        "eaddrinuse", "econn", "enoent", "eperm", "eresolve", "err", "etimedout", "excep", "exit", "fail",
        "fatal", "killed", "no such", "not found", "not ok", "panic", "refused", "segfault", "severe", "sigabrt",
        "sigkill", "sigsegv", "timed out", "traceback", "unable to", "unresolved", "warn", "✗", "✘", "✖", "❌",
        "×", "E   ",
    ];
    let builder = AhoCorasick::builder().ascii_case_insensitive(true).build(stems);
    builder.expect("the stems are constant")
});

/// Whether a text has a line that may report a problem.
pub(super) fn may_have_problems(text: &str) -> bool {
    STEMS.is_match(text)
}

pub(super) fn severity(line: &str) -> Option<Severity> {
    let line = line.trim();
    if !may_have_problems(line) || is_about_a_pass(line) {
        return None;
    }
    if ERROR_SIGNS.iter().any(|sign| line.starts_with(sign)) {
        return Some(Severity::Error);
    }
    let words = words(line);
    let named = words.iter().enumerate().filter(|(at, _)| !is_taken_back(&words, *at));
    let worst = named.filter_map(|(_, word)| word_severity(word)).max();
    let has_phrase = || {
        let is_same =
            |phrase: &[&str; 2], pair: &[&str]| phrase.iter().zip(pair).all(|(a, b)| a.eq_ignore_ascii_case(b));
        let is_phrase = |pair: &[&str]| ERROR_PHRASES.iter().any(|phrase| is_same(phrase, pair));
        words.windows(2).any(is_phrase) || (0..words.len()).any(|at| is_bad_exit(&words, at))
    };
    if worst < Some(Severity::Error) && has_phrase() { Some(Severity::Error) } else { worst }
}

/// `exit code 1`, `exited with code 2`, `exit status: 101`.
fn is_bad_exit(words: &[&str], at: usize) -> bool {
    let is_one_of = |list: &[&str], word: &str| list.iter().any(|other| other.eq_ignore_ascii_case(word));
    let after = words[at + 1..].iter().copied();
    let code = after.clone().find(|word| !is_one_of(&["code", "signal", "status", "with"], word));
    let is_number = |code: &str| code.bytes().all(|b| b.is_ascii_digit()) && code != "0";
    let has_way = after.clone().next() != code;
    is_one_of(&["exit", "exited", "exits"], words[at]) && has_way && code.is_some_and(is_number)
}

fn is_about_a_pass(line: &str) -> bool {
    let is_passed = || line.split_whitespace().any(|word| word == "PASSED") && !line.contains("FAILED");
    PASSED_SIGNS.iter().any(|sign| line.starts_with(sign)) || line.ends_with("... ok") || is_passed()
}

/// The words of a line, without paths and qualified names: `src/error.rs` and `error::tests` report nothing.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let is_border = |c: char| c.is_whitespace() || "\"'`,;|=<>(){}[]".contains(c);
    for token in line.split(is_border).filter(|token| !token.is_empty()) {
        if token.contains(['/', '\\']) || token.contains("::") {
            continue;
        }
        let is_word_char = |c: char| c.is_alphanumeric() || c == '_';
        let is_joined = |at: usize| {
            let after = token[at + 1..].chars().next().is_some_and(is_word_char);
            after && token[..at].chars().next_back().is_some_and(is_word_char)
        };
        // Of a dotted name, the last part says what it is.
        let start = token.rmatch_indices('.').find(|(at, _)| is_joined(*at)).map_or(0, |(at, _)| at + 1);
        words.extend(token[start..].split(|c| !is_word_char(c)).filter(|word| !word.is_empty()));
    }
    words
}

fn word_severity(word: &str) -> Option<Severity> {
    let lower = word.to_ascii_lowercase();
    if ERROR_WORDS.binary_search(&lower.as_str()).is_ok() {
        return Some(Severity::Error);
    }
    if WARNING_WORDS.contains(&lower.as_str()) || word.ends_with(WARNING_SUFFIX) {
        return Some(Severity::Warning);
    }
    ERROR_SUFFIXES.iter().any(|suffix| word.ends_with(suffix)).then_some(Severity::Error)
}

/// `0 failed`, `no errors`, `failures: 0`, `"error": null`; but `NullPointerException: null` is one.
fn is_taken_back(words: &[&str], at: usize) -> bool {
    let is_one_of = |list: &[&str], word: &&str| list.iter().any(|other| other.eq_ignore_ascii_case(word));
    let before = at.checked_sub(1).map(|at| &words[at]);
    let is_named = words[at].chars().skip(1).any(char::is_uppercase) && words[at].contains(char::is_lowercase);
    let is_count = words[at].ends_with('s') || words[at].ends_with("ed");
    let after = words.get(at + 1).filter(|word| !is_named && (is_count || **word != "0"));
    before.is_some_and(|word| is_one_of(&DENIALS, word)) || after.is_some_and(|word| is_one_of(&NOTHING, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_told_from_names_and_counts() {
        use Severity::{Error, Warning};
        let table = [
            ("error[E0308]: mismatched types", Some(Error)),
            ("src/main.rs:10:5: error: expected `;`", Some(Error)),
            ("thread 'error::tests' panicked at src/lib.rs:3:9:", Some(Error)),
            ("test error::is_reported ... FAILED", Some(Error)),
            ("test result: FAILED. 1 passed; 1 failed; 0 ignored", Some(Error)),
            ("E       AssertionError: assert 1 == 2", Some(Error)),
            ("java.lang.NullPointerException: null", Some(Error)),
            ("npm ERR! code ERESOLVE", Some(Error)),
            ("2026-01-02T03:04:05Z ERROR pool exhausted", Some(Error)),
            (r#"{"level":"error","path":"/x"}"#, Some(Error)),
            ("Process exited with code 101", Some(Error)),
            ("bash: foo: command not found", Some(Error)),
            ("  ✗ adds numbers", Some(Error)),
            ("warning: unused variable: `x`", Some(Warning)),
            ("DeprecationWarning: use y", Some(Warning)),
            ("1 failed, 20 passed", Some(Error)),
            ("test error_is_reported ... ok", None),
            ("tests/test_x.py::test_error PASSED [ 12%]", None),
            ("✓ handles error (3 ms)", None),
            ("Compiling thiserror v1.0.0", None),
            ("src/error.rs", None),
            ("error.log", None),
            ("0 errors, 0 warnings", None),
            ("Tests run: 5, Failures: 0, Errors: 0, Skipped: 0", None),
            (r#""error": null,"#, None),
            ("exit code 0", None),
            ("all is well", None),
        ];
        for (line, want) in table {
            assert_eq!(severity(line), want, "{line}");
        }
        assert!(ERROR_WORDS.is_sorted());
        assert!(ERROR_WORDS.iter().chain(&WARNING_WORDS).all(|word| may_have_problems(word)));
    }
}
