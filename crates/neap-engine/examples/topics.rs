//! How well the beginnings of topics are told, on conversations whose topics are known.
//!
//! `cargo run -p neap-engine --example topics -- FILE [TOLERANCE]`: a conversation a line, with `turns` (`who`, `text`, `session`, and the
//! `project` that each is about) or with `topics` (each a `span` of turns). A beginning counts as found if one is told at it, or at most
//! so many turns from it.
#![allow(clippy::print_stdout, reason = "it prints")]

use neap_core::base::ids::Stamp;
use neap_core::client::{TopicChange, TopicTracker};
use serde::Deserialize;

const DAY: i64 = 86_400_000;

#[derive(Deserialize)]
struct Talk {
    turns: Vec<Turn>,
    #[serde(default)]
    topics: Vec<Topic>,
}

#[derive(Deserialize)]
struct Turn {
    who: String,
    text: String,
    #[serde(default)]
    session: i64,
    project: Option<String>,
}

#[derive(Deserialize)]
struct Topic {
    span: Vec<usize>,
}

impl Talk {
    /// Where topics begin: at a turn of another project, or of another span. The first is no change.
    fn truth(&self) -> Vec<usize> {
        let projects = (1..self.turns.len()).filter(|at| self.turns[*at].project != self.turns[at - 1].project);
        let spans = self.topics.iter().filter_map(|topic| topic.span.first().copied()).filter(|at| *at > 0);
        let mut all: Vec<usize> = projects.chain(spans).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn told(&self) -> Vec<usize> {
        let mut topics = TopicTracker::default();
        let has_assistant = self.turns.iter().any(|turn| turn.who == "Assistant");
        let mut told = Vec::new();
        for (at, turn) in self.turns.iter().enumerate() {
            if has_assistant && turn.who == "Assistant" {
                topics.observe(&turn.text);
            } else if let TopicChange::Opens(_) =
                topics.observe_user(&turn.text, Stamp(turn.session * DAY + at as i64))
                && at > 0
            {
                told.push(at);
            }
        }
        told
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let tolerance: usize = std::env::args().nth(2).map_or(Ok(0), |text| text.parse())?;
    let (mut found, mut right, mut all, mut told_all) = (0, 0, 0, 0);
    for line in std::fs::read_to_string(path)?.lines() {
        let talk: Talk = serde_json::from_str(line)?;
        let (truth, told) = (talk.truth(), talk.told());
        let near = |list: &[usize], at: usize| list.iter().any(|other| other.abs_diff(at) <= tolerance);
        found += truth.iter().filter(|at| near(&told, **at)).count();
        right += told.iter().filter(|at| near(&truth, **at)).count();
        all += truth.len();
        told_all += told.len();
    }
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    println!(
        "beginnings: {all}; told: {told_all}; found {:.1} %; of those told, right {:.1} %",
        percent(found, all),
        percent(right, told_all)
    );
    Ok(())
}
