//! What a search asks of the store.

use std::collections::BTreeSet;

use super::{Embedding, TextId, TextKind};
use crate::base::ids::{EffortId, Stamp, StreamId};
use crate::base::project_id::ProjectId;

#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Distinct.
    pub terms: Vec<String>,
    /// The question's embedding; without it, only terms match.
    pub embedding: Option<Embedding>,
    /// The embedder's name; only embeddings of the same embedder are compared.
    pub model: String,
    pub filter: Filter,
    pub limits: SearchLimits,
}

impl Query {
    pub fn new(terms: Vec<String>) -> Self {
        Self {
            terms,
            embedding: None,
            model: String::new(),
            filter: Filter::default(),
            limits: SearchLimits::default(),
        }
    }
}

/// Chooses sessions by their projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectFilter {
    /// This project's, and those of none: they belong to the person.
    Only(ProjectId),
    /// The same; what bears strongly comes from other projects, too.
    First(ProjectId),
    /// Those of all other projects.
    Others(ProjectId),
}

impl ProjectFilter {
    pub fn matches(&self, project: Option<&ProjectId>) -> bool {
        match self {
            Self::Only(own) | Self::First(own) => project.is_none_or(|project| project == own),
            Self::Others(own) => project.is_some_and(|project| project != own),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// `None`: all sessions, but no agent's stream.
    pub streams: Option<BTreeSet<StreamId>>,
    /// Which of these sessions. An agent's stream has no project.
    pub project: Option<ProjectFilter>,
    pub kinds: Option<BTreeSet<TextKind>>,
    /// Inclusive.
    pub from: Option<Stamp>,
    /// Exclusive.
    pub until: Option<Stamp>,
    /// Speakers' names, ignoring case; texts without a speaker's name do not match.
    pub speakers: Option<BTreeSet<String>>,
    pub effort: Option<EffortId>,
}

impl Filter {
    pub fn for_stream(id: &StreamId) -> Self {
        Self { streams: Some([id.clone()].into()), ..Self::default() }
    }

    /// Whether texts of a stream are searched, given its project.
    pub fn matches_stream(&self, stream: &StreamId, project: Option<&ProjectId>) -> bool {
        let is_session = stream.agent().is_none();
        self.streams.as_ref().map_or(is_session, |streams| streams.contains(stream))
            && (!is_session || self.project.as_ref().is_none_or(|filter| filter.matches(project)))
    }

    /// Whether kind and time match; the store checks the stream.
    pub fn matches(&self, kind: TextKind, at: Stamp) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
            && self.from.is_none_or(|from| at >= from)
            && self.until.is_none_or(|until| at < until)
    }

    pub fn matches_speaker(&self, speaker: Option<&str>) -> bool {
        let is_one = |names: &BTreeSet<String>, speaker: &str| {
            names.iter().any(|name| name.trim().to_lowercase() == speaker.trim().to_lowercase())
        };
        self.speakers.as_ref().is_none_or(|names| speaker.is_some_and(|speaker| is_one(names, speaker)))
    }

    pub fn matches_effort(&self, effort: Option<&EffortId>) -> bool {
        self.effort.is_none() || self.effort.as_ref() == effort
    }

    pub fn is_efforts_only(&self) -> bool {
        self.kinds.as_ref().is_some_and(|kinds| kinds.len() == 1 && kinds.contains(&TextKind::Effort))
    }

    /// Whether the filter leaves so few texts that the store visits only these. Otherwise the many other texts
    /// with a term would use up [`SearchLimits::visits_max`].
    pub fn is_narrow(&self) -> bool {
        self.streams.is_some()
            || self.project.is_some()
            || self.speakers.is_some()
            || self.effort.is_some()
            || self.is_efforts_only()
    }

    pub fn matches_all(&self) -> bool {
        let Self { streams: _, project: _, kinds, from, until, speakers, effort } = self;
        kinds.is_none() && from.is_none() && until.is_none() && speakers.is_none() && effort.is_none()
    }
}

/// Bounds on a search's work, whatever the store's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// Postings visited. Terms are visited rarest first, each whole, until one does not fit; if the rarest does
    /// not fit, its newest postings are visited.
    pub visits_max: usize,
    /// Candidates by terms: highest idf sum of the visited terms first, then newest.
    pub lexical_max: usize,
    /// Candidates by embedding: nearest first, then newest. Among thousands of texts the store may approximate.
    pub semantic_max: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self { visits_max: 4_096, lexical_max: 128, semantic_max: 96 }
    }
}

/// Texts to fetch by position, whatever they contain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NeighbourQuery {
    pub texts: Vec<TextId>,
    /// How far from them, in messages.
    pub distance: u64,
    pub openings: BTreeSet<StreamId>,
    /// A session to fetch the last texts of, and how many.
    pub latest: Option<(StreamId, usize)>,
}
