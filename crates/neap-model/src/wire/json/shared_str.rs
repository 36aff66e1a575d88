//! A slice of a shared text; slicing copies nothing.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Keeps its whole source in memory.
#[derive(Clone, Default)]
pub(super) struct SharedStr {
    source: Option<Arc<str>>,
    range: Range<usize>,
}

impl SharedStr {
    pub(super) fn slice(whole: &Arc<str>, range: Range<usize>) -> Self {
        match range.is_empty() {
            true => Self::default(),
            false => Self { source: Some(whole.clone()), range },
        }
    }

    /// `range` is relative to this slice.
    pub(super) fn subslice(&self, range: Range<usize>) -> Self {
        match &self.source {
            Some(whole) => Self::slice(whole, self.range.start + range.start..self.range.start + range.end),
            None => Self::default(),
        }
    }
}

impl Deref for SharedStr {
    type Target = str;

    fn deref(&self) -> &str {
        self.source.as_deref().map_or("", |whole| &whole[self.range.clone()])
    }
}

impl From<&str> for SharedStr {
    fn from(text: &str) -> Self {
        Self::slice(&text.into(), 0..text.len())
    }
}

impl From<String> for SharedStr {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl PartialEq for SharedStr {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SharedStr {}

impl fmt::Debug for SharedStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
