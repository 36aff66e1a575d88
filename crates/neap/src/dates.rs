//! Parses days and timestamps from the command line.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use neap_core::base::ids::Stamp;

/// The start of a day, or the timestamp itself.
pub(crate) fn parse_start(text: &str) -> Result<Stamp, String> {
    parse(text, 0)
}

/// The end of a day, or the timestamp itself.
pub(crate) fn parse_end(text: &str) -> Result<Stamp, String> {
    parse(text, 1)
}

fn parse(text: &str, days_after: i64) -> Result<Stamp, String> {
    let text = text.trim();
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(Stamp(moment.as_millisecond()));
    }
    let invalid =
        || format!("'{text}' is not a date; write YYYY-MM-DD, or a timestamp such as 2026-05-01T09:30:00Z");
    // A civil date would also accept a prefix of a longer text.
    let day: Date = if text.len() == 10 { text.parse().map_err(|_| invalid())? } else { return Err(invalid()) };
    let start = day.to_zoned(TimeZone::UTC).map_err(|_| invalid())?;
    let day_ms = 24 * 60 * 60 * 1_000;
    Ok(Stamp(start.timestamp().as_millisecond() + days_after * day_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_moments_are_read_and_nonsense_is_not() {
        assert_eq!(parse_start("1970-01-02"), Ok(Stamp(86_400_000)));
        assert_eq!(parse_end("1970-01-02"), Ok(Stamp(2 * 86_400_000)));
        assert_eq!(parse_end("1970-01-01T00:00:01Z"), Ok(Stamp(1_000)));
        for wrong in ["", "soon", "2026-02-30", "2026-13-01", "01.02.2026", "2026-1-1", "20260101T000000", "9"] {
            assert!(parse_start(wrong).is_err(), "{wrong}");
        }
    }
}
