//! A rule: a form, what tells a secret of that form from what only looks like one, and the files that rules are kept in.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};

use super::value;
use super::work::looked_at;

/// What a match of a form may not be, and where that is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Secret,
    Match,
    Line,
}

/// A regular expression that is compiled when it is first needed.
#[derive(Debug)]
pub(super) struct Form {
    text: &'static str,
    compiled: OnceLock<Regex>,
}

impl Form {
    fn new(text: &'static str) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    /// Bytes, and letters of ASCII alone: as the rules' own scanner has it, and as it is fastest.
    pub(super) fn regex(&self) -> &Regex {
        let compile = || RegexBuilder::new(self.text).unicode(false).build();
        self.compiled.get_or_init(|| compile().unwrap_or_else(|error| panic!("{}: {error}", self.text)))
    }
}

/// One rule.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) id: &'static str,
    pub(super) keywords: Vec<&'static str>,
    pub(super) form: Form,
    /// How many bytes around a keyword are looked at; none for all of the text.
    pub(super) reach: Option<usize>,
    /// So many characters of a token follow the keyword at once.
    pub(super) run: usize,
    /// A sign and a value follow the keyword: it is part of a name.
    pub(super) is_given: bool,
    group: Option<usize>,
    entropy: f64,
    needs_digit: bool,
    is_mixed: bool,
    no_stand_in: bool,
    no_name: bool,
    no_hash: bool,
    near: Vec<&'static str>,
    allowed: Vec<(Target, Form)>,
    stop: Vec<&'static str>,
    stop_words: OnceLock<Option<AhoCorasick>>,
}

/// How far a form of ours reaches, unless it says so.
const REACH: usize = 512;
/// Longest match that others are looked for inside of where it is no secret, in bytes.
const LONG: usize = 256;
/// How much of a line is looked at, before and after a match.
const LINE_BYTES: usize = 256;

impl Rule {
    fn new(id: &'static str) -> Self {
        Self {
            id,
            keywords: Vec::new(),
            form: Form::new(""),
            reach: Some(REACH),
            run: 0,
            is_given: false,
            group: None,
            entropy: 0.0,
            needs_digit: false,
            is_mixed: false,
            no_stand_in: false,
            no_name: false,
            no_hash: false,
            near: Vec::new(),
            allowed: Vec::new(),
            stop: Vec::new(),
            stop_words: OnceLock::new(),
        }
    }

    /// The secrets in some parts of a text.
    pub(super) fn find(&self, text: &str, parts: &[Range<usize>], everywhere: &Rule, out: &mut Vec<Range<usize>>) {
        let (regex, bytes) = (self.form.regex(), text.as_bytes());
        // What was looked through for one part is not looked through again for the next.
        let (mut done, mut searched) = (0, 0);
        for part in parts.iter().filter(|part| !part.is_empty()) {
            if part.end <= searched {
                continue;
            }
            let (mut at, mut end) = (part.start.max(done), part.end);
            while let Some(captures) = regex.captures_at(&bytes[..end], at) {
                let Some(whole) = captures.get(0).map(|whole| whole.range()) else { break };
                looked_at(whole.end - at);
                // What touches the edge may go on behind it.
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
                if !secret.is_empty() && self.is_secret(text, &whole, &secret, everywhere) {
                    // What ended this one may begin the next.
                    at = secret.end.max(whole.start + 1);
                    out.push(secret);
                } else if whole.len() > LONG {
                    // Where all of it is none, a part is none either; to try each would take the square of its length.
                    at = (whole.end - 1).max(at + 1);
                } else {
                    // Another may begin inside what was none.
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

    fn is_secret(&self, text: &str, whole: &Range<usize>, secret: &Range<usize>, everywhere: &Rule) -> bool {
        let value = &text[secret.clone()];
        looked_at(whole.len());
        (self.entropy == 0.0 || value::entropy(value) > self.entropy)
            && (!self.needs_digit || value.bytes().any(|byte| byte.is_ascii_digit()))
            && (!self.is_mixed || value::is_mixed(value))
            && (!self.no_stand_in || !value::is_stand_in(value))
            && !(self.no_name && value::is_name(value))
            && !(self.no_hash && value::is_hash_talk(&text[text.ceil_char_boundary(whole.start)..secret.start]))
            && !value::is_row(value)
            && (self.near.is_empty() || self.is_near(text, whole.start))
            && !self.allows(text, whole, secret)
            // Placeholders are short: a long text may hold an alphabet, or the word `false`, by chance.
            && (secret.len() > LONG || !everywhere.allows(text, whole, secret))
    }

    /// Whether one of the words stands before a place, in its line.
    fn is_near(&self, text: &str, place: usize) -> bool {
        let line = &text[line_start(text, place)..text.floor_char_boundary(place)];
        let line = line.to_ascii_lowercase();
        self.near.iter().any(|word| value::has_word(&line, word))
    }

    fn allows(&self, text: &str, whole: &Range<usize>, secret: &Range<usize>) -> bool {
        let bytes = text.as_bytes();
        let is_allowed = |(target, form): &(Target, Form)| {
            let looked_at = match target {
                Target::Secret => &bytes[secret.clone()],
                // With the name that the form begins in the middle of.
                Target::Match => &bytes[name_start(bytes, whole.start)..whole.end],
                Target::Line => &bytes[line_start(text, whole.start)..line_end(bytes, whole.end)],
            };
            form.regex().is_match(looked_at)
        };
        self.allowed.iter().any(is_allowed) || self.has_stop_word(&text[secret.clone()])
    }

    fn has_stop_word(&self, value: &str) -> bool {
        let build = || {
            let mut builder = AhoCorasick::builder();
            (!self.stop.is_empty()).then(|| builder.ascii_case_insensitive(true).build(&self.stop).ok()).flatten()
        };
        self.stop_words.get_or_init(build).as_ref().is_some_and(|words| words.is_match(value))
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

/// Reads rules: `[id]` begins one, then a word and what it says on each line. The first of a file may be `[*]`, which holds
/// for all of them.
pub(super) fn read(text: &'static str) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(id) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            rules.push(Rule::new(id));
            continue;
        }
        let (word, what) = line.split_once(' ').unwrap_or((line, ""));
        let Some(rule) = rules.last_mut() else { continue };
        match word {
            "keyword" => rule.keywords.push(what),
            "form" => rule.form = Form::new(what),
            "reach" => rule.reach = what.parse().ok(),
            "run" => rule.run = what.parse().unwrap_or(0),
            "given" => rule.is_given = true,
            "group" => rule.group = what.parse().ok(),
            "entropy" => rule.entropy = what.parse().unwrap_or(0.0),
            "digit" => rule.needs_digit = true,
            "mixed" => rule.is_mixed = true,
            "stand-in" => rule.no_stand_in = true,
            "no-name" => rule.no_name = true,
            "no-hash" => rule.no_hash = true,
            "near" => rule.near.extend(what.split(' ')),
            "allow" => rule.allowed.push((Target::Secret, Form::new(what))),
            "allow-match" => rule.allowed.push((Target::Match, Form::new(what))),
            "allow-line" => rule.allowed.push((Target::Line, Form::new(what))),
            "stop" => rule.stop.extend(what.split(' ').filter(|word| !word.is_empty())),
            _ => panic!("a rule that cannot be read: {line}"),
        }
    }
    rules
}
