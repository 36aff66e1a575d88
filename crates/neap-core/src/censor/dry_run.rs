//! A pattern tried on recent texts before its rule is in force.

use super::{Compiled, Text};
use crate::memory::Author;
use crate::tools::Refusal;

/// Texts from which on a share says something.
const TEXTS_MIN: usize = 4;
/// Matches that are shown.
const SAMPLES_MAX: usize = 3;
/// Characters of each.
const SAMPLE_CHARS: usize = 80;

/// What a pattern found in recent texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// Texts that were looked at.
    pub checked: usize,
    /// Texts in which it was found.
    pub matched: usize,
    /// How the first of them begin.
    pub samples: Vec<String>,
}

/// Tries a pattern.
pub fn dry_run(pattern: &Compiled, texts: &[&str]) -> DryRun {
    let matched: Vec<&str> = texts.iter().copied().filter(|text| pattern.is_match(&Text::new(text))).collect();
    let sample =
        |text: &&str| text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SAMPLE_CHARS).collect();
    DryRun {
        checked: texts.len(),
        matched: matched.len(),
        samples: matched.iter().take(SAMPLES_MAX).map(sample).collect(),
    }
}

impl DryRun {
    /// Refuses a pattern found in more than half of the texts, unless a person insists.
    pub fn judge(&self, author: Author, forced: bool) -> Result<(), Refusal> {
        let too_often = self.checked >= TEXTS_MIN && self.matched * 2 > self.checked;
        if !too_often || (forced && author == Author::Person) {
            return Ok(());
        }
        let (matched, checked) = (self.matched, self.checked);
        let error =
            format!("The pattern is found in {matched} of the last {checked} texts; such a rule hinders work.");
        Err(Refusal::new(error).hint("Name what is peculiar to the matter; a person may insist."))
    }
}
