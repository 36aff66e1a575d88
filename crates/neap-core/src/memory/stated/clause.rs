//! Matches one sentence with the rules, clause by clause.

use super::StatedKind;
use super::rules::{
    ADVERBS, ALWAYS, DONT, FROM_NOW_ON, HYPOTHETICAL, IMPERATIVES, JUDGEMENTS, LEAD_INS, LIKES, NON_INSTRUCTIONS,
    OCCASIONS, ONCE, OUTPUT, PREFER, REPORTS, STANDING, TRAIT_ENDS, TRAITS,
};

/// A longer sentence is a story.
const WORDS_MAX: usize = 60;
const WORDS_MIN: usize = 3;
/// Adverbs are left out among this many words of a clause.
const OPENING_WORDS: usize = 6;
/// What sets off a clause.
const SEPARATORS: [&str; 11] =
    [", ", " and ", " but ", " so ", " because ", " — ", " – ", " - ", " (", ": ", "; "];
const TRAIT_WORDS_MAX: usize = 4;
const FAVOURITE_WORDS_MAX: usize = 4;
/// `Call me back`, not a name.
const NO_NAMES: &[&str] = &[
    "back", "later", "when", "if", "tomorrow", "at", "on", "a", "an", "asap", "now", "today", "tonight", "crazy",
    "old", "again", "whenever", "after", "before", "in", "once", "so",
];

pub(super) fn kind_of(sentence: &str) -> Option<StatedKind> {
    if sentence.trim_end_matches(['"', '”', ')', '\'']).ends_with('?') {
        return None;
    }
    let text = plain(sentence);
    let words = text.split(' ').filter(|word| !word.is_empty()).count();
    if !(WORDS_MIN..=WORDS_MAX).contains(&words) {
        return None;
    }
    let from_now_on = FROM_NOW_ON.iter().find_map(|phrase| find_phrase(&text, phrase));
    if from_now_on.is_some_and(|at| !is_report(&text[..at])) {
        return Some(StatedKind::Standing);
    }
    let opening = strip_lead_ins(&text);
    if let Some(kind) = on_occasion(sentence, opening) {
        return Some(kind);
    }
    if begins_with_any(opening, HYPOTHETICAL) {
        return None;
    }
    clauses(sentence).find_map(|clause| clause.kind())
}

/// The beginning of a clause within its sentence.
struct Clause {
    /// From its beginning to the end of the sentence.
    text: String,
    before: String,
    /// Whether a mere `and` or `but` precedes it.
    is_joined: bool,
    is_quoted: bool,
}

fn clauses(sentence: &str) -> impl Iterator<Item = Clause> {
    let mut starts: Vec<(usize, &str)> = vec![(0, "")];
    let lower = sentence.to_ascii_lowercase();
    for separator in SEPARATORS {
        starts.extend(lower.match_indices(separator).map(|(at, found)| (at + found.len(), separator)));
    }
    starts.sort_unstable();
    starts.into_iter().map(|(at, separator)| Clause {
        text: plain(&sentence[at..]),
        before: plain(&sentence[..at]),
        is_joined: separator.starts_with(' ')
            && separator.trim().chars().all(char::is_alphabetic)
            && !separator.trim().is_empty()
            && separator != " because ",
        is_quoted: sentence[..at].matches(['"', '“', '”']).count() % 2 == 1 || separator == ": " && at > 40,
    })
}

impl Clause {
    fn kind(&self) -> Option<StatedKind> {
        let is_cited = has_any(
            &self.text,
            &["said the", "says the", "said one", "he said", "she said", "he says", "she says", "they say"],
        );
        if self.is_quoted || is_cited || is_report(&self.before) {
            return None;
        }
        let words_before = self.before.split(' ').filter(|word| !word.is_empty()).count();
        // `Tim and I like jazz`
        if self.is_joined && words_before < 3 {
            return None;
        }
        let text = strip_lead_ins(&self.text);
        if begins_with_any(text, HYPOTHETICAL) && !begins_with_any(text, DONT) {
            return None;
        }
        let reduced = without_adverbs(text);
        let story = self.is_joined
            && [" i ", " he ", " she ", " they ", " we ", " it "]
                .iter()
                .any(|who| format!(" {} ", self.before).contains(who));
        if !story && (is_always(text) || is_denied_request(text) || is_standing_request(text)) {
            return Some(StatedKind::Standing);
        }
        let forms = [text, reduced.as_str()];
        if forms.iter().any(|form| is_preferred(form)) {
            return Some(StatedKind::Standing);
        }
        forms.iter().any(|form| is_liking(form)).then_some(StatedKind::Preference)
    }
}

/// Lower case, one space between words, contractions as one or two words: `i dont`, `i m`.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase().replace('’', "'").replace("n't", "nt").replace("favorite", "favourite");
    let words =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let mut out = format!(" {words} ");
    for (long, short) in [
        (" i am ", " i m "),
        (" i would ", " i d "),
        (" do not ", " dont "),
        (" can not ", " cant "),
        (" cannot ", " cant "),
        (" is not ", " isnt "),
        (" are not ", " arent "),
        (" does not ", " doesnt "),
        (" im ", " i m "),
    ] {
        out = out.replace(long, short);
    }
    out.trim().to_owned()
}

