//! Splits messages into sentences: prose, lists, code, unpunctuated lines, and scripts without spaces.

use neap_core::base::message::{Message, Role};
use neap_core::base::tokens::{TokenCounter, Tokens};

/// Longer pieces are split at clauses.
const PIECE_CHARS_MAX: usize = 280;
/// A line at least this long that continues in lower case was wrapped.
const WRAPPED_CHARS_MIN: usize = 60;
/// A word at least this long is data.
const BLOB_BYTES_MIN: usize = 160;
/// Beyond this, the middle pieces are dropped.
const PIECES_MAX: usize = 40_000;

/// Verbatim, except for white space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) text: String,
    pub(super) message: usize,
    pub(super) role: Role,
    pub(super) is_code: bool,
    pub(super) is_question: bool,
}

pub(super) fn split(messages: &[Message]) -> Vec<Sentence> {
    let mut out = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        split_message(at, message, &mut out);
    }
    if out.len() > PIECES_MAX {
        out.drain(PIECES_MAX / 2..out.len() - PIECES_MAX / 2);
    }
    out
}

fn split_message(at: usize, message: &Message, out: &mut Vec<Sentence>) {
    let mut push = |text: &str, is_code: bool| {
        for piece in split_clauses(text) {
            let is_question = piece.ends_with(['?', '？']);
            out.push(Sentence { text: piece, message: at, role: message.role, is_code, is_question });
        }
    };
    let mut in_code = false;
    let mut paragraph = String::new();
    for line in message.content.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            flush(&mut paragraph, &mut push);
            in_code = !in_code;
            continue;
        }
        if in_code {
            push(trimmed, true);
            continue;
        }
        let item = strip_list_mark(trimmed);
        let is_wrapped = paragraph.chars().nth(WRAPPED_CHARS_MIN - 1).is_some()
            && item.len() == trimmed.len()
            && trimmed.starts_with(char::is_lowercase);
        if !is_wrapped {
            flush(&mut paragraph, &mut push);
        }
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(item);
    }
    flush(&mut paragraph, &mut push);
}

fn flush(paragraph: &mut String, push: &mut impl FnMut(&str, bool)) {
    for sentence in split_sentences(paragraph) {
        push(sentence, false);
    }
    paragraph.clear();
}

/// Strips a list, heading or quote marker.
fn strip_list_mark(line: &str) -> &str {
    let rest = line.trim_start_matches(['#', '>', '-', '*', '•', '+']);
    if rest.len() < line.len() && rest.starts_with([' ', '\t']) {
        return rest.trim_start();
    }
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match digits.strip_prefix(['.', ')']) {
        Some(rest) if digits.len() < line.len() && rest.starts_with(' ') => rest.trim_start(),
        Some(_) | None => line,
    }
}

const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "etc", "vs", "mr", "mrs", "ms", "dr", "st", "no", "nr", "ca", "approx", "fig", "z.b", "d.h",
    "bzw", "usw", "u.a", "inkl", "evtl", "cf", "al", "inc", "max", "min",
];

fn split_sentences(paragraph: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut chars = paragraph.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let ends = match c {
            '。' | '！' | '？' => true,
            '!' | '?' | '…' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            '.' => {
                chars.peek().is_none_or(|(_, next)| next.is_whitespace())
                    && !is_abbreviation(&paragraph[start..at])
                    && !paragraph[end..].trim_start().starts_with(char::is_lowercase)
            }
            _ => false,
        };
        if ends {
            out.push(&paragraph[start..end]);
            start = end;
        }
    }
    out.push(&paragraph[start..]);
    out
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let ordinal = word.len() <= 2 && !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase);
    ordinal || initial || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

/// Collapses white space, drops data, and splits a very long sentence at clauses.
fn split_clauses(text: &str) -> Vec<String> {
    let words = text.split_whitespace().filter(|w| w.len() < BLOB_BYTES_MIN || !is_blob(w));
    let flat = words.collect::<Vec<_>>().join(" ");
    let mut out = Vec::new();
    let mut rest = flat.as_str();
    while let Some((limit, _)) = rest.char_indices().nth(PIECE_CHARS_MAX) {
        let at = clause_end(&rest[..limit]);
        out.push(rest[..at].trim().to_owned());
        rest = rest[at..].trim_start();
    }
    if !rest.is_empty() {
        out.push(rest.to_owned());
    }
    out
}

