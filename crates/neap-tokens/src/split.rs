//! Where a text is cut into pieces. The encodings state this as a regular expression, tried alternative by alternative;
//! here is what each alternative comes to, in the same order.

use crate::class::Class;

/// ```text
/// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// \p{N}{1,3}
///  ?[^\s\p{L}\p{N}]+[\r\n/]*
/// \s*[\r\n]+
/// \s+(?!\S)
/// \s+
/// ```
pub(crate) fn o200k(text: &str) -> usize {
    let starts = word_starts(text);
    let with_tail = starts.iter().find_map(|start| capitalised(text, *start));
    let word = with_tail.or_else(|| starts.iter().find_map(|start| run(text, *start, Class::is_head)));
    if let Some(end) = word {
        return end + short_form(&text[end..]);
    }
    not_a_word(text, |c| matches!(c, '\r' | '\n' | '/'))
}

/// ```text
/// (?i:'s|'t|'re|'ve|'m|'ll|'d)
/// [^\r\n\p{L}\p{N}]?\p{L}+
/// \p{N}{1,3}
///  ?[^\s\p{L}\p{N}]+[\r\n]*
/// \s*[\r\n]+
/// \s+(?!\S)
/// \s+
/// ```
pub(crate) fn cl100k(text: &str) -> usize {
    let short_form = short_form(text);
    if short_form > 0 {
        return short_form;
    }
    let word = word_starts(text).iter().find_map(|start| run(text, *start, Class::is_letter));
    word.unwrap_or_else(|| not_a_word(text, |c| matches!(c, '\r' | '\n')))
}

/// Where the letters of a first word may begin: behind a sign or a space that leads it, else at once.
fn word_starts(text: &str) -> [usize; 2] {
    let lead = text.chars().next().filter(|c| Class::of(*c).leads());
    [lead.map_or(0, char::len_utf8), 0]
}

/// The end of the longest run of one kind from a place on; none if there is no such character.
fn run(text: &str, start: usize, is_member: fn(Class) -> bool) -> Option<usize> {
    let end = text[start..].find(|c| !is_member(Class::of(c))).map_or(text.len(), |len| start + len);
    (end > start).then_some(end)
}

/// The end of capitals followed by small letters. Letters without cases and accents pass for both: where no small letter follows,
/// the last of them does.
fn capitalised(text: &str, start: usize) -> Option<usize> {
    let mut last_of_both = None;
    for (at, c) in text[start..].char_indices() {
        let class = Class::of(c);
        if !class.is_head() {
            let tail = if class == Class::Lower { run(text, start + at, Class::is_tail) } else { None };
            return tail.or(last_of_both);
        }
        if class.is_tail() {
            last_of_both = Some(start + at + c.len_utf8());
        }
    }
    last_of_both
}

/// The length of the `'s`, `'ll` and so on that a text begins with.
fn short_form(text: &str) -> usize {
    let Some(letters) = text.strip_prefix('\'') else { return 0 };
    let mut chars = letters.chars();
    let first = chars.next();
    let second = || text.as_bytes().get(2).map(u8::to_ascii_lowercase);
    match first.map(|c| c.to_ascii_lowercase()) {
        Some('s' | 't' | 'm' | 'd') => 2,
        Some('ſ') => 1 + 'ſ'.len_utf8(), // A long s is an s in another case.
        Some('r' | 'v') if second() == Some(b'e') => 3,
        Some('l') if second() == Some(b'l') => 3,
        _ => 0,
    }
}

/// Numbers, signs and white space.
fn not_a_word(text: &str, follows_signs: fn(char) -> bool) -> usize {
    if text.starts_with(|c| Class::of(c) == Class::Number) {
        return text
            .char_indices()
            .take(4)
            .find(|(at, c)| *at > 0 && Class::of(*c) != Class::Number)
            .map_or_else(|| text.chars().take(3).map(char::len_utf8).sum(), |(at, _)| at);
    }
    if let Some(end) = run(text, usize::from(text.starts_with(' ')), Class::is_sign) {
        return end + text[end..].find(|c| !follows_signs(c)).unwrap_or(text.len() - end);
    }
    let white = text.find(|c| !Class::of(c).is_white()).unwrap_or(text.len());
    if let Some(last_break) = text[..white].rfind(['\r', '\n']) {
        return last_break + 1;
    }
    if white == text.len() {
        return white;
    }
    // The last one leads what follows, unless it is the only one.
    let last = text[..white].chars().next_back().map_or(0, char::len_utf8);
    if last < white { white - last } else { white }
}
