//! Edits JSON text in place: inserted values get lines of their own, all other bytes stay unchanged.

use serde_json::Value;

use super::json_tree::{Dialect, Member, Node, NodeKind, comments_end, parse};

/// Used where the file has no indentation.
const DEFAULT_INDENT: &str = "  ";

/// A text and where its parts are.
#[derive(Debug, Clone)]
pub(super) struct JsonText {
    text: String,
    dialect: Dialect,
    root: Node,
}

impl JsonText {
    pub(super) fn new(text: String, dialect: Dialect) -> Result<Self, String> {
        let root = parse(&text, dialect)?;
        Ok(Self { text, dialect, root })
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self.root.kind, NodeKind::Object(_))
    }

    pub(super) fn value(&self) -> Value {
        self.root.value(&self.text)
    }

    fn find(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(&self.root, |node, key| node.get(key))
    }

    pub(super) fn value_at(&self, path: &[&str]) -> Option<Value> {
        Some(self.find(path)?.value(&self.text))
    }

    /// The text of an object or list, and whether only space is in it.
    pub(super) fn container(&self, path: &[&str]) -> Option<(&str, bool)> {
        let node = self.find(path)?;
        node.members()?;
        let inner = &self.text[node.range.start + 1..node.range.end - 1];
        Some((&self.text[node.range.clone()], inner.trim().is_empty()))
    }

    /// True if something was there.
    pub(super) fn replace(&mut self, path: &[&str], with: &str) -> bool {
        let range = self.find(path).map(|node| node.range.clone());
        range.is_some_and(|range| self.splice(range.start, range.end, with))
    }

    /// Sets the value at a path of keys, creating missing objects. False if something on the path is not an object.
    pub(super) fn set(&mut self, path: &[&str], value: &Value) -> bool {
        let Some((key, parents)) = path.split_last() else { return false };
        let mut node = &self.root;
        for (depth, step) in parents.iter().enumerate() {
            match node.get(step) {
                Some(found) => node = found,
                None => {
                    let nested = path[depth + 1..].iter().rev().fold(value.clone(), |inner, key| {
                        Value::Object([((*key).to_owned(), inner)].into_iter().collect())
                    });
                    return self.insert(node.clone(), Some(step), &nested, depth + 1);
                }
            }
        }
        match node.get(key).map(|found| found.range.clone()) {
            Some(range) => {
                let text = self.pretty(value, &self.indent_unit().repeat(path.len()));
                self.splice(range.start, range.end, &text)
            }
            None => self.insert(node.clone(), Some(key), value, path.len()),
        }
    }

    /// Appends an item to the array at a path, creating what is missing. False if another value is there.
    pub(super) fn push(&mut self, path: &[&str], value: &Value) -> bool {
        match self.find(path).cloned() {
            Some(node) => self.insert(node, None, value, path.len() + 1),
            None => self.set(path, &Value::Array(vec![value.clone()])),
        }
    }

    /// True if it was there.
    pub(super) fn remove(&mut self, path: &[&str]) -> bool {
        let Some((key, parents)) = path.split_last() else { return false };
        self.remove_where(parents, |member, _| member.key.as_deref() == Some(key))
    }

    pub(super) fn remove_items(&mut self, path: &[&str], is_removed: impl Fn(&Value) -> bool) -> bool {
        self.remove_where(path, |member, text| member.key.is_none() && is_removed(&member.value.value(text)))
    }

    fn remove_where(&mut self, path: &[&str], is_removed: impl Fn(&Member, &str) -> bool) -> bool {
        let mut any = false;
        while let Some(container) = self.find(path).cloned() {
            let members = container.members().unwrap_or_default();
            let Some(at) = members.iter().rposition(|member| is_removed(member, &self.text)) else { break };
            if !self.remove_member(&container, members, at) {
                break;
            }
            any = true;
        }
        any
    }

    fn remove_member(&mut self, container: &Node, members: &[Member], at: usize) -> bool {
        let (first, last) = (container.range.start + 1, container.range.end - 1);
        let member = &members[at];
        let line = line_start(&self.text, member.start).max(first);
        let end = member.comma.map_or(member.value.range.end, |comma| comma + 1);
        let before_comma = at.checked_sub(1).and_then(|before| members[before].comma);
        if members.len() == 1 && comments_end(&self.text, first, member.start, false).is_none() {
            let rest = comments_end(&self.text, end, last, false).map_or(last, |_| end);
            return self.splice(first, rest, "");
        }
        match before_comma {
            // It was the last: the comma before it has nothing to part any more.
            Some(comma) if member.comma.is_none() => {
                let between = self.text[comma + 1..line].to_owned();
                self.splice(comma, end, &between)
            }
            None if member.comma.is_some() && !self.text[line..member.start].contains('\n') => {
                let gap = &self.text[end..last];
                let next = end + gap.len() - gap.trim_start_matches([' ', '\t']).len();
                self.splice(member.start, next, "")
            }
            Some(_) | None => self.splice(line, end, ""),
        }
    }

    fn insert(&mut self, container: Node, key: Option<&str>, value: &Value, depth: usize) -> bool {
        let members = match (&container.kind, key) {
            (NodeKind::Object(members), Some(_)) | (NodeKind::Array(members), None) => members,
            _ => return false,
        };
        let (first, last) = (container.range.start + 1, container.range.end - 1);
        let unit = self.indent_unit();
        let line = self.newline();
        let indent = members.last().and_then(|last| self.own_indent(last.start)).unwrap_or(unit.repeat(depth));
        let key = key.map_or_else(String::new, |key| format!("{}: ", Value::from(key)));
        let member = format!("{key}{}", self.pretty(value, &indent));
        match members.last() {
            None => match comments_end(&self.text, first, last, false) {
                Some(at) => self.splice(at, at, &format!("{line}{indent}{member}")),
                None => {
                    let end = unit.repeat(depth.saturating_sub(1));
                    self.splice(first, last, &format!("{line}{indent}{member}{line}{end}"))
                }
            },
            Some(Member { comma: Some(comma), .. }) => {
                let at = comments_end(&self.text, comma + 1, last, true).unwrap_or(comma + 1);
                self.splice(at, at, &format!("{line}{indent}{member},"))
            }
            Some(Member { value, .. }) => {
                let end = value.range.end;
                let at = comments_end(&self.text, end, last, true).unwrap_or(end);
                let between = self.text[end..at].to_owned();
                self.splice(end, at, &format!(",{between}{line}{indent}{member}"))
            }
        }
    }

    /// False, and nothing changed, if the text could not be read after it.
    fn splice(&mut self, start: usize, end: usize, with: &str) -> bool {
        let text = format!("{}{with}{}", &self.text[..start], &self.text[end..]);
        match parse(&text, self.dialect) {
            Ok(root) => {
                (self.text, self.root) = (text, root);
                true
            }
            Err(_) => false,
        }
    }

    fn pretty(&self, value: &Value, indent: &str) -> String {
        let (text, unit) = (serde_json::to_string_pretty(value).unwrap_or_default(), self.indent_unit());
        let line = |line: &str| {
            let inner = line.trim_start_matches(' ');
            format!("{indent}{}{inner}", unit.repeat((line.len() - inner.len()) / 2))
        };
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default().to_owned();
        lines.fold(first, |out, next| format!("{out}{}{}", self.newline(), line(next)))
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// The space before a member that has its own line.
    fn own_indent(&self, at: usize) -> Option<String> {
        let before = &self.text[..at];
        let line = &before[before.rfind('\n')? + 1..];
        line.chars().all(|c| matches!(c, ' ' | '\t')).then(|| line.to_owned())
    }

    /// One level of the file's indentation.
    fn indent_unit(&self) -> String {
        let space = self.text.lines().skip(1).map(|line| &line[..line.len() - line.trim_start().len()]);
        let space = space.filter(|space| space.chars().all(|c| matches!(c, ' ' | '\t')));
        space
            .filter(|space| !space.is_empty())
            .min_by_key(|space| space.len())
            .unwrap_or(DEFAULT_INDENT)
            .to_owned()
    }
}

