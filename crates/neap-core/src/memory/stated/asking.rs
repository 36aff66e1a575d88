//! Finds what a person explicitly asks to be remembered: "Remember: X", "keep in mind that X", "X, please remember that".
//!
//! X is a statement. A thing to do ("remember to call Bob"), a thing to recall ("remember the trip?"), an aside in a
//! request for work ("remember that the list may be empty, so check it") and what holds for a day are left out.

use super::rules::{
    ASK_ENDS, ASK_HEADS, ASK_LATER, ASK_LEADS, ASK_VERBS, ASK_VERBS_BARE, IMPERATIVES, PASSING, STATEMENT_STARTS,
    STATEMENT_VERBS, UNSTATED_STARTS,
};
use crate::text::opening::find_opening;
use crate::text::phrases::Phrases;

/// A longer message that says `remember that` explains something.
const ASIDE_WORDS_MIN: usize = 60;
const WORDS_MIN: usize = 3;
/// A shorter clause without a known verb is a thing.
const CLAUSE_WORDS_MIN: usize = 4;
/// In a sentence without a determiner, the verb is among so many words.
const BARE_SUBJECT_WORDS: usize = 3;

/// How the words that ask are joined with what is to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    Colon,
    Comma,
    That,
    Bare,
}

/// What sentence `at` asks to be remembered: a part of it, or of the one before.
pub(super) fn asked_in<'a>(message: &str, sentences: &[&'a str], at: usize) -> Option<&'a str> {
    let sentence = sentences[at];
    if is_ask_alone(sentence) {
        let before = sentences[at.checked_sub(1)?];
        // Nothing of somebody else stands between them.
        let adjoins = message.contains(&format!("{before} {sentence}"));
        return Some(before).filter(|before| adjoins && is_statement(before, Joint::Comma));
    }
    if let Some(rest) = before_ask(sentence) {
        return Some(rest);
    }
    let (rest, joint) = after_ask(sentence)?;
    let is_aside = joint != Joint::Colon && is_aside(message, sentence, rest);
    (!is_aside && is_statement(rest, joint)).then(|| rest.trim_end_matches('?'))
}

/// `Remember that.`
fn is_ask_alone(sentence: &str) -> bool {
    let lower = sentence.to_ascii_lowercase();
    ASK_ENDS.has_entry(skip_leads(&lower).trim_end_matches(|c: char| !c.is_alphanumeric()))
}

/// `X, please remember that.`
fn before_ask(sentence: &str) -> Option<&str> {
    let at = [", ", " — ", " – ", " - ", "; "].iter().filter_map(|mark| sentence.rfind(mark)).max()?;
    let (rest, ask) = sentence.split_at(at);
    (is_ask_alone(ask) && is_statement(rest, Joint::Comma)).then_some(rest)
}

/// The rest of a sentence that begins with words that ask.
fn after_ask(sentence: &str) -> Option<(&str, Joint)> {
    let lower = sentence.to_ascii_lowercase();
    // Lower case changes no lengths: places hold in both.
    let place = |rest: &str| lower.len() - rest.len();
    let (mut rest, mut found) = (skip_leads(&lower), None);
    loop {
        let verb = ASK_VERBS.find_first(rest);
        let head = verb.clone().or_else(|| ASK_HEADS.find_first(rest));
        let Some(words) = head else { break };
        let is_bare_verb = ASK_VERBS_BARE.has_entry(&rest[words.clone()]);
        let after = rest[words.end..].trim_start();
        let after = ASK_LATER
            .find_first(after.trim_start_matches([',', ' ']))
            .map_or(after, |later| after.trim_start_matches([',', ' '])[later.end..].trim_start());
        let joint = joint_of(after).filter(|(joint, _)| match joint {
            Joint::Colon | Joint::Comma => true,
            Joint::That => verb.is_some(),
            Joint::Bare => is_bare_verb,
        });
        let (joint, after) = joint?;
        found = Some((place(after), joint));
        rest = skip_leads(after);
    }
    let (at, joint) = found?;
    let is_question = sentence.ends_with('?') && !(joint == Joint::That && lower.contains("please"));
    (!is_question).then(|| (&sentence[at..], joint))
}

fn joint_of(after: &str) -> Option<(Joint, &str)> {
    let dashes = ["- ", "– ", "— "];
    if let Some(rest) = after.strip_prefix(':') {
        return Some((Joint::Colon, rest.trim_start()));
    }
    if let Some(rest) = after.strip_prefix(',').or_else(|| dashes.iter().find_map(|dash| after.strip_prefix(dash)))
    {
        return Some((Joint::Comma, rest.trim_start()));
    }
    if let Some(rest) = after.strip_prefix("that ") {
        return Some((Joint::That, rest.trim_start()));
    }
    after.starts_with(char::is_alphanumeric).then_some((Joint::Bare, after))
}

/// Without greetings and politeness.
fn skip_leads(text: &str) -> &str {
    let mut rest = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    while let Some(lead) = ASK_LEADS.find_first(rest) {
        rest = rest[lead.end..].trim_start_matches(|c: char| !c.is_alphanumeric());
    }
    rest
}

/// Whether it belongs to an order: this one, or another of the message.
fn is_aside(message: &str, sentence: &str, rest: &str) -> bool {
    let lower = rest.to_ascii_lowercase();
    let orders = [", so ", ", and ", ", then ", ", "].iter().any(|mark| {
        lower.match_indices(mark).any(|(at, _)| {
            *mark == ", so " || IMPERATIVES.iter().any(|verb| Phrases(verb).begins(&lower[at + mark.len()..]))
        })
    });
    let others = message.replacen(sentence, " ", 1);
    orders || message.split_whitespace().count() >= ASIDE_WORDS_MIN || find_opening(&others).is_some()
}

/// Whether a text states something that holds for longer than a day.
fn is_statement(text: &str, joint: Joint) -> bool {
    let lower = text.to_ascii_lowercase().replace('’', "'");
    let words: Vec<&str> = lower.split_whitespace().collect();
    if words.len() < WORDS_MIN || UNSTATED_STARTS.begins(&lower) || PASSING.occurs_in(&lower) {
        return false;
    }
    if joint != Joint::That && text.trim_end().ends_with('?') {
        return false;
    }
    let is_verb = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '=' && c != '\'');
        STATEMENT_VERBS.has_entry(word) || word.ends_with("'m") || word.ends_with("'re") || word.ends_with("'ll")
    };
    let verb = words.iter().position(is_verb);
    let has_determiner = STATEMENT_STARTS.begins(&lower);
    let first = words[0].trim_end_matches(|c: char| !c.is_alphanumeric());
    let is_name = text.starts_with(char::is_uppercase) && joint != Joint::Colon
        || first.ends_with('s')
        || first.contains(|c: char| c.is_ascii_digit());
    match joint {
        Joint::Colon | Joint::That if has_determiner => true,
        Joint::Comma if has_determiner => verb.is_some() || words.len() > CLAUSE_WORDS_MIN,
        Joint::Colon | Joint::Comma | Joint::That if verb.is_some() => {
            has_determiner || is_name || verb.is_some_and(|at| at > 0 && at < BARE_SUBJECT_WORDS)
        }
        Joint::That => is_name,
        Joint::Bare => verb.is_some() && (has_determiner || is_name),
        Joint::Colon | Joint::Comma => false,
    }
}
