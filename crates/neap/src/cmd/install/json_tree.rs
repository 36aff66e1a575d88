//! Where the parts of a JSON text lie: of JSON itself, of JSON with comments, and of JSON5 as agents write it.

use std::ops::Range;

use serde_json::{Map, Value};

/// Deeper nesting is refused, so that no text exhausts the stack.
const DEPTH_MAX: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Strict,
    Comments,
    /// With comments and commas after the last member.
    CommentsAndCommas,
    /// Also names without quotes and texts in single quotes.
    Json5,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) range: Range<usize>,
    pub(super) kind: NodeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NodeKind {
    Object(Vec<Member>),
    Array(Vec<Member>),
    Scalar,
}

/// A member of an object or an item of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// `None` for an item.
    pub(super) key: Option<String>,
    /// Where the key begins, or the item.
    pub(super) start: usize,
    pub(super) value: Node,
    /// Where the comma after it is.
    pub(super) comma: Option<usize>,
}

impl Node {
    pub(super) fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            NodeKind::Object(members) | NodeKind::Array(members) => Some(members),
            NodeKind::Scalar => None,
        }
    }

    /// Of duplicate keys the last counts, as in most parsers.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let NodeKind::Object(members) = &self.kind else { return None };
        members.iter().rfind(|member| member.key.as_deref() == Some(key)).map(|member| &member.value)
    }

    pub(super) fn value(&self, text: &str) -> Value {
        match &self.kind {
            NodeKind::Object(members) => {
                let pair = |member: &Member| Some((member.key.clone()?, member.value.value(text)));
                Value::Object(members.iter().filter_map(pair).collect::<Map<_, _>>())
            }
            NodeKind::Array(items) => Value::Array(items.iter().map(|item| item.value.value(text)).collect()),
            NodeKind::Scalar => scalar_value(&text[self.range.clone()]),
        }
    }
}

fn scalar_value(raw: &str) -> Value {
    let unquoted = || raw.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(raw);
    serde_json::from_str(raw).unwrap_or_else(|_| Value::from(unquoted()))
}

/// Where the value of a text is; the error names the line.
pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Node, String> {
    let mut parser = Parser { text, at: text.len() - without_mark(text).len(), dialect };
    let root = parser.value(0)?;
    parser.skip_space()?;
    if parser.at < text.len() { Err(parser.problem("something follows the value")) } else { Ok(root) }
}

