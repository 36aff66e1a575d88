//! Files as people write them, with Neap put in and taken out again.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::command::NeapCommand;
use super::config_file::{ConfigFile, Format, Part};
use super::json_edit::JsonText;
use super::json_tree::Dialect;
use super::{toml_block, yaml_block};

const PROGRAM: &str = "/opt/neap/bin/neap";
const JSON_PATHS: [&[&str]; 4] =
    [&["mcpServers", "neap"], &["servers", "neap"], &["mcp", "servers", "neap"], &["hooks", "neap"]];
const TABLE_PATH: &[&str] = &["mcp_servers", "neap"];

fn command() -> NeapCommand {
    NeapCommand { program: PROGRAM.into(), options: Vec::new() }
}

fn server() -> Value {
    json!({"command": PROGRAM, "args": ["mcp", "--for", "a b"]})
}

fn file(format: Format, part: Part) -> ConfigFile {
    ConfigFile { path: "settings".into(), format, part }
}

/// Puts Neap into a file, again, and takes it out: the file is as it was. Gives the file in between.
#[track_caller]
fn check(file: &ConfigFile, before: Option<&str>) -> String {
    let was = file.before(before);
    let install = |text: Option<&str>| {
        let installed = file.updated_text(text, None, &command(), true);
        installed.unwrap_or_else(|error| panic!("{before:?}: {error}")).expect("a file")
    };
    let with = install(before);
    let entry = file.entry(&with).expect("it can be read").expect("an entry");
    assert_eq!((entry.program.as_str(), entry.is_off), (PROGRAM, false), "{with}");
    assert!(file.has_neap(&with), "{with}");
    assert_eq!(install(Some(&with)), with, "once is enough");
    let without = file.updated_text(Some(&with), Some(&was), &command(), false).expect("it can be taken out");
    assert_eq!(without.as_deref(), before, "{with}");
    with
}

#[derive(Debug, Clone)]
enum Tree {
    Scalar(&'static str),
    Array(Vec<Tree>),
    Object(Vec<(&'static str, Tree)>),
}

fn tree() -> impl Strategy<Value = Tree> + Clone {
    let scalar = prop::sample::select(vec!["1", "2.50", "\"a // b\"", "\"}\\\"{\"", "null", "true", "\"é\""]);
    let key = prop::sample::select(vec!["a", "hooks", "Stop", "é", "neapolitan"]);
    scalar.prop_map(Tree::Scalar).prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Tree::Array),
            vec((key.clone(), inner), 0..4).prop_map(Tree::Object),
        ]
    })
}

/// An outermost object, with or without the containers that Neap's entry goes into.
fn document() -> impl Strategy<Value = Tree> {
    let servers = vec((prop::sample::select(vec!["other", "neap2"]), tree()), 0..3).prop_map(Tree::Object).boxed();
    let nested = servers.clone().prop_map(|servers| Tree::Object(vec![("servers", servers)]));
    let container = prop_oneof![
        servers.clone().prop_map(|servers| ("mcpServers", servers)),
        servers.prop_map(|servers| ("servers", servers)),
        nested.prop_map(|nested| ("mcp", nested)),
        Just(("mcp", Tree::Object(Vec::new()))),
    ];
    let other = (prop::sample::select(vec!["x", "y z", "theme", "n"]), tree());
    (vec(other, 0..4), vec(container, 0..3), any::<bool>()).prop_map(|(others, containers, first)| {
        let mut members = if first { [containers, others].concat() } else { [others, containers].concat() };
        let mut seen = std::collections::BTreeSet::new();
        members.retain(|(key, _)| seen.insert(*key));
        Tree::Object(members)
    })
}

/// Writes a tree as somebody might: each byte of `style` decides one gap.
struct Writer<'a> {
    style: std::iter::Cycle<std::slice::Iter<'a, u8>>,
    dialect: Dialect,
    newline: &'static str,
    out: String,
}

