//! Breaks a reply between words while it arrives, so that no word is split at the terminal's edge. Code stays as it
//! is: lines in a fence, and lines that are indented by four columns.

use crate::out::escape_control;

const FENCE: &str = "```";
const CODE_INDENT: usize = 4;
/// A word whose end has not come yet is shown if there is room for so many columns more.
const ROOM_FOR_END: usize = 12;

#[derive(Debug)]
pub(super) struct WordWrap {
    width: usize,
    /// Where the next word would begin.
    column: usize,
    spaces: usize,
    /// Not shown yet, and perhaps not complete.
    word: String,
    /// Whether a part of it is shown already.
    is_begun: bool,
    in_fence: bool,
    is_code_line: bool,
}

impl WordWrap {
    pub(super) fn new(width: usize) -> Self {
        Self {
            width,
            column: 0,
            spaces: 0,
            word: String::new(),
            is_begun: false,
            in_fence: false,
            is_code_line: false,
        }
    }

    /// What of the reply can be shown now. Near the edge, a word waits for its end.
    pub(super) fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for c in escape_control(text).chars() {
            match c {
                '\n' => {
                    self.end_word(&mut out);
                    out.push('\n');
                    (self.column, self.spaces, self.is_code_line) = (0, 0, false);
                }
                ' ' => {
                    self.end_word(&mut out);
                    self.spaces += 1;
                }
                c => self.word.push(c),
            }
        }
        let needed = self.column + self.spaces + self.word.chars().count() + ROOM_FOR_END;
        if !self.word.is_empty() && needed <= self.width {
            self.show_word(&mut out);
            self.is_begun = true;
        }
        out
    }

    /// The rest of the reply; what follows begins a new one.
    pub(super) fn finish(&mut self) -> String {
        let mut out = String::new();
        self.end_word(&mut out);
        *self = Self::new(self.width);
        out
    }

    fn end_word(&mut self, out: &mut String) {
        if !self.word.is_empty() {
            self.show_word(out);
        }
        self.is_begun = false;
    }

    fn show_word(&mut self, out: &mut String) {
        let length = self.word.chars().count();
        if self.column == 0 {
            self.in_fence ^= self.word.starts_with(FENCE);
            self.is_code_line = self.in_fence || self.spaces >= CODE_INDENT;
        }
        if self.column > 0
            && !self.is_begun
            && !self.is_code_line
            && self.column + self.spaces + length > self.width
        {
            out.push('\n');
            self.column = 0;
        } else {
            out.push_str(&" ".repeat(self.spaces));
            self.column += self.spaces;
        }
        out.push_str(&self.word);
        self.column += length;
        (self.spaces, self.word) = (0, String::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that arrives in pieces of so many characters.
    fn wrapped(text: &str, width: usize, piece: usize) -> String {
        let mut wrap = WordWrap::new(width);
        let chars: Vec<char> = text.chars().collect();
        let shown: String = chars.chunks(piece).map(|part| wrap.push(&part.iter().collect::<String>())).collect();
        shown + &wrap.finish()
    }

    #[test]
    fn lines_fit_however_the_text_arrives() {
        let text = "The refresh token expires after 3600 seconds, and the clock of the server was 2 seconds late.\n> quoted words\n";
        for width in 12..=120 {
            let whole = wrapped(text, width, 1_000);
            assert!(whole.lines().all(|line| line.chars().count() <= width), "{width}: {whole}");
            assert_eq!(whole.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
            for piece in [1, 2, 7] {
                assert_eq!(wrapped(text, width, piece), whole, "{width}, {piece}");
            }
        }
    }

    #[test]
    fn code_and_long_words_stay_whole() {
        let code = "```\nlet answer = compute(first, second, third);\n```\nand then some words\n    four spaces are code as well\n";
        let shown = wrapped(code, 12, 5);
        assert!(shown.contains("let answer = compute(first, second, third);\n"), "{shown}");
        assert!(shown.contains("    four spaces are code as well"), "{shown}");
        assert!(shown.contains("and then\nsome words"), "{shown}");
        assert_eq!(wrapped("averyveryverylongword", 5, 3), "averyveryverylongword");
    }
}
