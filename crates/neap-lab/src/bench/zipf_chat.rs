//! A long deterministic conversation with a natural distribution of word frequencies.

use async_trait::async_trait;
use neap_core::recall::Embedding;
use neap_model::{Embedder, ModelError};

use crate::measure::Rng;

const VOCABULARY: u64 = 60_000;
/// Topics of the conversations, and words that belong to one topic only.
const SUBJECTS: u64 = 2_000;
const OWN_WORDS: u64 = 40;

/// A word by Zipf's law: the n-th most common occurs about 1/n times as often as the first.
fn common_word(rng: &mut Rng) -> String {
    word((VOCABULARY as f64).powf(rng.share()) as u64)
}

fn word(mut number: u64) -> String {
    const FIRST: [&str; 16] = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "tr"];
    const SECOND: [&str; 5] = ["a", "e", "i", "o", "u"];
    let mut text = String::new();
    number += 7;
    while number > 0 {
        text.push_str(FIRST[(number % 16) as usize]);
        number /= 16;
        text.push_str(SECOND[(number % 5) as usize]);
        number /= 5;
    }
    text.push('x');
    text
}

fn subject_word(subject: u64, at: u64) -> String {
    word(VOCABULARY + subject * OWN_WORDS + at)
}

/// The text of a turn: 8 to 60 words, one in six from its subject.
pub(super) fn turn_text(turn: u64) -> String {
    let mut rng = Rng::new(turn + 1);
    let subject = subject_of(turn);
    let words = 8 + rng.below(53);
    let mut text = String::new();
    for at in 0..words {
        if at > 0 {
            text.push(' ');
        }
        let is_subject_word = rng.below(6) == 0;
        let next =
            if is_subject_word { subject_word(subject, rng.below(OWN_WORDS)) } else { common_word(&mut rng) };
        text.push_str(&next);
    }
    text
}

/// A subject lasts for 24 turns.
fn subject_of(turn: u64) -> u64 {
    Rng::new(turn / 24 + 77).below(SUBJECTS)
}

/// The n-th question, about a recorded turn: two words of its subject and four common ones.
pub(super) fn question(n: u64, turns: u64) -> String {
    let mut rng = Rng::new(n + 1_000_003);
    let subject = subject_of(rng.below(turns));
    let mut words: Vec<String> = (0..2).map(|_| subject_word(subject, rng.below(OWN_WORDS))).collect();
    words.extend((0..4).map(|_| common_word(&mut rng)));
    words.join(" ")
}

/// Names the synthetic embeddings; never embeds anything itself.
pub(super) struct SyntheticEmbedder;

#[async_trait]
impl Embedder for SyntheticEmbedder {
    fn identity(&self) -> &str {
        "drawn"
    }

    async fn embed(&self, _: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        Err(ModelError::Refused("directions are drawn by the turn's number, not by its words".to_owned()))
    }
}

/// A synthetic embedding, similar to those of the same subject.
pub(super) fn turn_embedding(turn: u64, dimensions: usize) -> Embedding {
    let (mut own, mut shared) = (Rng::new(turn + 11), Rng::new(subject_of(turn) + 5));
    let draw = |rng: &mut Rng| rng.share() as f32 - 0.5;
    let values: Vec<f32> = (0..dimensions).map(|_| draw(&mut own) + draw(&mut shared)).collect();
    Embedding::quantize(&values)
}

pub(super) fn question_embedding(n: u64, turns: u64, dimensions: usize) -> Embedding {
    turn_embedding(Rng::new(n + 1_000_003).below(turns), dimensions)
}
