//! Cuts text into the word pieces the encoder knows: lower case, accents off, punctuation apart.

use std::borrow::Cow;
use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

const UNKNOWN: u32 = 100;
const FIRST: u32 = 101;
const LAST: u32 = 102;
/// A longer word, in characters, is one unknown piece.
const LONGEST_WORD: usize = 100;

/// The vocabulary: pieces that begin a word, and pieces that go on with one.
pub(super) struct Pieces {
    begin: HashMap<Cow<'static, str>, u32>,
    go_on: HashMap<Cow<'static, str>, u32>,
    count: usize,
}

impl Pieces {
    /// Reads a vocabulary, one piece a line, numbered from nought; `##` before a piece that goes on with a word.
    pub(super) fn new(vocabulary: &'static str) -> Self {
        Self::of(vocabulary.lines().map(Cow::Borrowed))
    }

    /// The same of one that may be none; nothing where the marks are not in their places.
    pub(super) fn read(vocabulary: &str) -> Option<Self> {
        let all = Self::of(vocabulary.lines().map(|line| Cow::Owned(line.to_owned())));
        let is_there = |mark: &str, number: u32| all.begin.get(mark) == Some(&number);
        (is_there("[UNK]", UNKNOWN) && is_there("[CLS]", FIRST) && is_there("[SEP]", LAST)).then_some(all)
    }

    fn of(lines: impl Iterator<Item = Cow<'static, str>>) -> Self {
        let (mut begin, mut go_on, mut count) = (HashMap::new(), HashMap::new(), 0);
        for (piece, number) in lines.zip(0..) {
            let rest = piece.strip_prefix("##").filter(|rest| !rest.is_empty());
            match (&piece, rest) {
                (Cow::Borrowed(piece), Some(_)) => go_on.insert(Cow::Borrowed(&piece[2..]), number),
                (Cow::Owned(_), Some(rest)) => go_on.insert(Cow::Owned(rest.to_owned()), number),
                (_, None) => begin.insert(piece, number),
            };
            count += 1;
        }
        Self { begin, go_on, count }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The pieces of a text between two marks, at most `most` in all. What lies behind them is not read.
    pub(super) fn cut(&self, text: &str, most: usize) -> Vec<u32> {
        let mut out = vec![FIRST];
        let mut word = String::new();
        for letter in text
            .chars()
            .filter(|letter| !is_dropped(*letter))
            .nfd()
            .filter(|letter| !is_combining_mark(*letter))
            .flat_map(char::to_lowercase)
        {
            if out.len() >= most || word.len() > 8 * LONGEST_WORD {
                break;
            }
            if letter.is_whitespace() {
                self.end_word(&mut word, &mut out);
            } else if is_ideograph(letter) || is_punctuation(letter) {
                self.end_word(&mut word, &mut out);
                word.push(letter);
                self.end_word(&mut word, &mut out);
            } else {
                word.push(letter);
            }
        }
        self.end_word(&mut word, &mut out);
        out.truncate(most.saturating_sub(1));
        out.push(LAST);
        out
    }

    /// The longest known beginning, then the longest known continuations; unknown as a whole when one is missing.
    fn end_word(&self, word: &mut String, out: &mut Vec<u32>) {
        let before = out.len();
        let (mut rest, mut known) = (word.as_str(), &self.begin);
        let too_long = rest.chars().nth(LONGEST_WORD).is_some();
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, letter)| at + letter.len_utf8()).rev();
            let found = ends.filter(|_| !too_long).find_map(|end| Some((known.get(&rest[..end])?, end)));
            let Some((number, end)) = found else {
                out.truncate(before);
                out.push(UNKNOWN);
                break;
            };
            out.push(*number);
            (rest, known) = (&rest[end..], &self.go_on);
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
