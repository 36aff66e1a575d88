//! Finds standing instructions and preferences in a person's message.
//!
//! Matches sentences like "From now on, answer in French.", "I prefer tabs." and "Never push to main.", but not
//! one-off requests, memories, questions or stories. When in doubt it skips a sentence: a missed instruction can
//! be repeated, a wrong one would affect every conversation.

/// A longer sentence is a story.
const WORDS_MAX: usize = 60;
/// A longer message is pasted text.
const MESSAGE_BYTES_MAX: usize = 2_000;
/// Instructions taken from one message.
const INSTRUCTIONS_MAX: usize = 4;

/// Phrases that mark a standing instruction anywhere in a sentence.
const FROM_NOW_ON: [&str; 9] = [
    "from now on", "from here on", "from this point on", "going forward", "in all future", "in every future",
    "until i say otherwise", "every time you", "each time you",
];
/// Beginnings of a standing instruction.
const ALWAYS: [&str; 14] = [
    "always", "never", "please always", "please never", "you should always", "you should never",
    "you must always", "you must never", "make sure to always", "make sure you always", "make sure to never",
    "make sure you never", "do not ever", "dont ever",
];
/// Beginnings of a preference.
const PREFERENCES: [&str; 16] = [
    "i prefer", "i d prefer", "i would prefer", "i strongly prefer", "i generally prefer", "i usually prefer",
    "i always prefer", "i tend to prefer", "my preference is", "i always want", "i never want",
    "i always need you", "i like it when you", "i like you to", "i want you to always", "i want you to never",
];
/// Words that may precede such a beginning.
const LEAD_INS: [&str; 13] = [
    "and", "but", "so", "also", "ok", "okay", "well", "oh", "btw", "by the way", "just so you know", "remember",
    "note that",
];
/// Words after `always` or `never` in a story, idiom or comparison.
const NON_INSTRUCTIONS: [&str; 14] = [
    "mind", "again", "been", "was", "were", "had", "have", "did", "knew", "thought", "wanted", "happened", "seen",
    "heard",
];

/// The sentences that are standing instructions, verbatim. Quoted, fenced or long pasted text is not the person's
/// own.
pub fn standing_instructions(message: &str) -> Vec<&str> {
    if message.len() > MESSAGE_BYTES_MAX {
        return Vec::new();
    }
    let mut is_fenced = false;
    let own = message.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fence && !is_fenced && !line.trim_start().starts_with(['>', '"', '“'])
    });
    own.flat_map(sentences).filter(|sentence| is_standing(sentence)).take(INSTRUCTIONS_MAX).collect()
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | ';');
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            // A full stop inside a word (`v1.2`, `main.rs`) ends nothing.
            let end = rest.char_indices().find(|(at, c)| {
                let after = rest[at + c.len_utf8()..].chars().next();
                ends(*c) && after.is_none_or(char::is_whitespace)
            });
            let (sentence, after) = match end {
                Some((at, c)) => rest.split_at(at + c.len_utf8()),
                None => (rest, ""),
            };
            rest = after;
            let sentence = sentence.trim().trim_start_matches(['-', '*', '•', ' ']);
            if !sentence.is_empty() {
                return Some(sentence);
            }
        }
        None
    })
}

fn is_standing(sentence: &str) -> bool {
    if sentence.ends_with('?') {
        return false;
    }
    let words: Vec<String> = plain_words(sentence);
    if words.len() < 3 || words.len() > WORDS_MAX {
        return false;
    }
    let text = format!(" {} ", words.join(" "));
    if FROM_NOW_ON.iter().any(|phrase| text.contains(&format!(" {phrase} "))) {
        return true;
    }
    let clause = strip_lead_in(text.trim());
    if PREFERENCES.iter().any(|beginning| starts_with_phrase(clause, beginning)) {
        return true;
    }
    ALWAYS.iter().any(|beginning| {
        let next = clause.strip_prefix(beginning).and_then(|rest| rest.strip_prefix(' '));
        let next = next.and_then(|rest| rest.split(' ').next());
        next.is_some_and(|next| !NON_INSTRUCTIONS.contains(&next) && !next.ends_with("ed"))
    })
}

/// Words in lower case, without punctuation; `don't` is one word.
fn plain_words(sentence: &str) -> Vec<String> {
    let plain = sentence.to_lowercase().replace("n't", "nt").replace("n’t", "nt");
    plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The sentence without its lead-in.
fn strip_lead_in(mut text: &str) -> &str {
    while let Some(rest) = LEAD_INS.iter().find_map(|word| text.strip_prefix(word)?.strip_prefix(' ')) {
        text = rest;
    }
    text
}

fn starts_with_phrase(text: &str, beginning: &str) -> bool {
    text.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_hold_is_taken_as_it_was_said() {
        for (message, want) in [
            ("From now on, answer in French.", vec!["From now on, answer in French."]),
            (
                "Thanks! Always use tabs in main.rs, never spaces. What next?",
                vec!["Always use tabs in main.rs, never spaces."],
            ),
            (
                "- I prefer short answers\n- Never push to main",
                vec!["I prefer short answers", "Never push to main"],
            ),
            ("Also, please never mention prices; ok?", vec!["Also, please never mention prices;"]),
            ("By the way, I'd prefer metric units.", vec!["By the way, I'd prefer metric units."]),
            ("Don't ever delete files without asking.", vec!["Don't ever delete files without asking."]),
            (
                "Going forward please use UTC for v1.2 and later",
                vec!["Going forward please use UTC for v1.2 and later"],
            ),
        ] {
            assert_eq!(standing_instructions(message), want, "{message}");
        }
    }

    #[test]
    fn stories_questions_and_single_wishes_are_not() {
        for message in [
            "Never mind, it works now.",
            "Never been better!",
            "Always wanted to see the sea.",
            "I always thought so.",
            "I never knew that you prefer tea.",
            "Do you prefer tabs?",
            "Should I always use tabs?",
            "I would rather go home now.",
            "She said: from her I always got flowers.",
            "Use tabs here.",
            "He always uses tabs.",
            "> Always use tabs in this project",
            "```\nAlways use tabs in this project\n```",
            "always",
            "",
            "...",
        ] {
            assert_eq!(standing_instructions(message), Vec::<&str>::new(), "{message}");
        }
        assert_eq!(standing_instructions(&"I prefer tea. ".repeat(9)).len(), INSTRUCTIONS_MAX);
        assert_eq!(
            standing_instructions(&format!("I prefer tea. {}", "And so on. ".repeat(200))),
            Vec::<&str>::new()
        );
        assert_eq!(standing_instructions(&format!("I prefer {}", "very ".repeat(80))), Vec::<&str>::new());
    }
}
