//! Classifies what the user wants by wording alone; [`decide`](super::decide) checks whether it is possible.

use super::phrases::{self as p, contains_any, find_any, has_only, normalize};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    Status,
    /// Asks about the past; `explicit` if in so many words.
    Recall {
        detail: bool,
        explicit: bool,
    },
    /// Work is over; `object` is what the clause names, `rest` the remaining text.
    Close {
        object: String,
        rest: String,
    },
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
    Begin(StartSignal),
    /// Puts the work off.
    Pause,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartSignal {
    /// It announces a new topic.
    Declared,
    /// It asks for help or for something to be made.
    Asked,
    /// It states a need or a complaint, or asks how.
    Implied,
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
        return Intent::Recall { detail: contains_any(&text, p::DETAIL), explicit: true };
    }
    if let Some((object, rest)) = parse_close(&text) {
        return Intent::Close { object, rest };
    }
    if let Some((target, how)) = parse_switch(&text) {
        return Intent::GoTo { target, how };
    }
    if let Some(signal) = parse_start(&text, question) {
        return Intent::Begin(signal);
    }
    if contains_any(&text, p::PAUSE) && !question {
        return Intent::Pause;
    }
    if question { Intent::Ask } else { Intent::Tell }
}

pub(super) fn is_question(text: &str) -> bool {
    let asks = "what|what's|how|who|who's|when|where|which|why|is|are|do|does|did|can|could|should|would|was|were";
    text.ends_with(['?', '？'])
        || starts_with_any(text, asks)
        || starts_with_any(text, p::REQUESTS)
        || contains_any(text, "details")
}

fn starts_with_any(text: &str, table: &str) -> bool {
    find_any(text, table).is_some_and(|(start, _)| start == 0)
}

fn is_status(text: &str) -> bool {
    let bare = text.trim_end_matches(['?', '.', '!']);
    matches!(bare, "status" | "where are we" | "where were we" | "efforts") || contains_any(text, p::STATUS)
}

/// A command such as `expand auth-bug`; returns its target.
fn parse_command(text: &str, verb: &str) -> Option<String> {
    let rest = text.strip_prefix("please ").unwrap_or(text).strip_prefix(verb)?;
    let target = rest.strip_prefix(' ')?.trim_end_matches(['.', '!']);
    (target.split(' ').count() <= 5).then(|| target.to_owned())
}

fn is_recall(text: &str, question: bool) -> bool {
    let reminds = contains_any(text, "remind me|do you remember|remember what|remember how|what do we know");
    (question || reminds) && contains_any(text, p::RECALL) && !contains_any(text, p::NOT_RECALL)
}

/// The object of a clause that says the work is over, and all other sentences.
fn parse_close(text: &str) -> Option<(String, String)> {
    let sentences: Vec<&str> = text.split_inclusive(['.', '!', '?', ';', '。', '！', '？']).collect();
    for (at, sentence) in sentences.iter().enumerate() {
        let asks = sentence.trim_end().ends_with(['?', '？'])
            && !starts_with_any(sentence.trim(), "can you|could you|can we|shall we|please");
        if asks {
            continue;
        }
        for (clause_at, clause) in sentence.split([',', '，', '–']).enumerate() {
            let bare = clause.trim().trim_matches(|c: char| !c.is_alphanumeric());
            let alone = p::CLOSE_ALONE.split('|').any(|word| word == bare);
            let hit = if alone { Some((0, bare.len())) } else { find_any(bare, p::CLOSE) };
            let Some((start, end)) = hit else { continue };
            // A negation before or with the phrase cancels it.
            if contains_any(&sentences[..=at].concat(), p::NOT_CLOSE) {
                return None;
            }
            let object = format!("{} {}", &bare[..start], &bare[end..]);
            let after: Vec<&str> = sentence.split([',', '，', '–']).skip(clause_at + 1).collect();
            let rest = format!("{} {}", after.join(","), sentences[at + 1..].concat());
            if contains_any(&rest, "still|not done|not yet|but") {
                return None;
            }
            return Some((object.trim().to_owned(), rest.trim().to_owned()));
        }
    }
    None
}

fn parse_switch(text: &str) -> Option<(String, SwitchKind)> {
    for sentence in text.split_inclusive(['.', '!', '?', ';']) {
        for (table, how) in [(p::RESUME, SwitchKind::Back), (p::SWITCH, SwitchKind::Loosely)] {
            let Some((start, end)) = find_any(sentence, table) else { continue };
            let asks = sentence.ends_with('?') && !contains_any(sentence, "can we|could we|can you");
            if asks || !is_lead_in(&sentence[..start]) {
                continue;
            }
            let how = if contains_any(sentence, "instead") { SwitchKind::Instead } else { how };
            let target = parse_target(&sentence[end..]);
            let vague = has_only(&target, "this|it|that|later|the|a|soon|you|work|me|tomorrow");
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
    for phrase in p::LEAD_IN.split('|') {
        words = words.replace(&format!(" {phrase} "), "  ");
    }
    // An earlier clause may say anything.
    let clause = words.rsplit([',', ':']).next().unwrap_or_default();
    clause.rsplit(" and ").next().unwrap_or_default().trim().is_empty()
}

/// The target up to the end of the clause, without adverbs.
fn parse_target(rest: &str) -> String {
    let clause = rest.split([',', '.', '!', '?', ';']).next().unwrap_or_default();
    let stop = "instead|now|again|please|for|first|next|because|since|where|and|today";
    let end = find_any(clause, stop).map_or(clause.len(), |(start, _)| start);
    clause[..end].trim().to_owned()
}

fn parse_start(text: &str, question: bool) -> Option<StartSignal> {
    if contains_any(text, p::NEW_TOPIC) {
        return Some(StartSignal::Declared);
    }
    if contains_any(text, p::NOT_BEGIN) {
        return None;
    }
    if contains_any(text, p::BEGIN_ELSEWHERE) {
        return Some(StartSignal::Asked);
    }
    let asks_fact = question && starts_with_any(text, p::FACTUAL);
    let begins = contains_any(text, p::BEGIN)
        || starts_with_any(text, p::ORDERS)
        || contains_any(text, p::HOW_TO)
        || (contains_any(text, p::COMPLAINT) && !asks_fact);
    begins.then_some(StartSignal::Implied)
}