fn begins_with(text: &str, phrase: &str) -> bool {
    text.strip_prefix(phrase).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

fn begins_with_any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| begins_with(text, phrase))
}

/// Where a phrase stands as whole words.
fn find_phrase(text: &str, phrase: &str) -> Option<usize> {
    format!(" {text} ").find(&format!(" {phrase} "))
}

fn has_any(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| find_phrase(text, phrase).is_some())
}

fn strip_lead_ins(mut text: &str) -> &str {
    loop {
        let longest = LEAD_INS.iter().filter(|word| begins_with(text, word)).max_by_key(|word| word.len());
        let Some(rest) = longest.and_then(|word| text.strip_prefix(word)?.strip_prefix(' ')) else { return text };
        text = rest;
    }
}

/// Whether somebody else speaks; `as I said` is the person.
fn is_report(before: &str) -> bool {
    let words: Vec<&str> = before.split(' ').collect();
    words.iter().enumerate().any(|(at, word)| {
        let own = at > 0 && words[at - 1] == "i" || at > 1 && words[at - 2] == "i";
        REPORTS.contains(word) && !own
    })
}

/// Without the adverbs that may stand between `i` and its verb.
fn without_adverbs(text: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    for (at, word) in text.split(' ').enumerate() {
        if at == 0 || at > OPENING_WORDS || !ADVERBS.contains(&word) {
            out.push(word);
        }
    }
    let joined = out.join(" ");
    ADVERBS
        .iter()
        .filter(|adverb| adverb.contains(' '))
        .fold(joined, |text, adverb| text.replacen(&format!("i {adverb} "), "i ", 1))
}

/// `When I ask about trains, include prices`; `Include prices when I ask about trains`.
fn on_occasion(sentence: &str, opening: &str) -> Option<StatedKind> {
    let is_request = |text: &str| begins_with_any(strip_lead_ins(text), IMPERATIVES);
    if begins_with_any(opening, OCCASIONS) {
        let after = sentence.match_indices([',', ':']).map(|(at, _)| plain(&sentence[at + 1..]));
        let unset =
            [" please ", " always ", " never ", " dont ", " make sure "].iter().any(|mark| opening.contains(mark));
        return (after.into_iter().any(|rest| is_request(&rest)) || unset).then_some(StatedKind::Standing);
    }
    let asks = [
        "when i ask", "whenever i ask", "if i ask", "when i mention", "whenever i mention", "whenever you",
        "when you answer", "when you reply", "when you respond", "when i talk about", "when i bring up",
        "every time i", "any time i",
    ];
    let tells = ["explain", "tell", "describe", "show", "remind", "check", "note", "say", "wait", "stop"];
    let is_reversed = has_any(opening, &asks)
        && is_request(opening)
        && !begins_with_any(opening, &tells)
        && !has_any(opening, &["yesterday", "today"]);
    is_reversed.then_some(StatedKind::Standing)
}

fn is_always(text: &str) -> bool {
    ALWAYS.iter().any(|beginning| {
        let next = text.strip_prefix(beginning).and_then(|rest| rest.strip_prefix(' '));
        let next = next.and_then(|rest| rest.split(' ').next());
        next.is_some_and(|next| !NON_INSTRUCTIONS.contains(&next) && !next.ends_with("ed"))
    })
}

/// `Don't use emojis when you write to me`.
fn is_denied_request(text: &str) -> bool {
    let Some(rest) = DONT.iter().find_map(|phrase| text.strip_prefix(phrase)?.strip_prefix(' ')) else {
        return false;
    };
    let idioms = [
        "worry", "forget", "mind", "know", "think", "bother", "you", "get me wrong", "be", "let", "the", "it",
        "i", "have", "want", "care",
    ];
    let stops = begins_with(text, "stop") || begins_with(text, "please stop");
    let is_doing = rest.split(' ').next().is_some_and(|word| word.ends_with("ing"));
    (!stops || is_doing)
        && !begins_with_any(rest, &idioms)
        && has_any(rest, STANDING)
        && !rest.ends_with("without me")
        && !has_any(rest, &["today", "tonight", "tomorrow"])
}

/// `Use metric units in your answers`; `Answer in French, always`.
fn is_standing_request(text: &str) -> bool {
    let always = [
        "in your answers", "in your replies", "in your responses", "in all answers", "in all replies",
        "in all your", "always", "every time", "each time", "by default", "at all times",
    ];
    let narrative = [
        "make", "be", "do", "note", "consider", "check", "assume", "say", "run", "i want", "i d like", "i need",
        "i expect", "just", "explain", "describe", "tell", "show", "put",
    ];
    begins_with_any(text, IMPERATIVES)
        && !begins_with_any(text, &["always", "never"])
        && !begins_with_any(text, &narrative)
        && has_any(text, &always)
        && !has_any(
            text,
            &[
                "that always", "it always", "is always", "are always", "which always", "which by default",
                "used by default", "is by default", "that by default",
            ],
        )
}

