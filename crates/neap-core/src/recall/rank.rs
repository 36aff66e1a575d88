//! Ranks candidates by their own score and by their neighbours' scores.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    Candidate, Candidates, NeighbourQuery, ParsedQuestion, RankWeights, TextId, TextKind, decisions, files_in_work,
};
use crate::base::ids::{Stamp, StreamId};
use crate::text::terms::terms;

/// Texts whose neighbours are fetched, and how far from each.
const TOP_TEXTS_MAX: usize = 24;
const NEIGHBOUR_DISTANCE: u64 = 5;
const OPENINGS_MAX: usize = 64;
/// Similarity from which a text matches without a shared term.
pub(crate) const SIMILARITY_MIN: f64 = 0.45;
/// Latest texts of the current session that are fetched whatever they contain.
const LATEST_TEXTS: usize = 64;

/// The parts of a text's score; `cost` is subtracted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct RankFactors {
    pub words: f64,
    pub meaning: f64,
    pub beside: f64,
    pub conversation: f64,
    pub speaker: f64,
    pub time: f64,
    pub opening: f64,
    pub lately: f64,
    /// Recency within the current session.
    pub here: f64,
    /// It is about a file that the current session works on.
    pub file: f64,
    /// It settles something, and a decision is asked for.
    pub decision: f64,
    pub cost: f64,
}

impl RankFactors {
    fn sum(&self) -> f64 {
        let RankFactors {
            words,
            meaning,
            beside,
            conversation,
            speaker,
            time,
            opening,
            lately,
            here,
            file,
            decision,
            cost,
        } = self;
        words + meaning + beside + conversation + speaker + time + opening + lately + here + file + decision - cost
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    pub candidate: Candidate,
    /// Only the order of scores means anything.
    pub score: f64,
    pub factors: RankFactors,
    /// Sum of the idf of the terms that it shares with the question.
    pub matched_idf: f64,
}

impl Ranked {
    /// Whether it matches by itself: it shares a term with the question, or is similar enough.
    pub fn is_match(&self) -> bool {
        self.factors.words > 0.0 || self.candidate.similarity.is_some_and(is_similar_enough)
    }
}

#[derive(Debug)]
pub struct Ranking<'a> {
    question: &'a ParsedQuestion,
    weights: &'a RankWeights,
    /// Of each question term.
    idf: Vec<f64>,
    mean_length: f64,
    mean_similarity: f64,
    candidates: Vec<Candidate>,
    /// The session the question is asked in, and how many of its latest texts the model already sees.
    current_session: Option<(StreamId, u64)>,
}

