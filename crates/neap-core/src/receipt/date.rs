//! Dates and times, in one form where the way of writing leaves no doubt.

use super::words::Word;
use crate::calendar::{MONTHS, WEEKDAYS};

/// A day as far as it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Day {
    pub(super) year: Option<u32>,
    pub(super) month: Option<u32>,
    pub(super) day: Option<u32>,
}

impl Day {
    /// Whether it tells nothing that the other does not.
    pub(super) fn is_within(&self, other: &Day) -> bool {
        let within = |mine: Option<u32>, other: Option<u32>| mine.is_none() || mine == other;
        within(self.year, other.year) && within(self.month, other.month) && within(self.day, other.day)
    }
}

/// A date or a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Moment {
    Day(Day),
    /// A time, a weekday, or a date whose parts cannot be told apart.
    Text(String),
}

/// The moment that begins with the first of these words, and how many of them tell it.
pub(super) fn moment(text: &str, words: &[Word<'_>]) -> Option<(Moment, usize)> {
    let first = words.first()?;
    if let Some(found) = numeric(first.text) {
        return Some(match (found, half(text, words)) {
            (Moment::Text(time), Some(half)) if time.contains(':') => (Moment::Text(with_half(&time, &half)), 2),
            (found, _) => (found, 1),
        });
    }
    let lower = first.text.to_lowercase();
    if WEEKDAYS.contains(&lower.as_str()) {
        return Some((Moment::Text(lower), 1));
    }
    clock(text, words, &lower).or_else(|| named(text, words))
}

/// `2026-05-01`, `2026-05-01T10:00Z`, `1/5/2026`, `1.5.2026`, `14:30`.
fn numeric(word: &str) -> Option<Moment> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let date = word.split(['T', 't']).next().unwrap_or_default();
    let parts: Vec<u32> = date.split('-').map_while(|part| digits(part, 4)).collect();
    if let [year @ 1000..=9999, month @ 1..=12, day @ 1..=31] = parts[..]
        && date.split('-').count() == 3
    {
        return Some(Moment::Day(Day { year: Some(year), month: Some(month), day: Some(day) }));
    }
    for sign in ['/', '.'] {
        let parts: Vec<&str> = word.split(sign).collect();
        if let [a, b, year] = parts[..]
            && [a, b].iter().all(|part| digits(part, 2).is_some_and(|n| (1..=31).contains(&n)))
            && (year.len() == 4 || (year.len() == 2 && sign == '/'))
            && digits(year, 4).is_some()
        {
            return Some(Moment::Text(word.to_owned()));
        }
    }
    let lower = word.to_lowercase();
    let time = lower.trim_end_matches(['a', 'p', 'm', 'z']);
    let mut parts = time.split(':');
    let hour = digits(parts.next()?, 2)?;
    let minutes: Vec<&str> = parts.collect();
    let is_time = !minutes.is_empty()
        && minutes.len() <= 2
        && minutes.iter().all(|m| m.len() == 2 && digits(m, 2).is_some());
    let half = ["am", "pm"].into_iter().find(|half| lower.ends_with(half)).unwrap_or_default();
    (hour < 25 && is_time).then(|| Moment::Text(with_half(time, half)))
}

/// A time with the half of the day, where that is needed.
fn with_half(time: &str, half: &str) -> String {
    if matches!(half, "am" | "pm") { format!("{time} {half}") } else { time.to_owned() }
}

