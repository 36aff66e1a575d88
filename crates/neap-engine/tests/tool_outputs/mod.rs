//! Outputs of tools as agents get them: of builds, tests, servers, searches and APIs. Seeded, so that figures can be
//! repeated.

pub(crate) mod agent;

use std::fmt::Write as _;

use serde_json::{Value, json};

pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const NOUNS: [&str; 16] = [
    "session", "parser", "cursor", "budget", "window", "ledger", "router", "buffer", "cache", "stream", "token",
    "record", "handle", "policy", "schema", "worker",
];
const VERBS: [&str; 12] = [
    "opens", "closes", "reads", "writes", "merges", "splits", "retries", "counts", "rejects", "restores", "sorts",
    "masks",
];

/// An output, the command that made it, and lines that must not be lost.
pub(crate) struct Output {
    pub(crate) name: &'static str,
    pub(crate) command: &'static str,
    pub(crate) text: String,
    pub(crate) needed: Vec<String>,
}

/// One of each type.
pub(crate) fn outputs(seed: u64) -> Vec<Output> {
    let mut dice = Dice(seed);
    vec![
        cargo_test(&mut dice, true),
        cargo_test(&mut dice, false),
        cargo_build(&mut dice),
        pytest(&mut dice),
        npm_install(&mut dice),
        server_log(&mut dice),
        json_api(&mut dice),
        git_log(&mut dice),
        ls_recursive(&mut dice),
        grep(&mut dice),
    ]
}

fn test_name(dice: &mut Dice) -> String {
    let (noun, verb, other) = (dice.pick(&NOUNS), dice.pick(&VERBS), dice.pick(&NOUNS));
    format!("{noun}::tests::{verb}_a_{other}_{}", dice.below(90))
}

fn cargo_test(dice: &mut Dice, fails: bool) -> Output {
    let count = 180 + dice.below(120);
    let mut text = "   Compiling harbour-core v0.4.1 (/app/crates/harbour-core)\n    Finished `test` profile in 12.31s\n     \
                    Running unittests src/lib.rs (target/debug/deps/harbour_core-8d1f)\n\n"
        .to_owned();
    let _ = writeln!(text, "running {count} tests");
    let failing = if fails { vec![dice.below(count), dice.below(count)] } else { Vec::new() };
    let mut failed = Vec::new();
    for n in 0..count {
        let name = test_name(dice);
        let result = if failing.contains(&n) { "FAILED" } else { "ok" };
        let _ = writeln!(text, "test {name} ... {result}");
        failed.extend(failing.contains(&n).then_some(name));
    }
    let mut needed: Vec<String> = Vec::new();
    text.push_str(if fails { "\nfailures:\n" } else { "" });
    for (n, name) in failed.iter().enumerate() {
        let line = format!("thread '{name}' panicked at crates/harbour-core/src/ledger.rs:{}:9:", 100 + n);
        let _ = write!(
            text,
            "\n---- {name} stdout ----\n\n{line}\nassertion `left == right` failed: balance\n  left: {}\n right: {}\nnote: run \
             with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
            n * 7,
            n * 7 + 1
        );
        needed.extend([line, format!("test {name} ... FAILED")]);
    }
    let result = if fails { "FAILED" } else { "ok" };
    let passed = count - failed.len();
    let last =
        format!("test result: {result}. {passed} passed; {} failed; 0 ignored; finished in 1.92s", failed.len());
    let _ = writeln!(text, "\n{last}");
    needed.push(last);
    let name = if fails { "cargo test, 2 failures" } else { "cargo test, all pass" };
    Output { name, command: "cargo test", text, needed }
}

