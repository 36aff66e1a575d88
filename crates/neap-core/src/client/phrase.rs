//! Finds phrases and identifiers. A process that handles one message and ends would spend more time on compiling a
//! regex than on searching, so ASCII text is searched by hand.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// The first match of any phrase, as whole words, ignoring ASCII case. Phrases are in lower case.
pub(super) fn find_phrase(text: &str, phrases: &[&str]) -> Option<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let first = |phrase: &&str| {
        let mut places = lower.match_indices(*phrase).map(|(start, found)| start..start + found.len());
        places.find(|place| is_whole_word(lower.as_bytes(), place))
    };
    phrases.iter().filter_map(first).min_by_key(|place| place.start)
}

/// The same at the start of a text, after any white space.
pub(super) fn starts_with_phrase(text: &str, phrases: &[&str]) -> bool {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let start = text.bytes().take_while(is_space).count();
    let lower = text[start..].to_ascii_lowercase();
    phrases.iter().any(|phrase| lower.starts_with(phrase) && is_whole_word(lower.as_bytes(), &(0..phrase.len())))
}

/// File names, identifiers and ticket numbers, in order.
pub(super) fn find_names(text: &str) -> Vec<&str> {
    if text.is_ascii() {
        find_ascii_names(text)
    } else {
        NAME.find_iter(text).map(|found| found.as_str()).collect()
    }
}

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\w./-]*[./_][\w./-]*\w|\b[a-z]+[A-Z]\w*|\b[A-Z]{2,}-\d+|#\d+").expect("a pattern of ours")
});

/// What [`NAME`] finds, for ASCII text.
fn find_ascii_names(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    // No path begins before `pathless`: a run that has none at its beginning has none further on.
    let (mut found, mut at, mut pathless) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let mut end = None;
        if at >= pathless {
            let run = run_end(bytes, at, |byte| is_word_byte(byte) || matches!(byte, b'.' | b'/' | b'-'));
            end = path_len(&bytes[at..run]).map(|length| at + length);
            pathless = run;
        }
        end = end.or_else(|| identifier_end(bytes, at)).or_else(|| ticket_end(bytes, at));
        match end {
            Some(end) => {
                found.push(&text[at..end]);
                (at, pathless) = (end, end);
            }
            None => at += 1,
        }
    }
    found
}

/// Length of a path: up to its last word byte, with a separator before that.
fn path_len(run: &[u8]) -> Option<usize> {
    let last = run.iter().rposition(|byte| is_word_byte(*byte))?;
    run[..last].iter().any(|byte| matches!(byte, b'.' | b'/' | b'_')).then_some(last + 1)
}

fn identifier_end(bytes: &[u8], at: usize) -> Option<usize> {
    let small = run_end(bytes, at, |byte| byte.is_ascii_lowercase());
    let is_one = small > at && starts_word(bytes, at) && bytes.get(small).is_some_and(u8::is_ascii_uppercase);
    is_one.then(|| run_end(bytes, small, is_word_byte))
}

/// End of a ticket number: `ABC-12` or `#12`.
fn ticket_end(bytes: &[u8], at: usize) -> Option<usize> {
    let capitals = run_end(bytes, at, |byte| byte.is_ascii_uppercase());
    let mark = match bytes.get(at) {
        Some(b'#') => at,
        _ if capitals >= at + 2 && starts_word(bytes, at) && bytes.get(capitals) == Some(&b'-') => capitals,
        _ => return None,
    };
    let end = run_end(bytes, mark + 1, |byte| byte.is_ascii_digit());
    (end > mark + 1).then_some(end)
}

fn run_end(bytes: &[u8], at: usize, is_in: impl Fn(u8) -> bool) -> usize {
    at + bytes[at..].iter().take_while(|byte| is_in(**byte)).count()
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn starts_word(bytes: &[u8], at: usize) -> bool {
    !at.checked_sub(1).is_some_and(|before| is_word_byte(bytes[before]))
}

fn is_whole_word(bytes: &[u8], place: &Range<usize>) -> bool {
    starts_word(bytes, place.start) && !bytes.get(place.end).is_some_and(|byte| is_word_byte(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn phrases_are_found_as_whole_words() {
        let phrases = ["help me", "fails", "i'd like to"];
        for (text, place) in [
            ("Please HELP ME now", Some(7..14)),
            ("it fails; help me", Some(3..8)),
            ("unhelp me, failsafe", None),
            ("ühelp me", Some(2..9)),
            ("I'd like to", Some(0..11)),
            ("failsafe fails", Some(9..14)),
            ("", None),
        ] {
            assert_eq!(find_phrase(text, &phrases), place, "{text}");
        }
        for (text, begins) in
            [("So what", true), (" \n so", true), ("some", false), ("so_", false), ("soß", true), ("", false)]
        {
            assert_eq!(starts_with_phrase(text, &["so"]), begins, "{text}");
        }
    }

    #[test]
    fn names_are_those_of_files_identifiers_and_tickets() {
        let text = "In src/cart.rs, apply_coupon and lineItem fail: see AB-12, #7, e.g. A-1 or a - b.";
        assert_eq!(find_names(text), ["src/cart.rs", "apply_coupon", "lineItem", "AB-12", "#7", "e.g"]);
        assert_eq!(find_names("größe.txt und füllHöhe"), ["größe.txt"]);
    }

    proptest! {
        #[test]
        fn what_is_looked_for_by_hand_is_what_the_patterns_say(text in "[aBz19._/# -]{0,24}", say in "[a-c'_ ]{0,12}") {
            let by_pattern: Vec<&str> = NAME.find_iter(&text).map(|found| found.as_str()).collect();
            prop_assert_eq!(find_ascii_names(&text), by_pattern);
            let whole = Regex::new(r"(?i-u)\b(a b|ab|c)\b").expect("valid");
            prop_assert_eq!(find_phrase(&say, &["a b", "ab", "c"]), whole.find(&say).map(|found| found.range()));
            let first = Regex::new(r"(?i-u)^\s*(a b|ab|c)\b").expect("valid");
            prop_assert_eq!(starts_with_phrase(&say, &["a b", "ab", "c"]), first.is_match(&say));
        }
    }
}
