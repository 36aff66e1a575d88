//! Phrases that say where work begins and goes on; [`completion`](super::completion) has those that end it. Clients'
//! conversations and the built-in model go by the same tables.
//!
//! Tables are searched by hand: a process that handles one message and ends would spend more time on compiling a
//! regex than on searching.

use std::ops::Range;

use crate::text::fold_whitespace;

/// Phrases in lower case, separated by `|`. They match whole words of [`normalize`]d text.
#[derive(Debug, Clone, Copy)]
pub struct Phrases(pub &'static str);

/// Announces other work.
pub const NEW_TOPIC: Phrases = Phrases(
    "new topic|new task|new project|new question|new issue|different topic|different subject|different question|\
     on another note|unrelated|separately|something else|next task|next ticket|next issue|moving on|change of topic",
);

/// Asks for help, or for something to be made.
pub const HELP: Phrases = Phrases(
    "help me|can you help|could you help|i need help|let's build|let's plan|let's write|let's create|let's design|\
     let's start|let's organise|let's organize|let's prepare|i'm planning|i want to plan|i want to build|\
     i need to plan|i need to write|i need to prepare",
);

/// States a need.
pub const NEEDS: Phrases = Phrases(
    "help us|help with|i need to|i need you to|i want to|i'd like to|i would like to|i'm trying to|i am trying to|\
     we need to|we want to|let's add|let's debug|let's figure out|let's fix|let's implement|let's look at|let's make|\
     let's migrate|let's refactor|let's set up|let's work on|please add|please build|please create|please find|\
     please fix|please implement|please investigate|please look|please make|please update|please write",
);

/// Asks for a procedure.
pub const HOW_TO: Phrases = Phrases(
    "how do i|how do we|how can i|how can we|how should i|how should we|how would i|how to|what's the best way to|\
     what is the best way to",
);

/// Says that something fails.
pub const FAILURES: Phrases =
    Phrases("doesn't work|does not work|is broken|fails|crash|crashes|crashed|crashing|an error");

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

/// The first phrase that asks for work.
pub fn find_request(text: &str) -> Option<Range<usize>> {
    [HELP, NEEDS, HOW_TO, FAILURES].iter().filter_map(|table| table.find(text)).min_by_key(first_longest)
}

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
        let is_first =
            |phrase: &str| text.starts_with(phrase) && is_whole_word(text.as_bytes(), &(0..phrase.len()));
        self.iter().any(is_first)
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
