//! Tries a pattern on recent texts before its rule takes effect.

use super::{AnalyzedText, CompiledPattern};
use crate::base::refusal::Refusal;
use crate::memory::Author;
use crate::text::fold_whitespace;

/// With fewer texts, the share of matches means little.
const TEXTS_MIN: usize = 4;
const SAMPLES_MAX: usize = 3;
const SAMPLE_CHARS: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    pub checked: usize,
    pub matched: usize,
    /// Beginnings of the first matches.
    pub samples: Vec<String>,
}

pub fn dry_run(pattern: &CompiledPattern, texts: &[&str]) -> DryRun {
    let matched: Vec<&str> =
        texts.iter().copied().filter(|text| pattern.is_match(&AnalyzedText::new(text))).collect();
    let sample = |text: &&str| fold_whitespace(text).chars().take(SAMPLE_CHARS).collect();
    DryRun {
        checked: texts.len(),
        matched: matched.len(),
        samples: matched.iter().take(SAMPLES_MAX).map(sample).collect(),
    }
}

impl DryRun {
    /// Refuses a pattern that matches more than half of the texts, unless a person insists.
    pub fn check(&self, author: Author, forced: bool) -> Result<(), Refusal> {
        let is_too_broad = self.checked >= TEXTS_MIN && self.matched * 2 > self.checked;
        if !is_too_broad || (forced && author == Author::Person) {
            return Ok(());
        }
        let (matched, checked) = (self.matched, self.checked);
        let error =
            format!("The pattern is found in {matched} of the last {checked} texts; such a rule hinders work.");
        Err(Refusal::new(error).hint("Name what is peculiar to the matter; a person may insist."))
    }
}