/// Long words in scripts without spaces are no data; URLs are worth keeping.
fn is_blob(word: &str) -> bool {
    word.is_ascii() && !word.contains("://")
}

const CLAUSE_MARKS: [&str; 9] = ["; ", ", ", ": ", " – ", " - ", "，", "；", "、", ") "];

/// The end of the last clause, else of the last word, else of the text.
fn clause_end(stretch: &str) -> usize {
    let half = stretch.floor_char_boundary(stretch.len() / 3);
    let clause = last_clause_end(stretch).filter(|at| *at > half);
    clause.or_else(|| stretch.rfind(' ')).filter(|at| *at > 0).unwrap_or(stretch.len())
}

fn last_clause_end(stretch: &str) -> Option<usize> {
    CLAUSE_MARKS.iter().filter_map(|mark| stretch.rfind(mark).map(|at| at + mark.trim_end().len())).max()
}

/// The whole clauses of a text that fit, from its beginning; empty if the first does not fit.
pub(super) fn truncate_to_fit<'a>(counter: &dyn TokenCounter, text: &'a str, budget: Tokens) -> &'a str {
    let mut text = text;
    while !text.is_empty() && counter.count(text) > budget {
        let shorter = text.trim_end_matches(|c: char| !c.is_alphanumeric());
        text = text[..last_clause_end(shorter).unwrap_or(0)].trim_end();
    }
    text
}

/// The words of a text that fit, else its characters: for a text whose first clause does not.
pub(super) fn truncate_words<'a>(counter: &dyn TokenCounter, text: &'a str, budget: Tokens) -> &'a str {
    let mut text = text;
    while !text.is_empty() && counter.count(text) > budget {
        let half = text.floor_char_boundary(text.len() / 2);
        text = text[..text.rfind(' ').unwrap_or(half)].trim_end();
    }
    text
}

#[cfg(test)]
mod tests {
    use neap_core::base::testing::WordCounter;

    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        let found: Vec<String> = split(&[Message::user(text)]).into_iter().map(|s| s.text).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn sentences_end_at_stops_and_only_there() {
        check(
            "It broke. Why? See src/io.rs, v1.2.3 e.g. here.",
            &["It broke.", "Why?", "See src/io.rs, v1.2.3 e.g. here."],
        );
        check("Dr. Meier kam am 3. Mai. Danach ging es.", &["Dr. Meier kam am 3. Mai.", "Danach ging es."]);
        check("登录失败。我们决定重试！好的", &["登录失败。", "我们决定重试！", "好的"]);
        check("", &[]);
    }

    #[test]
    fn lines_lists_and_code_are_pieces() {
        check("# Plan\n- one\n2. two\nthree", &["Plan", "one", "two", "three"]);
        check("See:\n```rust\nfn a() {}\n```\nok", &["See:", "fn a() {}", "ok"]);
        let wrapped = "This sentence is long enough that its author wrapped it\nonto a second line here.";
        check(&format!("Well, {wrapped}"), &[&format!("Well, {}", wrapped.replace('\n', " "))]);
    }

    #[test]
    fn endless_lines_are_cut_at_clauses_and_data_is_left_out() {
        let endless = "alpha beta gamma, ".repeat(200);
        let found = split(&[Message::user(endless.as_str())]);
        assert!(found.iter().all(|s| s.text.chars().count() <= PIECE_CHARS_MAX && s.text.ends_with(',')));
        check(&format!("key {} end", "A".repeat(5000)), &["key end"]);
        assert!(split(&[Message::user("修".repeat(100_000))]).len() > 300);
    }

    #[test]
    fn fitting_keeps_a_beginning() {
        let fit = |text, max| truncate_to_fit(&WordCounter, text, Tokens(max));
        assert_eq!(fit("one two, three four", 100), "one two, three four");
        assert_eq!(fit("one two, three four", 3), "one two,");
        assert_eq!(fit("one two three four", 3), "", "no clause is cut");
        assert_eq!(truncate_words(&WordCounter, "one two three four", Tokens(3)), "one two three");
        assert_eq!(fit("one two", 0), "");
    }
}
