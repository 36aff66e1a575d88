//! What a character is to an encoding.

/// The kinds of characters that the rules of splitting tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Marks and signs, and all that is none of the others.
    Other,
    Upper,
    Lower,
    /// A letter of a script without cases.
    Letter,
    /// An accent that follows its letter.
    Accent,
    Number,
    Space,
    /// A line's end.
    Break,
}

/// For each block of 256 characters the place of its classes, then the classes.
static CLASSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes"));
const BLOCKS: usize = 0x11_0000 / 256;

impl Class {
    pub(crate) fn of(c: char) -> Self {
        let (block, at) = (c as usize / 256, c as usize % 256);
        match CLASSES[BLOCKS + usize::from(CLASSES[block]) * 256 + at] {
            1 => Self::Upper,
            2 => Self::Lower,
            3 => Self::Letter,
            4 => Self::Accent,
            5 => Self::Number,
            6 => Self::Space,
            7 => Self::Break,
            _ => Self::Other,
        }
    }

    pub(crate) fn is_letter(self) -> bool {
        matches!(self, Self::Upper | Self::Lower | Self::Letter)
    }

    /// Can begin a word as a capital does.
    pub(crate) fn is_head(self) -> bool {
        matches!(self, Self::Upper | Self::Letter | Self::Accent)
    }

    /// Can go on with a word as a small letter does.
    pub(crate) fn is_tail(self) -> bool {
        matches!(self, Self::Lower | Self::Letter | Self::Accent)
    }

    pub(crate) fn is_white(self) -> bool {
        matches!(self, Self::Space | Self::Break)
    }

    /// Belongs to no word, number or space.
    pub(crate) fn is_sign(self) -> bool {
        matches!(self, Self::Other | Self::Accent)
    }

    /// Can stand before a word and belong to its piece.
    pub(crate) fn leads(self) -> bool {
        matches!(self, Self::Other | Self::Accent | Self::Space)
    }
}
