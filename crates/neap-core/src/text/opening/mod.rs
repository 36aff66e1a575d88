//! Finds where a person begins work: an announcement, a request, a task, a plan, or a trouble. Chats with the
//! built-in model, the proxy and the imports go by these rules; [`completion`](super::completion) has those that
//! end work.
//!
//! A question that one answer settles, a fact, a taste and a courtesy begin nothing. Where a sentence could be
//! either, it begins nothing if it points at what is in hand ("fix it"), and something if it complains.

mod name;
mod tables;

use super::completion::sentences;
use super::phrases::{Phrases, normalize};
pub use name::{opening_name, salient_words};
use tables as t;

/// How surely a message begins work of its own, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpeningKind {
    /// It announces other work, or adds some.
    Declared,
    /// It asks for help, or proposes something large.
    Asked,
    /// It states a task, a plan or a trouble. Where work is in hand, this may belong to it.
    Stated,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    pub kind: OpeningKind,
    /// What the work is about, in the words that follow the opening phrase, normalized.
    pub topic: String,
    /// The sentence that says so.
    pub sentence: String,
}

/// Requests stand at the ends of a message, pasted text between them.
const SENTENCES_AT_EACH_END: usize = 8;
/// A longer sentence is data.
const SENTENCE_BYTES_MAX: usize = 600;

/// The surest opening of a message; of several, the first.
pub fn find_opening(message: &str) -> Option<Opening> {
    let sentences = sentences(message);
    let from_end = sentences.len().saturating_sub(SENTENCES_AT_EACH_END);
    let read = sentences.iter().enumerate().filter(|(at, _)| *at < SENTENCES_AT_EACH_END || *at >= from_end);
    let found = read.filter(|(_, text)| text.len() <= SENTENCE_BYTES_MAX).filter_map(|(_, text)| opening_in(text));
    // The first of the surest: `min_by_key` keeps the first of equals.
    found.min_by_key(|opening| opening.kind).filter(|_| !salient_words(&normalize(message)).is_empty())
}

fn opening_in(sentence: &str) -> Option<Opening> {
    let found = |kind, topic: &str| Some(Opening { kind, topic: topic.to_owned(), sentence: sentence.to_owned() });
    if let Some(place) = t::NEW_TOPIC.find(sentence) {
        return found(OpeningKind::Declared, &sentence[place.end..]);
    }
    // "I also want": the word stands between the parts of a phrase.
    let plain = sentence.replace(" also ", " ");
    let (body, adds) = after_lead_in(&plain);
    let adds = adds || plain.len() < sentence.len();
    if let Some(place) = t::HELP.find(body).filter(|_| !t::NO_WORK_STARTS.begins(body)) {
        return found(OpeningKind::Asked, &body[place.end..]);
    }
    let asks = body.contains('?') || t::QUESTION_STARTS.begins(body);
    if let Some((kind, topic)) = proposed(body, adds).or_else(|| ordered(body, adds)) {
        return found(kind, topic);
    }
    if is_step(body) {
        return None;
    }
    if asks {
        return asked_in(body).and_then(|topic| found(OpeningKind::Stated, topic));
    }
    let intends = || intended(body).map(|topic| (OpeningKind::Stated, topic));
    if let Some((kind, topic)) = needed(body, adds).or_else(|| ongoing(body, adds)).or_else(intends) {
        return found(kind, topic);
    }
    if t::NO_WORK_STARTS.begins(body) {
        return None;
    }
    (t::DUE.occurs_in(body) || is_trouble(body)).then_some(())?;
    found(OpeningKind::Stated, body)
}

/// The sentence without greetings and other words before it, and whether one of them adds work.
fn after_lead_in(sentence: &str) -> (&str, bool) {
    let (mut rest, mut adds) = (trim_marks(sentence), false);
    while let Some(place) = t::LEAD_IN.find_first(rest).filter(|_| !t::NO_WORK_STARTS.begins(rest)) {
        // What is nothing but a lead-in has no body: the words stay.
        let next = trim_marks(&rest[place.end..]);
        if next.is_empty() {
            break;
        }
        adds |= t::ADDS.has_entry(&rest[place]);
        rest = next;
    }
    (rest, adds || t::ADDS.occurs_in(rest))
}

