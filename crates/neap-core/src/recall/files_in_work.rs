//! Raises the texts of the files that a session works on: whoever works goes back to the files that he left last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::asked_for::QUESTION_BYTES_MAX;
use super::{ParsedQuestion, RankWeights, Ranked, TextId};
use crate::base::ids::StreamId;
use crate::text::identifiers::first_file;
use crate::text::phrases::{PAST, normalize};

/// Latest texts of the session that are looked at.
pub(super) const TEXTS_MAX: usize = 256;
/// A text is about a file that it names within its first bytes.
const NAMED_WITHIN_BYTES: usize = 300;
/// Number of files that were in work later, at which the factor falls to 1/e.
const REACH: f64 = 16.0;

/// The session's latest texts among the ranked, newest first; none for a question about the past, which is answered
/// by its own words.
pub(super) fn latest_texts(question: &ParsedQuestion, ranked: &[Ranked], session: &StreamId) -> Vec<TextId> {
    let text = &question.question;
    if text.len() <= QUESTION_BYTES_MAX && PAST.occurs_in(&normalize(text)) {
        return Vec::new();
    }
    let of_session = |ranked: &&Ranked| ranked.candidate.id.stream == *session && ranked.candidate.position > 0;
    let mut latest: Vec<_> = ranked.iter().filter(of_session).map(|ranked| &ranked.candidate).collect();
    latest.sort_by_key(|candidate| std::cmp::Reverse(candidate.position));
    latest.into_iter().take(TEXTS_MAX).map(|candidate| candidate.id.clone()).collect()
}

/// Raises the newest text of each file, less the more files were in work after it.
pub(super) fn raise_files_in_work(
    ranked: &mut [Ranked],
    weights: &RankWeights,
    latest: &[TextId],
    texts: &[Option<Arc<str>>],
) {
    let (mut files, mut raised) = (BTreeSet::new(), BTreeMap::new());
    for (id, text) in latest.iter().zip(texts) {
        let Some(text) = text else { continue };
        let beginning = &text[..text.floor_char_boundary(NAMED_WITHIN_BYTES)];
        if let Some(file) = first_file(beginning)
            && files.insert(file)
        {
            let later = (files.len() - 1) as f64;
            raised.insert(id, weights.file_in_work * (-later / REACH).exp());
        }
    }
    for ranked in ranked.iter_mut() {
        if let Some(factor) = raised.get(&ranked.candidate.id) {
            ranked.factors.file = *factor;
            ranked.score += factor;
        }
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
}
