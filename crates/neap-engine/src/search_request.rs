//! A search as people and programs ask for it: in what, of whom, and since when.

use std::collections::BTreeSet;

use neap_core::base::handle::Handle;
use neap_core::base::ids::{AgentId, EffortId, SessionId, Stamp};
use neap_core::base::refusal::Refusal;
use neap_core::memory::{MemoryId, MemoryKind};
use neap_core::recall::{Expectation, Filter, ProjectFilter, Stage, TextKind};
use serde::Deserialize;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::expectation::ExpectedText;
use crate::search::Hit;

/// What is searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchPart {
    /// Messages and efforts.
    #[default]
    Talk,
    /// Messages alone.
    Raw,
    /// Efforts alone.
    Efforts,
    /// Memories alone.
    Memories,
    /// Messages, efforts and memories.
    All,
}

/// A search over sessions and memories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchRequest {
    /// Words, in plain language.
    pub query: String,
    /// What is searched.
    pub part: SearchPart,
    /// Only this session; no memories then.
    pub session: Option<SessionId>,
    /// Only a role (`user`, `assistant`, `tool`), or a speaker of this name.
    pub by: Option<String>,
    /// Only this effort.
    pub effort: Option<EffortId>,
    /// Only from this time on.
    pub since: Option<Stamp>,
    /// Where it is asked. A search of one session does not regard it.
    pub project: Option<ProjectFilter>,
    /// Most results.
    pub max: usize,
}

impl Engine {
    /// The results of a search, best first; memories are those of `agent`.
    pub async fn find(&self, request: &SearchRequest, agent: &AgentId) -> Result<Vec<Hit>, EngineError> {
        let SearchRequest { query, max, .. } = request;
        let mut hits = Vec::new();
        if request.has_talk() {
            hits.extend(self.search(query, request.filter(), *max).await?);
        }
        if request.has_memories() {
            hits.extend(self.search(query, request.memory_filter(agent), *max).await?);
            hits.sort_by(|a, b| b.score.total_cmp(&a.score));
            hits.truncate(*max);
        }
        Ok(hits)
    }

    /// What became of a text that a search should find.
    pub async fn find_expected(
        &self,
        request: &SearchRequest,
        agent: &AgentId,
        expected: &ExpectedText,
    ) -> Result<Expectation, EngineError> {
        let (filter, is_searched) = match expected {
            ExpectedText::Memory(_) => (request.memory_filter(agent), request.has_memories()),
            ExpectedText::Turn(session, _) => {
                let is_other = request.session.as_ref().is_some_and(|only| only != session);
                (request.filter(), request.has_talk() && !is_other)
            }
            ExpectedText::Effort(_) => (request.filter(), request.has_talk()),
        };
        if !is_searched {
            return Ok(Expectation::lost(Stage::NotSearched));
        }
        self.expect(&request.query, filter, request.max, expected).await
    }
}

impl SearchRequest {
    /// Refuses what cannot be found.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.part == SearchPart::Memories && self.is_narrow() {
            let refusal = Refusal::new("memories have no speaker and no effort");
            return Err(refusal.hint("leave out the speaker and the effort, or search what was said"));
        }
        Ok(())
    }

    fn is_narrow(&self) -> bool {
        self.by.is_some() || self.effort.is_some()
    }

    fn has_talk(&self) -> bool {
        self.part != SearchPart::Memories
    }

    fn has_memories(&self) -> bool {
        matches!(self.part, SearchPart::Memories | SearchPart::All) && self.session.is_none() && !self.is_narrow()
    }

    fn filter(&self) -> Filter {
        let mut filter = Filter {
            kinds: self.part.kinds(),
            from: self.since,
            effort: self.effort.clone(),
            streams: self.session.clone().map(|id| [id.into()].into()),
            project: self.project.clone().filter(|_| self.session.is_none()),
            ..Filter::default()
        };
        if let Some(speaker) = &self.by {
            restrict_to_speaker(&mut filter, speaker);
        }
        filter
    }

    fn memory_filter(&self, agent: &AgentId) -> Filter {
        Filter { streams: Some([agent.stream()].into()), kinds: None, ..self.filter() }
    }
}

impl SearchPart {
    fn kinds(self) -> Option<BTreeSet<TextKind>> {
        match self {
            Self::Raw => Some([TextKind::User, TextKind::Assistant, TextKind::Tool, TextKind::System].into()),
            Self::Efforts => Some([TextKind::Effort].into()),
            Self::Memories => Some(MemoryKind::ALL.map(TextKind::Memory).into()),
            Self::Talk | Self::All => None,
        }
    }
}

fn restrict_to_speaker(filter: &mut Filter, speaker: &str) {
    let role = match speaker.trim().to_lowercase().as_str() {
        "user" => TextKind::User,
        "assistant" => TextKind::Assistant,
        "tool" => TextKind::Tool,
        _ => {
            filter.speakers = Some([speaker.to_owned()].into());
            return;
        }
    };
    let is_included = filter.kinds.as_ref().is_none_or(|kinds| kinds.contains(&role));
    filter.kinds = Some(if is_included { [role].into() } else { BTreeSet::new() });
}

impl ExpectedText {
    /// Reads `f7`, `auth-bug`, `SESSION/t12`, or `t12` of the session that is searched.
    pub fn parse(id: &str, session: Option<&SessionId>) -> Result<Self, Refusal> {
        if let Ok(memory) = id.parse::<MemoryId>() {
            return Ok(Self::Memory(memory));
        }
        let (place, name) = id.rsplit_once('/').map_or((None, id), |(place, name)| (Some(place), name));
        if let Ok(Handle::Turn(turn) | Handle::Message { turn, .. }) = name.parse::<Handle>() {
            let session = match place {
                Some(place) => SessionId::from_name(place).map_err(|error| Refusal::new(error.to_string()))?,
                None => session.cloned().ok_or_else(|| {
                    Refusal::new(format!("which session's {name}?"))
                        .hint(format!("write SESSION/{name}, or search one session alone (--session)"))
                })?,
            };
            return Ok(Self::Turn(session, turn));
        }
        EffortId::from_name(id).map(Self::Effort).map_err(|error| Refusal::new(error.to_string()))
    }
}