impl<'a> Ranking<'a> {
    pub fn new(question: &'a ParsedQuestion, weights: &'a RankWeights, proposed: Candidates) -> Self {
        let Candidates {
            items: candidates, text_count, total_terms, document_frequencies, mean_similarity, ..
        } = proposed;
        let all = text_count as f64;
        let idf = document_frequencies.iter().map(|with| {
            let with = *with as f64;
            (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln()
        });
        let mean_length = (total_terms as f64 / all.max(1.0)).max(1.0);
        let mut ranking = Self {
            question,
            weights,
            idf: idf.collect(),
            mean_length,
            mean_similarity,
            candidates,
            current_session: None,
        };
        ranking.ignore_speaker_names();
        ranking
    }

    /// Sets the current session. Its recent texts score higher, since work is local; its latest `visible` texts
    /// are not recalled, since the model sees them.
    pub fn with_current_session(mut self, session: &StreamId, visible: u64) -> Self {
        self.current_session = Some((session.clone(), visible));
        self
    }

    /// The position of the current session's last text that the model does not see.
    fn last_hidden(&self) -> Option<(&StreamId, u64)> {
        let (session, visible) = self.current_session.as_ref()?;
        let in_session = self.candidates.iter().filter(|candidate| candidate.id.stream == *session);
        Some((session, in_session.map(|candidate| candidate.position).max().unwrap_or(0).saturating_sub(*visible)))
    }

    fn add_candidates(&mut self, more: Vec<Candidate>) {
        self.candidates.extend(more);
        self.candidates.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        self.candidates.dedup_by(|b, a| a.id == b.id);
    }

    /// Zeroes the idf of speakers' names: the speaker factor counts who speaks, and being addressed by name tells
    /// nothing.
    fn ignore_speaker_names(&mut self) {
        let names: BTreeSet<String> = self.named_speakers().into_iter().flat_map(terms).collect();
        for (term, idf) in self.question.terms.iter().zip(&mut self.idf) {
            if names.contains(term) {
                *idf = 0.0;
            }
        }
    }

    /// The texts that match by themselves, best first: they share a term with the question or are similar enough.
    /// The nearest text alone is no match, since there always is one.
    pub fn into_matches(self) -> Vec<Ranked> {
        let mut ranked = self.rank(Vec::new());
        ranked.retain(Ranked::is_match);
        ranked
    }

    /// What to fetch before ranking: neighbours of the best texts, openings of their conversations, and the latest
    /// texts of the current session.
    pub fn neighbour_query(&self) -> NeighbourQuery {
        let (texts, streams) = self.top_texts();
        let openings = streams.into_iter().cloned().collect();
        let count = if self.weights.file_in_work > 0.0 { files_in_work::TEXTS_MAX } else { LATEST_TEXTS };
        let latest = self.current_session.as_ref().map(|(session, _)| (session.clone(), count));
        let distance = if self.asks_for_decision() { decisions::DISTANCE } else { NEIGHBOUR_DISTANCE };
        NeighbourQuery { texts, distance, openings, latest }
    }

    pub(super) fn asks_for_decision(&self) -> bool {
        self.question.asks_for_decision && self.weights.decision > 0.0
    }

    /// The texts with the highest own scores, and the conversations of these and the next best.
    fn top_texts(&self) -> (Vec<TextId>, BTreeSet<&StreamId>) {
        let own = self.own_scores();
        let mut best: Vec<(&Candidate, f64)> = self
            .candidates
            .iter()
            .zip(own.iter().map(OwnScore::sum))
            .filter(|(candidate, _)| candidate.position > 0)
            .collect();
        best.sort_by(|(a, a_sum), (b, b_sum)| b_sum.total_cmp(a_sum).then_with(|| newer_first(a, b)));
        let texts = best.iter().take(TOP_TEXTS_MAX).map(|(candidate, _)| candidate.id.clone()).collect();
        let mut streams = BTreeSet::new();
        for (candidate, _) in best {
            if streams.len() == OPENINGS_MAX {
                break;
            }
            streams.insert(&candidate.id.stream);
        }
        (texts, streams)
    }

    pub fn rank(mut self, around: Vec<Candidate>) -> Vec<Ranked> {
        self.add_candidates(around);
        let own = self.own_scores();
        let beside = self.neighbours(&own);
        let conversations = self.conversation_indexes();
        let best = best_per_conversation(&conversations, own.iter().map(OwnScore::sum));
        let best_excess = best_per_conversation(
            &conversations,
            self.candidates.iter().map(|candidate| self.cosine_excess(candidate)),
        );
        let ago = self.conversations_ago(&conversations);
        let names = self.named_speakers();
        let weights = self.weights;
        let here = self.last_hidden();
        let timely_count =
            self.candidates.iter().filter(|candidate| self.question.is_in_named_time(candidate.at)).count();
        let time_weight = weights.time * (1.0 - timely_count as f64 / self.candidates.len().max(1) as f64);
        let mut scored = Vec::with_capacity(self.candidates.len());
        for (((candidate, own), beside), conversation) in
            self.candidates.iter().zip(&own).zip(beside).zip(conversations)
        {
            let is_named = candidate.speaker.as_ref().is_some_and(|speaker| names.contains(speaker.as_str()));
            let factors = RankFactors {
                words: own.lexical,
                meaning: own.semantic,
                beside: self.role_weight(candidate) * beside,
                conversation: weights.conversation * best[conversation]
                    + weights.conversation_semantic * best_excess[conversation],
                speaker: if is_named { weights.speaker } else { 0.0 },
                time: if self.question.is_in_named_time(candidate.at) { time_weight } else { 0.0 },
                opening: if candidate.position == 1 { weights.opening } else { 0.0 },
                lately: weights.recency * (-ago[conversation] / weights.recency_reach).exp(),
                here: self.current_session_score(here, candidate),
                file: 0.0,
                decision: 0.0,
                cost: weights.cost * (candidate.tokens.0 as f64 / weights.short_tokens).max(1.0).ln(),
            };
            scored.push((factors.sum(), factors, self.matched_idf(candidate)));
        }
        let is_visible = |candidate: &Candidate| {
            here.is_some_and(|(id, last)| *id == candidate.id.stream && candidate.position > last)
        };
        let candidates = &self.candidates;
        let mut order: Vec<usize> = (0..candidates.len()).filter(|at| !is_visible(&candidates[*at])).collect();
        order.sort_by(|a, b| {
            let (one, other) = (scored[*a].0, scored[*b].0);
            other.total_cmp(&one).then_with(|| newer_first(&candidates[*a], &candidates[*b]))
        });
        // Candidates are large: move each once.
        let mut candidates: Vec<Option<Candidate>> = self.candidates.into_iter().map(Some).collect();
        let ranked = order.into_iter().filter_map(|at| {
            let (score, factors, matched_idf) = scored[at];
            Some(Ranked { candidate: candidates[at].take()?, score, factors, matched_idf })
        });
        ranked.collect()
    }

    /// Each candidate's score without its neighbours.
    fn own_scores(&self) -> Vec<OwnScore> {
        let raw: Vec<f64> = self.candidates.iter().map(|candidate| self.bm25(candidate)).collect();
        let best = raw.iter().copied().fold(0.0, f64::max);
        let score = |(candidate, raw): (&Candidate, &f64)| {
            let share = if best > 0.0 { raw / best } else { 0.0 };
            let weight = self.role_weight(candidate)
                * if candidate.kind.is_message() { self.weights.messages } else { 1.0 };
            OwnScore {
                lexical: weight * self.weights.words * share,
                semantic: weight * self.weights.semantic * self.cosine_excess(candidate),
            }
        };
        self.candidates.iter().zip(&raw).map(score).collect()
    }

    /// Weight by role, for a text's own score and for its neighbours' share.
    fn role_weight(&self, candidate: &Candidate) -> f64 {
        let is_repeated = candidate.kind == TextKind::Assistant && !self.question.asks_for_reply;
        if is_repeated { 1.0 - self.weights.assistant_penalty } else { 1.0 }
    }

    fn matched_idf(&self, candidate: &Candidate) -> f64 {
        candidate.hits.iter().zip(&self.idf).filter(|(hits, _)| **hits > 0).map(|(_, idf)| idf).sum()
    }

    fn current_session_score(&self, current: Option<(&StreamId, u64)>, candidate: &Candidate) -> f64 {
        match current {
            Some((session, last)) if *session == candidate.id.stream && candidate.position > 0 => {
                let back = last.saturating_sub(candidate.position) as f64;
                self.weights.current_session * (-back / self.weights.current_session_reach).exp()
            }
            Some(_) | None => 0.0,
        }
    }

    /// How much more similar it is than texts are on average.
    fn cosine_excess(&self, candidate: &Candidate) -> f64 {
        candidate.similarity.map_or(0.0, |similarity| (similarity - self.mean_similarity).max(0.0))
    }

    fn bm25(&self, candidate: &Candidate) -> f64 {
        let RankWeights { saturation, length_normalization, .. } = self.weights;
        let length_factor =
            1.0 - length_normalization + length_normalization * f64::from(candidate.term_count) / self.mean_length;
        let score = |(hits, idf): (&u32, &f64)| {
            let hits = f64::from(*hits);
            idf * hits * (saturation + 1.0) / (hits + saturation * length_factor)
        };
        candidate.hits.iter().zip(&self.idf).filter(|(hits, _)| **hits > 0).map(score).sum()
    }

    /// Each text's share of its neighbours' scores; candidates of a conversation are adjacent.
    fn neighbours(&self, own: &[OwnScore]) -> Vec<f64> {
        let RankWeights { before, after, .. } = self.weights;
        let mut sums = vec![0.0; own.len()];
        let mut carried = 0.0;
        for at in 1..own.len() {
            carried = (carried + own[at - 1].sum()) * self.neighbour_decay(at - 1, at);
            sums[at] += before * carried;
        }
        carried = 0.0;
        for at in (0..own.len().saturating_sub(1)).rev() {
            carried = (carried + own[at + 1].sum()) * self.neighbour_decay(at, at + 1);
            sums[at] += after * carried;
        }
        sums
    }

    /// The factor by which a score decays to its neighbour, with the tokens between their middles.
    fn neighbour_decay(&self, first: usize, second: usize) -> f64 {
        let (a, b) = (&self.candidates[first], &self.candidates[second]);
        if a.id.stream != b.id.stream || a.position == 0 || b.position == 0 {
            return 0.0;
        }
        let halves = (a.tokens.0 + b.tokens.0) as f64 / 2.0;
        let between = b.position.saturating_sub(a.position + 1) as f64 * halves;
        (-(halves + between) / self.weights.neighbour_reach).exp()
    }

    /// Index of each candidate's conversation, from 0 in the order of ids.
    fn conversation_indexes(&self) -> Vec<usize> {
        let mut last = 0;
        let index_at = |at: usize| {
            last += usize::from(at > 0 && self.candidates[at].id.stream != self.candidates[at - 1].id.stream);
            last
        };
        (0..self.candidates.len()).map(index_at).collect()
    }

    /// For each conversation, how many of the proposed ones took place after it.
    fn conversations_ago(&self, indexes: &[usize]) -> Vec<f64> {
        let mut last: Vec<(Stamp, usize)> = Vec::new();
        for (candidate, index) in self.candidates.iter().zip(indexes) {
            match last.get_mut(*index) {
                Some((at, _)) => *at = (*at).max(candidate.at),
                None => last.push((candidate.at, *index)),
            }
        }
        let mut ago = vec![0.0; last.len()];
        last.sort_unstable_by(|a, b| b.cmp(a));
        for (after, (_, index)) in last.into_iter().enumerate() {
            ago[index] = after as f64;
        }
        ago
    }

    fn named_speakers(&self) -> BTreeSet<&str> {
        let names: BTreeSet<&str> =
            self.candidates.iter().filter_map(|candidate| candidate.speaker.as_deref()).collect();
        let is_asked = |name: &&str| {
            let words = terms(name);
            !words.is_empty() && words.iter().all(|word| self.question.terms.contains(word))
        };
        names.into_iter().filter(is_asked).collect()
    }
}

/// Whether a text this similar matches without a shared term.
pub fn is_similar_enough(similarity: f64) -> bool {
    similarity >= SIMILARITY_MIN
}

struct OwnScore {
    lexical: f64,
    semantic: f64,
}

impl OwnScore {
    fn sum(&self) -> f64 {
        self.lexical + self.semantic
    }
}

fn best_per_conversation(indexes: &[usize], values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut best: Vec<f64> = vec![0.0; indexes.last().map_or(0, |last| last + 1)];
    for (index, value) in indexes.iter().zip(values) {
        best[*index] = best[*index].max(value);
    }
    best
}

fn sort_key(candidate: &Candidate) -> (&StreamId, u64, &TextId) {
    (&candidate.id.stream, candidate.position, &candidate.id)
}

fn newer_first(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.at.cmp(&a.at).then_with(|| b.position.cmp(&a.position)).then_with(|| a.id.cmp(&b.id))
}