fn trim_marks(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// "Let's plan a trip": a proposal with a verb of work and an object of its own.
fn proposed(body: &str, adds: bool) -> Option<(OpeningKind, &str)> {
    let rest = &body[t::PROPOSALS.find_first(body)?.end..];
    let (verb, object) = work_verb(rest)?;
    Some((size(verb, adds), object))
}

/// "Fix the footer", "could you fix the footer?": an order with a verb of work and an object of its own.
fn ordered(body: &str, adds: bool) -> Option<(OpeningKind, &str)> {
    let asked = t::ORDERS.find_first(body);
    let rest = asked.as_ref().map_or(body, |place| &body[place.end..]);
    let Some((verb, object)) = work_verb(rest) else {
        return orders_something(skip_adverbs(rest)).map(|object| (OpeningKind::Stated, object));
    };
    // "Test results are in": a noun, not an order.
    let states = object.split(' ').take(2).any(|word| t::STATES_FACT.has_entry(word));
    if asked.is_none() && states {
        return None;
    }
    let plans = Phrases("plan|organise|organize|prepare").has_entry(verb);
    Some((if plans { size(verb, adds) } else { OpeningKind::Stated }, object))
}

/// "Translate the manual": a word that no statement begins with, before a determiner, is a verb; one that stands for
/// a step of work in hand, as in "run the tests", begins nothing.
fn orders_something(rest: &str) -> Option<&str> {
    let (verb, object) = rest.split_once(' ')?;
    let is_verb = verb.bytes().all(|byte| byte.is_ascii_lowercase())
        && !t::NO_VERBS.has_entry(verb)
        && !verb.ends_with("ing")
        && !verb.ends_with("ed")
        && t::ARTICLES.begins(object);
    (is_verb && !is_step(rest) && !salient_words(object).is_empty()).then_some(object)
}

/// "Run the tests and show me the failures".
fn is_step(body: &str) -> bool {
    let object = t::STEPS.find_first(body).map(|verb| trim_marks(&body[verb.end..]));
    object.is_some_and(|object| t::ARTICLES.begins(object) || t::POINTING.begins(object))
}

/// "We need to move our mail": a need with a verb, or a thing that is needed.
fn needed(body: &str, adds: bool) -> Option<(OpeningKind, &str)> {
    let place = t::NEEDS.find(body)?;
    let rest = skip_adverbs(&body[place.end..]);
    // "I'm going to the shop".
    let goes_somewhere = body[place.clone()].ends_with(" to") && t::DETERMINERS.begins(rest);
    let idles =
        t::IDLE.begins(rest) || matches!(rest.trim_end_matches(|c: char| !c.is_alphanumeric()), "run" | "move");
    if goes_somewhere || idles || t::NO_WORK_STARTS.begins(body) || salient_words(rest).is_empty() {
        return None;
    }
    let kind = work_verb(rest).map_or(OpeningKind::Stated, |(verb, _)| size(verb, adds));
    Some((kind, rest))
}

/// "We will switch the blog": an intention counts with a verb of work only. "The search should understand synonyms":
/// what a thing should do is not what it does.
fn intended(body: &str) -> Option<&str> {
    if let Some((_, object)) = t::INTENTIONS.find(body).and_then(|place| work_verb(&body[place.end..])) {
        return Some(object);
    }
    let should = t::OBLIGATIONS.find(body)?;
    let subject = body[..should.start].trim_end();
    let is_thing = !subject.is_empty() && !t::POINTING_SUBJECTS.has_entry(subject);
    let rest = body[should.end..].trim_start();
    (is_thing && !t::MILD.begins(rest) && !t::NO_TROUBLE.occurs_in(body)).then_some(body)
}

/// "I'm building a shed", "planning a wedding".
fn ongoing(body: &str, adds: bool) -> Option<(OpeningKind, &str)> {
    let rest = t::ONGOING.find(body).map_or(body, |place| skip_adverbs(&body[place.end..]));
    let (verb, object) = work_verb_of(rest, is_ing_form)?;
    Some((size(verb, adds), object))
}

fn size(verb: &str, adds: bool) -> OpeningKind {
    match (t::PLANNING.has_entry(verb), adds) {
        (true, true) => OpeningKind::Declared,
        (true, false) => OpeningKind::Asked,
        (false, _) => OpeningKind::Stated,
    }
}

/// A verb of work at the start, and an object of its own that follows it.
fn work_verb(text: &str) -> Option<(&'static str, &str)> {
    work_verb_of(skip_adverbs(text), |verb, word| verb == word)
}

/// The same for a form of the verb; `is_form` compares the verb's first word with the text's.
fn work_verb_of(text: &str, is_form: fn(&str, &str) -> bool) -> Option<(&'static str, &str)> {
    let (word, after) = text.split_once(' ')?;
    let object = |verb: &'static str| {
        let (first, particle) = verb.split_once(' ').unwrap_or((verb, ""));
        let rest = after.strip_prefix(particle)?;
        let whole = particle.is_empty() || rest.is_empty() || rest.starts_with(' ');
        (whole && is_form(first, word)).then(|| (verb, rest.trim_start()))
    };
    let (verb, object) = t::WORK.iter().filter_map(object).max_by_key(|(verb, _)| verb.len())?;
    (!t::POINTING.begins(object) && !salient_words(object).is_empty()).then_some((verb, object))
}