fn cargo_build(dice: &mut Dice) -> Output {
    let mut text = String::new();
    for _ in 0..160 {
        let _ = writeln!(
            text,
            "   Compiling {}-{} v{}.{}.{}",
            dice.pick(&NOUNS),
            dice.pick(&NOUNS),
            dice.below(4),
            dice.below(30),
            dice.below(9)
        );
    }
    for n in 0..6 {
        let noun = dice.pick(&NOUNS);
        let _ = write!(
            text,
            "warning: unused variable: `{noun}`\n  --> src/{noun}.rs:{}:9\n   |\n{} |     let {noun} = open();\n   |         ^ help: if \
             this is intentional, prefix it with an underscore: `_{noun}`\n\n",
            n * 31 + 4,
            n * 31 + 4
        );
    }
    let needed = vec![
        "error[E0308]: mismatched types".to_owned(),
        "  --> src/ledger.rs:214:21".to_owned(),
        "error: could not compile `harbour` (lib) due to 1 previous error; 6 warnings emitted".to_owned(),
    ];
    let _ = write!(
        text,
        "{}\n{}\n    |\n214 |         let total: u64 = balance;\n    |                    ---   ^^^^^^^ expected `u64`, found `Tokens`\n\n{}\n",
        needed[0], needed[1], needed[2]
    );
    Output { name: "cargo build, an error", command: "cargo build", text, needed }
}

fn pytest(dice: &mut Dice) -> Output {
    let mut text = "============================= test session starts ==============================\nplatform linux -- Python 3.12.3, \
                    pytest-8.2.0\ncollected 240 items\n\n"
        .to_owned();
    for n in 0..240 {
        let (file, noun, verb) = (dice.pick(&NOUNS), dice.pick(&NOUNS), dice.pick(&VERBS));
        let result = if n == 97 { "FAILED" } else { "PASSED" };
        let _ = writeln!(
            text,
            "tests/test_{file}.py::Test{noun}::test_{verb}_error_{n} {result}  [{:>3}%]",
            n * 100 / 240
        );
    }
    text.push_str("\n=================================== FAILURES ===================================\n");
    text.push_str("    def test_total(self):\n        ledger = Ledger()\n>       assert ledger.total() == 12\n");
    text.push_str(
        "E       AssertionError: assert 11 == 12\nE        +  where 11 = <bound method Ledger.total>()\n\n",
    );
    text.push_str(
        "tests/test_ledger.py:41: AssertionError\n=========== 1 failed, 239 passed in 8.41s ===========\n",
    );
    let needed = vec![
        "E       AssertionError: assert 11 == 12".to_owned(),
        "tests/test_ledger.py:41: AssertionError".to_owned(),
        "=========== 1 failed, 239 passed in 8.41s ===========".to_owned(),
    ];
    Output { name: "pytest -v, a failure", command: "pytest -v", text, needed }
}

fn npm_install(dice: &mut Dice) -> Output {
    let mut text = String::new();
    for _ in 0..150 {
        let _ = writeln!(
            text,
            "npm http fetch GET 200 https://registry.example/{}-{} {}ms (cache miss)",
            dice.pick(&NOUNS),
            dice.pick(&NOUNS),
            dice.below(900)
        );
    }
    for noun in &NOUNS[..8] {
        let _ = writeln!(text, "npm warn deprecated {noun}-utils@2.{}.0: use {noun}-kit instead", dice.below(9));
    }
    let needed = vec![
        "npm ERR! code ERESOLVE".to_owned(),
        "npm ERR! Could not resolve dependency: peer react@\"^17.0.0\" from harbour-ui@3.1.0".to_owned(),
    ];
    let _ = writeln!(text, "{}\nnpm ERR! ERESOLVE unable to resolve dependency tree\n{}", needed[0], needed[1]);
    Output { name: "npm install, an error", command: "npm install --verbose", text, needed }
}

fn server_log(dice: &mut Dice) -> Output {
    let (mut text, mut needed) = (String::new(), Vec::new());
    for n in 0..500 {
        let time = format!("2026-03-14T09:{:02}:{:02}.{:03}Z", n / 60 % 60, n % 60, dice.below(1_000));
        let line = match n {
            211 => format!("{time} ERROR harbour::store: commit refused: database is locked (attempt 3)"),
            388 => format!("{time} ERROR harbour::http: upstream closed the connection, request 8812"),
            _ => format!(
                "{time}  INFO harbour::{}: {} {} {} in {} ms",
                dice.pick(&NOUNS),
                dice.pick(&NOUNS),
                dice.below(9_999),
                dice.pick(&VERBS),
                dice.below(400)
            ),
        };
        needed.extend(line.contains("ERROR").then(|| line.clone()));
        text.push_str(&line);
        text.push('\n');
    }
    Output { name: "server log, 2 errors", command: "docker logs harbour", text, needed }
}

