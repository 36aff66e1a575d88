//! One pass over a text finds the keywords of every rule; only where one stands is anything looked at more closely.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::rule::{Rule, read};
use super::work::looked_at;
use super::{Found, around, escaped, named};

/// Who wants to know where a keyword is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Rule(usize),
    Named,
    Around(around::Kind),
}

/// All that finds secrets.
pub(super) struct Finder {
    keywords: AhoCorasick,
    /// Who asks for each of them.
    asks: Vec<Vec<Asks>>,
    /// What holds for all rules.
    everywhere: Rule,
    rules: Vec<Rule>,
}

static FINDER: LazyLock<Finder> = LazyLock::new(Finder::new);

impl Finder {
    /// Made when it is first asked for.
    pub(super) fn get() -> &'static Self {
        &FINDER
    }

    fn new() -> Self {
        let mut theirs = read(include_str!("gitleaks.txt"));
        let everywhere = theirs.remove(0);
        // Ours first: where both find the same, the wider one names it.
        let rules: Vec<Rule> = read(include_str!("ours.txt")).into_iter().chain(theirs).collect();
        let mut by_word: BTreeMap<&str, Vec<Asks>> = BTreeMap::new();
        for (at, rule) in rules.iter().enumerate() {
            for word in &rule.keywords {
                by_word.entry(word).or_default().push(Asks::Rule(at));
            }
        }
        for word in named::WORDS {
            by_word.entry(word).or_default().push(Asks::Named);
        }
        for (word, kind) in around::WORDS {
            by_word.entry(word).or_default().push(Asks::Around(*kind));
        }
        let mut builder = AhoCorasick::builder();
        let builder = builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::ContiguousNFA));
        let keywords = builder.build(by_word.keys()).expect("our keywords are few");
        Self { keywords, asks: by_word.into_values().collect(), everywhere, rules }
    }

    /// The secrets of a text, in no order.
    pub(super) fn find(&self, text: &str) -> Vec<Found> {
        match folded(text) {
            None => self.find_escaped(text),
            Some((plain, places)) => {
                let mut found = self.find_escaped(&plain);
                for one in &mut found {
                    one.range = places[one.range.start]..places[one.range.end];
                }
                found
            }
        }
    }

    /// What is secret as it stands, and what is once escapes are read.
    fn find_escaped(&self, text: &str) -> Vec<Found> {
        let mut found = self.find_in(text);
        if let Some(plain) = escaped::plain(text) {
            let place = |range: Range<usize>| plain.place(range.start)..plain.place(range.end);
            let more = self.find_in(&plain.text).into_iter();
            found.extend(more.map(|one| Found { range: place(one.range.clone()), ..one }));
        }
        found
    }

    fn find_in(&self, text: &str) -> Vec<Found> {
        looked_at(text.len());
        let mut parts: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
        let mut found = Vec::new();
        let mut names = named::Names::new(text);
        let mut places = around::Places::new(text);
        for hit in self.keywords.find_overlapping_iter(text) {
            for asks in &self.asks[hit.pattern().as_usize()] {
                match *asks {
                    Asks::Rule(at) => {
                        let rule = &self.rules[at];
                        let bytes = &text.as_bytes()[hit.end()..];
                        if runs_on(bytes, rule.run) && (!rule.is_given || is_given(bytes)) {
                            widen(parts.entry(at).or_default(), around_hit(text, rule.reach, hit.range()));
                        }
                    }
                    Asks::Named => names.look(hit.range(), &mut found),
                    Asks::Around(kind) => places.look(kind, hit.range(), &mut found),
                }
            }
        }
        let mut secrets = Vec::new();
        for (at, parts) in parts {
            let rule = &self.rules[at];
            rule.find(text, &parts, &self.everywhere, &mut secrets);
            let label = label(rule.id);
            let is_by_form = !rule.id.starts_with("generic");
            found.extend(secrets.drain(..).map(|range| Found { range, label: label.clone(), is_by_form }));
        }
        found
    }
}

/// All that is looked for.
#[cfg(test)]
pub(super) fn keywords() -> Vec<&'static str> {
    let files = [include_str!("gitleaks.txt"), include_str!("ours.txt")];
    let of_rules = files.into_iter().flat_map(read).flat_map(|rule| rule.keywords);
    let all = of_rules.chain(named::WORDS.iter().copied()).chain(around::WORDS.iter().map(|(word, _)| *word));
    all.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

/// How the rule's name reads in a mask.
fn label(id: &'static str) -> Cow<'static, str> {
    if id.starts_with("generic") { Cow::Borrowed("secret") } else { Cow::Owned(id.replace('-', " ")) }
}

/// Whether so many characters of a token follow at once.
fn runs_on(after: &[u8], run: usize) -> bool {
    after.len() >= run && after[..run].iter().all(|byte| super::is_word(*byte) || *byte == b'.')
}

/// Whether a value follows that is given to the name a keyword is in: the beginning of what forms of that kind ask for, at a
/// small part of the cost.
fn is_given(after: &[u8]) -> bool {
    let skip = |from: usize, most: usize, is: fn(u8) -> bool| {
        from + after[from..].iter().take(most).take_while(|byte| is(**byte)).count()
    };
    let name = skip(0, NAME_BYTES, |byte| byte.is_ascii_alphanumeric() || b" \t_.-".contains(&byte));
    let sign = skip(name, 5, |byte| byte.is_ascii_whitespace() || b"'\"\\".contains(&byte));
    let value = skip(sign, 10, |byte| byte.is_ascii_whitespace() || b"=>:|?,`'\"\\".contains(&byte));
    let is_signed = after[sign..value].iter().any(|byte| b"=>:|?,".contains(byte));
    let length =
        skip(value, VALUE_BYTES_MIN, |byte| byte.is_ascii_alphanumeric() || b"_.=+/-".contains(&byte)) - value;
    is_signed && length == VALUE_BYTES_MIN
}

/// Longest rest of a name after its keyword, and shortest value, of forms that are given to a name.
const NAME_BYTES: usize = 40;
const VALUE_BYTES_MIN: usize = 8;

fn around_hit(text: &str, reach: Option<usize>, hit: Range<usize>) -> Range<usize> {
    match reach {
        Some(reach) => hit.start.saturating_sub(reach)..text.len().min(hit.end + reach),
        // Forms that reach to the end of a text begin with their keyword, or nearly.
        None => hit.start.saturating_sub(64)..text.len(),
    }
}

/// Adds a part to parts that are in order.
fn widen(parts: &mut Vec<Range<usize>>, part: Range<usize>) {
    match parts.last_mut() {
        Some(last) if part.start <= last.end => {
            last.start = last.start.min(part.start);
            last.end = last.end.max(part.end);
        }
        Some(_) | None => parts.push(part),
    }
}

/// The text with a long s and the sign of the kelvin as the letters that they are, and where each byte of it was; none if
/// it has neither.
fn folded(text: &str) -> Option<(String, Vec<usize>)> {
    if !text.contains(['\u{17f}', '\u{212a}']) {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(text.len() + 1);
    for (at, c) in text.char_indices() {
        let c = match c {
            '\u{17f}' => 's',
            '\u{212a}' => 'K',
            other => other,
        };
        plain.push(c);
        places.extend((0..c.len_utf8()).map(|byte| at + byte));
    }
    places.push(text.len());
    Some((plain, places))
}
