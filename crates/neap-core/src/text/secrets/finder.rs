//! Finds secrets: one pass locates every detector's keywords, and detectors examine only the text near them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::rule::{SecretRule, parse_rules};
use super::scan_cost::looked_at;
use super::{FoundSecret, assignments, context, unescape};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detector {
    Rule(usize),
    Assignment,
    Context(context::ContextKind),
}

pub(super) struct SecretFinder {
    keywords: AhoCorasick,
    /// Parallel to the keywords.
    detectors: Vec<Vec<Detector>>,
    /// Its allowlist holds for all rules.
    global_rule: SecretRule,
    rules: Vec<SecretRule>,
}

static FINDER: LazyLock<SecretFinder> = LazyLock::new(SecretFinder::new);

impl SecretFinder {
    pub(super) fn get() -> &'static Self {
        &FINDER
    }

    fn new() -> Self {
        let mut gitleaks = parse_rules(include_str!("gitleaks.txt"));
        let global_rule = gitleaks.remove(0);
        // Our rules come first: where two find the same range, the first names it.
        let rules: Vec<SecretRule> = parse_rules(include_str!("ours.txt")).into_iter().chain(gitleaks).collect();
        let mut by_word: BTreeMap<&str, Vec<Detector>> = BTreeMap::new();
        for (at, rule) in rules.iter().enumerate() {
            for word in &rule.keywords {
                by_word.entry(word).or_default().push(Detector::Rule(at));
            }
        }
        for word in assignments::NAME_KEYWORDS {
            by_word.entry(word).or_default().push(Detector::Assignment);
        }
        for (word, kind) in context::CONTEXT_KEYWORDS {
            by_word.entry(word).or_default().push(Detector::Context(*kind));
        }
        let mut builder = AhoCorasick::builder();
        let builder = builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::ContiguousNFA));
        let keywords = builder.build(by_word.keys()).expect("our keywords are few");
        Self { keywords, detectors: by_word.into_values().collect(), global_rule, rules }
    }

    /// In no particular order.
    pub(super) fn find(&self, text: &str) -> Vec<FoundSecret> {
        match fold_lookalikes(text) {
            None => self.find_escaped(text),
            Some((plain, offsets)) => {
                let mut found = self.find_escaped(&plain);
                for secret in &mut found {
                    secret.range = offsets[secret.range.start]..offsets[secret.range.end];
                }
                found
            }
        }
    }

    /// Searches the text as it is, and again with escapes decoded.
    fn find_escaped(&self, text: &str) -> Vec<FoundSecret> {
        let mut found = self.find_in(text);
        if let Some(plain) = unescape::unescape(text) {
            let source_range =
                |range: Range<usize>| plain.source_offset(range.start)..plain.source_offset(range.end);
            let more = self.find_in(&plain.text).into_iter();
            found.extend(more.map(|secret| FoundSecret { range: source_range(secret.range.clone()), ..secret }));
        }
        found
    }

    fn find_in(&self, text: &str) -> Vec<FoundSecret> {
        looked_at(text.len());
        let mut parts: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
        let mut found = Vec::new();
        let mut assignment_scanner = assignments::AssignmentScanner::new(text);
        let mut context_scanner = context::ContextScanner::new(text);
        for hit in self.keywords.find_overlapping_iter(text) {
            for detector in &self.detectors[hit.pattern().as_usize()] {
                match *detector {
                    Detector::Rule(at) => {
                        let rule = &self.rules[at];
                        let bytes = &text.as_bytes()[hit.end()..];
                        if has_token_run(bytes, rule.token_run)
                            && (!rule.needs_assignment || has_assigned_value(bytes))
                        {
                            push_range(
                                parts.entry(at).or_default(),
                                search_range(text, rule.window_bytes, hit.range()),
                            );
                        }
                    }
                    Detector::Assignment => assignment_scanner.scan_at(hit.range(), &mut found),
                    Detector::Context(kind) => context_scanner.scan_at(kind, hit.range(), &mut found),
                }
            }
        }
        let mut secrets = Vec::new();
        for (at, parts) in parts {
            let rule = &self.rules[at];
            rule.find(text, &parts, &self.global_rule, &mut secrets);
            let label = mask_label(rule.id);
            let is_by_pattern = !rule.id.starts_with("generic");
            found.extend(secrets.drain(..).map(|range| FoundSecret {
                range,
                label: label.clone(),
                is_by_pattern,
            }));
        }
        found
    }
}

