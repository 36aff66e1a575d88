//! Raises the texts of the files that a session works on: whoever works goes back to the files that he left last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::asked_for::QUESTION_BYTES_MAX;
use super::{Candidate, ParsedQuestion, RankWeights, Ranked, TextId};
use crate::base::ids::StreamId;
use crate::text::identifiers::first_file;
use crate::text::phrases::{PAST, normalize};

/// Latest texts of the session that are looked at.
pub(super) const TEXTS_MAX: usize = 256;
/// A text is about a file that it names within its first bytes.
const NAMED_WITHIN_BYTES: usize = 300;
/// Number of files that were in work later, at which the factor falls to 1/e.
const REACH: f64 = 16.0;
/// Texts read at a time, and number of files at which reading ends: the factor of those before is next to nothing.
pub(super) const READ_MAX: usize = 64;
const FILES_MAX: usize = 48;

/// The session's latest texts, newest first; none for a question about the past, which is answered by its own words.
pub(super) fn latest_texts(
    question: &ParsedQuestion,
    candidates: &[Candidate],
    session: &StreamId,
) -> Vec<TextId> {
    let text = &question.question;
    if text.len() <= QUESTION_BYTES_MAX && PAST.occurs_in(&normalize(text)) {
        return Vec::new();
    }
    let of_session = |candidate: &&Candidate| candidate.id.stream == *session && candidate.position > 0;
    let mut latest: Vec<_> = candidates.iter().filter(of_session).collect();
    latest.sort_by_key(|candidate| std::cmp::Reverse(candidate.position));
    latest.into_iter().take(TEXTS_MAX).map(|candidate| candidate.id.clone()).collect()
}

/// The newest text of each file, and how many files were in work after it.
#[derive(Debug, Default)]
pub(super) struct FilesInWork {
    files: BTreeSet<String>,
    later: BTreeMap<TextId, usize>,
}

impl FilesInWork {
    /// Adds texts that are older than those before.
    pub(super) fn add(&mut self, ids: &[TextId], texts: &[Option<Arc<str>>]) {
        for (id, text) in ids.iter().zip(texts) {
            let Some(text) = text else { continue };
            let beginning = &text[..text.floor_char_boundary(NAMED_WITHIN_BYTES)];
            if let Some(file) = first_file(beginning)
                && self.files.insert(file.to_owned())
            {
                self.later.insert(id.clone(), self.files.len() - 1);
            }
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.files.len() >= FILES_MAX
    }

    /// Raises the newest text of each file, less the more files were in work after it.
    pub(super) fn raise(&self, ranked: &mut [Ranked], weights: &RankWeights) {
        for ranked in ranked.iter_mut() {
            if let Some(later) = self.later.get(&ranked.candidate.id) {
                ranked.factors.file = weights.file_in_work * (-(*later as f64) / REACH).exp();
                ranked.score += ranked.factors.file;
            }
        }
    }
}
