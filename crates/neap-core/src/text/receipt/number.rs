//! Parses numbers with units into one form, however they are written.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Canonical units, each with the words for it.
const UNITS: &[(&str, &str)] = &[
    ("ns", "ns nanosecond nanoseconds"),
    ("us", "us µs μs microsecond microseconds"),
    ("ms", "ms msec msecs millisecond milliseconds"),
    ("s", "s sec secs second seconds sekunde sekunden"),
    ("min", "min mins minute minutes minuten"),
    ("h", "h hr hrs hour hours stunde stunden"),
    ("d", "d day days tag tage tagen"),
    ("week", "week weeks woche wochen"),
    ("month", "month months monat monate monaten"),
    ("year", "year years yr yrs jahr jahre jahren"),
    ("byte", "b byte bytes"),
    ("kb", "kb kilobyte kilobytes"),
    ("mb", "mb megabyte megabytes"),
    ("gb", "gb gigabyte gigabytes"),
    ("tb", "tb terabyte terabytes"),
    ("kib", "kib"),
    ("mib", "mib"),
    ("gib", "gib"),
    ("%", "% percent pct prozent"),
    ("$", "$ usd dollar dollars"),
    ("€", "€ eur euro euros"),
    ("£", "£ gbp pound pounds"),
    ("¥", "¥ jpy yen"),
    ("mm", "mm"),
    ("cm", "cm"),
    ("m", "m meter meters metre metres"),
    ("km", "km kilometer kilometers kilometre kilometres"),
    ("mile", "mile miles"),
    ("mg", "mg"),
    ("g", "g gram grams"),
    ("kg", "kg kilo kilos kilogram kilograms"),
    ("°c", "°c celsius"),
    ("°f", "°f fahrenheit"),
    ("hz", "hz"),
    ("khz", "khz"),
    ("mhz", "mhz"),
    ("ghz", "ghz"),
    ("px", "px pixel pixels"),
    ("x", "x times"),
    ("token", "token tokens"),
    ("line", "line lines"),
];

/// Every number of a text is looked up.
static CANONICAL: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    UNITS.iter().flat_map(|&(unit, names)| names.split(' ').map(move |name| (name, unit))).collect()
});

const SPELLED: &str = "zero one two three four five six seven eight nine ten eleven twelve";

/// Expects lower case.
pub(super) fn canonical_unit(lower: &str) -> Option<&'static str> {
    CANONICAL.get(lower).copied()
}

/// Expects lower case.
pub(super) fn spelled_digits(lower: &str) -> Option<String> {
    SPELLED.split(' ').position(|name| name == lower).map(|value| value.to_string())
}

/// A number in canonical form, with its unit if that is joined to it.
pub(super) fn parse_number(word: &str) -> Option<(String, Option<&'static str>)> {
    if !word.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let lower = word.to_lowercase();
    let (sign, body) = match lower.strip_prefix('-') {
        Some(body) => ("-", body),
        None => ("", lower.as_str()),
    };
    let (currency, body) = match body.chars().next() {
        Some(c) if "$€£¥".contains(c) => (canonical_unit(&body[..c.len_utf8()]), &body[c.len_utf8()..]),
        Some(_) | None => (None, body),
    };
    let body = body.strip_prefix('v').filter(|rest| rest.contains('.')).unwrap_or(body);
    let digits_end =
        body.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '/')).unwrap_or(body.len());
    let digits = body[..digits_end].trim_end_matches(['.', ',', '/']);
    let rest = &body[digits.len()..];
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let joined = rest.strip_prefix('-').unwrap_or(rest);
    let unit = match joined {
        "" if rest.is_empty() => currency,
        "st" | "nd" | "rd" | "th" => None,
        name => Some(canonical_unit(name)?),
    };
    Some((format!("{sign}{}", without_thousands(digits)), unit))
}

/// `1,200,000` as `1200000`; commas that do not separate thousands stay.
pub(super) fn without_thousands(digits: &str) -> String {
    let mut groups = digits.split(',');
    let head = groups.next().unwrap_or_default();
    let is_group = |group: &str| {
        let whole = group.split('.').next().unwrap_or_default();
        whole.len() == 3 && whole.bytes().all(|b| b.is_ascii_digit())
    };
    let grouped = head.len() <= 3 && !head.is_empty() && groups.all(is_group);
    if grouped { digits.replace(',', "") } else { digits.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_however_written() {
        let check = |word: &str, value: &str, unit: Option<&str>| {
            assert_eq!(
                parse_number(word),
                Some((value.to_owned(), unit)).map(|(v, u)| (v, u.and_then(super::canonical_unit))),
                "{word}"
            );
        };
        check("30", "30", None);
        check("1,200", "1200", None);
        check("1,5", "1,5", None);
        check("$1,200.50", "1200.50", Some("$"));
        check("15%", "15", Some("%"));
        check("-7.4s", "-7.4", Some("s"));
        check("24-hour", "24", Some("h"));
        check("v1.2.3", "1.2.3", None);
        check("3rd", "3", None);
        check("3/4", "3/4", None);
    }

    #[test]
    fn names_with_digits_are_no_numbers() {
        for word in ["E0382", "4f2a91c", "0xc0000005", "exp-7", "v2", "x", "$", "15E", "1.2.3-beta"] {
            assert_eq!(parse_number(word), None, "{word}");
        }
    }
}
