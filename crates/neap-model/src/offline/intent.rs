//! Classifies what the user wants by wording alone; [`decide`](super::decide) checks whether it is possible.

use neap_core::text::completion::{Addressee, Completion, find_completion};
use neap_core::text::opening::{OpeningKind, find_opening};
use neap_core::text::phrases::{Phrases, normalize};

use super::phrases::{self as p, has_only};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    Status,
    /// Asks about the past in so many words.
    Recall,
    Close(Completion),
    GoTo {
        target: String,
        how: SwitchKind,
    },
    Expand {
        target: String,
    },
    Collapse {
        target: String,
    },
    Begin(OpeningKind),
    Courtesy,
    Ask,
    Tell,
}

/// How a message refers to other work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SwitchKind {
    /// As known work.
    Back,
    /// As known or new work.
    Instead,
    /// By a verb that may mean something else.
    Loosely,
}

pub(super) fn parse_intent(message: &str) -> Intent {
    let text = normalize(message);
    let question = is_question(&text);
    if has_only(&text, p::COURTESY) {
        return Intent::Courtesy;
    }
    if is_status(&text) {
        return Intent::Status;
    }
    if let Some(target) = parse_command(&text, "expand") {
        return Intent::Expand { target };
    }
    if let Some(target) = parse_command(&text, "collapse") {
        return Intent::Collapse { target };
    }
    if is_recall(&text, question) {
        return Intent::Recall;
    }
    if let Some(completion) = find_completion(message, Addressee::EffortKeeper) {
        return Intent::Close(completion);
    }
    if let Some((target, how)) = parse_switch(&text) {
        return Intent::GoTo { target, how };
    }
    if let Some(opening) = find_opening(message) {
        return Intent::Begin(opening.kind);
    }
    if question { Intent::Ask } else { Intent::Tell }
}

pub(super) fn is_question(text: &str) -> bool {
    text.ends_with('?') || p::QUESTIONS.begins(text) || Phrases("details").occurs_in(text)
}

fn is_status(text: &str) -> bool {
    let bare = text.trim_end_matches(['?', '.', '!']);
    matches!(bare, "status" | "where are we" | "where were we" | "efforts") || p::STATUS.occurs_in(text)
}

/// A command such as `expand auth-bug`; returns its target.
fn parse_command(text: &str, verb: &str) -> Option<String> {
    let rest = text.strip_prefix("please ").unwrap_or(text).strip_prefix(verb)?;
    let target = rest.strip_prefix(' ')?.trim_end_matches(['.', '!']);
    (target.split(' ').count() <= 5).then(|| target.to_owned())
}

fn is_recall(text: &str, question: bool) -> bool {
    (question || p::REMINDS.occurs_in(text)) && p::RECALL.occurs_in(text) && !p::NOT_RECALL.occurs_in(text)
}

fn parse_switch(text: &str) -> Option<(String, SwitchKind)> {
    for sentence in text.split_inclusive(['.', '!', '?', ';']) {
        for (table, how) in [(p::RESUME, SwitchKind::Back), (p::SWITCH, SwitchKind::Loosely)] {
            let Some(found) = table.find(sentence) else { continue };
            let asks = sentence.ends_with('?') && !Phrases("can we|could we|can you").occurs_in(sentence);
            if asks || !is_lead_in(&sentence[..found.start]) {
                continue;
            }
            let how = if Phrases("instead").occurs_in(sentence) { SwitchKind::Instead } else { how };
            let target = parse_target(&sentence[found.end..]);
            let vague = has_only(&target, Phrases("this|it|that|later|the|a|soon|you|work|me|tomorrow"));
            if !vague {
                return Some((target, how));
            }
        }
    }
    None
}

/// Whether only filler precedes the verb.
fn is_lead_in(before: &str) -> bool {
    let mut words = format!(" {} ", before.replace(',', " , "));
    for phrase in p::LEAD_IN.iter() {
        words = words.replace(&format!(" {phrase} "), "  ");
    }
    // An earlier clause may say anything.
    let clause = words.rsplit([',', ':']).next().unwrap_or_default();
    clause.rsplit(" and ").next().unwrap_or_default().trim().is_empty()
}

/// The target up to the end of the clause, without adverbs.
fn parse_target(rest: &str) -> String {
    let clause = rest.split([',', '.', '!', '?', ';']).next().unwrap_or_default();
    let stop = Phrases("instead|now|again|please|for|first|next|because|since|where|and|today");
    let end = stop.find(clause).map_or(clause.len(), |found| found.start);
    clause[..end].trim().to_owned()
}
