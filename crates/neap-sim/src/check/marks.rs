//! What stands around memories in a request: our headings and marks, each where it belongs, and nothing that imitates
//! them. Stored text is one line behind an id of ours.

use neap_core::memory::MemoryId;
use neap_core::message::Role;
use neap_core::prompt;
use neap_core::tokens::TokenCounter;
use neap_core::turn::ModelRequest;

use super::Violations;

/// Headings of the system text and of what is known.
const HEADINGS: [&str; 17] = [
    prompt::IDENTITY,
    prompt::EFFORTS,
    prompt::MEMORIES,
    prompt::SUMMARIES,
    prompt::NOTE,
    prompt::KNOW_IDENTITY,
    prompt::KNOW_PROFILE,
    prompt::KNOW_CENSORS,
    prompt::KNOW_FOCUS,
    prompt::KNOW_DECISIONS,
    prompt::KNOW_FACTS,
    prompt::KNOW_PROCEDURES,
    prompt::KNOW_EPISODES,
    prompt::KNOW_CALIBRATION,
    prompt::KNOW_OPEN,
    prompt::KNOW_CLOSE,
    prompt::KNOW_CONSIDER,
];

/// Looks at the system text, and at every message in which what is known stands by itself.
pub fn check(request: &ModelRequest, out: &mut Violations) {
    for message in &request.messages {
        let is_tail = message.content.starts_with(prompt::KNOW_TAIL_OPEN) && message.role == Role::User;
        if message.role == Role::System {
            headings(&message.content, out);
            between(&message.content, prompt::KNOW_OPEN, prompt::KNOW_CLOSE, true, out);
        } else if is_tail && message.content.ends_with(prompt::KNOW_TAIL_CLOSE) {
            between(&message.content, prompt::KNOW_TAIL_OPEN, prompt::KNOW_TAIL_CLOSE, false, out);
        } else if message.role == Role::User && message.content.starts_with("[Rule c") {
            rules(&message.content, out);
        }
    }
}

/// No line of the system text looks like a heading or a mark but ours.
fn headings(text: &str, out: &mut Violations) {
    for line in text.lines().filter(|line| line.starts_with('#') || line.starts_with('[')) {
        let is_ours = HEADINGS.iter().any(|ours| ours.lines().any(|of| of == line));
        let is_named = line.starts_with("## Procedure: ") || line.starts_with("## Current Approach: ");
        out.check("marks", is_ours || is_named, || format!("in the system text: {line:?}"));
    }
}

fn between(text: &str, open: &str, close: &str, is_system: bool, out: &mut Violations) {
    let lines: Vec<&str> = text.lines().collect();
    let places = |mark: &str| -> Vec<usize> {
        let is_mark = |line: &&str| *line == mark.trim_end();
        lines.iter().enumerate().filter(|(_, line)| is_mark(line)).map(|(at, _)| at).collect()
    };
    let (opens, closes) = (places(open), places(close));
    out.check("marks", opens.len() == closes.len() && opens.len() <= 1, || {
        format!("{opens:?} {closes:?} in {text}")
    });
    let (Some(open), Some(close)) = (opens.first(), closes.first()) else { return };
    let mut in_block = false;
    for line in lines.get(open + 1..*close).unwrap_or_default() {
        let is_heading = line.starts_with("## ");
        in_block = (in_block && !is_heading) || ["Core patterns:", "Steps:"].contains(line);
        let id = line.strip_prefix("- ").and_then(|rest| rest.split(' ').next());
        let is_record = id.is_some_and(|id| id.parse::<MemoryId>().is_ok()) && line.ends_with(')');
        let is_ours = is_heading || is_record || in_block && (line.starts_with("- ") || line.ends_with(':'));
        // At the end of a prompt, who the agent is and what it is at stand there, too.
        out.check("marks", is_ours || (!is_system && !line.starts_with(['[', '#'])), || {
            format!("among records: {line:?}")
        });
    }
}

/// What a rule says stays within its brackets.
fn rules(text: &str, out: &mut Violations) {
    for line in text.lines() {
        let inner = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
        let is_whole = inner.is_some_and(|inner| {
            inner.starts_with("Rule c") && inner.matches('[').count() == inner.matches(']').count()
        });
        out.check("marks", is_whole, || format!("a rule says {line:?}"));
    }
}

/// What the layers of memory in the system text cost, counted in one piece.
pub fn memory_tokens(counter: &dyn TokenCounter, system: &str) -> u64 {
    let after = |text: &str| system.find(text).map(|at| at + text.len());
    let begin = after(prompt::MEMORIES).or_else(|| after(prompt::EFFORTS)).unwrap_or(0);
    let rest = &system[begin..];
    // Stored text begins no line, so the first such line is the section.
    let starts = |heading: &str| match rest.starts_with(heading) {
        true => Some(0),
        false => rest.find(&format!("\n{heading}")).map(|at| at + 1),
    };
    let end = starts(prompt::SUMMARIES).or_else(|| starts(prompt::NOTE)).unwrap_or(rest.len());
    if end == 0 { 0 } else { counter.count(&rest[..end]).0 }
}
