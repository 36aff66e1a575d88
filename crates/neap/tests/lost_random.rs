//! Random things done to the files of a store, then random commands: no command of ours makes less of what is there, and one that
//! cannot see all of it says so.
//!
//! Seeded. `NEAP_SEQUENCES` is how many sequences are tried, `NEAP_SEED` the first seed. What is recoverable is counted from outside: every turn has a word of
//! its own, which is looked for in the bytes of all files. Sessions are short, so that nothing is packed.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::rig::{Neap, tree};
use serde_json::json;

const SEQUENCES: u64 = 30;
const STEPS: u64 = 7;
const SESSIONS: [&str; 2] = ["alpha", "beta"];

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

/// A store, what it was at earlier moments, and what was done to it.
struct Story {
    neap: Neap,
    numbers: Numbers,
    said: usize,
    /// Earlier contents of files, by path.
    earlier: BTreeMap<PathBuf, Vec<Vec<u8>>>,
    done: Vec<String>,
}

/// The words of turns in some bytes.
fn words(bytes: &[u8]) -> BTreeSet<String> {
    let starts = bytes.windows(7).enumerate().filter(|(_, window)| *window == b"canary-").map(|(at, _)| at);
    let word = |at: usize| bytes.get(at + 7..at + 13).filter(|digits| digits.iter().all(u8::is_ascii_digit));
    starts.filter_map(word).map(|digits| String::from_utf8_lossy(digits).into_owned()).collect()
}

/// Files that commands set aside, or wrote beside others: kept, and not in use.
fn is_aside(path: &Path) -> bool {
    let name = path.to_string_lossy();
    [".aside-", ".rebuilt-", ".imported-", "salvaged-"].iter().any(|part| name.contains(part))
}

impl Story {
    fn new(seed: u64) -> Self {
        let neap = Neap::new();
        Self { neap, numbers: Numbers(seed), said: 0, earlier: BTreeMap::new(), done: Vec::new() }
    }

    fn line(&mut self) -> String {
        self.said += 1;
        format!("{}\n", json!({"user": format!("canary-{:06} says so", self.said), "assistant": "Noted."}))
    }

    /// Everything that can be found in files, whoever reads them.
    fn recoverable(&self, used: impl Fn(&Path) -> bool) -> BTreeSet<String> {
        if !self.neap.data().exists() {
            return BTreeSet::new();
        }
        let files = tree(&self.neap.data()).into_iter().filter(|(path, _)| used(path));
        files.filter_map(|(_, content)| content).flat_map(|content| words(&content)).collect()
    }

    /// Remembers how things are.
    fn keep(&mut self) {
        if self.neap.data().exists() {
            for (path, content) in tree(&self.neap.data()) {
                let kept = self.earlier.entry(path).or_default();
                kept.extend(content.filter(|content| kept.last() != Some(content)));
            }
        }
    }

    /// Writes some turns, in a process that ends or is killed.
    fn write(&mut self) {
        let session = *self.numbers.of(&SESSIONS);
        let turns = 1 + self.numbers.below(4);
        let input: String = (0..turns).map(|_| self.line()).collect();
        let args = ["lab", "replay", "--json", "-", "--session", session];
        let is_killed = self.numbers.below(2) == 0;
        self.done.push(format!("{turns} turns in {session}{}", if is_killed { ", killed" } else { "" }));
        if !is_killed {
            let code = self.neap.fed(&args, input).code;
            self.done.push(format!("exit {code}"));
            return;
        }
        let mut command = self.neap.command(&args);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.expect("the binary runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut acknowledged = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        for line in input.lines() {
            // Where the store is refused, nobody listens.
            if writeln!(stdin, "{line}").is_err() || acknowledged.next().is_none() {
                break;
            }
        }
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }

