//! Every `neap …` command that the README and the guide show does what they say: it runs.

use crate::rig::Neap;

const README: &str = include_str!("../../../README.md");
const GUIDE: &str = include_str!("../../../docs/guide.md");
const EXAMPLE: &str = include_str!("../../../docs/example.jsonl");
const TALKS: &str = include_str!("../../../docs/talks.jsonl");

/// The commands between back quotes, with their placeholders filled in.
fn commands(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let typed = spans.filter(|span| span.starts_with("neap ") && !span.contains('\n') && !span.contains('['));
    typed
        .map(|span| span.replace("NAME", "default").replace("FILE", "new.jsonl").replace("FOLDER", "old"))
        .collect()
}

/// Words as a shell would split them; the only quotes in use are double.
fn words(command: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (at, part) in command.split('"').enumerate() {
        match at % 2 {
            0 => out.extend(part.split_whitespace().map(str::to_owned)),
            _ => out.push(part.to_owned()),
        }
    }
    out
}

#[test]
fn every_command_shown_runs() {
    let neap = Neap::new();
    neap.file("example.jsonl", EXAMPLE);
    neap.file("talks.jsonl", TALKS);
    for name in ["default", "work"] {
        let kept = neap.run(&["lab", "replay", "example.jsonl", "--session", name]);
        assert_eq!(kept.code, 0, "{}", kept.err);
    }
    let mut tried = 0;
    for command in commands(README).into_iter().chain(commands(GUIDE)) {
        let command = command.replace("docs/", "");
        let typed = words(&command);
        let args: Vec<&str> = typed.iter().skip(1).map(String::as_str).collect();
        // Import needs something to take in that is not there yet, a proxy runs until it is ended, and can be watched as long: their
        // own tests do that.
        if args.starts_with(&["session", "import"])
            || matches!(args[..], ["serve" | "run" | "ui", ..] | ["report", "--live", ..])
        {
            continue;
        }
        let ran = neap.run(&args);
        assert_eq!(ran.code, 0, "{command}: {}", ran.err);
        tried += 1;
    }
    assert!(tried >= 15, "only {tried} commands were found");
}
