//! What the lines of a page say, read when that is first needed: for most pages after the reply, not before the model is
//! asked.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::Knowledge;
use crate::memory::MemoryId;
use crate::terms::terms;

/// The terms of a page's records.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    /// Of all of them.
    pub(super) terms: BTreeSet<String>,
    /// Of each that was found by relevance, its own: without its id and where it comes from. In the order of the page.
    pub(super) own: Vec<(MemoryId, BTreeSet<String>)>,
}

/// The same, once it was read. It follows from the page, so it makes no difference between two of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Lazy(OnceLock<Said>);

impl PartialEq for Lazy {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Lazy {}

impl Knowledge {
    /// What its records say.
    pub(super) fn said(&self) -> &Said {
        self.said.0.get_or_init(|| self.read())
    }

    /// Whether a term is in what is loaded, or was in what was asked since.
    pub(super) fn has_term(&self, term: &str) -> bool {
        self.heard.contains(term) || self.said().terms.contains(term)
    }

    fn read(&self) -> Said {
        let mut said = Said::default();
        for (id, line) in self.page.records() {
            let of_line: BTreeSet<String> = terms(line).into_iter().collect();
            said.terms.extend(of_line.iter().cloned());
            if let Some((_, source)) = self.sources.iter().find(|(of, _)| *of == id) {
                let ours = terms(&format!("{id} {source}"));
                said.own.push((id, of_line.into_iter().filter(|term| !ours.contains(term)).collect()));
            }
        }
        said
    }
}
