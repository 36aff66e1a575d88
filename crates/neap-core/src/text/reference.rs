//! Splits text into words, to detect mentions of efforts (001, Reference Detection).

use std::collections::BTreeSet;

const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "could", "did", "do",
    "does", "doing", "done", "down", "during", "each", "else", "etc", "few", "for", "from", "further", "get",
    "got", "had", "has", "have", "having", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into",
    "is", "it", "its", "just", "let", "like", "may", "me", "might", "more", "most", "must", "my", "no", "nor",
    "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "out", "over", "own", "please", "same",
    "shall", "she", "should", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "very", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "would", "yes", "yet", "you",
    "your",
];

/// Expects a lower-case word.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Whether a character belongs to a script written without spaces between words.
pub fn is_unspaced(c: char) -> bool {
    matches!(c as u32, 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x2E80..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// Splits a run of letters and digits into words. Scripts without spaces give each pair of neighbouring
/// characters, so a word is found inside a sentence; everything else stays whole.
pub(crate) fn word_segments(run: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &run[at..];
        let first = rest.chars().next()?;
        if !is_unspaced(first) {
            let end = rest.find(is_unspaced).unwrap_or(rest.len());
            at += end;
            return Some(&rest[..end]);
        }
        let mut after = rest.char_indices().skip(1);
        let Some((second, _)) = after.next().filter(|(_, c)| is_unspaced(*c)) else {
            at += first.len_utf8();
            return Some(&rest[..first.len_utf8()]);
        };
        let end = after.next().map_or(rest.len(), |(third, _)| third);
        // The last character of a stretch begins no pair.
        let ends_stretch = rest[end..].chars().next().is_none_or(|c| !is_unspaced(c));
        at += if ends_stretch { end } else { second };
        Some(&rest[..end])
    })
}

/// The distinct salient words of a text.
pub fn keywords(text: &str) -> BTreeSet<String> {
    each_keyword(text).collect()
}

/// The salient words of a text, in order, repetitions included: lower case, split at white space, punctuation
/// trimmed, at least three characters, no stop words. Inner hyphens stay (seed 001, Keyword Extraction). Scripts
/// without spaces give pairs of characters.
pub fn each_keyword(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .flat_map(word_segments)
        .map(str::to_lowercase)
        .filter(|word| word.chars().nth(2).is_some() || word.chars().any(is_unspaced))
        .filter(|word| !is_stop_word(word))
}

/// All words of a text in order, split at everything that is not a letter or a digit, and folded as ids are, so
/// `ΟΔΟΣ` and `İstanbul` match their own ids.
pub fn folded_words(text: &str) -> Vec<String> {
    let fold = |word: &str| if word.is_ascii() { word.to_ascii_lowercase() } else { fold_chars(word).collect() };
    written_words(text).map(fold).collect()
}

pub(crate) fn written_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

pub(crate) fn is_same_word(a: &str, b: &str) -> bool {
    if a.is_ascii() && b.is_ascii() { a.eq_ignore_ascii_case(b) } else { fold_chars(a).eq(fold_chars(b)) }
}

fn fold_chars(word: &str) -> impl Iterator<Item = char> {
    word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
    }

    /// 001, Testing Strategy: keyword extraction from summary.
    #[test]
    fn slice3_keyword_extraction_from_summary() {
        let found = keywords("Fixed the 401 errors (token refresh): was using a stale session-cookie.");
        let want = ["401", "errors", "fixed", "refresh", "session-cookie", "stale", "token", "using"];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), want);
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(word_segments("修复登录v2").collect::<Vec<_>>(), ["修复", "复登", "登录", "v2"]);
        assert_eq!(keywords("登录失败。").into_iter().collect::<Vec<_>>(), ["失败", "录失", "登录"]);
    }

    #[test]
    fn stretches_of_both_kinds_are_split_where_they_meet() {
        let split = |run| word_segments(run).collect::<Vec<_>>();
        assert_eq!(split("v2修v3复登"), ["v2", "修", "v3", "复登"]);
        assert_eq!(split("修"), ["修"]);
        assert_eq!(split(""), [""; 0]);
    }

    #[test]
    fn words_fold_case_and_every_separator() {
        assert_eq!(folded_words("The Auth_Bug-fix, v2!"), ["the", "auth", "bug", "fix", "v2"]);
        for name in ["ΟΔΟΣ", "İstanbul", "Über-Größe", "修复 登录"] {
            let id = crate::base::ids::EffortId::from_name(name).unwrap();
            assert_eq!(folded_words(name).join("-"), id.as_str());
        }
    }

    /// The comparison without folding agrees with folding.
    #[test]
    fn words_are_the_same_that_fold_alike() {
        let written =
            ["Auth", "aUTH", "auth2", "ΟΔΟΣ", "οδος", "οδοσ", "İstanbul", "istanbul", "\u{212a}ey", "key"];
        for (a, b) in written.iter().flat_map(|a| written.iter().map(move |b| (*a, *b))) {
            assert_eq!(is_same_word(a, b), folded_words(a) == folded_words(b), "{a} {b}");
        }
    }
}
