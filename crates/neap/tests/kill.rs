//! Promise 1: an acknowledged turn survives `kill -9`, at any moment, also during recovery.
//!
//! A turn is acknowledged when its line is printed; acknowledgements are kept here, outside the process that dies.
//! The page cache survives a kill, so this says nothing about power loss.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::rig::{Neap, objects};
use serde_json::{Value, json};

const KILLS: usize = 300;
/// One store for each, side by side.
const STORES: usize = 2;
/// Turns handed to each process, more than it lives to take.
const TURNS_FED: usize = 60;

/// What a process printed for a turn: its number, and what was said in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ack {
    turn: u64,
    said: String,
}

/// What is wrong with a store's stream, given what it had acknowledged: nothing, if every acknowledged turn is in
/// it exactly once, with its reply, in order.
fn check(acks: &[Ack], events: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut started: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    let mut completed: BTreeMap<u64, usize> = BTreeMap::new();
    let mut last_turn = 0;
    for (at, recorded) in events.iter().enumerate() {
        if recorded["seq"] != at as u64 + 1 {
            wrong.push(format!("event {} stands at {}", recorded["seq"], at + 1));
        }
        let event = &recorded["event"];
        let turn = event["turn"].as_u64().unwrap_or_default();
        match event["type"].as_str() {
            Some("turn_started") => {
                if turn != last_turn + 1 {
                    wrong.push(format!("turn {turn} follows turn {last_turn}"));
                }
                last_turn = turn;
                started.entry(turn).or_default().push(event["message"]["content"].as_str().unwrap_or_default());
            }
            Some("turn_completed") => *completed.entry(turn).or_default() += 1,
            Some(_) | None => {}
        }
    }
    for pair in acks.windows(2).filter(|pair| pair[0].turn >= pair[1].turn) {
        wrong.push(format!("turn {} was acknowledged before turn {}", pair[0].turn, pair[1].turn));
    }
    for Ack { turn, said } in acks {
        if started.get(turn).is_none_or(|texts| *texts != [said.as_str()]) || completed.get(turn) != Some(&1) {
            wrong.push(format!("turn {turn}, acknowledged, is lost or changed: {said}"));
        }
        let times = started.values().flatten().filter(|text| *text == said).count();
        if times != 1 {
            wrong.push(format!("{said} is stored {times} times"));
        }
    }
    wrong
}

/// Random enough, and the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A store whose processes are killed.
struct Rig {
    neap: Neap,
    random: Random,
    acks: Vec<Ack>,
    said: usize,
}

impl Rig {
    fn new(seed: u64) -> Self {
        Self { neap: Neap::new(), random: Random(seed), acks: Vec::new(), said: 0 }
    }

    /// The next turns, none of which was said before. Some open, close and expand efforts.
    fn script(&mut self, turns: usize) -> (Vec<String>, String) {
        let mut said = Vec::new();
        let mut script = String::new();
        for _ in 0..turns {
            self.said += 1;
            let text = format!("message {} {}", self.said, "lorem ".repeat(self.said % 30));
            let call = match self.said % 8 {
                1 => json!([{"name": "open_effort", "arguments": {"name": format!("effort {}", self.said)}}]),
                4 => json!([{"name": "close_effort"}]),
                6 => json!([{"name": "expand_effort", "arguments": {"id": format!("effort-{}", self.said - 5)}}]),
                _ => json!([]),
            };
            script += &format!("{}\n", json!({"user": text, "calls": call, "assistant": "Noted."}));
            said.push(text);
        }
        (said, script)
    }

