//! A ranked search in one store call: propose, rank, read.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::decisions::{best_messages, raise_decisions};
use super::files_in_work::{self, FilesInWork, latest_texts};
use super::pack::shortlist;
use super::{Candidate, Candidates, NeighbourQuery, ParsedQuestion, Query, RankWeights, Ranked, Ranking, TextId};
use crate::base::ids::StreamId;
use crate::base::tokens::Tokens;

#[derive(Debug, Clone, PartialEq)]
pub struct RankedSearch {
    pub question: ParsedQuestion,
    pub query: Query,
    pub weights: RankWeights,
    /// The session the question is asked in, and how many of its latest texts the model already sees.
    pub current_session: Option<(StreamId, u64)>,
    pub budget: Tokens,
}

impl RankedSearch {
    /// Runs the search with the store's three operations: propose candidates, fetch neighbours, read texts.
    pub fn run<E>(
        &self,
        mut propose: impl FnMut(&Query) -> Result<Candidates, E>,
        around: impl FnOnce(&NeighbourQuery) -> Result<Vec<Candidate>, E>,
        mut words: impl FnMut(&[TextId]) -> Result<Vec<Option<Arc<str>>>, E>,
    ) -> Result<RankedResults, E> {
        let mut proposed = propose(&self.query)?;
        if let Some(others) = self.query.in_other_projects() {
            proposed.add_from_elsewhere(&self.question, propose(&others)?);
        }
        for named_time in self.query.in_named_times(&self.question) {
            proposed.add_more(propose(&named_time)?);
        }
        let mut ranking = Ranking::new(&self.question, &self.weights, proposed);
        if let Some((session, visible)) = &self.current_session {
            ranking = ranking.with_current_session(session, *visible);
        }
        let around = self.query.without_neighbours_elsewhere(around(&ranking.neighbour_query())?);
        let latest = match &self.current_session {
            Some((session, _)) if self.weights.file_in_work > 0.0 => {
                latest_texts(&self.question, &around, session)
            }
            Some(_) | None => Vec::new(),
        };
        let asks_for_decision = ranking.asks_for_decision();
        let mut ranked = ranking.rank(around);
        self.query.forget_own_project(ranked.iter_mut().map(|ranked| &mut ranked.candidate));
        if asks_for_decision {
            let ids = best_messages(&ranked);
            raise_decisions(&mut ranked, &self.weights, &ids, &words(&ids)?);
        }
        let mut files = FilesInWork::default();
        for ids in latest.chunks(files_in_work::READ_MAX) {
            if !files.is_complete() {
                files.add(ids, &words(ids)?);
            }
        }
        files.raise(&mut ranked, &self.weights);
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        let ids = shortlist(&ranked, self.budget);
        let words = words(&ids)?;
        let texts = ids.into_iter().zip(words).filter_map(|(id, words)| Some((id, words?))).collect();
        Ok(RankedResults { ranked, texts })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct RankedResults {
    pub ranked: Vec<Ranked>,
    /// Texts of the best, where they still exist.
    pub texts: BTreeMap<TextId, Arc<str>>,
}
