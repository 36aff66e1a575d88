//! The sentences of a message that are the person's own: not what is quoted, pasted, fenced or to be worked on.

/// A longer message is read at both ends only: people say what they want before or after what they paste.
const MESSAGE_BYTES_MAX: usize = 2_000;
const END_BYTES: usize = 1_000;
/// Openings that hand over a text to be worked on.
const WORK_ON: &[&str] = &[
    "translate", "proofread", "rewrite", "rephrase", "paraphrase", "summarize", "summarise", "classify", "parse",
    "correct", "edit", "shorten", "polish", "annotate", "tokenize", "stem", "sing", "recite",
    "continue the story", "complete the sentence", "fix the grammar", "check the grammar", "analyze", "analyse",
    "label", "convert", "extract", "grade", "review this text", "write a", "write me a", "write an", "draft a",
    "draft an", "how do you say", "role play", "roleplay", "act as", "pretend", "explain the phrase",
    "explain the sentence", "what does",
];
const POLITE: &[&str] = &["please ", "can you ", "could you ", "would you ", "now ", "ok ", "hey ", "hi "];
/// Names before a colon at which the person speaks on.
const OWN_LABELS: &[&str] = &[
    "btw", "by the way", "fyi", "note", "ps", "p s", "p.s", "reminder", "remember", "also", "me", "preference",
    "preferences", "nb", "style", "rule", "rules", "important", "please remember", "also remember",
    "remember this", "take note", "note this", "please note", "dont forget", "please memorize", "please memorise",
    "memorize", "memorise", "to remember", "just remember",
];
const LOG_LEVELS: &[&str] = &["error", "warn", "warning", "info", "debug", "trace", "fatal", "panic", "traceback"];

/// The person's own sentences.
pub(in crate::memory) fn own_sentences(message: &str) -> Vec<&str> {
    if hands_over(message) {
        return Vec::new();
    }
    let (mut is_fenced, mut is_quoted) = (false, false);
    let mut out = Vec::new();
    for part in readable_parts(message) {
        let mut tag: Option<&str> = None;
        for line in part.lines() {
            // Programs put their own text into a person's message, between tags.
            if let Some(name) = tag {
                tag = tag.filter(|_| !closes_tag(line, name));
                continue;
            }
            tag = opened_tag(line);
            if tag.is_some() {
                continue;
            }
            let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
            is_fenced ^= is_fence;
            let is_inside = is_quoted;
            // A quotation over several lines begins and ends one of them.
            let marks = line.matches(['"', '“', '”']).count();
            is_quoted ^= marks % 2 == 1 && (is_quoted || line.trim_start().starts_with(['"', '“']));
            if !is_fence && !is_fenced && !is_inside && is_own_line(line) {
                out.extend(sentences(line));
            }
        }
    }
    out
}

/// The name of a tag that a line opens and does not close: `<system-reminder>`.
fn opened_tag(line: &str) -> Option<&str> {
    let inside = line.trim_start().strip_prefix('<')?;
    let name = inside.split(|c: char| c == '>' || c.is_whitespace()).next()?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'));
    (is_name && inside.contains('>') && !inside.contains("/>") && !closes_tag(inside, name)).then_some(name)
}

fn closes_tag(line: &str, name: &str) -> bool {
    line.split("</").skip(1).any(|rest| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('>')))
}

/// Whether the message asks for work on a text that follows in it.
fn hands_over(message: &str) -> bool {
    let first = message.trim_start().lines().next().unwrap_or_default().to_lowercase();
    let mut opening = first.as_str();
    while let Some(rest) = POLITE.iter().find_map(|word| opening.strip_prefix(word)) {
        opening = rest;
    }
    let works = WORK_ON.iter().any(|task| {
        opening
            .strip_prefix(task)
            .is_some_and(|rest| rest.starts_with(|c: char| !c.is_alphanumeric()) || rest.is_empty())
    });
    works
        && (first.contains(':')
            || first.contains(" this")
            || first.contains(" following")
            || first.contains(['"', '“']))
}

fn readable_parts(message: &str) -> Vec<&str> {
    if message.len() <= MESSAGE_BYTES_MAX {
        return vec![message];
    }
    let head = &message[..message.floor_char_boundary(END_BYTES)];
    let tail = &message[message.ceil_char_boundary(message.len() - END_BYTES)..];
    // Neither ends inside a sentence.
    let head = head.rfind(['.', '!', '?', '\n']).map_or("", |at| &head[..=at]);
    let tail = tail.find(['.', '!', '?', '\n']).map_or("", |at| &tail[at + 1..]);
    vec![head, tail]
}

/// Not quoted, no code, no log, no line of somebody else in a chat.
fn is_own_line(line: &str) -> bool {
    let text = line.trim_start();
    let is_marked = text
        .starts_with(['>', '"', '“', '«', '\'', '#', '+', '|', '<', '{', '[', '/', '$', '@', '%', '`'])
        || text.starts_with("--")
        || text.starts_with("/*")
        || text.starts_with("* @");
    let is_code = [
        "();", "=>", "->", "==", "!=", "&&", "||", "</", "};", "){", ") {", "://", ":=", "println", "import ",
        "def ", "fn ",
    ]
    .iter()
    .any(|mark| text.contains(mark))
        || text.ends_with(['{', '}', ';']) && text.contains(['(', '=', '{', '}'])
        || line.starts_with("    ")
        || line.starts_with('\t');
    !is_marked && !is_code && !is_log(text) && !is_labeled(text)
}

fn is_log(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let digits = first.bytes().filter(u8::is_ascii_digit).count();
    let is_time =
        digits >= 4 && first.contains([':', '-', '/']) && first.starts_with(|c: char| c.is_ascii_digit());
    let level = first.trim_matches(|c: char| !c.is_alphanumeric());
    is_time
        || LOG_LEVELS.contains(&level.to_lowercase().as_str())
            && (level == level.to_uppercase() || first.ends_with(':'))
}

/// `Customer: I prefer mail`: somebody's line, or a field.
fn is_labeled(text: &str) -> bool {
    let Some((label, _)) = text.split_once(':') else { return false };
    let words = label.split_whitespace().count();
    let plain = label.trim().trim_start_matches(['-', '*', '•', ' ']).to_lowercase();
    words > 0
        && words <= 2
        && !OWN_LABELS.contains(&plain.as_str())
        && label.chars().all(|c| c.is_alphanumeric() || " _.-*".contains(c))
        && !plain.starts_with("for ")
}

/// A full stop after these ends no sentence.
const ABBREVIATIONS: &[&str] =
    &["dr", "mr", "mrs", "ms", "prof", "nr", "approx", "e.g", "i.e", "vs", "incl", "ext"];

/// Whether a text ends with an abbreviation, without its full stop.
fn is_abbreviation(text: &str) -> bool {
    let last = text.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    ABBREVIATIONS.contains(&last.to_lowercase().as_str())
}

/// Each with its end mark. A full stop inside a word (`v1.2`, `main.rs`), or after an abbreviation, ends nothing.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | ';');
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = rest.char_indices().find(|(at, c)| {
                let after = rest[at + c.len_utf8()..].chars().next();
                ends(*c) && after.is_none_or(char::is_whitespace) && !(*c == '.' && is_abbreviation(&rest[..*at]))
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