    fn start(&self, script: &str) -> Child {
        let mut command = self.neap.command(&["lab", "replay", "--session", "k", "--json", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        // Less than a pipe holds, so this does not wait; the pipe stays open, so the process waits for more.
        child.stdin.as_mut().expect("a pipe").write_all(script.as_bytes()).expect("it is fed");
        child
    }

    fn acknowledged(&mut self, said: &[String], printed: &str) {
        // A line without its end was not acknowledged.
        let whole = printed.rfind('\n').map_or("", |end| &printed[..end]);
        for (turn, said) in objects(whole).iter().zip(said) {
            self.acks.push(Ack { turn: turn["turn"].as_u64().expect("a number"), said: said.clone() });
        }
    }

    /// Starts it, lets it acknowledge at least one turn, kills it a moment later.
    fn kill_at_work(&mut self) {
        let (said, script) = self.script(TURNS_FED);
        let mut child = self.start(&script);
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut printed = String::new();
        stdout.read_line(&mut printed).expect("it prints");
        assert!(printed.ends_with('\n'), "it opens the store and goes on, every time: {printed:?}");
        // Kills come at random moments.
        std::thread::sleep(Duration::from_micros(self.random.below(30_000)));
        child.kill().expect("it is killed");
        child.wait().expect("it is dead");
        stdout.read_to_string(&mut printed).expect("what it had printed");
        self.acknowledged(&said, &printed);
    }

    /// Kills it before it is known to have done anything: while it opens, recovers, or begins.
    fn kill_at_start(&mut self) {
        let (said, script) = self.script(TURNS_FED);
        let mut child = self.start(&script);
        std::thread::sleep(Duration::from_micros(self.random.below(120_000)));
        child.kill().expect("it is killed");
        let output = child.wait_with_output().expect("it is dead");
        self.acknowledged(&said, &String::from_utf8(output.stdout).expect("UTF-8"));
    }

    /// Everything acknowledged is there, and nothing is damaged.
    #[track_caller]
    fn verify(&self) {
        assert_eq!(check(&self.acks, &self.neap.events("k")), Vec::<String>::new());
        let examined = self.neap.run(&["store", "doctor"]);
        assert!(matches!(examined.code, 0 | 1), "{}{}", examined.out, examined.err);
    }
}

/// One store's share of the kills.
fn torment(seed: u64, kills: usize) -> usize {
    let mut rig = Rig::new(seed);
    for kill in 0..kills {
        if kill % 5 == 4 {
            rig.kill_at_start()
        } else {
            rig.kill_at_work()
        }
        if kill % 50 == 49 {
            rig.verify();
        }
    }
    rig.verify();
    let (said, script) = rig.script(1);
    let ran = rig.neap.fed(&["lab", "replay", "--session", "k", "--json", "-"], script);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "one more turn works");
    rig.acknowledged(&said, &ran.out);
    rig.verify();
    rig.neap.ok(&["store", "rebuild"]);
    rig.verify();
    assert_eq!(rig.neap.run(&["store", "doctor"]).code, 0, "clean after a rebuild");
    rig.acks.len()
}

#[test]
fn acknowledged_turns_survive_three_hundred_kills() {
    let share = |store: u64| std::thread::spawn(move || torment(0x5eed_0001 + store * 7919, KILLS / STORES));
    let stores: Vec<_> = (0..STORES as u64).map(share).collect();
    let acked: usize = stores.into_iter().map(|store| store.join().expect("every promise held")).sum();
    assert!(acked >= KILLS * 4 / 5, "{acked} turns were acknowledged on the way");
}

/// The checker must be able to fail: a store that did keep everything, and lists of acknowledgements that it did
/// not give.
#[test]
fn the_checker_notices_what_is_lost_changed_doubled_or_out_of_order() {
    let mut rig = Rig::new(1);
    let (said, script) = rig.script(5);
    let ran = rig.neap.fed(&["lab", "replay", "--session", "k", "--json", "-"], script);
    rig.acknowledged(&said, &ran.out);
    let events = rig.neap.events("k");
    assert_eq!((rig.acks.len(), check(&rig.acks, &events)), (5, Vec::<String>::new()));

    let never_stored = Ack { turn: 6, said: "message 6".to_owned() };
    assert_ne!(check(&[rig.acks.clone(), vec![never_stored]].concat(), &events), Vec::<String>::new());
    let other_words = Ack { turn: 3, said: "something else".to_owned() };
    assert_ne!(check(&[other_words], &events), Vec::<String>::new());
    let backwards: Vec<Ack> = rig.acks.iter().rev().cloned().collect();
    assert_ne!(check(&backwards, &events), Vec::<String>::new());
    let twice = vec![rig.acks[0].clone(), rig.acks[0].clone()];
    assert_ne!(check(&twice, &events), Vec::<String>::new());

    let is =
        |kind: &'static str| move |event: &&Value| event["event"]["type"] == kind && event["event"]["turn"] == 3;
    for kind in ["turn_started", "turn_completed"] {
        let lost = events.iter().find(is(kind)).expect("turn 3");
        let without: Vec<Value> = events.iter().filter(|event| *event != lost).cloned().collect();
        assert_ne!(check(&rig.acks, &without), Vec::<String>::new(), "{kind} is lost");
        let doubled: Vec<Value> = events.iter().chain([lost]).cloned().collect();
        assert_ne!(check(&rig.acks, &doubled), Vec::<String>::new(), "{kind} is there twice");
    }
}

/// A line that was cut off by the kill was not acknowledged.
#[test]
fn half_a_line_is_no_acknowledgement() {
    let mut rig = Rig::new(1);
    rig.acknowledged(&["a".to_owned(), "b".to_owned()], "{\"turn\":1}\n{\"tur");
    assert_eq!(rig.acks, [Ack { turn: 1, said: "a".to_owned() }]);
}
