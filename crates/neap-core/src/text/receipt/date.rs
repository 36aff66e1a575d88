//! Parses dates and times into one form where the spelling is unambiguous.

use super::words::Word;
use crate::base::calendar::{MONTHS, WEEKDAYS};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct PartialDate {
    pub(super) year: Option<u32>,
    pub(super) month: Option<u32>,
    pub(super) day: Option<u32>,
}

impl PartialDate {
    /// Whether it states nothing that `other` does not.
    pub(super) fn is_within(&self, other: &PartialDate) -> bool {
        let within = |own: Option<u32>, other: Option<u32>| own.is_none() || own == other;
        within(self.year, other.year) && within(self.month, other.month) && within(self.day, other.day)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Moment {
    Day(PartialDate),
    /// A time, a weekday, or an ambiguous numeric date.
    Text(String),
}

/// The moment that begins with the first word, and how many words it takes.
pub(super) fn parse_moment(text: &str, words: &[Word<'_>]) -> Option<(Moment, usize)> {
    let first = words.first()?;
    if let Some(found) = parse_numeric(first.text) {
        return Some(match (found, meridiem_after(text, words)) {
            (Moment::Text(time), Some(meridiem)) if time.contains(':') => {
                (Moment::Text(with_meridiem(&time, &meridiem)), 2)
            }
            (found, _) => (found, 1),
        });
    }
    let lower = first.text.to_lowercase();
    if WEEKDAYS.contains(&lower.as_str()) {
        return Some((Moment::Text(lower), 1));
    }
    parse_clock(text, words, &lower).or_else(|| parse_named_date(text, words))
}

/// `2026-05-01`, `2026-05-01T10:00Z`, `1/5/2026`, `1.5.2026`, `14:30`.
fn parse_numeric(word: &str) -> Option<Moment> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let date = word.split(['T', 't']).next().unwrap_or_default();
    let parts: Vec<u32> = date.split('-').map_while(|part| parse_digits(part, 4)).collect();
    if let [year @ 1000..=9999, month @ 1..=12, day @ 1..=31] = parts[..]
        && date.split('-').count() == 3
    {
        return Some(Moment::Day(PartialDate { year: Some(year), month: Some(month), day: Some(day) }));
    }
    for separator in ['/', '.'] {
        let parts: Vec<&str> = word.split(separator).collect();
        if let [a, b, year] = parts[..]
            && [a, b].iter().all(|part| parse_digits(part, 2).is_some_and(|n| (1..=31).contains(&n)))
            && (year.len() == 4 || (year.len() == 2 && separator == '/'))
            && parse_digits(year, 4).is_some()
        {
            return Some(Moment::Text(word.to_owned()));
        }
    }
    let lower = word.to_lowercase();
    let time = lower.trim_end_matches(['a', 'p', 'm', 'z']);
    let mut parts = time.split(':');
    let hour = parse_digits(parts.next()?, 2)?;
    let minutes: Vec<&str> = parts.collect();
    let is_time = !minutes.is_empty()
        && minutes.len() <= 2
        && minutes.iter().all(|m| m.len() == 2 && parse_digits(m, 2).is_some());
    let meridiem = ["am", "pm"].into_iter().find(|meridiem| lower.ends_with(meridiem)).unwrap_or_default();
    (hour < 25 && is_time).then(|| Moment::Text(with_meridiem(time, meridiem)))
}

fn with_meridiem(time: &str, meridiem: &str) -> String {
    if matches!(meridiem, "am" | "pm") { format!("{time} {meridiem}") } else { time.to_owned() }
}

/// `3pm`, `3 pm`.
fn parse_clock(text: &str, words: &[Word<'_>], lower: &str) -> Option<(Moment, usize)> {
    let meridiem_of = |name: &str| ["am", "pm"].iter().find(|meridiem| **meridiem == name).copied();
    for meridiem in ["am", "pm"] {
        if let Some(hour) = lower.strip_suffix(meridiem).and_then(|hour| parse_digits(hour, 2)) {
            return Some((Moment::Text(format!("{hour} {meridiem}")), 1));
        }
    }
    let hour = parse_digits(lower, 2)?;
    let meridiem = meridiem_after(text, words).as_deref().and_then(meridiem_of)?;
    Some((Moment::Text(format!("{hour} {meridiem}")), 2))
}

/// The second word, lower case, if it is `am`, `pm` or `uhr`.
fn meridiem_after(text: &str, words: &[Word<'_>]) -> Option<String> {
    let (first, next) = (words.first()?, words.get(1)?);
    let lower = next.text.to_lowercase();
    let is_adjacent = text[first.end()..next.start].trim().is_empty();
    (is_adjacent && matches!(lower.as_str(), "am" | "pm" | "uhr")).then_some(lower)
}

/// `8 May 2026`, `8th of May`, `May 8, 2026`, `May 2026`, `October`.
fn parse_named_date(text: &str, words: &[Word<'_>]) -> Option<(Moment, usize)> {
    let is_adjacent = |at: usize| {
        let gap = &text[words[at - 1].end()..words[at].start];
        gap.len() <= 3 && gap.chars().all(|c| c == ' ' || c == ',' || c == '.')
    };
    let word = |at: usize| words.get(at).filter(|_| at == 0 || is_adjacent(at));
    let month = |at: usize| word(at).and_then(|w| parse_month(w.text));
    let day = |at: usize| word(at).and_then(|w| parse_day(w.text));
    let year = |at: usize| word(at).and_then(|w| parse_digits(w.text, 4)).filter(|y| (1000..=2999).contains(y));
    let of_count = usize::from(word(1).is_some_and(|w| w.text == "of"));
    let (month_no, day_no, consumed) = match (day(0), month(1 + of_count), month(0)) {
        (Some(day_no), Some(month_no), _) => (month_no, Some(day_no), 2 + of_count),
        (_, _, Some(month_no)) => match day(1).filter(|_| year(1).is_none()) {
            Some(day_no) => (month_no, Some(day_no), 2),
            None => (month_no, None, 1),
        },
        (_, _, None) => return None,
    };
    let year_no = year(consumed);
    // "March" and "May" are also verbs.
    let is_ambiguous = matches!(month_no, 3 | 5) && day_no.is_none() && year_no.is_none();
    let found = PartialDate { year: year_no, month: Some(month_no), day: day_no };
    (!is_ambiguous).then_some((Moment::Day(found), consumed + usize::from(year_no.is_some())))
}

/// Requires a capital: most months are other words in lower case.
fn parse_month(word: &str) -> Option<u32> {
    if !word.starts_with(char::is_uppercase) {
        return None;
    }
    let lower = word.to_lowercase();
    let is_month = |name: &&str| **name == lower || (lower.len() == 3 && name.starts_with(&lower));
    let at = MONTHS.iter().position(is_month)?;
    Some(u32::try_from(at).unwrap_or(0) + 1)
}

fn parse_day(word: &str) -> Option<u32> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let lower = word.to_lowercase();
    let body = ["st", "nd", "rd", "th"].iter().find_map(|end| lower.strip_suffix(end)).unwrap_or(&lower);
    parse_digits(body, 2).filter(|day| (1..=31).contains(day))
}

fn parse_digits(text: &str, len_max: usize) -> Option<u32> {
    (text.len() <= len_max && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// Whether a word names a time by which something is due. Expects lower case.
pub(super) fn is_due_word(lower: &str) -> bool {
    WEEKDAYS.contains(&lower)
        || MONTHS.contains(&lower)
        || matches!(lower, "tomorrow" | "tonight" | "noon" | "eod" | "next" | "end")
}

#[cfg(test)]
mod tests {
    use super::super::words::value_words;
    use super::*;

    #[track_caller]
    fn day(text: &str, year: u32, month: u32, day: u32, taken: usize) {
        let some = |n: u32| (n > 0).then_some(n);
        let want = PartialDate { year: some(year), month: some(month), day: some(day) };
        assert_eq!(parse_moment(text, &value_words(text)), Some((Moment::Day(want), taken)), "{text}");
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
            assert_eq!(
                parse_moment(text, &value_words(text)),
                Some((Moment::Text(want.to_owned()), taken)),
                "{text}"
            );
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
            assert_eq!(parse_moment(text, &value_words(text)), None, "{text}");
        }
    }
}
