//! Month and weekday names, and conversion between civil dates and days since 1970.

pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// From January.
pub(crate) const MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
];
/// From Monday.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Year, month and day of the proleptic Gregorian calendar.
pub(crate) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    // Years that begin in March, so that the leap day is the last of its year.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days since 1970-01-01, month from 0; `None` if there is no such date.
pub(crate) fn days_from_civil(year: i64, month: usize, day: i64) -> Option<i64> {
    // Years that begin in March, so that the leap day is the last of its year.
    let (year_of_march, month_of_march) =
        if month < 2 { (year - 1, month as i64 + 10) } else { (year, month as i64 - 2) };
    let (era, of_era) = (year_of_march.div_euclid(400), year_of_march.rem_euclid(400));
    let of_year = (153 * month_of_march + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (civil_from_days(days) == (year, month as i64 + 1, day)).then_some(days)
}
