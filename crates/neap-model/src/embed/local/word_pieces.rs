//! WordPiece tokenizer of the encoder: lowercase, without accents, punctuation separate.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

const UNK_ID: u32 = 100;
const CLS_ID: u32 = 101;
const SEP_ID: u32 = 102;
/// A longer word, in characters, becomes one unknown piece.
const WORD_CHARS_MAX: usize = 100;

/// Pieces that begin a word, and pieces that continue one.
pub(super) struct WordPieces {
    initial: HashMap<&'static str, u32>,
    continuations: HashMap<&'static str, u32>,
}

impl WordPieces {
    /// Reads a vocabulary, one piece per line, numbered from zero; `##` marks a continuation.
    pub(super) fn new(vocabulary: &'static str) -> Self {
        let (mut initial, mut continuations) = (HashMap::new(), HashMap::new());
        for (piece, number) in vocabulary.lines().zip(0..) {
            match piece.strip_prefix("##").filter(|rest| !rest.is_empty()) {
                Some(rest) => continuations.insert(rest, number),
                None => initial.insert(piece, number),
            };
        }
        Self { initial, continuations }
    }

    /// The pieces of a text between `[CLS]` and `[SEP]`, at most `most` in all. Reads no further than that.
    pub(super) fn tokenize(&self, text: &str, most: usize) -> Vec<u32> {
        let mut out = vec![CLS_ID];
        let mut word = String::new();
        for letter in text
            .chars()
            .filter(|letter| !is_dropped(*letter))
            .nfd()
            .filter(|letter| !is_combining_mark(*letter))
            .flat_map(char::to_lowercase)
        {
            if out.len() >= most || word.len() > 8 * WORD_CHARS_MAX {
                break;
            }
            if letter.is_whitespace() {
                self.flush_word(&mut word, &mut out);
            } else if is_ideograph(letter) || is_punctuation(letter) {
                self.flush_word(&mut word, &mut out);
                word.push(letter);
                self.flush_word(&mut word, &mut out);
            } else {
                word.push(letter);
            }
        }
        self.flush_word(&mut word, &mut out);
        out.truncate(most.saturating_sub(1));
        out.push(SEP_ID);
        out
    }

    /// Adds the longest known start, then the longest continuations; `[UNK]` for the word if one is missing.
    fn flush_word(&self, word: &mut String, out: &mut Vec<u32>) {
        let before = out.len();
        let (mut rest, mut known) = (word.as_str(), &self.initial);
        let too_long = rest.chars().nth(WORD_CHARS_MAX).is_some();
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, letter)| at + letter.len_utf8()).rev();
            let found = ends.filter(|_| !too_long).find_map(|end| Some((known.get(&rest[..end])?, end)));
            let Some((number, end)) = found else {
                out.truncate(before);
                out.push(UNK_ID);
                break;
            };
            out.push(*number);
            (rest, known) = (&rest[end..], &self.continuations);
        }
        word.clear();
    }
}

fn is_dropped(letter: char) -> bool {
    matches!(letter, '\0' | '\u{fffd}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || (letter.is_control() && !letter.is_whitespace())
}

fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2ceaf}' | '\u{2f800}'..='\u{2fa1f}')
}

fn is_punctuation(letter: char) -> bool {
    letter.is_ascii_punctuation()
        || matches!(letter, '¡' | '§' | '«' | '¶' | '·' | '»' | '¿' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}')
}
