//! The real Claude Code and Codex, with their own homes, in front of `neap serve`: what a resumed, a forked, a cleared
//! conversation, a subagent and a second window send, and which sessions they are on disk. The provider is on this
//! machine; `cargo xtask test` installs the agents.

mod claude_code;
mod codex;
mod provider;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::disk::skip;
use crate::mock::{Mock, Request};
use crate::rig::Neap;
use crate::wait::wait_until;
use crate::wire::Proxy;
use provider::{RUN, count_tokens, history, unpaired_calls};
use serde_json::Value;

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/agents/node_modules/.bin");
/// Of somebody who is asked for nothing here.
const KEY: &str = "sk-none";
/// About 10,000 tokens, a sixth of the budgets here or more.
const LONG_WORDS: usize = 4_000;

/// A proxy with a budget, a provider behind it, and an agent that has both as its world.
struct Desk {
    program: PathBuf,
    provider: Mock,
    proxy: Proxy,
    budget: usize,
}

/// A session on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Recorded {
    id: String,
    requests: u64,
    changed: u64,
}

impl Desk {
    /// `None` if the agent is not installed, which is told.
    fn new(program: &str, budget: usize) -> Option<Self> {
        let path = Path::new(PROGRAMS).join(program);
        if !path.exists() {
            skip(program, "`cargo xtask test` could not install it");
            return None;
        }
        let provider = Mock::start(provider::reply);
        let budget_text = budget.to_string();
        let proxy = Proxy::with(&["--upstream", &provider.url(""), "--budget", &budget_text], &[]);
        std::fs::create_dir(proxy.neap.place().join("project")).expect("a folder");
        Some(Self { program: path, provider, proxy, budget })
    }

    fn neap(&self) -> &Neap {
        &self.proxy.neap
    }

    /// The agent, in its project.
    fn command(&self) -> Command {
        // One that hangs would hang all tests.
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "300"]).arg(&self.program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", self.neap().place());
        command.current_dir(self.neap().place().join("project"));
        command
    }

    /// The requests to the model so far. Each is within the budget, by the provider's count, and each call in it has
    /// its result.
    #[track_caller]
    fn requests(&self) -> Vec<Request> {
        let all = self.provider.requests();
        let requests: Vec<Request> = all.into_iter().filter(provider::is_to_model).collect();
        for (at, request) in requests.iter().enumerate() {
            let body = request.json();
            let count = count_tokens(&body);
            assert!(count <= self.budget, "request {at}: {count} tokens exceed {}", self.budget);
            assert_eq!(unpaired_calls(&body), Vec::<String>::new(), "request {at}: {}", request.body);
        }
        requests
    }

    /// What the last request says, without tools and instructions.
    #[track_caller]
    fn last_said(&self) -> String {
        history(&self.requests().last().expect("a request").json())
    }

    /// The sessions on disk, the oldest first, when they have every request: on a busy machine an agent has its answer
    /// before the account of its request is stored.
    #[track_caller]
    fn sessions(&self) -> Vec<Recorded> {
        let sent = self.requests().len() as u64;
        let mut sessions = Vec::new();
        wait_until("every request is in a session", || {
            sessions = self.listed_sessions();
            sessions.iter().map(|session| session.requests).sum::<u64>() == sent
        });
        sessions
    }

    fn listed_sessions(&self) -> Vec<Recorded> {
        let listed = self.neap().json(&["session", "list"]);
        let mut listed = listed.as_array().expect("a list").clone();
        listed.sort_by_key(|session| session["created"].as_u64());
        let number = |session: &Value, name: &str| session["passed"][name].as_u64().unwrap_or(0);
        let recorded = |session: &Value| Recorded {
            id: session["session"].as_str().expect("an id").to_owned(),
            requests: number(session, "requests"),
            changed: number(session, "changed"),
        };
        listed.iter().map(recorded).collect()
    }

    /// What was said in a session, all of it.
    fn recorded_words(&self, session: &Recorded) -> String {
        self.neap().events(&session.id).iter().map(Value::to_string).collect()
    }
}

/// Which conversation a message belongs to.
#[derive(Clone, Copy)]
enum Goes<'a> {
    Anew,
    OnWithTheLast,
    OnWith(&'a str),
    ForkOf(&'a str),
}

/// `say` sends a message and returns the conversation's id, which begins with `prefix` as a session's.
#[track_caller]
fn check_resumed(desk: &Desk, prefix: &str, say: impl Fn(Goes<'_>, &str) -> String) {
    let id = say(Goes::Anew, &long("apple"));
    assert_eq!(say(Goes::OnWithTheLast, &format!("{RUN} of the banana")), id);
    let said = desk.last_said();
    assert!(said.contains("apple96") && said.contains("checked-"), "{said}");
    for subject in ["cherry", "damson", "elder"] {
        assert_eq!(say(Goes::OnWith(&id), &long(subject)), id);
        assert!(desk.last_said().contains(&format!("{subject}96")));
    }
    let [session] = &desk.sessions()[..] else { panic!("one session: {:?}", desk.sessions()) };
    assert_eq!(session.requests, 6);
    assert!(session.changed > 0, "its history was cut: {session:?}");
    assert!(session.id.starts_with(&format!("{prefix}-{}", &id[..18])), "{} is not {id}", session.id);
    let words = desk.recorded_words(session);
    assert!(["apple96", "checked-", "elder96"].iter().all(|word| words.contains(word)));
}

#[track_caller]
fn check_fork(desk: &Desk, say: impl Fn(Goes<'_>, &str) -> String) {
    let id = say(Goes::Anew, "first the apple");
    let fork = say(Goes::ForkOf(&id), "then the banana");
    assert_ne!(fork, id);
    let said = desk.last_said();
    assert!(said.contains("apple") && said.contains("banana"), "{said}");
    assert_eq!(say(Goes::OnWith(&id), "instead the cherry"), id);
    let said = desk.last_said();
    assert!(said.contains("apple") && said.contains("cherry") && !said.contains("banana"), "{said}");
    let sessions = desk.sessions();
    assert_eq!(sessions.iter().map(|session| session.requests).collect::<Vec<_>>(), [2, 1], "{sessions:?}");
    let [origin, fork] = [&sessions[0], &sessions[1]].map(|session| desk.recorded_words(session));
    assert!(origin.contains("cherry") && !origin.contains("banana"));
    assert!(fork.contains("apple") && fork.contains("banana") && !fork.contains("cherry"));
}

/// Of two windows, each of which said its own subject in each turn.
#[track_caller]
fn check_windows_apart(desk: &Desk, turns: &[[&str; 2]]) {
    let sessions = desk.sessions();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    let is_complete = |session: &Recorded| session.requests == turns.len() as u64 && session.changed > 0;
    assert!(sessions.iter().all(is_complete), "{sessions:?}");
    let mut texts: Vec<String> = desk.requests().iter().map(|request| history(&request.json())).collect();
    texts.extend(sessions.iter().map(|session| desk.recorded_words(session)));
    for text in texts {
        let [one, other] =
            [0, 1].map(|window| turns.iter().any(|words| text.contains(&format!("{}96", words[window]))));
        assert!(one != other, "one window's words only: {text}");
    }
}

/// A message that only its subject tells from others, longer than an agent's usual ones.
fn long(subject: &str) -> String {
    let words = (0..LONG_WORDS).map(|number| format!("{subject}{} ", number % 97));
    format!("About {subject}: {}", words.collect::<String>())
}