    /// Does something to a file that a person, a disk or a backup could do.
    fn harm(&mut self) {
        let files: Vec<PathBuf> = tree(&self.neap.data())
            .into_iter()
            .filter(|(path, content)| content.is_some() && !path.starts_with("keys") && !is_aside(path))
            .map(|(path, _)| path)
            .collect();
        if files.is_empty() {
            return;
        }
        // The files of the store itself are few among all.
        let of_store: Vec<PathBuf> = files
            .iter()
            .filter(|path| path.starts_with("neap.db") || path.to_string_lossy().starts_with("neap.db"))
            .cloned()
            .collect();
        let some = if self.numbers.below(3) > 0 && !of_store.is_empty() { of_store } else { files };
        let name = self.numbers.of(&some).clone();
        let path = self.neap.data().join(&name);
        let content = std::fs::read(&path).expect("a file");
        let harm = *self.numbers.of(&["delete", "halve", "empty", "zero", "older", "older", "another's", "copy"]);
        self.done.push(format!("{harm} {}", name.display()));
        match harm {
            "delete" => std::fs::remove_file(&path).expect("it can be removed"),
            "halve" => std::fs::write(&path, &content[..content.len() / 2]).expect("it can be cut"),
            "empty" => std::fs::write(&path, "").expect("it can be emptied"),
            "zero" => std::fs::write(&path, vec![0; content.len()]).expect("it can be overwritten"),
            "older" => {
                if let Some(kept) = self.earlier.get(&name) {
                    let older = self.numbers.of(kept).clone();
                    std::fs::write(&path, older).expect("it can be brought back");
                }
            }
            "another's" => {
                let other = Neap::new();
                let input: String = (0..5).map(|_| self.line()).collect();
                other.fed(&["lab", "replay", "-", "--session", "alpha"], &input);
                if let Some(Some(theirs)) = tree(&other.data()).remove(&name) {
                    std::fs::write(&path, theirs).expect("it can be replaced");
                }
            }
            _ => {
                std::fs::copy(&path, path.with_extension("copy")).expect("it can be copied");
            }
        }
    }

    /// Runs a command and holds it to its promises.
    fn command(&mut self) {
        let session = self.numbers.of::<&str>(&SESSIONS);
        let folder = self.neap.folder(session).to_string_lossy().into_owned();
        let name = format!("taken-{}", self.said);
        let line = self.line();
        let commands: [&[&str]; 9] = [
            &["store", "doctor"],
            &["store", "doctor", "--json"],
            &["store", "rebuild"],
            &["store", "rebuild", "--set-aside"],
            &["lab", "replay", "-", "--session", "alpha"],
            &["session", "list"],
            &["session", "export", "beta"],
            &["session", "import", &folder],
            &["session", "import", &folder, "--session", &name],
        ];
        let command = *self.numbers.of(&commands);
        let before = self.recoverable(|_| true);
        let ran = self.neap.fed(command, &line);
        self.done.push(format!("{} → {}", command.join(" "), ran.code));
        let story = || format!("{}\n{}{}", self.done.join("\n"), ran.out, ran.err);
        assert!(!ran.err.contains("panicked"), "{}", story());
        let after = self.recoverable(|_| true);
        let gone: Vec<&String> = before.difference(&after).collect();
        assert!(gone.is_empty(), "{gone:?} can no longer be found after\n{}", story());
        if command[..2] == ["lab", "replay"] && ran.code == 0 {
            let newest = format!("{:06}", self.said);
            assert!(after.contains(&newest), "{newest} was acknowledged and is nowhere:\n{}", story());
        }
        if ran.code != 0 {
            return;
        }
        let is_of_store = |path: &Path| {
            let name = path.to_string_lossy();
            ["neap.db", "neap.db-wal"].contains(&&*name)
        };
        let all = match command {
            // Who is told that all is well must be able to see all that is there.
            ["store", "doctor"] | ["store", "doctor", "--json"] | ["store", "rebuild"] => {
                self.recoverable(|path| {
                    is_of_store(path)
                        || path.starts_with("sessions") && !is_aside(path) && path.ends_with("raw.jsonl")
                })
            }
            _ => self.recoverable(is_of_store),
        };
        let visible = self.visible();
        let hidden: Vec<&String> = all.difference(&visible).collect();
        assert!(hidden.is_empty(), "exit code 0, but {hidden:?} cannot be seen:\n{}", story());
    }

    /// What can be read through the store.
    fn visible(&self) -> BTreeSet<String> {
        let listed = self.neap.run(&["session", "list", "--json"]);
        let sessions: Vec<serde_json::Value> = serde_json::from_str(&listed.out).unwrap_or_default();
        let names = sessions.iter().filter_map(|session| session["session"].as_str());
        let exported = names.map(|name| self.neap.run(&["session", "export", name]));
        exported.flat_map(|ran| words(ran.out.as_bytes())).collect()
    }
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn no_command_makes_less_of_what_is_there_or_passes_over_it_in_silence() {
    let (first, sequences) = (variable("NEAP_SEED", 1), variable("NEAP_SEQUENCES", SEQUENCES));
    for seed in first..first + sequences {
        let mut story = Story::new(seed);
        story.done.push(format!("seed {seed}"));
        story.write();
        story.keep();
        for _ in 0..STEPS {
            match story.numbers.below(6) {
                0 | 1 => story.write(),
                2 | 3 => story.harm(),
                _ => story.command(),
            }
            story.keep();
        }
        story.command();
    }
}
