//! Checks what is Neap's own in a request and what is not (docs/decisions/0006-trust.md). The system text consists
//! of Neap's own lines, configuration and a person's constraints. Stored text in Neap's messages begins no line.
//! Nothing else carries the mark, and no remark of Neap's is in an assistant message.
//!
//! Lines are split at every character that some reader takes for a line break, without help from the code that
//! wrote them.

use neap_core::base::message::{Message, Role};
use neap_core::base::prompt;
use neap_core::base::tokens::TokenCounter;
use neap_core::memory::MemoryId;
use neap_core::memory::knowledge::AgentProfile;
use neap_core::turn::ModelRequest;

use super::Violations;

/// Begins each of Neap's own lines.
const MARK: &str = "§[";
const SYSTEM_TEXTS: [&str; 10] = [
    prompt::IDENTITY,
    prompt::EFFORTS,
    prompt::SMALL_EFFORTS,
    prompt::MEMORIES,
    prompt::SMALL_MEMORIES,
    prompt::NOTE,
    prompt::SMALL_NOTE,
    prompt::KNOWLEDGE_IDENTITY,
    prompt::KNOWLEDGE_CENSORS,
    prompt::KNOWLEDGE_CONSIDER,
];
const HEADINGS: [&str; 8] = [
    prompt::SUMMARIES,
    prompt::KNOWLEDGE_PROFILE,
    prompt::KNOWLEDGE_FOCUS,
    prompt::KNOWLEDGE_DECISIONS,
    prompt::KNOWLEDGE_FACTS,
    prompt::KNOWLEDGE_PROCEDURES,
    prompt::KNOWLEDGE_EPISODES,
    prompt::KNOWLEDGE_CALIBRATION,
];
/// Neap's own lines, up to the first placeholder.
const OWN_LINES: [&str; 23] = [
    prompt::RECORDS,
    prompt::RECORDS_END,
    prompt::LOG_ACTIVE,
    prompt::LOG_AMBIENT,
    prompt::LOG_EXPANDED,
    prompt::LOG_IDLE,
    prompt::LOG_OPEN,
    prompt::LOG_SYSTEM,
    prompt::LOG_END,
    prompt::RECALLED_SUMMARIES,
    prompt::EFFORTS_CHANGED,
    prompt::KNOWLEDGE_TAIL_OPEN,
    prompt::KNOWLEDGE_TAIL_CLOSE,
    prompt::STEERED,
    prompt::FORBIDDEN,
    prompt::REFUSED,
    prompt::CENSORED,
    prompt::REPLY_INTERRUPTED,
    prompt::REPLY_BROKEN_OFF,
    prompt::REPLY_AT_LIMIT,
    prompt::REPLY_NONE,
    prompt::REPLY_IN_PART,
    prompt::DAMAGED,
];
/// Prefixes of unmarked lines in Neap's own messages.
const UNMARKED_PREFIXES: [&str; 12] = [
    "> ", "- ", "[t", "user: ", "assistant: ", "tool: ", "system: ", "user calls ", "assistant calls ", "## ",
    "Core patterns:", "Steps:",
];
/// What no assistant message contains, and what none ends with.
const REMARKS: [&str; 2] = [" tokens left out here", MARK];
const REMARK_ENDINGS: [&str; 4] =
    ["[interrupted]", "[broken off]", "[cut off at the reply's limit]", "[the model gave no answer]"];

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'])
}

/// Checks every message. `untrusted` are words that only models, tools and hosts use.
pub fn check(request: &ModelRequest, profile: Option<&AgentProfile>, untrusted: &[&str], out: &mut Violations) {
    for message in &request.messages {
        match message.role {
            Role::System => check_system(&message.content, profile, untrusted, out),
            Role::User if message.content.starts_with(prompt::RECORDS) => check_records(&message.content, out),
            Role::User if message.content.starts_with(MARK) => check_own_message(&message.content, profile, out),
            Role::User | Role::Tool => check_foreign_message(message, out),
            Role::Assistant => check_reply(&message.content, out),
        }
    }
}

/// Every line of the system text is Neap's own, configuration, or a constraint.
fn check_system(text: &str, profile: Option<&AgentProfile>, untrusted: &[&str], out: &mut Violations) {
    for line in lines(text).filter(|line| !line.is_empty()) {
        let is_ours = SYSTEM_TEXTS.iter().any(|ours| ours.lines().any(|own_line| own_line == line));
        let is_known = is_ours || is_configured(line, profile) || is_constraint(line);
        out.check("system text", is_known, || format!("{line:?} is in the system text"));
    }
    for word in untrusted {
        out.check("system text", !text.contains(word), || format!("{word}, which no person said, is in {text}"));
    }
}

fn is_configured(line: &str, profile: Option<&AgentProfile>) -> bool {
    let Some(profile) = profile else { return false };
    let is_in_frame = |line: &str| {
        profile.frames.iter().any(|frame| {
            line == format!("## Current Approach: {}", frame.title())
                || line == frame.description.trim()
                || frame.questions.iter().any(|question| line == format!("- {question}"))
        })
    };
    profile.identity.lines().any(|own_line| own_line == line) || is_in_frame(line)
}

fn is_constraint(line: &str) -> bool {
    let rest = line.strip_prefix("- ").and_then(|rest| rest.split_once(' '));
    let is_censor = |id: &str| id.starts_with('c') && id.parse::<MemoryId>().is_ok();
    rest.is_some_and(|(id, text)| {
        is_censor(id) && text.starts_with("**") || text.starts_with('…') && is_censor(id)
    }) && line.ends_with(')')
}

