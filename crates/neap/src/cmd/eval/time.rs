//! When something was said, in whatever words that is written.

use neap_core::ids::Stamp;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The moment that a text names: a day as `2023-05-20`, `2023/05/20` or `8 May, 2023`, with a time of day as `13:56` or
/// `1:56 pm` if there is one. None if it names no day.
pub(crate) fn moment(text: &str) -> Option<Stamp> {
    // `2023-05-20T08:30` is a day and a time.
    let lower = text.replace('T', " ").to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| c.is_whitespace() || ",()".contains(c)).filter(|word| !word.is_empty()).collect();
    let (year, month, day) = words.iter().find_map(|word| by_numbers(word)).or_else(|| by_name(&words))?;
    let minutes = words.iter().enumerate().find_map(|(at, word)| time_of_day(word, words.get(at + 1).copied()));
    let date = jiff::civil::date(year, month, day).checked_add(jiff::Span::new()).ok()?;
    let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond();
    Some(Stamp(midnight + i64::from(minutes.unwrap_or(0)) * 60_000))
}

fn by_numbers(word: &str) -> Option<(i16, i8, i8)> {
    let mut parts = word.split(['-', '/']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if year.len() != 4 || parts.next().is_some() {
        return None;
    }
    valid(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
}

fn by_name(words: &[&str]) -> Option<(i16, i8, i8)> {
    let named = |word: &&str| MONTHS.iter().position(|month| word.len() >= 3 && word.starts_with(month));
    let (at, month) = words.iter().enumerate().find_map(|(at, word)| Some((at, named(word)?)))?;
    let number =
        |at: usize| words.get(at).and_then(|word| word.trim_end_matches(char::is_alphabetic).parse().ok());
    let day = at.checked_sub(1).and_then(number).or_else(|| number(at + 1))?;
    let year = (at + 1..words.len()).filter_map(|at| words[at].parse().ok()).find(|year: &i16| *year >= 1_000)?;
    valid(year, month as i8 + 1, day)
}

fn valid(year: i16, month: i8, day: i8) -> Option<(i16, i8, i8)> {
    jiff::civil::Date::new(year, month, day).is_ok().then_some((year, month, day))
}

/// Minutes since midnight.
fn time_of_day(word: &str, next: Option<&str>) -> Option<u16> {
    let is_afternoon = |suffix: &str| word.ends_with(suffix) || next == Some(suffix);
    let digits = word.trim_end_matches(char::is_alphabetic);
    let (hours, minutes) = digits.split_once(':')?;
    let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.split(':').next()?.parse().ok()?);
    let hours = match (is_afternoon("pm"), is_afternoon("am")) {
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
            let got = moment(text).map(neap_core::ids::Stamp::iso);
            assert_eq!(got.as_deref(), Some(want), "{text}");
        };
        check("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00Z");
        check("12:09 am on 13 September, 2023", "2023-09-13T00:09:00Z");
        check("2023/05/20 (Sat) 00:31", "2023-05-20T00:31:00Z");
        check("2025-12-15 (Monday)", "2025-12-15T00:00:00Z");
        check("2025-12-15T08:30:00Z", "2025-12-15T08:30:00Z");
        check("March 3rd, 2024", "2024-03-03T00:00:00Z");
        for none in ["", "soon", "31 February, 2023", "2023/13/01", "May 2023?", "12:30"] {
            assert_eq!(moment(none), None, "{none}");
        }
    }
}
