//! Which project a memory belongs to, and which memories serve a question that is asked in one.
//!
//! A memory without a project belongs to the person and serves everywhere. One of another project serves only where it
//! bears strongly on the question, and says where it is from.

use super::stated::PREFERENCE_TAG;
use super::{Body, Memory, MemoryDraft, RecallRequest, RecallResponse, RenderedMemory};
use crate::base::project_id::ProjectId;
use crate::base::tokens::TokenCounter;
use crate::recall::{ProjectFilter, STRONG_SIMILARITY_MIN, are_strong};
use crate::text::terms::terms;

/// Words by which a person limits a statement to the project at hand.
const THIS_PROJECT: [&str; 8] = [
    "this project", "this repo", "this repository", "this codebase", "this code base", "the repo",
    "the repository", "our codebase",
];
/// Where memories of other projects compete for a search's limits.
const WIDER: usize = 3;

impl MemoryDraft {
    /// Assigns what is recorded within a project to it. Preferences, pins and rules are the person's, except a preference
    /// or pin whose words name the project at hand.
    pub fn recorded_in(mut self, project: Option<&ProjectId>) -> Self {
        let is_personal = self.pinned || self.tags.iter().any(|tag| tag == PREFERENCE_TAG);
        let belongs = match &self.body {
            Body::Censor(_) => false,
            Body::Fact(fact) => !is_personal || names_this_project(&fact.content),
            Body::Decision(decision) => !is_personal || names_this_project(&decision.description),
            Body::Procedure(_) | Body::Episode(_) => !is_personal,
        };
        if belongs && self.project.is_none() {
            self.project = project.cloned();
        }
        self
    }
}

fn names_this_project(text: &str) -> bool {
    let text = text.to_lowercase();
    THIS_PROJECT.iter().any(|words| text.contains(words))
}

impl RecallRequest {
    /// With room for what is filtered out afterwards.
    pub fn asked_in(mut self, project: Option<&ProjectFilter>) -> Self {
        if project.is_some() {
            self.limits.iter_mut().for_each(|(_, max)| *max *= WIDER);
        }
        self
    }
}

impl Memory {
    /// Whether two records may replace or contradict each other: those of different projects may not.
    pub(crate) fn shares_scope(&self, project: Option<&ProjectId>) -> bool {
        self.project.is_none() || project.is_none() || self.project.as_ref() == project
    }

    /// Whether it is of another project than the question.
    pub(crate) fn is_from_elsewhere(&self, asked_in: Option<&ProjectFilter>) -> bool {
        asked_in.is_some_and(|filter| !filter.matches(self.project.as_ref()))
    }

    /// Whether it may serve a question with these terms. What is listed by time or kind alone is the project's own.
    pub(crate) fn serves(
        &self,
        asked_in: Option<&ProjectFilter>,
        question: &[String],
        found: &RecallResponse,
    ) -> bool {
        if !self.is_from_elsewhere(asked_in) {
            return true;
        }
        let similarity = found.similarities.get(&self.id).map_or(0.0, |similarity| similarity.value());
        let words = terms(&self.search_text());
        let shared = question.iter().filter(|term| words.contains(term)).map(String::as_str);
        matches!(asked_in, Some(ProjectFilter::First(_)))
            && (similarity >= STRONG_SIMILARITY_MIN || are_strong(question, shared))
    }

    /// Its lines as they are shown to a question of another project.
    pub(crate) fn lines_from_elsewhere(&self, counter: &dyn TokenCounter) -> RenderedMemory {
        let project = self.project.as_ref().map_or("", ProjectId::as_str);
        let (micro, summary) = (mark_line(&self.lines.micro, project), mark_line(&self.lines.summary, project));
        let (micro_tokens, summary_tokens) = (counter.count(&micro), counter.count(&summary));
        RenderedMemory { micro, micro_tokens, summary, summary_tokens }
    }
}

/// Adds the project to the provenance, which ends a record's first line in brackets.
pub(in crate::memory) fn mark_line(text: &str, project: &str) -> String {
    let (line, rest) = text.split_once('\n').map_or((text, ""), |(line, rest)| (line, rest));
    let end = if text.contains('\n') { "\n" } else { "" };
    match line.strip_suffix(')') {
        Some(open) => format!("{open}, from project {project}){end}{rest}"),
        None => format!("{line} (from project {project}){end}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Author, Censor, CensorAction, CensorPattern, CensorSide, Confidence, Fact, Provenance};

    fn fact(text: &str) -> MemoryDraft {
        MemoryDraft::new(
            Body::Fact(Fact::new("", text, Confidence::FULL)),
            Provenance::from_author(Author::Person),
        )
    }

    #[test]
    fn what_is_recorded_in_a_project_belongs_to_it_and_tastes_to_the_person() {
        let shop = ProjectId::from_name("shop").expect("a name");
        let of = |draft: MemoryDraft| draft.recorded_in(Some(&shop)).project.is_some();
        let preference = |text: &str| MemoryDraft { tags: vec![PREFERENCE_TAG.to_owned()], ..fact(text) };
        let pinned = |text: &str| MemoryDraft { pinned: true, ..fact(text) };
        assert!(of(fact("the staging database is called heron")));
        assert!(!of(preference("I prefer tabs")) && !of(pinned("Always answer in French")));
        assert!(of(preference("In this repo I prefer tabs")) && of(pinned("Always use tabs in this codebase")));
        let rule = Censor::new(CensorPattern::Words("x".into()), CensorSide::Output, CensorAction::Steer, "y");
        assert!(!of(MemoryDraft { body: Body::Censor(rule), ..fact("") }));
        let barn = ProjectId::from_name("barn").ok();
        let named = MemoryDraft { project: barn.clone(), ..fact("x y") };
        assert_eq!(named.recorded_in(Some(&shop)).project, barn, "what a person named stays");
        assert_eq!(fact("x y").recorded_in(None).project, None);
    }

    #[test]
    fn a_line_names_its_project_behind_its_provenance() {
        for (line, want) in [
            ("- f1 Heron (person, 2026-05-01)\n", "- f1 Heron (person, 2026-05-01, from project shop)\n"),
            (
                "## Procedure: Deploy (p1, person)\nSteps:\n- push\n",
                "## Procedure: Deploy (p1, person, from project shop)\nSteps:\n- push\n",
            ),
            ("odd", "odd (from project shop)"),
        ] {
            assert_eq!(mark_line(line, "shop"), want);
        }
    }
}