fn json_api(dice: &mut Dice) -> Output {
    let items: Vec<Value> = (0..120)
        .map(|n| {
            json!({"id": 40_000 + n, "title": format!("{} {}", dice.pick(&NOUNS), dice.pick(&VERBS)), "state": "open",
                "labels": [dice.pick(&NOUNS), dice.pick(&NOUNS)], "user": {"login": dice.pick(&NOUNS), "id": dice.below(9_000)},
                "body": format!("The {} {} when the {} is full.", dice.pick(&NOUNS), dice.pick(&VERBS), dice.pick(&NOUNS)),
                "error": if n == 77 { json!("webhook failed: 502") } else { Value::Null }})
        })
        .collect();
    let text = format!("{:#}", json!({"total_count": 120, "incomplete": false, "items": items}));
    let needed =
        vec!["total_count".to_owned(), "webhook failed: 502".to_owned(), "of 120 elements left out".to_owned()];
    Output { name: "JSON of an API, 120 items", command: "curl -s https://api.example/issues", text, needed }
}

fn git_log(dice: &mut Dice) -> Output {
    let mut text = String::new();
    for n in 0..90 {
        let hash: String = (0..40).map(|_| char::from(b"0123456789abcdef"[dice.below(16)])).collect();
        let _ = write!(
            text,
            "commit {hash}\nAuthor: Ana Ruiz <ana@harbour.example>\nDate:   Mon Mar {:02} 10:{:02}:00 2026 +0000\n\n    The {} {} the {}\n\n",
            n % 28 + 1,
            n % 60,
            dice.pick(&NOUNS),
            dice.pick(&VERBS),
            dice.pick(&NOUNS)
        );
    }
    let needed = text.lines().take(1).map(str::to_owned).collect();
    Output { name: "git log, 90 commits", command: "git log -90", text, needed }
}

fn ls_recursive(dice: &mut Dice) -> Output {
    let mut text = String::new();
    for directory in ["src", "src/client", "src/server", "tests", "docs", "web/pages", "web/parts"] {
        let _ = writeln!(text, "./{directory}:");
        for _ in 0..70 {
            let end = dice.pick(&["rs", "md", "ts", "json"]);
            let _ = writeln!(text, "{}_{}_{}.{end}", dice.pick(&NOUNS), dice.pick(&VERBS), dice.below(60));
        }
        text.push('\n');
    }
    let needed = vec!["./src:".to_owned(), "src/client 70".to_owned()];
    Output { name: "ls -R, 490 files", command: "ls -R", text, needed }
}

fn grep(dice: &mut Dice) -> Output {
    let mut text = String::new();
    for _ in 0..300 {
        let (file, noun, verb) = (dice.pick(&NOUNS), dice.pick(&NOUNS), dice.pick(&VERBS));
        let _ = writeln!(
            text,
            "src/{file}/{verb}.rs:{}:    let {noun} = self.{verb}_{noun}(error)?;",
            dice.below(900)
        );
    }
    text.push_str("grep: src/secret: Permission denied\n");
    let needed = vec!["grep: src/secret: Permission denied".to_owned()];
    Output { name: "grep -rn, 300 matches", command: "grep -rn error src", text, needed }
}

/// A file as an agent reads it, with line numbers.
pub(crate) fn source_file(dice: &mut Dice, lines: usize) -> String {
    let mut text = String::new();
    for n in 1..=lines {
        let (noun, verb, other) = (dice.pick(&NOUNS), dice.pick(&VERBS), dice.pick(&NOUNS));
        let _ = writeln!(text, "{n:>6}→    let {noun} = self.{verb}_{other}({n})?;");
    }
    text
}
