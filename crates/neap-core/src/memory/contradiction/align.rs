//! Aligns two lists of words on their longest common subsequence.

use std::ops::Range;

use super::word::SentenceWord;

/// Words of both sides between two shared words; one side may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiffHunk {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// Words of each side that are aligned; a fact is a sentence or two.
const WORDS_MAX: usize = 512;

pub(super) fn align(old: &[SentenceWord], new: &[SentenceWord]) -> Vec<DiffHunk> {
    let (a, b) = (&old[..old.len().min(WORDS_MAX)], &new[..new.len().min(WORDS_MAX)]);
    // Length of the longest common subsequence of the two suffixes.
    let mut longest = vec![vec![0_u16; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i][j] = if a[i].key == b[j].key {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let (mut hunks, mut i, mut j) = (Vec::new(), 0, 0);
    let (mut from_i, mut from_j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i].key == b[j].key {
            push_hunk(&mut hunks, from_i..i, from_j..j);
            (i, j) = (i + 1, j + 1);
            (from_i, from_j) = (i, j);
        } else if longest[i + 1][j] >= longest[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    push_hunk(&mut hunks, from_i..old.len(), from_j..new.len());
    hunks
}

fn push_hunk(hunks: &mut Vec<DiffHunk>, old: Range<usize>, new: Range<usize>) {
    if !(old.is_empty() && new.is_empty()) {
        hunks.push(DiffHunk { old, new });
    }
}
