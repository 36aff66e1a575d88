//! Parses the times that a question names, generously: people say "last week" for nine days ago, and in June tell
//! of what happened in May.

use crate::base::calendar::{DAY_MS, MONTHS, WEEKDAYS, days_from_civil};
use crate::base::ids::Stamp;
use crate::text::reference::folded_words;

const NUMBERS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
/// Messages about a day follow it within this many days.
const MENTION_DELAY_DAYS: i64 = 7;
/// `may` is a month only behind one of these.
const BEFORE_MONTH: [&str; 8] = ["in", "of", "since", "during", "by", "late", "early", "mid"];
/// A number is a year only behind one of these.
const BEFORE_YEAR: [&str; 4] = ["in", "during", "since", "year"];

/// Half-open time ranges.
pub(super) fn time_ranges(question: &str, now: Stamp) -> Vec<(Stamp, Stamp)> {
    let (dates, rest): (Vec<&str>, Vec<&str>) =
        question.split_whitespace().partition(|word| numeric_date(word).is_some());
    let words = folded_words(&rest.join(" "));
    let today = now.0.div_euclid(DAY_MS);
    let word_at = |at: usize| words.get(at).map(String::as_str).unwrap_or_default();
    let mut days: Vec<(i64, i64)> = dates.into_iter().filter_map(numeric_date).collect();
    for (here, word) in words.iter().enumerate() {
        let before = here.checked_sub(1).map_or("", word_at);
        if word == "yesterday" {
            days.push((today - 1, today - 1));
        }
        if word == "ago" {
            days.extend(days_ago(&words[..here], today));
        }
        if matches!(word.as_str(), "last" | "past" | "previous") {
            days.extend(last_period(word_at(here + 1), word_at(here + 2), today));
        }
        if let Some(month) = MONTHS.iter().position(|month| month == word) {
            days.extend(in_month(month, [before, word_at(here + 1), word_at(here + 2)], today));
        } else if let Some(month) = short_month(word) {
            // In short, a month is one only beside a day, a year or `in`: `mar`, `jan` and `dec` are words, too.
            let around = [before, word_at(here + 1), word_at(here + 2)];
            let is_dated = BEFORE_MONTH.contains(&before)
                || day_number(before).is_some()
                || day_number(around[1]).is_some()
                || year(around[1]).is_some();
            days.extend(is_dated.then(|| in_month(month, around, today)).into_iter().flatten());
        }
        if BEFORE_YEAR.contains(&before)
            && let Some(year) = year(word)
        {
            days.extend(days_from_civil(year, 0, 1).zip(days_from_civil(year, 11, 31)));
        }
    }
    days.into_iter().map(|(first, last)| (Stamp(first * DAY_MS), Stamp((last + 1) * DAY_MS))).collect()
}

fn days_ago(words: &[String], today: i64) -> Option<(i64, i64)> {
    let [.., count, unit] = words else { return None };
    let (count, unit) = (number(count)?, unit_days(unit)?);
    let (middle, tolerance) = (today - count.checked_mul(unit)?, if unit > 1 { unit / 2 } else { 1 });
    Some((middle - tolerance, middle + tolerance))
}

fn last_period(next: &str, after: &str, today: i64) -> Option<(i64, i64)> {
    if let Some(weekday) = WEEKDAYS.iter().position(|name| *name == next) {
        // 1970-01-01 was a Thursday.
        let since = (today + 3 - weekday as i64).rem_euclid(7);
        let day = today - if since == 0 { 7 } else { since };
        return Some((day, day + 1));
    }
    if let Some(unit) = unit_days(next) {
        return Some((today - unit - unit / 2, today));
    }
    let (count, unit) = (number(next)?, unit_days(after)?);
    Some((today - count.checked_mul(unit)?, today))
}

fn in_month(month: usize, [before, next, after]: [&str; 3], today: i64) -> Vec<(i64, i64)> {
    let (day, named) = match (day_number(before), day_number(next)) {
        (Some(day), _) => (Some(day), year(next)),
        (None, Some(day)) => (Some(day), year(after)),
        (None, None) => (None, year(next)),
    };
    let is_month = MONTHS[month] != "may" || day.is_some() || named.is_some() || BEFORE_MONTH.contains(&before);
    if !is_month {
        return Vec::new();
    }
    let this_year = year_of(today);
    let years = named.map_or_else(|| vec![this_year, this_year - 1], |year| vec![year]);
    let span = |year: i64| match day {
        Some(day) => days_from_civil(year, month, day).map(|day| (day - 1, day + MENTION_DELAY_DAYS)),
        None => days_from_civil(year, month, 1).map(|first| (first, first + 30 + MENTION_DELAY_DAYS)),
    };
    years.into_iter().filter_map(span).collect()
}

