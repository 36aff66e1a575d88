//! What is ours in a request and what is not (DESIGN, decisions 21 and 25): the system text is made of our own lines, of
//! configuration and of a person's constraints; stored text stands in messages of ours where it can begin no line; nothing that
//! is not ours has our mark; and no remark of ours stands in what a model is said to have said.
//!
//! Lines are told here by every character that some reader takes for the end of one, and read with no help of the code that wrote
//! them.

use neap_core::knowledge::Outlook;
use neap_core::memory::MemoryId;
use neap_core::message::{Message, Role};
use neap_core::prompt;
use neap_core::tokens::TokenCounter;
use neap_core::turn::ModelRequest;

use super::Violations;

/// What begins a line of ours.
const MARK: &str = "§[";
/// Texts of ours that are system text.
const SYSTEM: [&str; 7] = [
    prompt::IDENTITY,
    prompt::EFFORTS,
    prompt::MEMORIES,
    prompt::NOTE,
    prompt::KNOW_IDENTITY,
    prompt::KNOW_CENSORS,
    prompt::KNOW_CONSIDER,
];
/// Headings among the records.
const HEADINGS: [&str; 8] = [
    prompt::SUMMARIES,
    prompt::KNOW_PROFILE,
    prompt::KNOW_FOCUS,
    prompt::KNOW_DECISIONS,
    prompt::KNOW_FACTS,
    prompt::KNOW_PROCEDURES,
    prompt::KNOW_EPISODES,
    prompt::KNOW_CALIBRATION,
];
/// Lines of ours, up to the first place that is filled in.
const OURS: [&str; 23] = [
    prompt::RECORDS,
    prompt::RECORDS_END,
    prompt::LOG_ACTIVE,
    prompt::LOG_AMBIENT,
    prompt::LOG_EXPANDED,
    prompt::LOG_IDLE,
    prompt::LOG_OPEN,
    prompt::LOG_SYSTEM,
    prompt::LOG_END,
    prompt::RECALLED,
    prompt::NOW,
    prompt::KNOW_TAIL_OPEN,
    prompt::KNOW_TAIL_CLOSE,
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
/// How lines begin that are in a message of ours and have no mark.
const INSIDE: [&str; 12] = [
    "> ",
    "- ",
    "[t",
    "user: ",
    "assistant: ",
    "tool: ",
    "system: ",
    "user calls ",
    "assistant calls ",
    "## ",
    "Core patterns:",
    "Steps:",
];
/// What no assistant's message has in it, and what none ends in.
const REMARKS: [&str; 2] = [" tokens left out here", MARK];
const ENDS: [&str; 4] =
    ["[interrupted]", "[broken off]", "[cut off at the reply's limit]", "[the model gave no answer]"];

/// The lines of a text.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'])
}

/// Looks at every message. `untrusted` are words that only models, tools and hosts said.
pub fn check(request: &ModelRequest, outlook: Option<&Outlook>, untrusted: &[&str], out: &mut Violations) {
    for message in &request.messages {
        match message.role {
            Role::System => system(&message.content, outlook, untrusted, out),
            Role::User if message.content.starts_with(prompt::RECORDS) => records(&message.content, out),
            Role::User if message.content.starts_with(MARK) => ours(&message.content, outlook, out),
            Role::User | Role::Tool => not_ours(message, out),
            Role::Assistant => said_by_model(&message.content, out),
        }
    }
}

/// Every line of the system text is ours, configuration, or a constraint.
fn system(text: &str, outlook: Option<&Outlook>, untrusted: &[&str], out: &mut Violations) {
    for line in lines(text).filter(|line| !line.is_empty()) {
        let is_ours = SYSTEM.iter().any(|ours| ours.lines().any(|of| of == line));
        let is_known = is_ours || is_configured(line, outlook) || is_constraint(line);
        out.check("system text", is_known, || format!("{line:?} is in the system text"));
    }
    for word in untrusted {
        out.check("system text", !text.contains(word), || format!("{word}, which no person said, is in {text}"));
    }
}

