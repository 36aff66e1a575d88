//! Finds texts that say themselves that they no longer hold.

use crate::text::reference::folded_words;

/// Phrases of what was and is not any more.
const PAST: [&str; 16] = [
    "previously", "formerly", "in the past", "back then", "was replaced by", "were replaced by",
    "been replaced by", "got replaced by", "was superseded by", "been superseded by", "was succeeded by",
    "until recently", "once upon a time", "up until last", "before the switch", "before the change",
];
/// Before `used to`, these make it a means or a habit: `is used to sign`, `got used to it`.
const NOT_HABITUAL: [&str; 12] =
    ["is", "are", "was", "were", "be", "been", "being", "get", "got", "getting", "am", "m"];
/// Openings of a text about something that has been replaced; inside a sentence they say little.
const OPENINGS: [&str; 7] =
    ["replaced by", "superseded by", "formerly", "previously", "obsolete", "outdated", "deprecated"];

/// Whether a sentence says of itself that it holds no longer: `used to live`, `until last year`.
pub(super) fn is_past(text: &str) -> bool {
    let words = folded_words(text);
    let plain = format!(" {} ", words.join(" "));
    let has = |phrase: &&str| plain.contains(&format!(" {phrase} "));
    PAST.iter().any(has)
        || OPENINGS.iter().any(|phrase| plain.trim_start().starts_with(&format!("{phrase} ")))
        || is_habit_of_the_past(&words)
        || is_limited_to_the_past(&words)
}

fn is_habit_of_the_past(words: &[String]) -> bool {
    words.windows(2).enumerate().any(|(at, pair)| {
        let before = at.checked_sub(1).map_or("", |before| words[before].as_str());
        // The first word of a text has dropped its subject: `Used to live in Oslo`.
        pair[0] == "used" && pair[1] == "to" && !NOT_HABITUAL.contains(&before)
    })
}

/// `until last year`, `until 2019`, `until the move`; but not `until Friday`, which is still to come.
fn is_limited_to_the_past(words: &[String]) -> bool {
    let has_past_verb =
        words.iter().any(|word| matches!(word.as_str(), "was" | "were" | "had" | "did") || word.ends_with("ed"));
    words.windows(2).any(|pair| {
        let year =
            pair[1].len() == 4 && pair[1].starts_with(['1', '2']) && pair[1].bytes().all(|b| b.is_ascii_digit());
        pair[0] == "until" && (pair[1] == "last" || pair[1] == "recently" || year && has_past_verb)
    })
}

/// Whether it says that something ended: `no longer`, `not any more`. What holds now may be the rest of it.
pub(in crate::memory) fn says_ended(text: &str) -> bool {
    let plain = format!(" {} ", folded_words(text).join(" "));
    [" no longer ", " not any more ", " anymore ", " any more ", " any longer "]
        .iter()
        .any(|phrase| plain.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_calls_itself_past_is_recognized() {
        for text in [
            "Previously the timeout was 30 s",
            "Tim used to live in Oslo",
            "The team formerly used Jira",
            "Jenkins was replaced by Buildkite",
            "Replaced by the new runbook: restart twice",
            "Until last year the office was in Mill Road",
            "The plan cost 10 euros until 2023, and was cancelled",
            "Used to drink coffee",
        ] {
            assert!(is_past(text), "{text}");
        }
        for text in [
            "The key is used to sign requests",
            "Tim got used to the noise",
            "The offer is valid until Friday",
            "The lease runs until 2031",
            "The timeout is 30 s",
            "We keep previous versions",
            "Deploys no longer require a ticket",
        ] {
            assert!(!is_past(text), "{text}");
        }
        assert!(says_ended("Deploys no longer require a ticket") && !says_ended("Deploys take longer"));
    }
}
