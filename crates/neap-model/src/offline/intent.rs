//! What the user wants, by the words alone; whether it can be had is [`decide`](super::decide)'s.

use super::phrases::{self as p, any, find, only, plain};

/// A wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    /// To know what is going on.
    Status,
    /// To be told about the past; with `explicit`, in so many words.
    Recall { detail: bool, explicit: bool },
    /// That work is over; `object` is what the clause names, `rest` what else is said.
    Close { object: String, rest: String },
    /// To go to other work.
    GoTo { target: String, how: Going },
    /// To see a log, or no longer.
    Expand { target: String },
    /// To put a log away.
    Collapse { target: String },
    /// To begin work.
    Begin(Beginning),
    /// Not now.
    Pause,
    /// Nothing but to be polite.
    Courtesy,
    /// To be told something.
    Ask,
    /// To say something.
    Tell,
}

/// How other work is spoken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Going {
    /// As known.
    Back,
    /// As known or new.
    Instead,
    /// By a verb that may mean anything else.
    Loosely,
}

/// How clearly work begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// It is called something new.
    Declared,
    /// Help is asked for, or a thing is to be made.
    Asked,
    /// It is wanted, complained about or asked how.
    Implied,
}

/// Reads a wish.
pub(super) fn intent(said: &str) -> Intent {
    let text = plain(said);
    let question = is_question(&text);
    if only(&text, p::COURTESY) {
        return Intent::Courtesy;
    }
    if is_status(&text) {
        return Intent::Status;
    }
    if let Some(target) = command(&text, "expand") {
        return Intent::Expand { target };
    }
    if let Some(target) = command(&text, "collapse") {
        return Intent::Collapse { target };
    }
    if is_recall(&text, question) {
        return Intent::Recall { detail: any(&text, p::DETAIL), explicit: true };
    }
    if let Some((object, rest)) = close(&text) {
        return Intent::Close { object, rest };
    }
    if let Some((target, how)) = going(&text) {
        return Intent::GoTo { target, how };
    }
    if let Some(beginning) = beginning(&text, question) {
        return Intent::Begin(beginning);
    }
    if any(&text, p::PAUSE) && !question {
        return Intent::Pause;
    }
    if question { Intent::Ask } else { Intent::Tell }
}

/// Whether something is asked.
pub(super) fn is_question(text: &str) -> bool {
    let asks = "what|what's|how|who|who's|when|where|which|why|is|are|do|does|did|can|could|should|would|was|were";
    text.ends_with(['?', '？']) || starts(text, asks) || starts(text, p::REQUESTS) || any(text, "details")
}

/// Whether a text begins with a phrase of a table.
fn starts(text: &str, table: &str) -> bool {
    find(text, table).is_some_and(|(start, _)| start == 0)
}

fn is_status(text: &str) -> bool {
    let bare = text.trim_end_matches(['?', '.', '!']);
    matches!(bare, "status" | "where are we" | "where were we" | "efforts") || any(text, p::STATUS)
}

/// `expand auth-bug`, said as a command.
fn command(text: &str, verb: &str) -> Option<String> {
    let rest = text.strip_prefix("please ").unwrap_or(text).strip_prefix(verb)?;
    let target = rest.strip_prefix(' ')?.trim_end_matches(['.', '!']);
    (target.split(' ').count() <= 5).then(|| target.to_owned())
}

fn is_recall(text: &str, question: bool) -> bool {
    let reminds = any(text, "remind me|do you remember|remember what|remember how|what do we know");
    (question || reminds) && any(text, p::RECALL) && !any(text, p::NOT_RECALL)
}

/// The object of a clause that closes, and all other sentences.
fn close(text: &str) -> Option<(String, String)> {
    let sentences: Vec<&str> = text.split_inclusive(['.', '!', '?', ';', '。', '！', '？']).collect();
    for (at, sentence) in sentences.iter().enumerate() {
        let asks = sentence.trim_end().ends_with(['?', '？'])
            && !starts(sentence.trim(), "can you|could you|can we|shall we|please");
        if asks {
            continue;
        }
        for (clause_at, clause) in sentence.split([',', '，', '–']).enumerate() {
            let bare = clause.trim().trim_matches(|c: char| !c.is_alphanumeric());
            let alone = p::CLOSE_ALONE.split('|').any(|word| word == bare);
            let hit = if alone { Some((0, bare.len())) } else { find(bare, p::CLOSE) };
            let Some((start, end)) = hit else { continue };
            // What is taken back anywhere before or with the sign is no sign.
            if any(&sentences[..=at].concat(), p::NOT_CLOSE) {
                return None;
            }
            let object = format!("{} {}", &bare[..start], &bare[end..]);
            let after: Vec<&str> = sentence.split([',', '，', '–']).skip(clause_at + 1).collect();
            let rest = format!("{} {}", after.join(","), sentences[at + 1..].concat());
            if any(&rest, "still|not done|not yet|but") {
                return None;
            }
            return Some((object.trim().to_owned(), rest.trim().to_owned()));
        }
    }
    None
}

/// Where a clause goes to.
fn going(text: &str) -> Option<(String, Going)> {
    for sentence in text.split_inclusive(['.', '!', '?', ';']) {
        for (table, how) in [(p::RESUME, Going::Back), (p::SWITCH, Going::Loosely)] {
            let Some((start, end)) = find(sentence, table) else { continue };
            let asks = sentence.ends_with('?') && !any(sentence, "can we|could we|can you");
            if asks || !is_lead_in(&sentence[..start]) {
                continue;
            }
            let how = if any(sentence, "instead") { Going::Instead } else { how };
            let target = target(&sentence[end..]);
            let vague = only(&target, "this|it|that|later|the|a|soon|you|work|me|tomorrow");
            if !vague {
                return Some((target, how));
            }
        }
    }
    None
}

/// Whether nothing of weight comes before the verb.
fn is_lead_in(before: &str) -> bool {
    let mut words = format!(" {} ", before.replace(',', " , "));
    for phrase in p::LEAD_IN.split('|') {
        words = words.replace(&format!(" {phrase} "), "  ");
    }
    // A clause before it may say anything.
    let clause = words.rsplit([',', ':']).next().unwrap_or_default();
    clause.rsplit(" and ").next().unwrap_or_default().trim().is_empty()
}

/// What is gone to: up to the end of the clause, without words about how.
fn target(rest: &str) -> String {
    let clause = rest.split([',', '.', '!', '?', ';']).next().unwrap_or_default();
    let stop = "instead|now|again|please|for|first|next|because|since|where|and|today";
    let end = find(clause, stop).map_or(clause.len(), |(start, _)| start);
    clause[..end].trim().to_owned()
}

fn beginning(text: &str, question: bool) -> Option<Beginning> {
    if any(text, p::NEW_TOPIC) {
        return Some(Beginning::Declared);
    }
    if any(text, p::NOT_BEGIN) {
        return None;
    }
    if any(text, p::BEGIN_ELSEWHERE) {
        return Some(Beginning::Asked);
    }
    let asks_fact = question && starts(text, p::FACTUAL);
    let begins = any(text, p::BEGIN)
        || starts(text, p::ORDERS)
        || any(text, p::HOW_TO)
        || (any(text, p::COMPLAINT) && !asks_fact);
    begins.then_some(Beginning::Implied)
}