/// `3pm`, `3 pm`.
fn clock(text: &str, words: &[Word<'_>], lower: &str) -> Option<(Moment, usize)> {
    let half_of = |name: &str| ["am", "pm"].iter().find(|half| **half == name).copied();
    for half in ["am", "pm"] {
        if let Some(hour) = lower.strip_suffix(half).and_then(|hour| digits(hour, 2)) {
            return Some((Moment::Text(format!("{hour} {half}")), 1));
        }
    }
    let hour = digits(lower, 2)?;
    let half = half(text, words).as_deref().and_then(half_of)?;
    Some((Moment::Text(format!("{hour} {half}")), 2))
}

/// The word after the first that says which half of the day it is.
fn half(text: &str, words: &[Word<'_>]) -> Option<String> {
    let (first, next) = (words.first()?, words.get(1)?);
    let lower = next.text.to_lowercase();
    let near = text[first.end()..next.start].trim().is_empty();
    (near && matches!(lower.as_str(), "am" | "pm" | "uhr")).then_some(lower)
}

/// `8 May 2026`, `8th of May`, `May 8, 2026`, `May 2026`, `October`.
fn named(text: &str, words: &[Word<'_>]) -> Option<(Moment, usize)> {
    let near = |at: usize| {
        let gap = &text[words[at - 1].end()..words[at].start];
        gap.len() <= 3 && gap.chars().all(|c| c == ' ' || c == ',' || c == '.')
    };
    let word = |at: usize| words.get(at).filter(|_| at == 0 || near(at));
    let month = |at: usize| word(at).and_then(|w| month(w.text));
    let day = |at: usize| word(at).and_then(|w| day(w.text));
    let year = |at: usize| word(at).and_then(|w| digits(w.text, 4)).filter(|y| (1000..=2999).contains(y));
    let of = usize::from(word(1).is_some_and(|w| w.text == "of"));
    let (month_no, day_no, taken) = match (day(0), month(1 + of), month(0)) {
        (Some(day_no), Some(month_no), _) => (month_no, Some(day_no), 2 + of),
        (_, _, Some(month_no)) => match day(1).filter(|_| year(1).is_none()) {
            Some(day_no) => (month_no, Some(day_no), 2),
            None => (month_no, None, 1),
        },
        (_, _, None) => return None,
    };
    let year_no = year(taken);
    // A verb and a modal verb have the names of months.
    let doubtful = matches!(month_no, 3 | 5) && day_no.is_none() && year_no.is_none();
    let found = Day { year: year_no, month: Some(month_no), day: day_no };
    (!doubtful).then_some((Moment::Day(found), taken + usize::from(year_no.is_some())))
}

/// Only with a capital: in lower case most of them are other words, too.
fn month(word: &str) -> Option<u32> {
    let lower = word.to_lowercase();
    let is_month = |name: &&str| **name == lower || (lower.len() == 3 && name.starts_with(&lower));
    let at = MONTHS.iter().position(is_month)?;
    word.starts_with(char::is_uppercase).then_some(u32::try_from(at).unwrap_or(0) + 1)
}

fn day(word: &str) -> Option<u32> {
    let lower = word.to_lowercase();
    let body = ["st", "nd", "rd", "th"].iter().find_map(|end| lower.strip_suffix(end)).unwrap_or(&lower);
    digits(body, 2).filter(|day| (1..=31).contains(day))
}

fn digits(text: &str, len_max: usize) -> Option<u32> {
    (text.len() <= len_max && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// Whether a word names a time by which something is due. Expects lower case.
pub(super) fn is_due(lower: &str) -> bool {
    WEEKDAYS.contains(&lower)
        || MONTHS.contains(&lower)
        || matches!(lower, "tomorrow" | "tonight" | "noon" | "eod" | "next" | "end")
}

#[cfg(test)]
mod tests {
    use super::super::words::words;
    use super::*;

    #[track_caller]
    fn day(text: &str, year: u32, month: u32, day: u32, taken: usize) {
        let some = |n: u32| (n > 0).then_some(n);
        let want = Day { year: some(year), month: some(month), day: some(day) };
        assert_eq!(moment(text, &words(text)), Some((Moment::Day(want), taken)), "{text}");
    }

    #[test]
    fn a_day_has_one_form() {
        day("2026-05-08", 2026, 5, 8, 1);
        day("2026-05-08T13:56:00Z", 2026, 5, 8, 1);
        day("8 May 2026 was", 2026, 5, 8, 3);
        day("8th of May", 0, 5, 8, 3);
        day("May 8, 2026.", 2026, 5, 8, 3);
        day("Oct. 12 at", 0, 10, 12, 2);
        day("May 2026", 2026, 5, 0, 2);
        day("October was", 0, 10, 0, 1);
    }

    #[test]
    fn times_and_weekdays() {
        let text = |text: &str, want: &str, taken: usize| {
            assert_eq!(moment(text, &words(text)), Some((Moment::Text(want.to_owned()), taken)), "{text}");
        };
        text("14:30", "14:30", 1);
        text("2:30 Uhr", "2:30", 2);
        text("2:30 PM", "2:30 pm", 2);
        text("2:30pm", "2:30 pm", 1);
        text("3pm", "3 pm", 1);
        text("3 PM", "3 pm", 2);
        text("Friday", "friday", 1);
        text("12/10/2023", "12/10/2023", 1);
    }

    #[test]
    fn what_is_no_date() {
        for text in ["may 8", "May be", "March on", "1.2.3", "3/4", "12", "10:300", "std::io", "am", "at 3"] {
            assert_eq!(moment(text, &words(text)), None, "{text}");
        }
    }
}
