//! Moments as people read them: `2026-05-01`, `2026-05-01T09:30:00Z`.

use crate::ids::Stamp;

const DAY: i64 = 24 * 60 * 60 * 1_000;

impl Stamp {
    /// Its day in UTC: `2026-05-01`.
    pub fn date(self) -> String {
        let (year, month, day) = civil(self.0.div_euclid(DAY));
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// Its day of the month in UTC, from 1 on.
    pub(crate) fn day_of_month(self) -> i64 {
        civil(self.0.div_euclid(DAY)).2
    }

    /// To the second, in UTC: `2026-05-01T09:30:00Z`.
    pub fn iso(self) -> String {
        let seconds = self.0.rem_euclid(DAY) / 1_000;
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
        format!("{}T{hours:02}:{minutes:02}:{:02}Z", self.date(), seconds % 60)
    }
}

/// Year, month and day of the proleptic Gregorian calendar, from days since 1970.
fn civil(days: i64) -> (i64, i64, i64) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
        // Every moment that a stamp can hold has a name.
        assert!(!Stamp(i64::MAX).iso().is_empty() && !Stamp(i64::MIN).iso().is_empty());
    }
}
