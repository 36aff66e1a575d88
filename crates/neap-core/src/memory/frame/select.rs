//! Selects the frame for a message and says why (003, Step 1; SOURCES: selection).
//!
//! A word matches in any form (`fixing`: `fix`) and counts once; a phrase matches its words in a row and counts
//! double. Most hits win; ties go to the higher tie number, then to the earlier frame. Without hits, similarity
//! decides: a frame must share at least two of the message's terms and half of them, and its confidence stays
//! below that of one hit. Otherwise the default frame is chosen with confidence 0.

use std::collections::BTreeSet;

use rust_stemmers::{Algorithm, Stemmer};

use super::{Frame, FrameSet, thousandths};
use crate::memory::Confidence;
use crate::text::reference::folded_words;
use crate::text::terms::{query_terms, terms};

/// Confidence per hit, in thousandths.
const HIT_THOUSANDTHS: u64 = 300;
/// Shared terms needed without a hit.
const SHARED_MIN: usize = 2;
/// Percentage of the message's terms that must be shared.
const SHARED_PERCENT_MIN: usize = 50;

#[derive(Debug, Clone, PartialEq)]
pub struct FrameChoice<'a> {
    pub frame: &'a Frame,
    /// 0 if nothing matched.
    pub confidence: Confidence,
    /// Matching words of each frame that has any, best first.
    pub hits: Vec<(String, Vec<String>)>,
    pub basis: ChoiceBasis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceBasis {
    /// Its words occur in the message.
    Words,
    /// No frame's words occur, but its texts share terms with the message.
    Similarity,
    /// Nothing matched.
    Default,
}

impl<'a> FrameChoice<'a> {
    pub fn by_name(frame: &'a Frame) -> Self {
        Self { frame, confidence: Confidence::FULL, hits: Vec::new(), basis: ChoiceBasis::Words }
    }

    /// Keeps the previous frame if nothing matched.
    pub fn or_keep(self, frames: &'a FrameSet, before: &str) -> Self {
        match (self.basis, frames.get(before)) {
            (ChoiceBasis::Default, Some(frame)) => Self { frame, ..self },
            (ChoiceBasis::Default | ChoiceBasis::Words | ChoiceBasis::Similarity, _) => self,
        }
    }

    /// The reason, for people.
    pub fn explain(&self) -> String {
        let name = &self.frame.name;
        let because = |hits: &[(String, Vec<String>)]| {
            let each = hits.iter().map(|(frame, words)| format!("{frame}: {}", words.join(", ")));
            each.collect::<Vec<_>>().join("; ")
        };
        match self.basis {
            ChoiceBasis::Words if self.hits.is_empty() => format!("{name} (requested)"),
            ChoiceBasis::Words => format!("{name} ({}), by its words ({})", self.confidence, because(&self.hits)),
            ChoiceBasis::Similarity => {
                format!("{name} ({}), by likeness ({})", self.confidence, because(&self.hits))
            }
            ChoiceBasis::Default => format!("{name} ({}), by default", self.confidence),
        }
    }
}

pub fn select<'a>(frames: &'a FrameSet, input: &str) -> FrameChoice<'a> {
    let input_stems = stems(input);
    let mut counted: Vec<(u64, &Frame, Vec<String>)> = frames
        .iter()
        .filter_map(|frame| {
            let hits: Vec<&String> = frame.words.iter().filter(|word| has_phrase(&input_stems, word)).collect();
            let count =
                hits.iter().map(|word| if word.trim().contains(char::is_whitespace) { 2 } else { 1 }).sum();
            (count > 0).then(|| (count, frame, hits.into_iter().cloned().collect()))
        })
        .collect();
    // A stable sort keeps the earlier frame first among equals.
    counted.sort_by_key(|(count, frame, _)| std::cmp::Reverse((*count, frame.tie)));
    match counted.first() {
        Some((count, frame, _)) => FrameChoice {
            frame,
            confidence: thousandths((count * HIT_THOUSANDTHS).min(1_000) as u16),
            hits: frame_hits(&counted),
            basis: ChoiceBasis::Words,
        },
        None => select_by_similarity(frames, input),
    }
}

fn select_by_similarity<'a>(frames: &'a FrameSet, input: &str) -> FrameChoice<'a> {
    let input_terms = query_terms(input);
    let mut matched: Vec<(u64, &Frame, Vec<String>)> = frames
        .iter()
        .filter_map(|frame| {
            let texts = frame.questions.iter().chain(&frame.words).chain([&frame.description]);
            let frame_terms: BTreeSet<String> = texts.flat_map(|text| terms(text)).collect();
            let shared: Vec<String> =
                input_terms.iter().filter(|term| frame_terms.contains(*term)).cloned().collect();
            let enough =
                shared.len() >= SHARED_MIN && shared.len() * 100 >= input_terms.len() * SHARED_PERCENT_MIN;
            enough.then_some((shared.len() as u64, frame, shared))
        })
        .collect();
    matched.sort_by_key(|(count, frame, _)| std::cmp::Reverse((*count, frame.tie)));
    match matched.first() {
        Some((count, frame, _)) => {
            let confidence = (HIT_THOUSANDTHS - 1) * count / input_terms.len() as u64;
            FrameChoice {
                frame,
                confidence: thousandths(confidence as u16),
                hits: frame_hits(&matched),
                basis: ChoiceBasis::Similarity,
            }
        }
        None => FrameChoice {
            frame: frames.default_frame(),
            confidence: thousandths(0),
            hits: Vec::new(),
            basis: ChoiceBasis::Default,
        },
    }
}

fn frame_hits(counted: &[(u64, &Frame, Vec<String>)]) -> Vec<(String, Vec<String>)> {
    counted.iter().map(|(_, frame, words)| (frame.name.clone(), words.clone())).collect()
}

fn has_phrase(text_stems: &[String], word: &str) -> bool {
    let wanted = stems(word);
    !wanted.is_empty() && text_stems.windows(wanted.len()).any(|run| run == wanted)
}

/// Stems of all words, in order, lower case, without punctuation.
fn stems(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    folded_words(text).into_iter().map(|word| stemmer.stem(&word).into_owned()).collect()
}
