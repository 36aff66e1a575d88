//! A stretch of a text that is shared: to take a part of one copies nothing.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A part of a text. It keeps the whole of it in memory.
#[derive(Clone, Default)]
pub(super) struct Stretch {
    whole: Option<Arc<str>>,
    at: Range<usize>,
}

impl Stretch {
    /// A part of it, by its place in the whole text.
    pub(super) fn of(whole: &Arc<str>, at: Range<usize>) -> Self {
        match at.is_empty() {
            true => Self::default(),
            false => Self { whole: Some(whole.clone()), at },
        }
    }

    /// A part of this, by its place in it.
    pub(super) fn part(&self, at: Range<usize>) -> Self {
        match &self.whole {
            Some(whole) => Self::of(whole, self.at.start + at.start..self.at.start + at.end),
            None => Self::default(),
        }
    }
}

impl Deref for Stretch {
    type Target = str;

    fn deref(&self) -> &str {
        self.whole.as_deref().map_or("", |whole| &whole[self.at.clone()])
    }
}

impl From<&str> for Stretch {
    fn from(text: &str) -> Self {
        Self::of(&text.into(), 0..text.len())
    }
}

impl From<String> for Stretch {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl PartialEq for Stretch {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Stretch {}

impl fmt::Debug for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
