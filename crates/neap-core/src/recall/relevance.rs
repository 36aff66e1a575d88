//! Whether a page that nobody asked for as a list bears on its question. Something is always nearest; that alone is no
//! reason to show it. One floor for every surface: hooks and `get_context`.

use super::rank::SIMILARITY_MIN;
use super::{ParsedQuestion, Ranked, RecalledContext};
use crate::text::background::is_common;

/// A text with fewer terms of the question bears on it only by similarity.
const TERMS_MIN: usize = 2;
/// Similarity from which a text bears on the question whatever its terms.
pub(crate) const UNASKED_SIMILARITY_MIN: f64 = 0.6;
/// Why a page is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageCause {
    /// A model asked for it, in words of its own: one word that is not common is enough, or half of them.
    Asked,
    /// A person wrote a message that nobody meant as a search.
    Unasked,
}

impl RecalledContext {
    /// Whether any text shown bears on the question: by its terms, of which one is no common word, or by meaning.
    pub fn bears_on(&self, question: &ParsedQuestion, cause: PageCause) -> bool {
        let (terms_min, similarity_min) = match cause {
            PageCause::Asked => (1, SIMILARITY_MIN),
            PageCause::Unasked => (TERMS_MIN, UNASKED_SIMILARITY_MIN),
        };
        let is_common: Vec<bool> = question.terms.iter().map(|term| is_common(term)).collect();
        let all_common = is_common.iter().all(|is_common| *is_common);
        let is_shown = |ranked: &&Ranked| self.shown.iter().any(|shown| shown.candidate.id == ranked.candidate.id);
        self.ranked.iter().filter(is_shown).any(|Ranked { candidate, .. }| {
            let shared = candidate.hits.iter().zip(&is_common).filter(|(hits, _)| **hits > 0);
            let (terms, names) =
                shared.fold((0, 0), |(terms, names), (_, is_common)| (terms + 1, names + usize::from(!is_common)));
            let is_asked_half = cause == PageCause::Asked && terms * 2 >= question.terms.len() && terms > 0;
            // Who asks in common words alone names nothing: most of them must be there.
            let has_name = names > 0 || all_common && terms * 2 > question.terms.len();
            is_asked_half
                || terms >= terms_min.min(question.terms.len()).max(1) && has_name
                || candidate.similarity.is_some_and(|similarity| similarity >= similarity_min)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{Seq, Stamp, StreamId, TurnNo};
    use crate::base::tokens::Tokens;
    use crate::recall::{Candidate, RankFactors, ShownText, TextId, TextKey, TextKind};

    /// A page with one text that shares these terms with the question.
    fn bears_for(cause: PageCause, question: &str, text: &str, similarity: Option<f64>) -> bool {
        let question = ParsedQuestion::parse(question, Stamp(0));
        let words = crate::text::terms::terms(text);
        let hits = question.terms.iter().map(|term| u32::from(words.contains(term))).collect();
        let candidate = Candidate {
            id: TextId { stream: StreamId::parse("talk").expect("an id"), key: TextKey::Message(Seq(1)) },
            kind: TextKind::User,
            turn: TurnNo(1),
            position: 1,
            at: Stamp(1),
            project: None,
            speaker: None,
            tokens: Tokens(1),
            term_count: 1,
            hits,
            similarity,
        };
        let shown = vec![ShownText {
            candidate: candidate.clone(),
            text: text.to_owned(),
            is_whole: true,
            is_stale: false,
        }];
        let factors = RankFactors::default();
        let ranked = vec![Ranked { candidate, score: 1.0, factors, matched_idf: 1.0 }];
        RecalledContext { shown, ranked, ..RecalledContext::default() }.bears_on(&question, cause)
    }

    fn bears(question: &str, text: &str, similarity: Option<f64>) -> bool {
        bears_for(PageCause::Unasked, question, text, similarity)
    }

    #[test]
    fn who_asks_gets_what_shares_one_name() {
        let asked = |question: &str, text: &str| bears_for(PageCause::Asked, question, text, None);
        assert!(asked("which port has the heron database", "a heron by the lake"));
        assert!(!asked("which pattern should I use to watch a heron at night", "use the pattern for lists"));
    }

    #[test]
    fn common_words_alone_are_no_reason_to_show_a_page() {
        assert!(bears("which port has the heron database", "heron listens on port 9", None));
        assert!(!bears("which pattern should I use to handle errors", "use the pattern for lists", None));
        assert!(bears("use the pattern", "the pattern that we use", None), "it asks for nothing else");
        assert!(!bears("which port has the heron database", "a heron by the lake", None), "one word");
        assert!(bears("heron?", "a heron by the lake", None), "it has no other");
        assert!(bears("quite other words", "the same in words of its own", Some(0.61)));
        assert!(!bears("quite other things", "nothing alike", Some(0.59)));
    }
}
