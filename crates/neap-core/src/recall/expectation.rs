//! Follows an expected text through a search: at which stage it was lost, and with what score.

use serde::Serialize;

use super::{Candidate, ParsedQuestion, RankFactors, Ranked, Ranking};

/// Where a search lost a text that somebody expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// There is no such text.
    NotStored,
    /// The search does not look where it is.
    NotSearched,
    /// It was not among the candidates: it shares no term that others do not share more of, and is not among the nearest.
    NotProposed,
    /// It was a candidate, but shares no term and is not similar enough.
    BelowFloor,
    /// It is a result, behind those that were asked for.
    BeyondLimit,
    Found,
}

impl Stage {
    /// In words, for people.
    pub fn explain(self) -> &'static str {
        match self {
            Stage::NotStored => "not stored: there is no such text here",
            Stage::NotSearched => "not searched: this search does not look there",
            Stage::NotProposed => {
                "not proposed: it is among neither the texts with the rarest shared words nor the nearest"
            }
            Stage::BelowFloor => "below the floor: it shares no word, and its meaning is too far",
            Stage::BeyondLimit => "beyond the limit: others come first",
            Stage::Found => "found",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expectation {
    pub stage: Stage,
    /// Its place among the results, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<RankFactors>,
    /// The question's terms that it has.
    pub shared: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
}

impl Expectation {
    pub fn lost(stage: Stage) -> Self {
        Self { stage, place: None, score: None, why: None, shared: Vec::new(), similarity: None }
    }

    /// What became of the first expected candidate of a search that lists at most `max` texts.
    pub fn of(
        ranking: Ranking<'_>,
        question: &ParsedQuestion,
        is_expected: impl Fn(&Candidate) -> bool,
        max: usize,
    ) -> Self {
        let ranked = ranking.rank(Vec::new());
        let Some(at) = ranked.iter().position(|ranked| is_expected(&ranked.candidate)) else {
            return Self::lost(Stage::NotProposed);
        };
        let place = ranked[..=at].iter().filter(|ranked| ranked.is_match()).count();
        let found = &ranked[at];
        let stage = match found.is_match() {
            false => Stage::BelowFloor,
            true if place > max => Stage::BeyondLimit,
            true => Stage::Found,
        };
        let Ranked { candidate, score, factors, .. } = found;
        let shared = question.terms.iter().zip(&candidate.hits).filter(|(_, hits)| **hits > 0);
        Self {
            stage,
            place: found.is_match().then_some(place),
            score: Some(*score),
            why: Some(*factors),
            shared: shared.map(|(term, _)| term.clone()).collect(),
            similarity: candidate.similarity,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::{Seq, Stamp, StreamId, TurnNo};
    use crate::base::tokens::Tokens;
    use crate::recall::{Candidates, RankWeights, TextId, TextKey, TextKind};

    fn candidate(seq: u64, hits: u32, similarity: f64) -> Candidate {
        Candidate {
            id: TextId { stream: StreamId::parse("talk").expect("an id"), key: TextKey::Message(Seq(seq)) },
            kind: TextKind::User,
            turn: TurnNo(seq),
            position: seq,
            at: Stamp(1),
            project: None,
            speaker: None,
            tokens: Tokens(9),
            term_count: 9,
            hits: vec![hits],
            similarity: Some(similarity),
        }
    }

    #[test]
    fn a_text_is_lost_at_one_stage() {
        let question = ParsedQuestion::parse("heron", Stamp(0));
        let stage = |turn: u64, max: usize| {
            let weights = RankWeights::for_search();
            let proposed = Candidates {
                items: vec![
                    candidate(1, 3, 0.1),
                    candidate(2, 1, 0.1),
                    candidate(3, 0, 0.2),
                    candidate(4, 0, 0.9),
                ],
                text_count: 40,
                total_terms: 360,
                document_frequencies: vec![2],
                ..Candidates::default()
            };
            let ranking = Ranking::new(&question, &weights, proposed);
            let found = Expectation::of(ranking, &question, |candidate| candidate.turn == TurnNo(turn), max);
            (found.stage, found.place, found.shared.len())
        };
        assert_eq!(stage(1, 5), (Stage::Found, Some(1), 1));
        assert!(matches!(stage(2, 1), (Stage::BeyondLimit, Some(2 | 3), 1)));
        assert_eq!(stage(3, 5), (Stage::BelowFloor, None, 0));
        assert_eq!(stage(4, 5).0, Stage::Found, "by meaning");
        assert_eq!(stage(9, 5), (Stage::NotProposed, None, 0));
    }
}