#[cfg(test)]
pub(super) fn keywords() -> Vec<&'static str> {
    let files = [include_str!("gitleaks.txt"), include_str!("ours.txt")];
    let of_rules = files.into_iter().flat_map(parse_rules).flat_map(|rule| rule.keywords);
    let all = of_rules
        .chain(assignments::NAME_KEYWORDS.iter().copied())
        .chain(context::CONTEXT_KEYWORDS.iter().map(|(word, _)| *word));
    all.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

fn mask_label(id: &'static str) -> Cow<'static, str> {
    if id.starts_with("generic") { Cow::Borrowed("secret") } else { Cow::Owned(id.replace('-', " ")) }
}

fn has_token_run(after: &[u8], run: usize) -> bool {
    after.len() >= run && after[..run].iter().all(|byte| super::is_word_byte(*byte) || *byte == b'.')
}

/// A cheap pre-check for rules that match assigned values: whether an operator and the beginning of a value follow
/// the keyword.
fn has_assigned_value(after: &[u8]) -> bool {
    let skip = |from: usize, max: usize, is: fn(u8) -> bool| {
        from + after[from..].iter().take(max).take_while(|byte| is(**byte)).count()
    };
    let name = skip(0, NAME_BYTES, |byte| byte.is_ascii_alphanumeric() || b" \t_.-".contains(&byte));
    let operator = skip(name, 5, |byte| byte.is_ascii_whitespace() || b"'\"\\".contains(&byte));
    let value = skip(operator, 10, |byte| byte.is_ascii_whitespace() || b"=>:|?,`'\"\\".contains(&byte));
    let has_operator = after[operator..value].iter().any(|byte| b"=>:|?,".contains(byte));
    let length =
        skip(value, VALUE_BYTES_MIN, |byte| byte.is_ascii_alphanumeric() || b"_.=+/-".contains(&byte)) - value;
    has_operator && length == VALUE_BYTES_MIN
}

/// Longest rest of a name after its keyword, and shortest value, in such rules.
const NAME_BYTES: usize = 40;
const VALUE_BYTES_MIN: usize = 8;

fn search_range(text: &str, window: Option<usize>, hit: Range<usize>) -> Range<usize> {
    match window {
        Some(window) => hit.start.saturating_sub(window)..text.len().min(hit.end + window),
        // Patterns without a window begin at their keyword, or nearly.
        None => hit.start.saturating_sub(64)..text.len(),
    }
}

/// Appends a range to ordered ranges, merging it with the last one if they touch.
fn push_range(parts: &mut Vec<Range<usize>>, part: Range<usize>) {
    match parts.last_mut() {
        Some(last) if part.start <= last.end => {
            last.start = last.start.min(part.start);
            last.end = last.end.max(part.end);
        }
        Some(_) | None => parts.push(part),
    }
}

/// Replaces the long s (U+017F) and the kelvin sign (U+212A) by the letters they match case-insensitively, and
/// maps each byte to its source offset; `None` if the text has neither.
fn fold_lookalikes(text: &str) -> Option<(String, Vec<usize>)> {
    if !text.contains(['\u{17f}', '\u{212a}']) {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut offsets = Vec::with_capacity(text.len() + 1);
    for (at, c) in text.char_indices() {
        let c = match c {
            '\u{17f}' => 's',
            '\u{212a}' => 'K',
            other => other,
        };
        plain.push(c);
        offsets.extend((0..c.len_utf8()).map(|byte| at + byte));
    }
    offsets.push(text.len());
    Some((plain, offsets))
}
