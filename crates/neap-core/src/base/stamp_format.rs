//! Formats and parses timestamps as UTC dates: `2026-05-01`, `2026-05-01T09:30:00Z`.

use super::calendar::{DAY_MS as DAY, civil_from_days, days_from_civil};
use super::ids::Stamp;

impl Stamp {
    /// UTC date, e.g. `2026-05-01`.
    pub fn date(self) -> String {
        let (year, month, day) = civil_from_days(self.0.div_euclid(DAY));
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// Midnight UTC of a `YYYY-MM-DD` date; `None` if the date does not exist.
    pub fn parse_date(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-');
        let mut number = |digits: usize| {
            let part =
                parts.next().filter(|part| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit()));
            part?.parse::<i64>().ok()
        };
        let (year, month, day) = (number(4)?, number(2)?, number(2)?);
        let month = usize::try_from(month).ok()?.checked_sub(1)?;
        days_from_civil(year, month, day).map(|day| Self(day * DAY))
    }

    /// A day, or a moment in ISO 8601: `2026-05-01T09:30`, with seconds and a zone or without. UTC if it has no zone.
    pub fn parse_iso(text: &str) -> Option<Self> {
        let text = text.trim();
        let Some((day, time)) = text.split_once(['T', 't', ' ']) else { return Self::parse_date(text) };
        let zone_at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
        let (clock, zone) = time.split_at(zone_at);
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        let millis = match fraction.get(..3).unwrap_or(fraction) {
            "" if clock.len() < time[..zone_at].len() => return None,
            "" => 0,
            digits => format!("{digits:0<3}").parse().ok().filter(|_| is_digits(fraction))?,
        };
        let of_day = clock_millis(clock, 3)?.checked_add(millis)?;
        let offset = match zone.as_bytes().first() {
            None => 0,
            Some(b'Z' | b'z') if zone.len() == 1 => 0,
            Some(b'+') => clock_millis(&zone[1..], 2)?,
            Some(b'-') => -clock_millis(&zone[1..], 2)?,
            Some(_) => return None,
        };
        Self::parse_date(day).map(|day| Self(day.0 + of_day - offset))
    }

    /// The midnight UTC that ends its day.
    pub fn end_of_day(self) -> Self {
        Self(self.0.div_euclid(DAY).saturating_add(1).saturating_mul(DAY))
    }

    /// Day of the month in UTC, from 1.
    pub(crate) fn day_of_month(self) -> i64 {
        civil_from_days(self.0.div_euclid(DAY)).2
    }

    /// UTC to the second, e.g. `2026-05-01T09:30:00Z`.
    pub fn iso(self) -> String {
        let seconds = self.0.rem_euclid(DAY) / 1_000;
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
        format!("{}T{hours:02}:{minutes:02}:{:02}Z", self.date(), seconds % 60)
    }
}

/// `09:30` or `0930`, and `09:30:15` where three parts may stand.
fn clock_millis(text: &str, parts_max: usize) -> Option<i64> {
    let parts: Vec<&str> = match text.len() {
        4 if is_digits(text) => vec![&text[..2], &text[2..]],
        _ => text.split(':').collect(),
    };
    let is_known =
        (2..=parts_max).contains(&parts.len()) && parts.iter().all(|part| part.len() == 2 && is_digits(part));
    let units = [(3_600_000, 23), (60_000, 59), (1_000, 59)];
    parts
        .iter()
        .zip(units)
        .filter(|_| is_known)
        .try_fold(0, |sum, (part, (unit, max))| {
            let number: i64 = part.parse().ok().filter(|number| *number <= max)?;
            Some(sum + number * unit)
        })
        .filter(|_| is_known)
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_in_its_zone() {
        for (text, want) in [
            ("2026-05-01", "2026-05-01T00:00:00Z"),
            (" 2026-05-01T09:30:15Z ", "2026-05-01T09:30:15Z"),
            ("2026-05-01 09:30", "2026-05-01T09:30:00Z"),
            ("2026-05-01T09:30:15.987654z", "2026-05-01T09:30:15Z"),
            ("2026-05-01T00:30:00+02:00", "2026-04-30T22:30:00Z"),
            ("2026-05-01T23:30-0130", "2026-05-02T01:00:00Z"),
        ] {
            assert_eq!(Stamp::parse_iso(text).map(Stamp::iso).as_deref(), Some(want), "{text}");
        }
        assert_eq!(Stamp::parse_iso("1970-01-01T00:00:00.25Z"), Some(Stamp(250)));
        for wrong in [
            "", "T", "yesterday", "2026-05-01T", "2026-05-01T9:30", "2026-05-01T24:00", "2026-05-01T09:60",
            "2026-05-01T09", "2026-05-01T09:30.", "2026-05-01T09:30:15.9x", "2026-05-01T09:30Zulu",
            "2026-05-01T09:30+2", "2026-02-30T09:30Z", "2026-05-01T09:30+02:00:00", "2026-05-01T+9:30",
            "2026-05-01T09:30:15:10",
        ] {
            assert_eq!(Stamp::parse_iso(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_day_is_read_as_it_is_told() {
        for days in [-719_162_i64, -1, 0, 1, 11_016, 11_017, 20_000, 47_541] {
            let day = Stamp(days * DAY);
            assert_eq!(Stamp::parse_date(&day.date()), Some(day));
            assert_eq!(day.end_of_day(), Stamp((days + 1) * DAY));
        }
        for wrong in [
            "", "soon", "2026-02-30", "2026-13-01", "2026-00-01", "2026-1-1", "01.02.2026", "2026-01-01T00",
            "+026-01-01",
        ] {
            assert_eq!(Stamp::parse_date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn days_and_seconds_are_told_in_utc() {
        for (millis, want) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (951_868_800_000, "2000-03-01T00:00:00Z"),
            (1_777_627_800_999, "2026-05-01T09:30:00Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (-2_208_988_800_000, "1900-01-01T00:00:00Z"),
        ] {
            assert_eq!(Stamp(millis).iso(), want);
            assert_eq!(Stamp(millis).date(), want[..10]);
        }
        // Even the extreme timestamps format without panicking.
        assert!(!Stamp(i64::MAX).iso().is_empty() && !Stamp(i64::MIN).iso().is_empty());
    }
}
