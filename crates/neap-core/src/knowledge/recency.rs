//! "What did we do yesterday?", "catch me up": questions about a time are answered by time, not by likeness (DESIGN,
//! decision 15).
//!
//! A question takes this path if it asks for a recap, or asks about the past and names a time. Days, weeks (from
//! Monday) and months are those of UTC. A recap without a time, and "recently", mean the last seven days.

use crate::ids::Stamp;
use crate::reference::words;

const DAY_MS: i64 = 86_400_000;
/// How far back a recap reaches that names no time, in days.
const RECAP_DAYS: i64 = 7;

/// Phrases that ask for a recap.
const RECAPS: [&str; 10] = [
    "catch me up",
    "catch up",
    "recap",
    "bring me up to speed",
    "up to speed",
    "where were we",
    "where did we leave off",
    "what is new",
    "what s new",
    "what did i miss",
];
/// Words that ask about the past.
const PAST: [&str; 25] = [
    "did",
    "done",
    "was",
    "were",
    "been",
    "happened",
    "happen",
    "decided",
    "worked",
    "discussed",
    "talked",
    "said",
    "learned",
    "learnt",
    "changed",
    "finished",
    "made",
    "had",
    "have",
    "has",
    "went",
    "built",
    "fixed",
    "agreed",
    "wrote",
];
/// What a question, or a request to tell, begins with.
const ASKING: [&str; 18] = [
    "what",
    "which",
    "who",
    "when",
    "where",
    "why",
    "how",
    "did",
    "have",
    "has",
    "was",
    "were",
    "tell",
    "summarize",
    "summarise",
    "show",
    "list",
    "remind",
];

/// From when until when (the end is not part of it) a question asks for; none if it is no question about a time.
pub fn window(question: &str, now: Stamp) -> Option<(Stamp, Stamp)> {
    let said = words(question);
    let recap = RECAPS.iter().any(|phrase| has(&said, phrase));
    let first = said.first().map(String::as_str).unwrap_or_default();
    let asks = ASKING.contains(&first) || question.trim_end().ends_with('?');
    let about_past = said.iter().any(|word| PAST.contains(&word.as_str()))
        || ["summarize", "summarise", "remind"].contains(&first);
    let span = span(&said, now);
    match (recap, asks && about_past) {
        (true, _) => Some(span.unwrap_or_else(|| since(now, RECAP_DAYS - 1))),
        (false, true) => span,
        (false, false) => None,
    }
}

/// From when until when a time in words is: `last week`; none if it is not understood.
pub fn named_time(text: &str, now: Stamp) -> Option<(Stamp, Stamp)> {
    span(&words(text), now).or_else(|| window(text, now))
}

/// The time that is named, if one is.
fn span(said: &[String], now: Stamp) -> Option<(Stamp, Stamp)> {
    let today = now.0.div_euclid(DAY_MS);
    let monday = today - (today + 3).rem_euclid(7);
    let days = |from: i64, until: i64| Some((Stamp(from * DAY_MS), Stamp(until * DAY_MS)));
    let to_now = |from: i64| Some((Stamp(from * DAY_MS), Stamp(now.0 + 1)));
    if has(said, "yesterday") || has(said, "last night") {
        return days(today - 1, today);
    }
    if has(said, "today") || has(said, "this morning") || has(said, "tonight") {
        return to_now(today);
    }
    if has(said, "last week") {
        return days(monday - 7, monday);
    }
    if has(said, "this week") {
        return to_now(monday);
    }
    if has(said, "last month") {
        let first = first_of_month(today);
        return days(first_of_month(first - 1), first);
    }
    if has(said, "this month") {
        return to_now(first_of_month(today));
    }
    if has(said, "recently") || has(said, "lately") || has(said, "these days") {
        return Some(since(now, RECAP_DAYS - 1));
    }
    counted(said, today, now)
}

/// "three days ago", "in the last 2 weeks", "the past 10 days".
fn counted(said: &[String], today: i64, now: Stamp) -> Option<(Stamp, Stamp)> {
    let at = said.windows(2).position(|pair| number(&pair[0]).is_some() && unit(&pair[1]).is_some())?;
    let (count, unit) = (number(&said[at])?, unit(&said[at + 1])?);
    if said.get(at + 2).is_some_and(|word| word == "ago") {
        let day = today - count * unit;
        return Some((Stamp(day * DAY_MS), Stamp((day + unit).min(today + 1) * DAY_MS)));
    }
    let before = at.checked_sub(1).map(|before| said[before].as_str());
    matches!(before, Some("last" | "past")).then(|| since(now, count * unit - 1))
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

/// From the beginning of a day so many days ago until now.
fn since(now: Stamp, days: i64) -> (Stamp, Stamp) {
    (Stamp((now.0.div_euclid(DAY_MS) - days) * DAY_MS), Stamp(now.0 + 1))
}

fn has(said: &[String], phrase: &str) -> bool {
    let wanted: Vec<&str> = phrase.split(' ').collect();
    said.windows(wanted.len()).any(|run| run.iter().zip(&wanted).all(|(word, wanted)| word == wanted))
}

/// The first day of a day's month, both counted from 1970-01-01.
fn first_of_month(day: i64) -> i64 {
    day + 1 - Stamp(day * DAY_MS).day_of_month()
}
