//! Splits text into pieces. The encodings define this as a regular expression, tried alternative by alternative;
//! these functions match the same alternatives in the same order.

use crate::class::CharClass;

/// ```text
/// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// \p{N}{1,3}
///  ?[^\s\p{L}\p{N}]+[\r\n/]*
/// \s*[\r\n]+
/// \s+(?!\S)
/// \s+
/// ```
pub(crate) fn o200k_piece_len(text: &str) -> usize {
    let starts = word_starts(text);
    let capitalized = starts.iter().find_map(|start| capitalized_end(text, *start));
    let word =
        capitalized.or_else(|| starts.iter().find_map(|start| run_end(text, *start, CharClass::is_word_start)));
    if let Some(end) = word {
        return end + contraction_len(&text[end..]);
    }
    non_word_len(text, |c| matches!(c, '\r' | '\n' | '/'))
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
pub(crate) fn cl100k_piece_len(text: &str) -> usize {
    let contraction = contraction_len(text);
    if contraction > 0 {
        return contraction;
    }
    let word = word_starts(text).iter().find_map(|start| run_end(text, *start, CharClass::is_letter));
    word.unwrap_or_else(|| non_word_len(text, |c| matches!(c, '\r' | '\n')))
}

/// Where the first word's letters may begin: behind a leading symbol or space, or at once.
fn word_starts(text: &str) -> [usize; 2] {
    let lead = text.chars().next().filter(|c| CharClass::of(*c).is_word_prefix());
    [lead.map_or(0, char::len_utf8), 0]
}

/// The end of the run of one class that begins at `start`; `None` if it is empty.
fn run_end(text: &str, start: usize, is_member: fn(CharClass) -> bool) -> Option<usize> {
    let end = text[start..].find(|c| !is_member(CharClass::of(c))).map_or(text.len(), |len| start + len);
    (end > start).then_some(end)
}

/// The end of capitals followed by small letters. Caseless letters and marks count as both: if no small letter
/// follows, the last of them does.
fn capitalized_end(text: &str, start: usize) -> Option<usize> {
    let mut last_of_both = None;
    for (at, c) in text[start..].char_indices() {
        let class = CharClass::of(c);
        if !class.is_word_start() {
            let tail =
                if class == CharClass::Lower { run_end(text, start + at, CharClass::is_word_rest) } else { None };
            return tail.or(last_of_both);
        }
        if class.is_word_rest() {
            last_of_both = Some(start + at + c.len_utf8());
        }
    }
    last_of_both
}

/// The length of a leading `'s`, `'ll` and so on.
fn contraction_len(text: &str) -> usize {
    let Some(letters) = text.strip_prefix('\'') else { return 0 };
    let mut chars = letters.chars();
    let first = chars.next();
    let second = || text.as_bytes().get(2).map(u8::to_ascii_lowercase);
    match first.map(|c| c.to_ascii_lowercase()) {
        Some('s' | 't' | 'm' | 'd') => 2,
        Some('ſ') => 1 + 'ſ'.len_utf8(), // U+017F, the long s, is a case variant of s.
        Some('r' | 'v') if second() == Some(b'e') => 3,
        Some('l') if second() == Some(b'l') => 3,
        _ => 0,
    }
}

/// Numbers, symbols and white space.
fn non_word_len(text: &str, follows_symbols: fn(char) -> bool) -> usize {
    if text.starts_with(|c| CharClass::of(c) == CharClass::Number) {
        return text
            .char_indices()
            .take(4)
            .find(|(at, c)| *at > 0 && CharClass::of(*c) != CharClass::Number)
            .map_or_else(|| text.chars().take(3).map(char::len_utf8).sum(), |(at, _)| at);
    }
    if let Some(end) = run_end(text, usize::from(text.starts_with(' ')), CharClass::is_symbol) {
        return end + text[end..].find(|c| !follows_symbols(c)).unwrap_or(text.len() - end);
    }
    let white = text.find(|c| !CharClass::of(c).is_whitespace()).unwrap_or(text.len());
    if let Some(last_break) = text[..white].rfind(['\r', '\n']) {
        return last_break + 1;
    }
    if white == text.len() {
        return white;
    }
    // The last space belongs to what follows, unless it is the only one.
    let last = text[..white].chars().next_back().map_or(0, char::len_utf8);
    if last < white { white - last } else { white }
}
