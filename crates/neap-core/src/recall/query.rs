//! What the store is asked.

use std::collections::BTreeSet;

use super::{Embedding, TextId, TextKind};
use crate::ids::{EffortId, SessionId, Stamp};

/// What is looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Distinct terms.
    pub terms: Vec<String>,
    /// What the question means; without it, or where nothing is embedded, words alone find.
    pub embedding: Option<Embedding>,
    /// Who made that of it; nearness to what another made means nothing.
    pub model: String,
    /// Where it is looked for.
    pub filter: Filter,
    /// How hard.
    pub limits: Limits,
}

impl Query {
    /// Looks for terms everywhere, with ordinary limits.
    pub fn new(terms: Vec<String>) -> Self {
        Self { terms, embedding: None, model: String::new(), filter: Filter::default(), limits: Limits::default() }
    }
}

/// Which texts are searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these streams; none for all sessions, but no agent's stream.
    pub streams: Option<BTreeSet<SessionId>>,
    /// Only these kinds; none for all.
    pub kinds: Option<BTreeSet<TextKind>>,
    /// Only what was said at this moment or later.
    pub from: Option<Stamp>,
    /// Only what was said before this moment.
    pub until: Option<Stamp>,
    /// Only what these said, by their names, in large or small letters; what has no speaker's name is then left out.
    pub who: Option<BTreeSet<String>>,
    /// Only an effort of this name, and what was said in it.
    pub effort: Option<EffortId>,
}

impl Filter {
    /// Everything of one stream.
    pub fn of_stream(id: &SessionId) -> Self {
        Self { streams: Some([id.clone()].into()), ..Self::default() }
    }

    /// Whether a text of this kind and moment is searched; that its stream is, the store knows.
    pub fn admits(&self, kind: TextKind, at: Stamp) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
            && self.from.is_none_or(|from| at >= from)
            && self.until.is_none_or(|until| at < until)
    }

    /// Whether what somebody of this name said is searched, or what has no speaker's name.
    pub fn admits_speaker(&self, who: Option<&str>) -> bool {
        let is_one = |names: &BTreeSet<String>, who: &str| {
            names.iter().any(|name| name.trim().to_lowercase() == who.trim().to_lowercase())
        };
        self.who.as_ref().is_none_or(|names| who.is_some_and(|who| is_one(names, who)))
    }

    /// Whether a text is searched that is of this effort, or of none.
    pub fn admits_effort(&self, effort: Option<&EffortId>) -> bool {
        self.effort.is_none() || self.effort.as_ref() == effort
    }

    /// Whether efforts alone are searched.
    pub fn is_of_efforts(&self) -> bool {
        self.kinds.as_ref().is_some_and(|kinds| kinds.len() == 1 && kinds.contains(&TextKind::Effort))
    }

    /// Whether it leaves so few texts that only these are visited: else the many others that have a word would use up what is visited
    /// of it.
    pub fn is_narrow(&self) -> bool {
        self.streams.is_some() || self.who.is_some() || self.effort.is_some() || self.is_of_efforts()
    }

    /// Whether every text of the streams is searched.
    pub fn admits_all(&self) -> bool {
        let Self { streams: _, kinds, from, until, who, effort } = self;
        kinds.is_none() && from.is_none() && until.is_none() && who.is_none() && effort.is_none()
    }
}

/// How much a store looks at, whatever its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Places in the word index that are visited. The rarest term comes first and is visited whole if it fits into what is left, then
    /// the next; once one does not fit, no more are visited; where that is the first of all, its newest texts are.
    pub visits_max: usize,
    /// Candidates that words propose: the more telling the terms that were visited and that a text has, the sooner; then the newer.
    pub lexical_max: usize,
    /// Candidates that meaning proposes: the nearest; then the newer. Among thousands a store may take those that are the nearest for all but
    /// certain.
    pub semantic_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { visits_max: 4_096, lexical_max: 128, semantic_max: 96 }
    }
}

/// Texts that are looked at for where they are, whatever they say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Around {
    /// What was said beside these.
    pub of: Vec<TextId>,
    /// So far from them, in texts that were said.
    pub distance: u64,
    /// The first text of each of these.
    pub openings: BTreeSet<SessionId>,
    /// The last texts of one, so many.
    pub latest: Option<(SessionId, usize)>,
}