fn is_configured(line: &str, outlook: Option<&Outlook>) -> bool {
    let Some(outlook) = outlook else { return false };
    let of_frame = |line: &str| {
        outlook.frames.iter().any(|frame| {
            line == format!("## Current Approach: {}", frame.title())
                || line == frame.description.trim()
                || frame.questions.iter().any(|question| line == format!("- {question}"))
        })
    };
    outlook.identity.lines().any(|of| of == line) || of_frame(line)
}

fn is_constraint(line: &str) -> bool {
    let rest = line.strip_prefix("- ").and_then(|rest| rest.split_once(' '));
    let is_censor = |id: &str| id.starts_with('c') && id.parse::<MemoryId>().is_ok();
    rest.is_some_and(|(id, said)| {
        is_censor(id) && said.starts_with("**") || said.starts_with('…') && is_censor(id)
    }) && line.ends_with(')')
}

/// The message of records: its own marks at both ends and nowhere else, and between them nothing at the margin but our headings,
/// entries and which efforts are in play.
fn records(text: &str, out: &mut Violations) {
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
            "## Current Focus" => entry.is_some() || *line == prompt::KNOW_THREADS.trim_end(),
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

/// Any other message of ours: what is at its margin is ours.
fn ours(text: &str, outlook: Option<&Outlook>, out: &mut Violations) {
    let is_tail = text.starts_with(prompt::KNOW_TAIL_OPEN);
    for line in lines(text).filter(|line| !line.is_empty()) {
        let is_marked = OURS.iter().any(|ours| {
            let ours = ours.trim();
            line.starts_with(ours.split('{').next().unwrap_or(ours))
        });
        let has_mark = line.contains(MARK);
        let is_inside = INSIDE.iter().any(|beginning| line.starts_with(beginning));
        // At the end of a prompt, who the agent is and how it judged stand there, too.
        let is_of_tail = is_tail && !line.starts_with(['[', '§', '>']);
        let is_ours = if has_mark { is_marked } else { is_inside || is_of_tail || is_configured(line, outlook) };
        out.check("marks", is_ours, || format!("{line:?} in a message of ours: {text}"));
        if text.starts_with("§[Rule c") {
            let inner = line.strip_prefix(MARK).and_then(|line| line.strip_suffix(']')).unwrap_or_default();
            let is_whole = inner.starts_with("Rule c") && inner.matches('[').count() == inner.matches(']').count();
            out.check("marks", is_whole, || format!("a rule says {line:?}"));
        }
    }
}

/// What a person, a program or a tool said has no mark, but for the one line that says what is left out of it.
fn not_ours(message: &Message, out: &mut Violations) {
    let marks = message.content.matches(MARK).count();
    let of_ours =
        message.content.matches("\n§[... about ").count() + usize::from(marks == 1 && is_withheld(message));
    out.check("marks", marks == of_ours && marks <= 1, || {
        format!("{marks} marks in a message of {}: {}", message.role.as_str(), message.content)
    });
}

fn is_withheld(message: &Message) -> bool {
    message.content.starts_with("§[Withheld by rule c") || message.content.starts_with("§[This part is damaged")
}

/// Remarks of ours are nowhere in what a model said, though it may have said them itself.
fn said_by_model(text: &str, out: &mut Violations) {
    for remark in REMARKS {
        let has = |line: &str| line.trim().starts_with(['[', '§']) && line.contains(remark);
        out.check("remarks", !lines(text).any(has) && !text.contains(MARK), || {
            format!("{remark:?} is in an assistant's message: {text}")
        });
    }
    for end in ENDS {
        out.check("remarks", !text.trim_end().ends_with(end), || {
            format!("an assistant's message ends in {end:?}: {text}")
        });
    }
}

/// What the layers of memory cost, counted in one piece each: in the system text, and among the records before and after the
/// summaries.
pub fn memory_tokens(counter: &dyn TokenCounter, request: &ModelRequest) -> u64 {
    let text = |at: usize| request.messages.get(at).map_or("", |message| message.content.as_ref());
    let (system, records) = (text(0), text(1));
    let begin = system.find(prompt::NOTE).map_or(0, |at| at + prompt::NOTE.len());
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
