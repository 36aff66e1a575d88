//! Parses the times of evaluation data, in many formats.

use neap_core::base::ids::Stamp;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Parses a day such as `2023-05-20`, `2023/05/20` or `8 May, 2023`, with an optional time such as `13:56` or
/// `1:56 pm`. `None` without a day.
pub(crate) fn parse_timestamp(text: &str) -> Option<Stamp> {
    // `2023-05-20T08:30` is a day and a time.
    let lower = text.replace('T', " ").to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| c.is_whitespace() || ",()".contains(c)).filter(|word| !word.is_empty()).collect();
    let (year, month, day) =
        words.iter().find_map(|word| numeric_date(word)).or_else(|| named_month_date(&words))?;
    let minutes = words.iter().enumerate().find_map(|(at, word)| minutes_of_day(word, words.get(at + 1).copied()));
    let date = jiff::civil::date(year, month, day).checked_add(jiff::Span::new()).ok()?;
    let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond();
    Some(Stamp(midnight + i64::from(minutes.unwrap_or(0)) * 60_000))
}

fn numeric_date(word: &str) -> Option<(i16, i8, i8)> {
    let mut parts = word.split(['-', '/']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if year.len() != 4 || parts.next().is_some() {
        return None;
    }
    checked_date(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
}

fn named_month_date(words: &[&str]) -> Option<(i16, i8, i8)> {
    let month_of = |word: &&str| MONTHS.iter().position(|month| word.len() >= 3 && word.starts_with(month));
    let (at, month) = words.iter().enumerate().find_map(|(at, word)| Some((at, month_of(word)?)))?;
    let number =
        |at: usize| words.get(at).and_then(|word| word.trim_end_matches(char::is_alphabetic).parse().ok());
    let day = at.checked_sub(1).and_then(number).or_else(|| number(at + 1))?;
    let year = (at + 1..words.len()).filter_map(|at| words[at].parse().ok()).find(|year: &i16| *year >= 1_000)?;
    checked_date(year, month as i8 + 1, day)
}

fn checked_date(year: i16, month: i8, day: i8) -> Option<(i16, i8, i8)> {
    jiff::civil::Date::new(year, month, day).is_ok().then_some((year, month, day))
}

fn minutes_of_day(word: &str, next: Option<&str>) -> Option<u16> {
    let has_suffix = |suffix: &str| word.ends_with(suffix) || next == Some(suffix);
    let digits = word.trim_end_matches(char::is_alphabetic);
    let (hours, minutes) = digits.split_once(':')?;
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.split(':').next()?.parse().ok()?);
    let hours = match (has_suffix("pm"), has_suffix("am")) {
        (true, _) => hours % 12 + 12,
        (_, true) => hours % 12,
        (false, false) => hours,
    };
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_in_many_forms() {
        let check = |text: &str, want: &str| {
            let got = parse_timestamp(text).map(neap_core::base::ids::Stamp::iso);
            assert_eq!(got.as_deref(), Some(want), "{text}");
        };
        check("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00Z");
        check("12:09 am on 13 September, 2023", "2023-09-13T00:09:00Z");
        check("2023/05/20 (Sat) 00:31", "2023-05-20T00:31:00Z");
        check("2025-12-15 (Monday)", "2025-12-15T00:00:00Z");
        check("2025-12-15T08:30:00Z", "2025-12-15T08:30:00Z");
        check("March 3rd, 2024", "2024-03-03T00:00:00Z");
        for none in ["", "soon", "31 February, 2023", "2023/13/01", "May 2023?", "12:30"] {
            assert_eq!(parse_timestamp(none), None, "{none}");
        }
    }
}
