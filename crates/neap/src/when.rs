//! Days and moments as they are typed.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use neap_core::ids::Stamp;

/// The first moment of a day, or the moment itself.
pub(crate) fn start_of(text: &str) -> Result<Stamp, String> {
    read(text, 0)
}

/// The moment at which a day is over, or the moment itself.
pub(crate) fn end_of(text: &str) -> Result<Stamp, String> {
    read(text, 1)
}

fn read(text: &str, days_after: i64) -> Result<Stamp, String> {
    let text = text.trim();
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(Stamp(moment.as_millisecond()));
    }
    let wrong = || format!("'{text}' is no day; write it as YYYY-MM-DD, or a moment as 2026-05-01T09:30:00Z");
    // A civil date also reads the beginning of longer texts.
    let day: Date = if text.len() == 10 { text.parse().map_err(|_| wrong())? } else { return Err(wrong()) };
    let start = day.to_zoned(TimeZone::UTC).map_err(|_| wrong())?;
    let day_ms = 24 * 60 * 60 * 1_000;
    Ok(Stamp(start.timestamp().as_millisecond() + days_after * day_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_moments_are_read_and_nonsense_is_not() {
        assert_eq!(start_of("1970-01-02"), Ok(Stamp(86_400_000)));
        assert_eq!(end_of("1970-01-02"), Ok(Stamp(2 * 86_400_000)));
        assert_eq!(end_of("1970-01-01T00:00:01Z"), Ok(Stamp(1_000)));
        for wrong in ["", "soon", "2026-02-30", "2026-13-01", "01.02.2026", "2026-1-1", "20260101T000000", "9"] {
            assert!(start_of(wrong).is_err(), "{wrong}");
        }
    }
}
