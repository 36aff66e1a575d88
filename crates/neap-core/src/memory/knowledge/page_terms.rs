//! Terms of a page's records, computed on first use: usually after the reply, not before the request to the model.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::Knowledge;
use crate::memory::MemoryId;
use crate::text::terms::terms;

#[derive(Debug, Clone, Default)]
pub(super) struct PageTerms {
    /// Of all records.
    pub(super) terms: BTreeSet<String>,
    /// Of each record selected by relevance, without id and provenance, in page order.
    pub(super) by_record: Vec<(MemoryId, BTreeSet<String>)>,
}

/// Derived from the page, so it always compares equal.
#[derive(Debug, Clone, Default)]
pub(super) struct LazyPageTerms(OnceLock<PageTerms>);

impl PartialEq for LazyPageTerms {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for LazyPageTerms {}

impl Knowledge {
    pub(super) fn page_terms(&self) -> &PageTerms {
        self.page_terms.0.get_or_init(|| self.collect_terms())
    }

    /// Whether a term occurs in the loaded records, the task, or a question since.
    pub(super) fn has_term(&self, term: &str) -> bool {
        self.known_terms.contains(term) || self.page_terms().terms.contains(term)
    }

    fn collect_terms(&self) -> PageTerms {
        let mut collected = PageTerms::default();
        for (id, line) in self.page.record_lines() {
            let line_terms: BTreeSet<String> = terms(line).into_iter().collect();
            collected.terms.extend(line_terms.iter().cloned());
            if let Some((_, source)) = self.sources.iter().find(|(source_id, _)| *source_id == id) {
                let source_terms = terms(&format!("{id} {source}"));
                collected
                    .by_record
                    .push((id, line_terms.into_iter().filter(|term| !source_terms.contains(term)).collect()));
            }
        }
        collected
    }
}
