//! Phrases that say how a message relates to work and to the past; [`opening`](super::opening) and
//! [`completion`](super::completion) have those that begin and end it. Clients' conversations and the built-in model
//! go by the same tables.
//!
//! Tables are searched by hand: a process that handles one message and ends would spend more time on compiling a
//! regex than on searching.

use std::ops::Range;

use crate::text::fold_whitespace;

/// Phrases in lower case, separated by `|`. They match whole words of [`normalize`]d text.
#[derive(Debug, Clone, Copy)]
pub struct Phrases(pub &'static str);

/// A message that begins so goes on with the same work.
pub const FOLLOW_UP: Phrases = Phrases(
    "and|also|then|so|but|or|yes|no|ok|okay|now|why|what about|how about|same|again|that|this|it|these|those|great|\
     thanks|thank you|good|perfect|continue|go on|do it|try",
);

/// Asks for what was said or done before.
pub const PAST: Phrases = Phrases(
    "you remember|remember when|remember what|remember which|remember where|remember why|remember who|remember how|\
     recall|remind me|earlier|previously|last time|last week|last month|yesterday|days ago|weeks ago|before that|\
     back then|originally|at first|at the beginning|so far|did we|did i|did you|have we|have i|have you|had we|had i|\
     we decided|we agreed|we said|we did|we chose|i said|i told you|i asked|i mentioned|you said|you told me|\
     you mentioned|you suggested|what was|what were|where was|where were|when was|which was|who was|why was|why were|\
     when did|where did|why did|how did|who said|what happened",
);

/// Asks something, without a question mark.
pub const QUESTIONS: Phrases = Phrases(
    "what|what's|which|who|who's|whose|when|where|where's|why|how|is|are|does|do|can|could|tell me|show me",
);

/// Lower case, straight apostrophes, single spaces.
pub fn normalize(text: &str) -> String {
    fold_whitespace(&text.to_lowercase().replace(['’', '‘'], "'"))
}

impl Phrases {
    pub fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split('|')
    }

    /// The first that occurs; of several at one place, the longest.
    pub fn find(self, text: &str) -> Option<Range<usize>> {
        let first = |phrase: &'static str| {
            let mut places = text.match_indices(phrase).map(|(start, found)| start..start + found.len());
            places.find(|place| is_whole_word(text.as_bytes(), place))
        };
        self.iter().filter_map(first).min_by_key(first_longest)
    }

    /// Whether one of them is somewhere in the text.
    pub fn occurs_in(self, text: &str) -> bool {
        self.find(text).is_some()
    }

    pub fn begins(self, text: &str) -> bool {
        self.find_first(text).is_some()
    }

    /// The longest that the text begins with.
    pub fn find_first(self, text: &str) -> Option<Range<usize>> {
        let is_first =
            |phrase: &&str| text.starts_with(phrase) && is_whole_word(text.as_bytes(), &(0..phrase.len()));
        self.iter().filter(is_first).map(|phrase| 0..phrase.len()).max_by_key(|place| place.end)
    }

    /// Whether the text is one of them and nothing else.
    pub fn has_entry(self, text: &str) -> bool {
        self.iter().any(|phrase| phrase == text)
    }
}

fn first_longest(place: &Range<usize>) -> (usize, std::cmp::Reverse<usize>) {
    (place.start, std::cmp::Reverse(place.end))
}

/// ASCII only: English words in a text without spaces between words are whole.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn starts_word(bytes: &[u8], at: usize) -> bool {
    !at.checked_sub(1).is_some_and(|before| is_word_byte(bytes[before]))
}

fn is_whole_word(bytes: &[u8], place: &Range<usize>) -> bool {
    starts_word(bytes, place.start) && !bytes.get(place.end).is_some_and(|byte| is_word_byte(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    #[test]
    fn phrases_are_found_as_whole_words() {
        let phrases = Phrases("help me|fails|fails me|i'd like to");
        for (text, place) in [
            ("Please HELP ME now", Some(7..14)),
            ("it fails; help me", Some(3..8)),
            ("it fails me", Some(3..11)),
            ("unhelp me, failsafe", None),
            ("ühelp me", Some(2..9)),
            ("I’d \n like to", Some(0..11)),
            ("failsafe fails", Some(9..14)),
            ("", None),
        ] {
            assert_eq!(phrases.find(&normalize(text)), place, "{text}");
        }
        for (text, begins) in
            [("So what", true), (" \n so", true), ("some", false), ("so_", false), ("soß", true), ("", false)]
        {
            assert_eq!(Phrases("so").begins(&normalize(text)), begins, "{text}");
        }
    }

    proptest! {
        #[test]
        fn phrases_are_found_where_a_pattern_finds_them(text in "[a-c'_ ]{0,12}") {
            let phrases = Phrases("a b|ab|c");
            let whole = Regex::new(r"(?-u)\b(a b|ab|c)\b").expect("valid");
            prop_assert_eq!(phrases.find(&text), whole.find(&text).map(|found| found.range()));
            let first = Regex::new(r"(?-u)^(a b|ab|c)\b").expect("valid");
            prop_assert_eq!(phrases.begins(&text), first.is_match(&text));
        }
    }
}