/// The beginning of the space before a place, with one line's end.
fn line_start(text: &str, at: usize) -> usize {
    let before = text[..at].trim_end_matches([' ', '\t']);
    let before = before.strip_suffix('\n').map_or(before, |line| line.strip_suffix('\r').unwrap_or(line));
    before.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FILE: &str = "{\n    \"model\": \"opus\",\n    \"n\": 1.50,\n    \"hooks\": {\n        \"Stop\": [ {\"hooks\": [{\"type\": \"command\", \"command\": \"say \\\"]}\\\"\"}]} ]\n    }\n}\n";

    fn json(text: &str) -> JsonText {
        JsonText::new(text.to_owned(), Dialect::Json5).expect("JSON")
    }

    fn with(text: &str, path: &[&str], value: &Value) -> Option<String> {
        let mut json = json(text);
        json.set(path, value).then(|| json.into_text())
    }

    #[test]
    fn what_is_put_in_and_taken_out_again_leaves_every_byte_as_it_was() {
        let ours = json!({"hooks": [{"type": "command", "command": "neap hook"}]});
        for text in [
            FILE,
            "{\"a\":[1, 2],\"b\":{}}",
            "{\"hooks\":{\"Stop\":[]}}",
            "  {\"x\" : null}\n\n",
            "{\r\n\t\"x\": 1 // one\r\n}\r\n",
            "{\"hooks\": {\"Stop\": [1, 2, /* two */ ], }, // all\n}",
            "{\n  // nothing yet\n}",
            "{ /* a */ /* b */ }",
            "\u{feff}{a: 'b', // c\n}",
        ] {
            let mut pushed = json(text);
            assert!(pushed.push(&["hooks", "Stop"], &ours), "{text}");
            let items = pushed.value_at(&["hooks", "Stop"]).expect("an array");
            assert_eq!(items.as_array().and_then(|all| all.last()), Some(&ours), "{}", pushed.text);
            assert!(pushed.remove_items(&["hooks", "Stop"], |value| *value == ours));
            if json(text).value()["hooks"].get("Stop").is_none() {
                pushed.remove(&["hooks"]);
            }
            assert_eq!(pushed.text, text);
            let mut put_in = json(text);
            assert!(put_in.set(&["mcpServers", "neap"], &json!({"command": "neap"})), "{text}");
            assert_eq!(put_in.value()["mcpServers"]["neap"]["command"], "neap", "{}", put_in.text);
            assert!(put_in.remove(&["mcpServers"]));
            assert_eq!(put_in.text, text);
        }
    }

    #[test]
    fn what_is_put_in_stands_as_the_file_does() {
        let put_in = with(FILE, &["hooks", "Start"], &json!([1])).expect("an object");
        assert!(put_in.contains(",\n        \"Start\": [\n            1\n        ]\n    }\n}\n"), "{put_in}");
        let first = with("{}", &["a", "b"], &json!(1));
        assert_eq!(first.as_deref(), Some("{\n  \"a\": {\n    \"b\": 1\n  }\n}"));
        let commented = with("{\r\n\t\"a\": 1 // one\r\n}", &["b"], &json!([2]));
        assert_eq!(commented.as_deref(), Some("{\r\n\t\"a\": 1, // one\r\n\t\"b\": [\r\n\t\t2\r\n\t]\r\n}"));
        assert_eq!(with("{\"a\": 7}", &["a"], &json!(8)).as_deref(), Some("{\"a\": 8}"));
        assert_eq!(with("{\"a\": 7}", &["a", "b"], &json!(8)), None);
        assert!(!json("{\"a\": 7}").push(&["a"], &json!(8)));
    }

    #[test]
    fn several_are_taken_out_wherever_they_stand() {
        for (text, want) in [
            ("[1, 9, 2]", "[1, 2]"),
            ("[9, 1]", "[1]"),
            ("[1, 9]", "[1]"),
            ("[9]", "[]"),
            ("[9, 9, 1, 9, 9, 2, 9]", "[1, 2]"),
            ("[\n  9, // nine\n  1,\n  9,\n]", "[ // nine\n  1,\n]"),
            ("[ /* a */ 9 /* b */ ]", "[ /* a */ /* b */ ]"),
        ] {
            let mut text = json(text);
            assert!(text.remove_items(&[], |value| *value == json!(9)));
            assert_eq!(text.into_text(), want);
        }
    }
}
