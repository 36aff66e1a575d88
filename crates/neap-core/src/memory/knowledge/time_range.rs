//! Parses time ranges in questions: "What did we do yesterday?" and "catch me up" are answered by time, not by
//! similarity.
//!
//! Applies to a request for a recap, and to a question about the past that names a time. Days, weeks (from Monday)
//! and months are UTC. A recap without a time, and "recently", mean the last seven days.

use crate::base::ids::Stamp;
use crate::text::reference::folded_words;

const DAY_MS: i64 = 86_400_000;
/// Days covered by a recap that names no time.
const RECAP_DAYS: i64 = 7;

const RECAP_PHRASES: [&str; 10] = [
    "catch me up", "catch up", "recap", "bring me up to speed", "up to speed", "where were we",
    "where did we leave off", "what is new", "what s new", "what did i miss",
];
/// Words that refer to the past.
const PAST_WORDS: [&str; 25] = [
    "did", "done", "was", "were", "been", "happened", "happen", "decided", "worked", "discussed", "talked",
    "said", "learned", "learnt", "changed", "finished", "made", "had", "have", "has", "went", "built", "fixed",
    "agreed", "wrote",
];
/// First words of a question or a request to report.
const QUESTION_STARTS: [&str; 18] = [
    "what", "which", "who", "when", "where", "why", "how", "did", "have", "has", "was", "were", "tell",
    "summarize", "summarise", "show", "list", "remind",
];

/// A longer message tells of times without asking about one.
const QUESTION_BYTES_MAX: usize = 300;

/// The time range a question asks about, end exclusive; `None` if it is not about a time.
pub fn question_time_range(question: &str, now: Stamp) -> Option<(Stamp, Stamp)> {
    if question.len() > QUESTION_BYTES_MAX {
        return None;
    }
    let words = folded_words(question);
    let recap = RECAP_PHRASES.iter().any(|phrase| has_phrase(&words, phrase));
    let first = words.first().map(String::as_str).unwrap_or_default();
    let is_question = QUESTION_STARTS.contains(&first) || question.trim_end().ends_with('?');
    let about_past = words.iter().any(|word| PAST_WORDS.contains(&word.as_str()))
        || ["summarize", "summarise", "remind"].contains(&first);
    let range = find_time_range(&words, now);
    match (recap, is_question && about_past) {
        (true, _) => Some(range.unwrap_or_else(|| last_days(now, RECAP_DAYS - 1))),
        (false, true) => range,
        (false, false) => None,
    }
}

/// Parses a time in words, e.g. `last week`.
pub fn parse_time_range(text: &str, now: Stamp) -> Option<(Stamp, Stamp)> {
    find_time_range(&folded_words(text), now).or_else(|| question_time_range(text, now))
}

fn find_time_range(words: &[String], now: Stamp) -> Option<(Stamp, Stamp)> {
    let today = now.0.div_euclid(DAY_MS);
    let monday = today - (today + 3).rem_euclid(7);
    let days = |from: i64, until: i64| Some((Stamp(from * DAY_MS), Stamp(until * DAY_MS)));
    let to_now = |from: i64| Some((Stamp(from * DAY_MS), Stamp(now.0 + 1)));
    if has_phrase(words, "yesterday") || has_phrase(words, "last night") {
        return days(today - 1, today);
    }
    if has_phrase(words, "today") || has_phrase(words, "this morning") || has_phrase(words, "tonight") {
        return to_now(today);
    }
    if has_phrase(words, "last week") {
        return days(monday - 7, monday);
    }
    if has_phrase(words, "this week") {
        return to_now(monday);
    }
    if has_phrase(words, "last month") {
        let first = first_of_month(today);
        return days(first_of_month(first - 1), first);
    }
    if has_phrase(words, "this month") {
        return to_now(first_of_month(today));
    }
    if has_phrase(words, "recently") || has_phrase(words, "lately") || has_phrase(words, "these days") {
        return Some(last_days(now, RECAP_DAYS - 1));
    }
    relative_range(words, today, now)
}

/// "three days ago", "in the last 2 weeks", "the past 10 days".
fn relative_range(words: &[String], today: i64, now: Stamp) -> Option<(Stamp, Stamp)> {
    let at = words.windows(2).position(|pair| number(&pair[0]).is_some() && unit(&pair[1]).is_some())?;
    let (count, unit) = (number(&words[at])?, unit(&words[at + 1])?);
    if words.get(at + 2).is_some_and(|word| word == "ago") {
        let day = today - count * unit;
        return Some((Stamp(day * DAY_MS), Stamp((day + unit).min(today + 1) * DAY_MS)));
    }
    let before = at.checked_sub(1).map(|before| words[before].as_str());
    matches!(before, Some("last" | "past")).then(|| last_days(now, count * unit - 1))
}

fn number(word: &str) -> Option<i64> {
    const NAMES: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let named = NAMES.iter().position(|name| *name == word).map(|at| at as i64 + 1);
    named.or_else(|| word.parse().ok()).filter(|n| (1..=3_650).contains(n))
}

fn unit(word: &str) -> Option<i64> {
    match word {
        "day" | "days" => Some(1),
        "week" | "weeks" => Some(7),
        _ => None,
    }
}

/// From the start of the day `days` days ago until now.
fn last_days(now: Stamp, days: i64) -> (Stamp, Stamp) {
    (Stamp((now.0.div_euclid(DAY_MS) - days) * DAY_MS), Stamp(now.0 + 1))
}

fn has_phrase(words: &[String], phrase: &str) -> bool {
    let wanted: Vec<&str> = phrase.split(' ').collect();
    words.windows(wanted.len()).any(|run| run.iter().zip(&wanted).all(|(word, wanted)| word == wanted))
}

/// The first day of the month, both as days since 1970-01-01.
fn first_of_month(day: i64) -> i64 {
    day + 1 - Stamp(day * DAY_MS).day_of_month()
}
