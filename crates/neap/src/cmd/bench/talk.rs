//! A long conversation made of words that come as often as words do, the same every time.

use async_trait::async_trait;
use neap_core::recall::Embedding;
use neap_model::{Embedder, ModelError};

/// Words that there are.
const VOCABULARY: u64 = 60_000;
/// Subjects that conversations are about, and words that each has of its own.
const SUBJECTS: u64 = 2_000;
const OWN_WORDS: u64 = 40;

/// Draws numbers, the same ones every time.
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A word of the language: the n-th most common comes about once for n times the most common one.
    fn common_word(&mut self) -> u64 {
        let share = self.next() as f64 / (1_u64 << 53) as f64;
        ((VOCABULARY as f64).powf(share)) as u64
    }
}

/// A word by its number: pronounceable, so that nothing about it is special.
fn word(mut number: u64) -> String {
    const FIRST: [&str; 16] = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "tr"];
    const SECOND: [&str; 5] = ["a", "e", "i", "o", "u"];
    let mut out = String::new();
    number += 7;
    while number > 0 {
        out.push_str(FIRST[(number % 16) as usize]);
        number /= 16;
        out.push_str(SECOND[(number % 5) as usize]);
        number /= 5;
    }
    out.push('x');
    out
}

fn subject_word(subject: u64, at: u64) -> String {
    word(VOCABULARY + subject * OWN_WORDS + at)
}

/// What is said in the n-th turn: 8 to 60 words, one in six of its subject's own.
pub(super) fn said(turn: u64) -> String {
    let mut draw = Draw::new(turn + 1);
    let subject = subject_of(turn);
    let words = 8 + draw.below(53);
    let mut out = String::new();
    for at in 0..words {
        if at > 0 {
            out.push(' ');
        }
        let own = draw.below(6) == 0;
        let next = if own { subject_word(subject, draw.below(OWN_WORDS)) } else { word(draw.common_word()) };
        out.push_str(&next);
    }
    out
}

/// A subject is talked about for a while.
fn subject_of(turn: u64) -> u64 {
    Draw::new(turn / 24 + 77).below(SUBJECTS)
}

/// The n-th question: about a turn that was said, two words of its subject and four that are common.
pub(super) fn question(n: u64, turns: u64) -> String {
    let mut draw = Draw::new(n + 1_000_003);
    let subject = subject_of(draw.below(turns));
    let mut words: Vec<String> = (0..2).map(|_| subject_word(subject, draw.below(OWN_WORDS))).collect();
    words.extend((0..4).map(|_| word(draw.common_word())));
    words.join(" ")
}

/// Who is said to have drawn the directions; asked for none.
pub(super) struct Drawn;

#[async_trait]
impl Embedder for Drawn {
    fn identity(&self) -> &str {
        "drawn"
    }

    async fn embed(&self, _: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        Err(ModelError::Refused("directions are drawn by the turn's number, not by its words".to_owned()))
    }
}

/// A direction that stands in for what a text means: of its own for each, near to those of the same subject.
pub(super) fn meaning(turn: u64, dimensions: usize) -> Embedding {
    let (mut own, mut shared) = (Draw::new(turn + 11), Draw::new(subject_of(turn) + 5));
    let draw = |draw: &mut Draw| (draw.next() as f32 / (1_u64 << 53) as f32) - 0.5;
    let values: Vec<f32> = (0..dimensions).map(|_| draw(&mut own) + draw(&mut shared)).collect();
    Embedding::of(&values)
}

/// What a question of [`question`] means.
pub(super) fn meaning_of_question(n: u64, turns: u64, dimensions: usize) -> Embedding {
    meaning(Draw::new(n + 1_000_003).below(turns), dimensions)
}