fn skip_adverbs(text: &str) -> &str {
    const ADVERBS: Phrases = Phrases(
        "also|now|next|first|just|then|maybe|finally|quickly|really|please|still|soon|together|either|urgently|\
         eventually|currently|to",
    );
    let mut rest = trim_marks(text);
    while let Some(place) = ADVERBS.find_first(rest) {
        rest = trim_marks(&rest[place.end..]);
    }
    rest
}

/// Whether a word is the verb's form with `ing`.
fn is_ing_form(verb: &str, word: &str) -> bool {
    let Some(stem) = word.strip_suffix("ing") else { return false };
    let halved = stem.strip_suffix(|c: char| stem.chars().rev().nth(1) == Some(c)).unwrap_or(stem);
    verb == stem || verb == halved || verb.strip_suffix('e') == Some(stem)
}

/// A question that more than one answer settles: how to do something, or why something fails.
fn asked_in(body: &str) -> Option<&str> {
    if let Some(place) = t::HOW_TO.find(body) {
        let rest = skip_adverbs(&body[place.end..]);
        return (!t::SMALL_PROCEDURES.begins(rest) && !salient_words(rest).is_empty()).then_some(rest);
    }
    let about_trouble = t::TROUBLE_QUESTIONS.begins(body);
    (about_trouble && (!body.starts_with("why") || is_trouble(body))).then_some(body)
}

fn is_trouble(body: &str) -> bool {
    !t::NO_TROUBLE.occurs_in(body)
        && (t::TROUBLES.occurs_in(body)
            || is_web_error(body)
            || is_slow(body)
            || is_not_doing(body)
            || is_going_on(body)
            || body.split(|c: char| !c.is_alphanumeric()).any(is_disabled))
}

/// A verb that takes a status code of the web, and one.
fn is_web_error(body: &str) -> bool {
    let is_code =
        |word: &str| word.len() == 3 && word.starts_with(['4', '5']) && word.bytes().all(|b| b.is_ascii_digit());
    t::RECEIVES.occurs_in(body) && body.split(|c: char| !c.is_alphanumeric() && c != '.' && c != '$').any(is_code)
}

/// "takes 9 seconds to load".
fn is_slow(body: &str) -> bool {
    let Some(takes) = Phrases("takes|took|taking|take|needs").find(body) else { return false };
    let rest = &body[takes.end..];
    rest.contains(|c: char| c.is_ascii_digit()) && t::SLOW_AT.occurs_in(rest)
}

/// "doesn't show the stations", "never rises", "nobody can log in".
fn is_not_doing(body: &str) -> bool {
    let Some(denial) = Phrases("doesn't|does not|isn't being|aren't being|never|nobody|no one").find(body) else {
        return false;
    };
    let of_person = Phrases("i|we|you|he|she|they|my son|my daughter").begins(body);
    !(of_person || t::PERSONAL_VERBS.begins(body[denial.end..].trim_start()))
}

/// "has been stopping between floors", "something is eating the leaves".
fn is_going_on(body: &str) -> bool {
    let place = Phrases("has been|have been|something is|somebody is|someone is|something keeps").find(body);
    place
        .is_some_and(|place| body[place.end..].split_whitespace().next().is_some_and(|word| word.ends_with("ing")))
}

/// `unreadable`, `unreachable`.
fn is_disabled(word: &str) -> bool {
    word.starts_with("un") && (word.ends_with("able") || word.ends_with("ible") || word == "unresponsive")
}

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod held_out;
#[cfg(test)]
mod once_held_out;
#[cfg(test)]
mod tests;
