//! Pattern rules: how one finds secrets and rejects look-alikes, and the format of the rule files.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};

use super::scan_cost::looked_at;
use super::value;

/// What an allowlist pattern is matched against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AllowTarget {
    Secret,
    Match,
    Line,
}

#[derive(Debug)]
pub(super) struct LazyPattern {
    source: &'static str,
    compiled: OnceLock<Regex>,
}

impl LazyPattern {
    fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// Matches bytes and ASCII classes only: as gitleaks does, and fastest.
    pub(super) fn regex(&self) -> &Regex {
        let compile = || RegexBuilder::new(self.source).unicode(false).build();
        self.compiled.get_or_init(|| compile().unwrap_or_else(|error| panic!("{}: {error}", self.source)))
    }
}

#[derive(Debug)]
pub(super) struct SecretRule {
    pub(super) id: &'static str,
    pub(super) keywords: Vec<&'static str>,
    pub(super) pattern: LazyPattern,
    /// Bytes searched around a keyword; `None` for the whole text.
    pub(super) window_bytes: Option<usize>,
    /// Token characters that must follow the keyword at once.
    pub(super) token_run: usize,
    /// An operator and a value must follow the keyword: it is part of a name.
    pub(super) needs_assignment: bool,
    group: Option<usize>,
    entropy_min: f64,
    needs_digit: bool,
    needs_mixed: bool,
    rejects_non_secrets: bool,
    rejects_code_names: bool,
    rejects_hash_context: bool,
    context_words: Vec<&'static str>,
    allowlist: Vec<(AllowTarget, LazyPattern)>,
    stop_words: Vec<&'static str>,
    stop_matcher: OnceLock<Option<AhoCorasick>>,
}

/// Default `window_bytes`.
const WINDOW_BYTES: usize = 512;
/// Longest rejected match that is searched for others inside.
const RESCAN_BYTES_MAX: usize = 256;
/// How much of a line is read before and after a match.
const LINE_BYTES: usize = 256;

impl SecretRule {
    fn new(id: &'static str) -> Self {
        Self {
            id,
            keywords: Vec::new(),
            pattern: LazyPattern::new(""),
            window_bytes: Some(WINDOW_BYTES),
            token_run: 0,
            needs_assignment: false,
            group: None,
            entropy_min: 0.0,
            needs_digit: false,
            needs_mixed: false,
            rejects_non_secrets: false,
            rejects_code_names: false,
            rejects_hash_context: false,
            context_words: Vec::new(),
            allowlist: Vec::new(),
            stop_words: Vec::new(),
            stop_matcher: OnceLock::new(),
        }
    }

    pub(super) fn find(
        &self,
        text: &str,
        parts: &[Range<usize>],
        global_rule: &SecretRule,
        out: &mut Vec<Range<usize>>,
    ) {
        let (regex, bytes) = (self.pattern.regex(), text.as_bytes());
        // No byte is searched twice for two parts.
        let (mut done, mut searched) = (0, 0);
        for part in parts.iter().filter(|part| !part.is_empty()) {
            if part.end <= searched {
                continue;
            }
            let (mut at, mut end) = (part.start.max(done), part.end);
            while let Some(captures) = regex.captures_at(&bytes[..end], at) {
                let Some(whole) = captures.get(0).map(|whole| whole.range()) else { break };
                looked_at(whole.end - at);
                // A match at the edge may continue behind it.
                if whole.end == end && end < bytes.len() {
                    end = bytes.len().min(end + whole.len().max(LINE_BYTES) * 2);
                    continue;
                }
                let group = match self.group {
                    Some(group) => captures.get(group),
                    None => captures.iter().skip(1).flatten().find(|group| !group.is_empty()),
                };
                let secret = group.map_or(whole.clone(), |group| group.range());
                let secret = text.ceil_char_boundary(secret.start)..text.floor_char_boundary(secret.end);
                if !secret.is_empty() && self.is_secret(text, &whole, &secret, global_rule) {
                    // The text that ended this match may begin the next.
                    at = secret.end.max(whole.start + 1);
                    out.push(secret);
                } else if whole.len() > RESCAN_BYTES_MAX {
                    // A part of a rejected long match is no secret either; trying each would be quadratic.
                    at = (whole.end - 1).max(at + 1);
                } else {
                    // Another may begin inside the rejected match.
                    at = whole.start.max(at) + 1;
                }
                if at >= end {
                    break;
                }
            }
            looked_at(end.saturating_sub(at));
            (done, searched) = (at, end);
        }
    }