fn is_preferred(text: &str) -> bool {
    let Some(phrase) = PREFER.iter().find(|phrase| begins_with(text, phrase)) else { return false };
    let rest = text[phrase.len()..].trim_start();
    let names = *phrase == "call me" && (begins_with_any(rest, NO_NAMES) || rest.split(' ').count() > 6);
    let once = begins_with_any(
        rest,
        &[
            "not to say", "not to answer", "it", "that", "this", "this one", "that one", "the first",
            "the second", "the latter", "the former", "option",
        ],
    );
    !rest.is_empty() && !names && !once
}

fn is_liking(text: &str) -> bool {
    let liked = LIKES.iter().any(|(beginning, excluded)| {
        begins_with(text, beginning)
            && !begins_with_any(text[beginning.len()..].trim_start(), excluded)
            && text.len() > beginning.len()
            || *beginning == "i have a sweet tooth" && begins_with(text, beginning)
    });
    let is_choice = has_any(text, &["over", "any day", "instead of", "rather than"]);
    let is_once = has_any(text, &["today", "tonight", "tomorrow", "this time", "right now"]);
    liked && !is_once && !begins_with(text, "give me")
        || begins_with(text, "give me") && has_any(text, &["any day"])
        || is_choice
            && begins_with_any(
                text,
                &[
                    "i d choose", "i d pick", "i d take", "i d go for", "i choose", "i pick", "i take",
                    "i go for", "i ll take", "i d always choose", "i d always take", "i d always pick",
                ],
            )
        || is_rather(text)
        || is_wish(text)
        || is_trait(text)
        || is_favourite(text)
        || has_any(text, JUDGEMENTS) && !has_any(text, &["not sure", "if"])
}

/// `I'd rather take the stairs than the lift`.
fn is_rather(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("i d rather ").or_else(|| text.strip_prefix("i d sooner ")) else {
        return false;
    };
    let habits = [
        "have", "use", "get", "read", "eat", "drink", "take", "work", "see", "not have", "not use", "not eat",
        "not get", "not drink", "not fly", "keep", "avoid", "travel", "fly", "pay", "walk", "drive", "cycle",
    ];
    !has_any(rest, ONCE) && (has_any(rest, &["than"]) || begins_with_any(rest, &habits))
}

/// `I'd like shorter answers`: of what an assistant gives, or for every time.
fn is_wish(text: &str) -> bool {
    let beginnings = ["i d like", "i d love", "i want", "i need"];
    let Some(rest) = beginnings.iter().find_map(|phrase| text.strip_prefix(phrase)?.strip_prefix(' ')) else {
        return false;
    };
    let always = has_any(rest, &["always", "never", "every time", "each time", "whenever", "by default"]);
    let is_thing = !begins_with_any(
        rest,
        &[
            "to", "you", "the", "a", "an", "some", "more", "that", "this", "it", "your", "one", "two", "three",
            "five", "ten", "another", "these", "those",
        ],
    );
    !has_any(rest, ONCE)
        && !begins_with(rest, "to")
        && (always
            || is_thing && has_any(rest, OUTPUT)
            || begins_with_any(
                rest,
                &[
                    "my coffee", "my tea", "my steak", "my eggs", "my code", "my answers", "my mail",
                    "my summaries", "all my", "all code", "all answers",
                ],
            ))
}

fn is_trait(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("i m ") else {
        return begins_with_any(text, &["i follow a", "i keep a", "i m on a", "i eat"])
            && has_any(
                text,
                &["diet", "kosher", "halal", "vegan", "vegetarian", "low carb", "gluten free", "plant based"],
            );
    };
    let rest = rest.strip_prefix("not ").unwrap_or(rest);
    if begins_with_any(rest, TRAITS) {
        return true;
    }
    let Some(rest) = rest.strip_prefix("a ").or_else(|| rest.strip_prefix("an ")) else {
        return begins_with(rest, "on a") && has_any(rest, &["diet"]);
    };
    begins_with_any(rest, TRAITS)
        || rest.split(' ').take(TRAIT_WORDS_MAX).skip(1).any(|word| TRAIT_ENDS.contains(&word))
        || begins_with_any(
            rest,
            &[
                "strict vegetarian", "strict vegan", "big fan of", "huge fan of", "lifelong vegetarian",
                "lifelong vegan",
            ],
        )
}

fn is_favourite(text: &str) -> bool {
    let named = begins_with(text, "my") || begins_with(text, "one of my");
    let head: Vec<&str> = text.split(' ').take(FAVOURITE_WORDS_MAX + 1).collect();
    let favours = head.iter().any(|word| matches!(*word, "favourite" | "favourites" | "preferred"));
    named
        && favours
        && !head.contains(&"s")
        && has_any(text, &["is", "are", "has always been", "will always be", "remains"])
        && !has_any(text, &["was", "were"])
}
