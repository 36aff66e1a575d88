//! Which frame a message calls for, and why (003, Step 1; SOURCES: selection).
//!
//! A frame's word is hit by any form of it (`fixing`: `fix`), once, wherever it stands; a phrase is hit by its words in a
//! row and counts double. The most hits win, ties go to the frame with the higher tie number, then to the earlier one.
//!
//! Where no word hits, likeness decides: the share of the message's terms that a frame's description, questions and
//! words have. It must be half of them, and two at least, and is never as sure as one hit. Else nothing is clear,
//! and the default frame is chosen with confidence 0.

use std::collections::BTreeSet;

use rust_stemmers::{Algorithm, Stemmer};

use super::{Frame, Frames, thousandths};
use crate::memory::Confidence;
use crate::reference::words;
use crate::terms::{query_terms, terms};

/// What one hit adds to the confidence, in thousandths.
const HIT: u64 = 300;
/// Terms that a message must share with a frame where no word hits.
const SHARED_MIN: usize = 2;
/// The share of its terms that must be shared, in per cent.
const SHARED_PERCENT_MIN: usize = 50;

/// A frame that was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen<'a> {
    /// Which.
    pub frame: &'a Frame,
    /// How clearly the words called for it: 0 where nothing did.
    pub confidence: Confidence,
    /// What spoke for each frame for which something did, best first.
    pub hits: Vec<(String, Vec<String>)>,
    /// By what it was chosen.
    pub how: How,
}

/// By what a frame was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Its words were said.
    Words,
    /// No frame's words were said, but it speaks of the same things.
    Likeness,
    /// Nothing was clear.
    Default,
}

impl<'a> Chosen<'a> {
    /// A frame that someone asked for by name.
    pub fn asked_for(frame: &'a Frame) -> Self {
        Self { frame, confidence: Confidence::FULL, hits: Vec::new(), how: How::Words }
    }

    /// Where nothing was clear, the stance that was taken before stays.
    pub fn or_stay(self, frames: &'a Frames, before: &str) -> Self {
        match (self.how, frames.get(before)) {
            (How::Default, Some(frame)) => Self { frame, ..self },
            (How::Default | How::Words | How::Likeness, _) => self,
        }
    }

    /// Why, in words for people.
    pub fn explain(&self) -> String {
        let name = &self.frame.name;
        let because = |hits: &[(String, Vec<String>)]| {
            let each = hits.iter().map(|(frame, words)| format!("{frame}: {}", words.join(", ")));
            each.collect::<Vec<_>>().join("; ")
        };
        match self.how {
            How::Words if self.hits.is_empty() => format!("{name} (asked for)"),
            How::Words => format!("{name} ({}), by its words ({})", self.confidence, because(&self.hits)),
            How::Likeness => format!("{name} ({}), by likeness ({})", self.confidence, because(&self.hits)),
            How::Default => format!("{name} ({}), as nothing was clear", self.confidence),
        }
    }
}

/// Chooses the frame that a message calls for.
pub fn select<'a>(frames: &'a Frames, input: &str) -> Chosen<'a> {
    let said = stems(input);
    let mut counted: Vec<(u64, &Frame, Vec<String>)> = frames
        .iter()
        .filter_map(|frame| {
            let hits: Vec<&String> = frame.words.iter().filter(|word| is_said(&said, word)).collect();
            let count =
                hits.iter().map(|word| if word.trim().contains(char::is_whitespace) { 2 } else { 1 }).sum();
            (count > 0).then(|| (count, frame, hits.into_iter().cloned().collect()))
        })
        .collect();
    // The sort is stable: the earlier frame comes first among equals.
    counted.sort_by_key(|(count, frame, _)| std::cmp::Reverse((*count, frame.tie)));
    match counted.first() {
        Some((count, frame, _)) => Chosen {
            frame,
            confidence: thousandths((count * HIT).min(1_000) as u16),
            hits: named(&counted),
            how: How::Words,
        },
        None => by_likeness(frames, input),
    }
}

fn by_likeness<'a>(frames: &'a Frames, input: &str) -> Chosen<'a> {
    let asked = query_terms(input);
    let mut alike: Vec<(u64, &Frame, Vec<String>)> = frames
        .iter()
        .filter_map(|frame| {
            let texts = frame.questions.iter().chain(&frame.words).chain([&frame.description]);
            let known: BTreeSet<String> = texts.flat_map(|text| terms(text)).collect();
            let shared: Vec<String> = asked.iter().filter(|term| known.contains(*term)).cloned().collect();
            let enough = shared.len() >= SHARED_MIN && shared.len() * 100 >= asked.len() * SHARED_PERCENT_MIN;
            enough.then_some((shared.len() as u64, frame, shared))
        })
        .collect();
    alike.sort_by_key(|(count, frame, _)| std::cmp::Reverse((*count, frame.tie)));
    match alike.first() {
        Some((count, frame, _)) => {
            let sure = (HIT - 1) * count / asked.len() as u64;
            Chosen { frame, confidence: thousandths(sure as u16), hits: named(&alike), how: How::Likeness }
        }
        None => {
            Chosen { frame: frames.fallback(), confidence: thousandths(0), hits: Vec::new(), how: How::Default }
        }
    }
}

fn named(counted: &[(u64, &Frame, Vec<String>)]) -> Vec<(String, Vec<String>)> {
    counted.iter().map(|(_, frame, words)| (frame.name.clone(), words.clone())).collect()
}

fn is_said(said: &[String], word: &str) -> bool {
    let wanted = stems(word);
    !wanted.is_empty() && said.windows(wanted.len()).any(|run| run == wanted)
}

/// All words of a text in order, in lower case, without punctuation, each by its stem.
fn stems(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    words(text).into_iter().map(|word| stemmer.stem(&word).into_owned()).collect()
}
