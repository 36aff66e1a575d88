//! The store proposes, this orders: which efforts, and which words that were said, answer a query best.
//!
//! Laxer than decay (DESIGN, decision 5): one hit suffices. A rare word counts more than a common one; an
//! effort is found by its id, its summary and what was said in it; ties go to the more recent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{EffortId, TurnNo};
use crate::message::{Role, Scope};
use crate::terms::terms;

/// What the store is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRequest {
    /// Distinct terms; a candidate has at least one.
    pub terms: Vec<String>,
    /// Candidates of each kind, at most.
    pub candidates_max: usize,
    /// Text of each candidate, at most; longer ones are cut.
    pub text_bytes_max: usize,
}

impl SearchRequest {
    /// A request with ordinary limits.
    pub fn new(terms: Vec<String>) -> Self {
        Self { terms, candidates_max: 64, text_bytes_max: 65_536 }
    }
}

/// Something the store proposes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Candidate {
    /// An effort, by its id and summary.
    Effort {
        /// Which.
        id: EffortId,
    },
    /// A message, by its words.
    Message {
        /// Where it belongs; none while its turn is in flight.
        scope: Option<Scope>,
        /// Its turn.
        turn: TurnNo,
        /// Who said it.
        role: Role,
        /// What was said.
        text: String,
    },
}

/// What the store found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Candidates, in any order.
    pub candidates: Vec<Candidate>,
    /// How many texts are indexed.
    pub texts: u64,
    /// How many of them have each term of the request.
    pub texts_with: Vec<u64>,
}

impl Found {
    /// How telling each term is: rare ones more.
    fn weights(&self, query: &[String]) -> BTreeMap<String, f64> {
        let all = self.texts as f64;
        query
            .iter()
            .zip(&self.texts_with)
            .map(|(term, with)| {
                let with = *with as f64;
                (term.clone(), (1.0 + (all - with + 0.5).max(0.0) / (with + 0.5)).ln())
            })
            .collect()
    }
}

/// How well a text answers weighted terms.
fn score(text: &str, weights: &BTreeMap<String, f64>) -> f64 {
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for term in terms(text) {
        if let Some((key, _)) = weights.get_key_value(&term) {
            *counts.entry(key).or_default() += 1.0;
        }
    }
    counts.iter().map(|(term, n)| weights[*term] * n * 2.2 / (n + 1.2)).sum()
}

/// A candidate with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// What.
    pub candidate: Candidate,
    /// How well it matches; only the order means anything.
    pub score: f64,
}

/// What a word in a log counts against the same word in an id or a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Less: a topic is looked for, and a mention of it is not yet about it.
    CountsLess,
    /// As much: words are looked for, wherever they were said.
    CountsAsMuch,
}

impl Said {
    fn weight(self) -> f64 {
        match self {
            Said::CountsLess => 0.4,
            Said::CountsAsMuch => 1.0,
        }
    }
}

/// Orders candidates, best first. `describe` gives an effort's id and summary as text with the turn it was
/// last referenced, or nothing if it is not to be found this way.
pub fn rank(
    query: &[String],
    found: &Found,
    said: Said,
    describe: impl Fn(&EffortId) -> Option<(String, TurnNo)>,
) -> Vec<Ranked> {
    let weights = found.weights(query);
    let mut ranked: Vec<(Ranked, TurnNo)> = found
        .candidates
        .iter()
        .filter_map(|candidate| {
            let (score, recency) = match candidate {
                Candidate::Effort { id } => {
                    let (text, recency) = describe(id)?;
                    (score(&text, &weights), recency)
                }
                Candidate::Message { turn, text, .. } => (said.weight() * score(text, &weights), *turn),
            };
            (score > 0.0).then(|| (Ranked { candidate: candidate.clone(), score }, recency))
        })
        .collect();
    ranked.sort_by(|(a, a_turn), (b, b_turn)| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| b_turn.cmp(a_turn))
            .then_with(|| sort_key(&a.candidate).cmp(&sort_key(&b.candidate)))
    });
    ranked.into_iter().map(|(ranked, _)| ranked).collect()
}

fn sort_key(candidate: &Candidate) -> (u8, String, TurnNo, &'static str) {
    match candidate {
        Candidate::Effort { id } => (0, id.to_string(), TurnNo(0), ""),
        Candidate::Message { turn, role, .. } => (1, String::new(), *turn, role.as_str()),
    }
}

/// At most so many bytes of a text, with its first matching word among them.
pub fn around<'a>(text: &'a str, query: &[String], bytes_max: usize) -> &'a str {
    if text.len() <= bytes_max {
        return text;
    }
    let matches = |word: &&str| terms(word).iter().any(|term| query.contains(term));
    let hit =
        text.split_whitespace().find(matches).map_or(0, |word| word.as_ptr() as usize - text.as_ptr() as usize);
    let start = text.floor_char_boundary(hit.saturating_sub(bytes_max / 4));
    &text[start..text.floor_char_boundary(start + bytes_max)]
}

/// The part of a text around its first matching word, on one line.
pub fn quote(text: &str, query: &[String], chars_max: usize) -> String {
    let flat: Vec<&str> = text.split_whitespace().collect();
    let hit = flat.iter().position(|word| terms(word).iter().any(|t| query.contains(t))).unwrap_or(0);
    let mut start = hit;
    let mut chars = 0;
    // A third of the room goes to what comes before the match.
    while start > 0 && chars + flat[start - 1].chars().count() < chars_max / 3 {
        start -= 1;
        chars += flat[start].chars().count() + 1;
    }
    let mut out = String::from(if start > 0 { "… " } else { "" });
    let mut chars = out.chars().count();
    for (at, word) in flat.iter().enumerate().skip(start) {
        let len = word.chars().count() + usize::from(at > start);
        if chars + len > chars_max {
            if at == start {
                out.extend(word.chars().take(chars_max));
            }
            out.push_str(" …");
            return out;
        }
        if at > start {
            out.push(' ');
        }
        out.push_str(word);
        chars += len;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_around_its_match() {
        let text = format!("{}pineapple{}", "lorem ipsum ".repeat(1_000), " dolor".repeat(1_000));
        assert!(around(&text, &["pineappl".into()], 400).contains("pineapple"));
        assert_eq!(around(&text, &["nothing".into()], 11), "lorem ipsum");
        assert_eq!(around("short", &[], 11), "short");
    }

    #[test]
    fn a_quote_surrounds_its_match() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        assert_eq!(quote(text, &["seven".into()], 30), "… five six seven eight nine …");
        assert_eq!(quote("short text", &["none".into()], 30), "short text");
        assert_eq!(quote(&"x".repeat(100), &[], 5), "xxxxx …");
    }
}