/// The records message: marks at both ends and nowhere else; between them, only Neap's headings, entries and the
/// active effort begin a line.
fn check_records(text: &str, out: &mut Violations) {
    let all: Vec<&str> = lines(text.trim_end_matches('\n')).collect();
    let marks = all.iter().filter(|line| line.contains(MARK)).count();
    let is_framed = all.first() == Some(&prompt::RECORDS.trim_end())
        && all.last() == Some(&prompt::RECORDS_END.trim_end())
        && marks == 2;
    out.check("marks", is_framed, || format!("records with {marks} marks: {text}"));
    let mut heading = "";
    let mut in_block = false;
    for line in all.get(1..all.len().saturating_sub(1)).unwrap_or_default() {
        if line.starts_with("## ") {
            let is_ours =
                HEADINGS.iter().any(|ours| ours.trim_end() == *line) || line.starts_with("## Procedure: ");
            out.check("marks", is_ours, || format!("among the records: {line:?}"));
            (heading, in_block) = (line, false);
            continue;
        }
        if ["Core patterns:", "Steps:"].contains(line) {
            in_block = true;
            continue;
        }
        let entry = line.strip_prefix("- ");
        let is_ours = match heading {
            _ if in_block => entry.is_some(),
            "## Note" => !line.starts_with(['-', '#', '[', '>', '§']),
            "## Current Focus" => entry.is_some() || *line == prompt::KNOWLEDGE_THREADS.trim_end(),
            "## Concluded efforts" => entry.is_some_and(|entry| entry.contains(": ")),
            _ => entry.is_some_and(is_record),
        };
        let is_standing = line.starts_with("Active effort: ") || line.starts_with("No effort is active.");
        out.check("marks", is_ours || is_standing, || format!("among the records, under {heading:?}: {line:?}"));
    }
}

/// `f7 … (person, 2026-05-28)`.
fn is_record(entry: &str) -> bool {
    let id = entry.split(' ').next().unwrap_or_default();
    id.parse::<MemoryId>().is_ok() && entry.ends_with(')')
}

/// In any other message of Neap's, every line begins as its own lines do.
fn check_own_message(text: &str, profile: Option<&AgentProfile>, out: &mut Violations) {
    let is_tail = text.starts_with(prompt::KNOWLEDGE_TAIL_OPEN);
    for line in lines(text).filter(|line| !line.is_empty()) {
        let is_marked = OWN_LINES.iter().any(|ours| {
            let ours = ours.trim();
            line.starts_with(ours.split('{').next().unwrap_or(ours))
        });
        let has_mark = line.contains(MARK);
        let is_inside = UNMARKED_PREFIXES.iter().any(|beginning| line.starts_with(beginning));
        // The tail also contains the agent's identity and calibration.
        let is_of_tail = is_tail && !line.starts_with(['[', '§', '>']);
        let is_ours = if has_mark { is_marked } else { is_inside || is_of_tail || is_configured(line, profile) };
        out.check("marks", is_ours, || format!("{line:?} in a message of ours: {text}"));
        if text.starts_with("§[Rule c") {
            let inner = line.strip_prefix(MARK).and_then(|line| line.strip_suffix(']')).unwrap_or_default();
            let is_whole = inner.starts_with("Rule c") && inner.matches('[').count() == inner.matches(']').count();
            out.check("marks", is_whole, || format!("a rule says {line:?}"));
        }
    }
}

/// A message of a person, program or tool has no mark, except the one line that says what was left out.
fn check_foreign_message(message: &Message, out: &mut Violations) {
    let marks = message.content.matches(MARK).count();
    let own_marks =
        message.content.matches("\n§[... about ").count() + usize::from(marks == 1 && is_withheld(message));
    out.check("marks", marks == own_marks && marks <= 1, || {
        format!("{marks} marks in a message of {}: {}", message.role.as_str(), message.content)
    });
}

fn is_withheld(message: &Message) -> bool {
    message.content.starts_with("§[Withheld by rule c") || message.content.starts_with("§[This part is damaged")
}

/// An assistant message has none of Neap's remarks, even if the model wrote them itself.
fn check_reply(text: &str, out: &mut Violations) {
    for remark in REMARKS {
        let has = |line: &str| line.trim().starts_with(['[', '§']) && line.contains(remark);
        out.check("remarks", !lines(text).any(has) && !text.contains(MARK), || {
            format!("{remark:?} is in an assistant's message: {text}")
        });
    }
    for end in REMARK_ENDINGS {
        out.check("remarks", !text.trim_end().ends_with(end), || {
            format!("an assistant's message ends in {end:?}: {text}")
        });
    }
}

/// Tokens of the memory layers, each counted in one piece: in the system text, and among the records before and
/// after the summaries.
pub fn memory_tokens(counter: &dyn TokenCounter, request: &ModelRequest) -> u64 {
    let text = |at: usize| request.messages.get(at).map_or("", |message| message.content.as_ref());
    let (system, records) = (text(0), text(1));
    let ends = [prompt::NOTE, prompt::SMALL_NOTE];
    let begin = ends.iter().find_map(|note| Some(system.find(note)? + note.len())).unwrap_or(0);
    let mut counted = counter.count(&system[begin..]).0;
    if let Some(inside) =
        records.strip_prefix(prompt::RECORDS).and_then(|text| text.strip_suffix(prompt::RECORDS_END))
    {
        let mut piece = String::new();
        let mut in_summaries = false;
        for line in inside.split_inclusive('\n') {
            let is_standing = line.starts_with("Active effort: ") || line.starts_with("No effort is active.");
            if line.starts_with("## ") {
                in_summaries = line == prompt::SUMMARIES;
            }
            if in_summaries || is_standing {
                counted += counter.count(&std::mem::take(&mut piece)).0;
            } else {
                piece.push_str(line);
            }
        }
        counted += counter.count(&piece).0;
    }
    counted
}