/// A text without the byte order mark that some editors put first.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The end of the last comment that begins at or after `at` and before `end`, where only space and comments are; on
/// the same line, if so asked.
pub(super) fn comments_end(text: &str, at: usize, end: usize, same_line: bool) -> Option<usize> {
    let mut parser = Parser { text: &text[..end], at, dialect: Dialect::Comments };
    let mut last = None;
    loop {
        let is_gap = |c: char| if same_line { matches!(c, ' ' | '\t') } else { c.is_whitespace() };
        parser.at += parser.rest().len() - parser.rest().trim_start_matches(is_gap).len();
        match parser.skip_comment() {
            Ok(true) => last = Some(parser.at),
            Ok(false) | Err(_) => return last,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    dialect: Dialect,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn problem(&self, what: &str) -> String {
        let line = self.text[..self.at].matches('\n').count() + 1;
        format!("{what} (line {line})")
    }

    fn skip_space(&mut self) -> Result<(), String> {
        loop {
            self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\r', '\n']).len();
            if self.dialect == Dialect::Strict || !self.skip_comment()? {
                return Ok(());
            }
        }
    }

    /// Ends before the line's end, which belongs to no comment.
    fn skip_comment(&mut self) -> Result<bool, String> {
        if self.rest().starts_with("//") {
            let line = self.rest().split('\n').next().unwrap_or_default();
            self.at += line.strip_suffix('\r').unwrap_or(line).len();
            return Ok(true);
        }
        if self.rest().starts_with("/*") {
            let end = self.rest().find("*/").ok_or_else(|| self.problem("a comment has no end"))?;
            self.at += end + 2;
            return Ok(true);
        }
        Ok(false)
    }

    fn value(&mut self, depth: usize) -> Result<Node, String> {
        self.skip_space()?;
        if depth > DEPTH_MAX {
            return Err(self.problem("it is nested too deep"));
        }
        let start = self.at;
        let kind = match self.rest().bytes().next() {
            None => return Err(self.problem("a value is missing")),
            Some(b'{') => NodeKind::Object(self.members(b'}', depth)?),
            Some(b'[') => NodeKind::Array(self.members(b']', depth)?),
            Some(b'"' | b'\'') => {
                self.quoted()?;
                NodeKind::Scalar
            }
            Some(_) => {
                self.word()?;
                NodeKind::Scalar
            }
        };
        let range = start..self.at;
        let is_json = matches!(kind, NodeKind::Scalar)
            && self.dialect != Dialect::Json5
            && serde_json::from_str::<Value>(&self.text[range.clone()]).is_err();
        if is_json {
            self.at = start;
            return Err(self.problem("a value is not JSON"));
        }
        Ok(Node { range, kind })
    }

    fn members(&mut self, close: u8, depth: usize) -> Result<Vec<Member>, String> {
        self.at += 1;
        let mut members: Vec<Member> = Vec::new();
        loop {
            self.skip_space()?;
            let needs_comma = members.last().is_some_and(|last| last.comma.is_none());
            match self.rest().bytes().next() {
                Some(byte) if byte == close => {
                    let has_last_comma = !needs_comma && !members.is_empty();
                    if has_last_comma && matches!(self.dialect, Dialect::Strict | Dialect::Comments) {
                        return Err(self.problem("a comma has nothing after it"));
                    }
                    self.at += 1;
                    return Ok(members);
                }
                Some(b',') if needs_comma => {
                    let comma = Some(self.at);
                    self.at += 1;
                    if let Some(last) = members.last_mut() {
                        last.comma = comma;
                    }
                }
                Some(_) if needs_comma => return Err(self.problem("a comma is missing")),
                Some(_) => members.push(self.member(close, depth)?),
                None => return Err(self.problem("a bracket is not closed")),
            }
        }
    }

    fn member(&mut self, close: u8, depth: usize) -> Result<Member, String> {
        let start = self.at;
        let key = if close == b'}' { Some(self.key()?) } else { None };
        Ok(Member { key, start, value: self.value(depth + 1)?, comma: None })
    }

    fn key(&mut self) -> Result<String, String> {
        let start = self.at;
        match self.rest().bytes().next() {
            Some(b'"' | b'\'') => self.quoted()?,
            Some(_) if self.dialect == Dialect::Json5 => self.word()?,
            Some(_) | None => return Err(self.problem("a name in quotes is missing")),
        }
        let key = scalar_value(&self.text[start..self.at]);
        let key = key.as_str().map_or_else(|| self.text[start..self.at].to_owned(), str::to_owned);
        self.skip_space()?;
        if !self.rest().starts_with(':') {
            return Err(self.problem("a colon is missing"));
        }
        self.at += 1;
        Ok(key)
    }

    fn quoted(&mut self) -> Result<(), String> {
        let quote = self.rest().as_bytes()[0];
        if quote == b'\'' && self.dialect != Dialect::Json5 {
            return Err(self.problem("a text is in single quotes"));
        }
        let bytes = self.rest().as_bytes();
        let mut end = 1;
        while end < bytes.len() && bytes[end] != quote {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if end >= bytes.len() {
            return Err(self.problem("a text has no closing quote"));
        }
        self.at += end + 1;
        Ok(())
    }

    fn word(&mut self) -> Result<(), String> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '+' | '-' | '.');
        let length = self.rest().len() - self.rest().trim_start_matches(is_part).len();
        if length == 0 {
            return Err(self.problem("a value is missing"));
        }
        self.at += length;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn value(text: &str, dialect: Dialect) -> Value {
        parse(text, dialect).unwrap_or_else(|error| panic!("{text}: {error}")).value(text)
    }

    #[test]
    fn each_dialect_is_read_as_its_agents_read_it() {
        let strict = "\u{feff}{\"a\": [1, 2.50, \"x\\\"}\"], \"b\": {\"c\": null}}\r\n";
        for dialect in [Dialect::Strict, Dialect::Comments, Dialect::Json5] {
            assert_eq!(value(strict, dialect), json!({"a": [1, 2.50, "x\"}"], "b": {"c": null}}));
        }
        let commented = "// first\n{\"a\": 1, /* b */ \"b\": [1, 2,], // last\n}\n// end";
        for dialect in [Dialect::CommentsAndCommas, Dialect::Json5] {
            assert_eq!(value(commented, dialect), json!({"a": 1, "b": [1, 2]}));
        }
        let loose = "{a: 'it', $b: +1, 'c d': [Infinity], \"e\": .5,}";
        assert_eq!(value(loose, Dialect::Json5)["c d"], json!(["Infinity"]));
        assert_eq!(value("{\"a\": 1, \"a\": 2}", Dialect::Strict), json!({"a": 2}));
    }

    #[test]
    fn what_a_dialect_does_not_have_is_refused_with_its_line() {
        for (text, dialect, words) in [
            ("{\n// mine\n}", Dialect::Strict, "line 2"),
            ("{\"a\": 1,}", Dialect::Strict, "comma"),
            ("{\"a\": 1, /* b */}", Dialect::Comments, "comma"),
            ("{a: 1}", Dialect::Comments, "quotes"),
            ("{\"a\": 'b'}", Dialect::Comments, "single quotes"),
            ("{\"a\": yes}", Dialect::Comments, "not JSON"),
            ("{\"a\" 1}", Dialect::Json5, "colon"),
            ("{\"a\": 1 \"b\": 2}", Dialect::Json5, "comma is missing"),
            ("{\"a\": [1, 2}", Dialect::Json5, "missing"),
            ("{} {}", Dialect::Json5, "follows"),
            ("{\"a\": \"b", Dialect::Json5, "closing quote"),
            ("{\"a\\", Dialect::Json5, "closing quote"),
            ("/* no end", Dialect::Comments, "no end"),
            ("{,}", Dialect::Comments, "quotes"),
            ("", Dialect::Json5, "missing"),
        ] {
            let error = parse(text, dialect).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(parse(&"[".repeat(100_000), Dialect::Strict).is_err());
    }

    #[test]
    fn strict_json_is_what_the_other_parser_says_it_is() {
        for text in [
            "{}", "[]", "{\"a\":tru}", "[01]", "[1.]", "[\"\t\"]", "[\"\\x\"]", "{\"a\":1,}", "nul", "[,1]",
            "[1,,2]",
        ] {
            let expected = serde_json::from_str::<Value>(text).is_ok();
            assert_eq!(parse(text, Dialect::Strict).is_ok(), expected, "{text}");
        }
    }
}
