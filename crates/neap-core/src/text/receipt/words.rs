//! Splits a text into words for value extraction; characters that occur inside values do not split.

use crate::text::reference::is_unspaced;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) start: usize,
}

impl Word<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Characters that always separate words.
const SEPARATORS: &str = "\"'`’‘“”{}[]()<>|=;!?*…—–&«»，。；：！？、（）「」";
/// Characters that may occur inside a word but neither begin nor end it.
const JOINERS: &str = ".,:-+#~@/\\^";

pub(super) fn value_words(text: &str) -> Vec<Word<'_>> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else { break };
        if is_separator(first) {
            at += first.len_utf8();
            continue;
        }
        let plain = rest.find(is_separator).unwrap_or(rest.len());
        let end = match url_scheme_end(&rest[..plain]) {
            Some(from) => url_end(rest, from),
            None => plain,
        };
        push_run(&mut out, &rest[..end], at);
        at += end;
    }
    out
}

fn is_separator(c: char) -> bool {
    !c.is_ascii_alphanumeric() && (c.is_whitespace() || is_unspaced(c) || SEPARATORS.contains(c))
}

fn url_scheme_end(run: &str) -> Option<usize> {
    let at = run.find("://")?;
    run[..at].ends_with(|c: char| c.is_ascii_alphabetic()).then_some(at + 3)
}

/// A URL continues over characters that separate other words.
fn url_end(rest: &str, from: usize) -> usize {
    let stops = |c: char| c.is_whitespace() || is_unspaced(c) || "\"'`<>)]}|，。".contains(c);
    rest[from..].find(stops).map_or(rest.len(), |at| from + at)
}

/// Trims a run to its word and splits it at commas that are not inside a number.
fn push_run<'a>(out: &mut Vec<Word<'a>>, run: &'a str, start: usize) {
    if run.contains("://") {
        let text = run.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '%'));
        out.extend((!text.is_empty()).then_some(Word { text, start }));
        return;
    }
    let mut from = 0;
    for (at, _) in run.match_indices(',') {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if !(digit(run[..at].chars().next_back()) && digit(run[at + 1..].chars().next())) {
            push_word(out, &run[from..at], start + from);
            from = at + 1;
        }
    }
    push_word(out, &run[from..], start + from);
}

fn push_word<'a>(out: &mut Vec<Word<'a>>, part: &'a str, start: usize) {
    let text = part.trim_end_matches(|c: char| JOINERS.contains(c));
    let body = text.trim_start_matches(|c: char| JOINERS.contains(c));
    let lead = &text[..text.len() - body.len()];
    let prefix_len = |sign: &str| lead.ends_with(sign).then_some(sign.len());
    // A root, home, hidden file, flag or sign belongs to the word it begins.
    let prefix = prefix_len("../")
        .or_else(|| prefix_len("./"))
        .or_else(|| prefix_len("~/"))
        .or_else(|| prefix_len("/"))
        .or_else(|| (lead == ".").then_some(1))
        .or_else(|| prefix_len("--"))
        .or_else(|| (lead == "-" && body.starts_with(|c: char| c.is_ascii_digit())).then_some(1))
        .unwrap_or(0);
    let from = lead.len() - prefix;
    if !body.is_empty() {
        out.push(Word { text: &text[from..], start: start + from });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        let found = value_words(text);
        assert_eq!(found.iter().map(|w| w.text).collect::<Vec<_>>(), want);
        assert!(found.iter().all(|w| &text[w.start..w.end()] == w.text));
    }

    #[test]
    fn values_stay_whole() {
        check("It took 1,200 ms, then 7.4s.", &["It", "took", "1,200", "ms", "then", "7.4s"]);
        check("run `--no-cache` in ./src/a.rs:42!", &["run", "--no-cache", "in", "./src/a.rs:42"]);
        check("at -5 °C (or /etc/hosts)...", &["at", "-5", "°C", "or", "/etc/hosts"]);
        check("{\"path\":\"src/a.rs\"}", &["path", "src/a.rs"]);
        check("超时设为30秒，使用Redis。", &["30", "Redis"]);
    }

    #[test]
    fn addresses_keep_their_signs() {
        check("see [it](https://a.b/c?d=1&e=2).", &["see", "it", "https://a.b/c?d=1&e=2"]);
        check("http://x.y/z.", &["http://x.y/z"]);
    }
}