impl Writer<'_> {
    fn next(&mut self) -> u8 {
        self.style.next().copied().unwrap_or_default()
    }

    fn gap(&mut self, depth: usize) {
        let newline = self.newline;
        let gap = match self.next() % 9 {
            0..=2 => String::new(),
            3 => " ".to_owned(),
            4 => format!("{newline}{}", "\t".repeat(depth)),
            5 => format!("{newline}{}", "  ".repeat(depth)),
            _ if self.dialect == Dialect::Strict => " ".to_owned(),
            6 => " /* one, { two */".to_owned(),
            7 => format!(" // it's \"neap\": [{newline}{}", "  ".repeat(depth)),
            _ => format!("{newline}// mine{newline}"),
        };
        self.out.push_str(&gap);
    }

    fn write(&mut self, tree: &Tree, depth: usize) {
        let (open, close, count) = match tree {
            Tree::Scalar(text) => return self.out.push_str(text),
            Tree::Array(items) => ('[', ']', items.len()),
            Tree::Object(members) => ('{', '}', members.len()),
        };
        self.out.push(open);
        let mut keys = std::collections::BTreeSet::new();
        for at in 0..count {
            self.gap(depth + 1);
            match tree {
                Tree::Array(items) => self.write(&items[at], depth + 1),
                Tree::Object(members) => {
                    let (key, value) = &members[at];
                    let key = if keys.insert(key) { (*key).to_owned() } else { format!("{key}{at}") };
                    let is_bare = self.dialect == Dialect::Json5 && self.next().is_multiple_of(2);
                    let is_word = key.chars().all(|c| c.is_ascii_alphanumeric());
                    self.out.push_str(&if is_bare && is_word { key } else { Value::from(key).to_string() });
                    self.gap(depth + 1);
                    self.out.push(':');
                    self.gap(depth + 1);
                    self.write(value, depth + 1);
                }
                Tree::Scalar(_) => {}
            }
            self.gap(depth + 1);
            let may_end = matches!(self.dialect, Dialect::CommentsAndCommas | Dialect::Json5);
            if at + 1 < count || (may_end && self.next().is_multiple_of(2)) {
                self.out.push(',');
            }
        }
        self.gap(depth);
        self.out.push(close);
    }
}

fn json_text(tree: &Tree, style: &[u8], dialect: Dialect) -> String {
    let newline = if style[0].is_multiple_of(2) { "\n" } else { "\r\n" };
    let mut writer = Writer { style: style.iter().cycle(), dialect, newline, out: String::new() };
    if style[0].is_multiple_of(3) {
        writer.out.push('\u{feff}');
    }
    writer.gap(0);
    writer.write(tree, 0);
    writer.gap(0);
    writer.out
}

fn without(text: &str, dialect: Dialect, path: &[&str]) -> Value {
    let mut value = JsonText::new(text.to_owned(), dialect).expect("JSON").value();
    let mut place = &mut value;
    for key in &path[..path.len() - 1] {
        match place.get_mut(*key) {
            Some(found) => place = found,
            None => return value,
        }
    }
    place.as_object_mut().expect("an object").remove(path[path.len() - 1]);
    pruned(value)
}

/// Without empty objects, which hold entries.
fn pruned(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| (key, pruned(value)));
            Value::Object(members.filter(|(_, value)| *value != json!({})).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => value,
    }
}