/// `21.01.2024`, `2024-01-21` or `21/1/2024`: with a point or a stroke the day comes first, unless that cannot be.
fn numeric_date(word: &str) -> Option<(i64, i64)> {
    let word = word.trim_matches(|c: char| !c.is_ascii_digit());
    let separator = word.chars().find(|c| !c.is_ascii_digit()).filter(|c| matches!(c, '.' | '/' | '-'))?;
    let parts: Vec<i64> = word.split(separator).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [first, second, third] = parts[..] else { return None };
    let (year, month, day) = match (first, third) {
        (1_900..=2_199, _) => (first, second, third),
        (_, 1_900..=2_199) if second > 12 => (third, first, second),
        (_, 1_900..=2_199) => (third, second, first),
        _ => return None,
    };
    if !(1..=31).contains(&day) {
        return None;
    }
    let day = days_from_civil(year, usize::try_from(month - 1).ok().filter(|month| *month < 12)?, day)?;
    Some((day - 1, day + MENTION_DELAY_DAYS))
}

/// `dec`, `sept`: the beginning of one month's name.
fn short_month(word: &str) -> Option<usize> {
    let is_short = (3..=4).contains(&word.len());
    MONTHS.iter().position(|month| is_short && month.starts_with(word) && *month != word)
}

fn day_number(word: &str) -> Option<i64> {
    word.trim_end_matches(char::is_alphabetic).parse().ok().filter(|day| (1..=31).contains(day))
}

fn number(word: &str) -> Option<i64> {
    let named = match word {
        "a" | "an" => Some(1),
        "couple" => Some(2),
        "few" => Some(3),
        _ => NUMBERS.iter().position(|name| *name == word).map(|at| at as i64 + 1),
    };
    named.or_else(|| word.parse().ok()).filter(|n| (1..=3_650).contains(n))
}

fn unit_days(word: &str) -> Option<i64> {
    match word {
        "day" | "days" => Some(1),
        "week" | "weeks" => Some(7),
        "month" | "months" => Some(30),
        "year" | "years" => Some(365),
        _ => None,
    }
}

fn year(word: &str) -> Option<i64> {
    word.parse().ok().filter(|year| (1_900..=2_199).contains(year))
}

fn year_of(day: i64) -> i64 {
    Stamp(day * DAY_MS).date().get(..4).and_then(|year| year.parse().ok()).unwrap_or(1970)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2023-05-30, a Tuesday.
    const NOW: Stamp = Stamp(1_685_404_800_000);

    #[track_caller]
    fn check(question: &str, want: &[(&str, &str)]) {
        let days = |(first, end): (Stamp, Stamp)| (first.date(), Stamp(end.0 - 1).date());
        let got: Vec<(String, String)> = time_ranges(question, NOW).into_iter().map(days).collect();
        let want: Vec<(String, String)> = want.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(got, want, "{question}");
    }

    #[test]
    fn named_times_are_read_generously() {
        check("What did I buy 10 days ago?", &[("2023-05-19", "2023-05-21")]);
        check("Which book did I finish two weeks ago?", &[("2023-05-13", "2023-05-19")]);
        check("Where did I go yesterday", &[("2023-05-29", "2023-05-29")]);
        check("Who did I meet last Tuesday?", &[("2023-05-23", "2023-05-24")]);
        check("the past 3 months", &[("2023-03-01", "2023-05-30")]);
        check("what happened last week", &[("2023-05-20", "2023-05-30")]);
        check("on 7 March, 2023", &[("2023-03-06", "2023-03-14")]);
        check("on March 7th 2023", &[("2023-03-06", "2023-03-14")]);
        check("in April", &[("2023-04-01", "2023-05-08"), ("2022-04-01", "2022-05-08")]);
        check("What did we say on 21.01.2024?", &[("2024-01-20", "2024-01-28")]);
        check("since 2024-01-21, or (1/21/2024)", &[("2024-01-20", "2024-01-28"), ("2024-01-20", "2024-01-28")]);
        check("on Dec 3, 2022", &[("2022-12-02", "2022-12-10")]);
        check("in Sept 2022", &[("2022-09-01", "2022-10-08")]);
        check("What did she do in 2022?", &[("2022-01-01", "2022-12-31")]);
    }

    #[test]
    fn other_words_name_no_time() {
        for none in [
            "the dec register", "mar the finish", "version 1.2.2024.3", "40.40.2024", "may I ask",
            "31 February 2023", "the last one", "ago", "99999999999 years ago", "", "room 2022",
        ] {
            check(none, &[]);
        }
    }
}
