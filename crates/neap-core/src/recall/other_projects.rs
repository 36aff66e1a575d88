//! What a question gets from other projects than its own: only texts that bear strongly on it, with their neighbours
//! left out. They compete with the project's texts, and a page names their project.

use super::{Candidate, Candidates, Filter, ParsedQuestion, ProjectFilter, Query, SearchLimits};
use crate::base::project_id::ProjectId;
use crate::text::background::is_common;

/// Terms that a text shares with the question, if it has as many; at least two in three, and two names among them.
const TERMS_MIN: usize = 3;
const NAMES_MIN: usize = 2;
/// Similarity from which a text bears strongly whatever its terms.
pub(crate) const STRONG_SIMILARITY_MIN: f64 = 0.75;
/// Few can bear strongly, and those have the rarest terms.
const LIMITS: SearchLimits = SearchLimits { visits_max: 1_024, lexical_max: 16, semantic_max: 8 };

impl Filter {
    /// The same filter for a question that is asked in a project.
    pub fn asked_in(self, project: Option<&ProjectId>) -> Self {
        Self { project: project.cloned().map(ProjectFilter::First), ..self }
    }

    /// The project that the question is asked in.
    fn own_project(&self) -> Option<&ProjectId> {
        match &self.project {
            Some(ProjectFilter::Only(own) | ProjectFilter::First(own)) => Some(own),
            Some(ProjectFilter::Others(_)) | None => None,
        }
    }
}

impl Query {
    /// The search of other projects that goes with this one, if any does.
    pub fn in_other_projects(&self) -> Option<Self> {
        let Some(ProjectFilter::First(own)) = &self.filter.project else { return None };
        let filter = Filter { project: Some(ProjectFilter::Others(own.clone())), ..self.filter.clone() };
        Some(Self { filter, limits: LIMITS, ..self.clone() })
    }

    /// Without texts beside those of other projects: none of these was found for itself.
    pub(super) fn without_neighbours_elsewhere(&self, mut around: Vec<Candidate>) -> Vec<Candidate> {
        if let Some(own) = self.filter.own_project() {
            around.retain(|candidate| candidate.project.as_ref().is_none_or(|project| project == own));
        }
        around
    }

    /// Keeps the projects only of texts from elsewhere: the question's own need no name.
    pub(super) fn forget_own_project<'a>(&self, candidates: impl Iterator<Item = &'a mut Candidate>) {
        let own = self.filter.own_project();
        for candidate in candidates {
            candidate.project = candidate.project.take().filter(|project| own.is_some_and(|own| own != project));
        }
    }
}

impl Candidates {
    /// Adds what bears strongly on the question from other projects.
    pub fn add_from_elsewhere(&mut self, question: &ParsedQuestion, others: Candidates) {
        self.items.extend(others.items.into_iter().filter(|candidate| bears_strongly(question, candidate)));
        self.items.sort_by(|a, b| a.id.cmp(&b.id));
    }
}

/// Whether a text serves a question that was asked in another project.
fn bears_strongly(question: &ParsedQuestion, candidate: &Candidate) -> bool {
    let shared = question.terms.iter().zip(&candidate.hits).filter(|(_, hits)| **hits > 0).map(|(term, _)| term);
    candidate.similarity.is_some_and(|similarity| similarity >= STRONG_SIMILARITY_MIN)
        || are_strong(&question.terms, shared.map(String::as_str))
}

/// Whether these terms of the question are enough.
pub(crate) fn are_strong<'a>(question: &[String], shared: impl Iterator<Item = &'a str>) -> bool {
    let (mut terms, mut names) = (0, 0);
    for term in shared {
        terms += 1;
        names += usize::from(!is_common(term));
    }
    let all = question.len();
    let all_names = question.iter().filter(|term| !is_common(term)).count();
    all_names > 0 && terms >= TERMS_MIN.min(all) && terms * 3 >= all * 2 && names >= NAMES_MIN.min(all_names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::Stamp;
    use crate::text::terms::terms;

    #[test]
    fn only_what_shares_most_of_a_question_bears_strongly() {
        for (question, text, want) in [
            ("which port has the heron database", "the heron database listens on port 9", true),
            ("which port has the heron database", "a heron by the lake", false),
            ("which port has the heron database", "the port of the database", false),
            ("heron?", "a heron by the lake", true),
            ("use the pattern", "the pattern that we use", false),
            (
                "where does the staging deployment of billing write its audit log",
                "the audit log of billing",
                false,
            ),
        ] {
            let question = ParsedQuestion::parse(question, Stamp(0));
            let words = terms(text);
            let shared = question.terms.iter().filter(|term| words.contains(term)).map(String::as_str);
            assert_eq!(are_strong(&question.terms, shared), want, "{text}");
        }
    }
}