fn yaml_lines() -> impl Strategy<Value = String> {
    let other = prop::sample::select(vec![
        "model: opus",
        "# mine: {",
        "",
        "terminal:\n  backend: local # it's here\n  list:\n  - a\n  - {b: [1, 2]}",
        "text: |\n  mcp_servers:\n    neap: no\n\n  more",
        "quoted: \"a: b # c\"",
        "list:\n- 1\n- two: 2",
        "folded: >-\n  one\n  two",
        "empty:",
    ]);
    let servers = prop::sample::select(vec![
        "mcp_servers:",
        "mcp_servers: {}",
        "mcp_servers:   # none yet",
        "mcp_servers: null",
        "mcp_servers:\n    # first\n    other:\n        command: x\n        args: [\"neap:\"]",
        "mcp_servers:\n  other: {command: x}\n\n  # last",
        "# none",
    ]);
    let ending = (prop::sample::select(vec!["", "\n", "\n\n"]), any::<bool>(), any::<bool>());
    (vec(other, 0..4), servers, 0..5_usize, ending).prop_map(|(mut lines, servers, at, (end, crlf, mark))| {
        let mut seen = std::collections::BTreeSet::new();
        lines.retain(|line| line.starts_with('#') || line.is_empty() || seen.insert(*line));
        lines.insert(at.min(lines.len()), servers);
        let text = format!("{}{}{end}", if mark { "\u{feff}" } else { "" }, lines.join("\n"));
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

fn toml_lines() -> impl Strategy<Value = String> {
    let top = prop::sample::select(vec!["model = \"x\"  # good", "", "# mine [", "n = [\n  1, # one\n]"]);
    let tables = prop::sample::select(vec![
        "[a.b]\nc = '''\n[mcp_servers.neap]\n'''",
        "[mcp_servers.other]\ncommand = \"x\"",
        "[[list]]\nx = 1",
        "# end",
    ]);
    (vec(top, 0..3), vec(tables, 0..3), prop::sample::select(vec!["", "\n", "\n\n"]), any::<bool>()).prop_map(
        |(mut top, mut tables, end, crlf)| {
            let mut seen = std::collections::BTreeSet::new();
            top.retain(|line| !line.contains('=') || seen.insert(*line));
            tables.retain(|line| !line.starts_with('[') || seen.insert(*line));
            let text = format!("{}{end}", [top, tables].concat().join("\n"));
            if crlf { text.replace('\n', "\r\n") } else { text }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_is_left_as_it_was(tree in document(), style in vec(any::<u8>(), 1..60), which in 0..4_usize) {
        for dialect in [Dialect::Strict, Dialect::Comments, Dialect::CommentsAndCommas, Dialect::Json5] {
            let text = json_text(&tree, &style, dialect);
            let path = JSON_PATHS[which];
            let blocked = JsonText::new(text.clone(), dialect).expect("JSON").value_at(&path[..1]);
            if blocked.is_some_and(|value| !value.is_object()) {
                continue;
            }
            let with = check(&file(Format::Json(dialect), Part::Server(path, server())), Some(&text));
            prop_assert_eq!(without(&with, dialect, path), pruned(JsonText::new(text, dialect).expect("JSON").value()));
        }
    }

    #[test]
    fn hooks_are_left_as_they_were(tree in document(), style in vec(any::<u8>(), 1..60)) {
        let text = json_text(&tree, &style, Dialect::Strict);
        let hooks = file(Format::Json(Dialect::Strict), Part::Hooks("codex"));
        if hooks.updated_text(Some(&text), None, &command(), true).is_ok() {
            check(&hooks, Some(&text));
        }
    }

    #[test]
    fn yaml_is_left_as_it_was(text in yaml_lines()) {
        let yaml = file(Format::Yaml, Part::Server(TABLE_PATH, server()));
        let with = check(&yaml, Some(&text));
        prop_assert_eq!(yaml_block::value_at(&with, TABLE_PATH), Ok(Some(server())));
    }

    #[test]
    fn toml_is_left_as_it_was(text in toml_lines()) {
        let toml = file(Format::Toml, Part::Server(TABLE_PATH, server()));
        let with = check(&toml, Some(&text));
        prop_assert_eq!(toml_block::value_at(&with, TABLE_PATH), Ok(Some(server())));
    }

    /// Whatever is in a file: it is edited as a whole, or refused.
    #[test]
    fn nonsense_is_refused_or_left_as_it_was(text in "[\\[\\]{}:,'\"#/* \na-c1|>&\\\\-]{0,40}") {
        let formats = [Format::Json(Dialect::CommentsAndCommas), Format::Json(Dialect::Json5), Format::Toml, Format::Yaml];
        for format in formats {
            let file = file(format, Part::Server(TABLE_PATH, server()));
            if file.updated_text(Some(&text), None, &command(), true).is_ok() {
                check(&file, Some(&text));
            }
        }
    }
}

#[test]
fn a_missing_or_blank_file_is_missing_or_blank_again() {
    for format in [Format::Json(Dialect::Strict), Format::Json(Dialect::Comments), Format::Toml, Format::Yaml] {
        let file = file(format, Part::Server(TABLE_PATH, server()));
        for before in [None, Some(""), Some("\n"), Some(" \r\n\r\n"), Some("\u{feff}")] {
            check(&file, before);
        }
    }
}

/// An agent may write its file anew meanwhile: what it added stays.
#[test]
fn what_others_added_stays() {
    let json = file(Format::Json(Dialect::Comments), Part::Server(JSON_PATHS[0], server()));
    let yaml = file(Format::Yaml, Part::Server(TABLE_PATH, server()));
    for (file, before, added, after) in [
        (
            &json,
            "{}",
            "{\"mcpServers\": {\"neap\": {\"command\": \"/opt/neap\"}, \"b\": {}}}",
            "{\"mcpServers\": {\"b\": {}}}",
        ),
        (&json, "{\"mcpServers\":{}}", "{\"mcpServers\":{\"b\":1,\"neap\":{}}}", "{\"mcpServers\":{\"b\":1}}"),
        (
            &yaml,
            "a: 1\n",
            "mcp_servers:\n  neap:\n    command: x\n    args:\n    - mcp\n  b: 2\na: 1\n",
            "mcp_servers:\n  b: 2\na: 1\n",
        ),
        (&yaml, "mcp_servers: {}\n", "mcp_servers:\n  neap:\n    command: x\nb: 2\n", "mcp_servers: {}\nb: 2\n"),
    ] {
        let was = file.before(Some(before));
        let left = file.updated_text(Some(added), Some(&was), &command(), false).expect("it can be taken out");
        assert_eq!(left.as_deref(), Some(after), "{added}");
    }
}

#[test]
fn what_has_another_form_is_refused() {
    let yaml = file(Format::Yaml, Part::Server(TABLE_PATH, server()));
    for text in [
        "mcp_servers: {other: {command: x}}\n",
        "mcp_servers: &all\n  other: {}\n",
        "mcp_servers:\n- other\n",
        "\"mcp_servers\":\n  other: {}\n",
        "- a\n- b\n",
        "a: [1\n",
        "a: 1\n...\n",
    ] {
        assert!(yaml.updated_text(Some(text), None, &command(), true).is_err(), "{text}");
    }
}