    fn is_secret(
        &self,
        text: &str,
        whole: &Range<usize>,
        secret: &Range<usize>,
        global_rule: &SecretRule,
    ) -> bool {
        let value = &text[secret.clone()];
        looked_at(whole.len());
        (self.entropy_min == 0.0 || value::entropy(value) > self.entropy_min)
            && (!self.needs_digit || value.bytes().any(|byte| byte.is_ascii_digit()))
            && (!self.needs_mixed || value::is_mixed(value))
            && (!self.rejects_non_secrets || !value::is_non_secret(value))
            && !(self.rejects_code_names && value::is_code_name(value))
            && !(self.rejects_hash_context && value::is_hash_context(&text[text.ceil_char_boundary(whole.start)..secret.start]))
            && !value::is_repeated_char(value)
            && (self.context_words.is_empty() || self.has_context_word(text, whole.start))
            && !self.is_allowlisted(text, whole, secret)
            // Placeholders are short: a long text may contain an alphabet, or the word `false`, by chance.
            && (secret.len() > RESCAN_BYTES_MAX || !global_rule.is_allowlisted(text, whole, secret))
    }

    /// Whether a context word precedes a position, in its line.
    fn has_context_word(&self, text: &str, at: usize) -> bool {
        let line = &text[line_start(text, at)..text.floor_char_boundary(at)];
        let line = line.to_ascii_lowercase();
        self.context_words.iter().any(|word| value::has_word(&line, word))
    }

    fn is_allowlisted(&self, text: &str, whole: &Range<usize>, secret: &Range<usize>) -> bool {
        let bytes = text.as_bytes();
        let is_allowed = |(target, pattern): &(AllowTarget, LazyPattern)| {
            let haystack = match target {
                AllowTarget::Secret => &bytes[secret.clone()],
                // Include the name that the pattern begins inside of.
                AllowTarget::Match => &bytes[name_start(bytes, whole.start)..whole.end],
                AllowTarget::Line => &bytes[line_start(text, whole.start)..line_end(bytes, whole.end)],
            };
            pattern.regex().is_match(haystack)
        };
        self.allowlist.iter().any(is_allowed) || self.has_stop_word(&text[secret.clone()])
    }

    fn has_stop_word(&self, value: &str) -> bool {
        let build = || {
            let mut builder = AhoCorasick::builder();
            (!self.stop_words.is_empty())
                .then(|| builder.ascii_case_insensitive(true).build(&self.stop_words).ok())
                .flatten()
        };
        self.stop_matcher.get_or_init(build).as_ref().is_some_and(|words| words.is_match(value))
    }
}

fn name_start(bytes: &[u8], from: usize) -> usize {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    from - bytes[..from].iter().rev().take(50).take_while(is_name).count()
}

fn line_start(text: &str, from: usize) -> usize {
    let before = &text.as_bytes()[..from];
    let start = before.iter().rev().take(LINE_BYTES).take_while(|byte| **byte != b'\n').count();
    text.ceil_char_boundary(from - start)
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..].iter().take(LINE_BYTES).take_while(|byte| **byte != b'\n').count()
}

/// Parses a rule file: `[id]` begins a rule, then each line is a keyword and its value. A first rule `[*]` holds
/// for all others.
pub(super) fn parse_rules(text: &'static str) -> Vec<SecretRule> {
    let mut rules: Vec<SecretRule> = Vec::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(id) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            rules.push(SecretRule::new(id));
            continue;
        }
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        let Some(rule) = rules.last_mut() else { continue };
        match key {
            "keyword" => rule.keywords.push(value),
            "form" => rule.pattern = LazyPattern::new(value),
            "reach" => rule.window_bytes = value.parse().ok(),
            "run" => rule.token_run = value.parse().unwrap_or(0),
            "given" => rule.needs_assignment = true,
            "group" => rule.group = value.parse().ok(),
            "entropy" => rule.entropy_min = value.parse().unwrap_or(0.0),
            "digit" => rule.needs_digit = true,
            "mixed" => rule.needs_mixed = true,
            "stand-in" => rule.rejects_non_secrets = true,
            "no-name" => rule.rejects_code_names = true,
            "no-hash" => rule.rejects_hash_context = true,
            "near" => rule.context_words.extend(value.split(' ')),
            "allow" => rule.allowlist.push((AllowTarget::Secret, LazyPattern::new(value))),
            "allow-match" => rule.allowlist.push((AllowTarget::Match, LazyPattern::new(value))),
            "allow-line" => rule.allowlist.push((AllowTarget::Line, LazyPattern::new(value))),
            "stop" => rule.stop_words.extend(value.split(' ').filter(|word| !word.is_empty())),
            _ => panic!("a rule that cannot be read: {line}"),
        }
    }
    rules
}
