//! Classifies characters for splitting.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CharClass {
    /// Punctuation, symbols, and everything else.
    Other,
    Upper,
    Lower,
    /// A letter of a script without cases.
    Letter,
    /// A combining mark.
    Mark,
    Number,
    Space,
    LineBreak,
}

/// For each block of 256 characters the index of its classes, then the classes.
static CLASSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes"));
const BLOCKS: usize = 0x11_0000 / 256;

impl CharClass {
    pub(crate) fn of(c: char) -> Self {
        let (block, at) = (c as usize / 256, c as usize % 256);
        match CLASSES[BLOCKS + usize::from(CLASSES[block]) * 256 + at] {
            1 => Self::Upper,
            2 => Self::Lower,
            3 => Self::Letter,
            4 => Self::Mark,
            5 => Self::Number,
            6 => Self::Space,
            7 => Self::LineBreak,
            _ => Self::Other,
        }
    }

    pub(crate) fn is_letter(self) -> bool {
        matches!(self, Self::Upper | Self::Lower | Self::Letter)
    }

    /// Can begin a word, as a capital does.
    pub(crate) fn is_word_start(self) -> bool {
        matches!(self, Self::Upper | Self::Letter | Self::Mark)
    }

    /// Can continue a word, as a small letter does.
    pub(crate) fn is_word_rest(self) -> bool {
        matches!(self, Self::Lower | Self::Letter | Self::Mark)
    }

    pub(crate) fn is_whitespace(self) -> bool {
        matches!(self, Self::Space | Self::LineBreak)
    }

    pub(crate) fn is_symbol(self) -> bool {
        matches!(self, Self::Other | Self::Mark)
    }

    /// Can precede a word and belong to its piece.
    pub(crate) fn is_word_prefix(self) -> bool {
        matches!(self, Self::Other | Self::Mark | Self::Space)
    }
}
