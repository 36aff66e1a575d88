//! Content of a memory, by kind.

use serde::{Deserialize, Serialize};

use super::{Author, Confidence, MemoryId, MemoryKind, Provenance};
use crate::base::ids::{EffortId, Seq, SessionId, Stamp};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    Decision(Decision),
    Fact(Fact),
    Procedure(Procedure),
    Episode(Episode),
    Censor(Censor),
}

impl Body {
    pub fn kind(&self) -> MemoryKind {
        match self {
            Body::Decision(_) => MemoryKind::Decision,
            Body::Fact(_) => MemoryKind::Fact,
            Body::Procedure(_) => MemoryKind::Procedure,
            Body::Episode(_) => MemoryKind::Episode,
            Body::Censor(_) => MemoryKind::Censor,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub description: String,
    /// The situation in which it was made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    pub confidence: Confidence,
    /// Topic, e.g. `architecture` or `process`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub category: String,
    pub stakes: Stakes,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<String>,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outcome_notes: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed_by: Option<Author>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<MemoryId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    pub kind: ReasonKind,
    pub text: String,
}

impl Reason {
    /// A prefix such as `evidence:` names the kind; anything else is analysis.
    pub fn parse(text: String) -> Self {
        let named = text.split_once(':').and_then(|(label, rest)| {
            let label = serde_json::Value::String(label.trim().to_lowercase());
            Some((serde_json::from_value::<ReasonKind>(label).ok()?, rest.trim().to_owned()))
        });
        let (kind, text) = named.unwrap_or((ReasonKind::Analysis, text));
        Self { kind, text }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    Evidence,
    Analysis,
    Experience,
    Authority,
    Preference,
    Constraint,
}

/// How hard a decision is to reverse. Ordered lowest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stakes {
    Low,
    #[default]
    Medium,
    High,
    Critical,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    #[default]
    Pending,
    Success,
    Partial,
    Failure,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// e.g. `Tim`, `billing service`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    pub content: String,
    pub confidence: Confidence,
    /// Times it was recorded again or confirmed.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub confirmations: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_confirmed: Option<Stamp>,
    /// Used to count at most one confirmation per turn or source file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_confirmed_by: Option<Provenance>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<MemoryId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Procedure {
    /// e.g. `Architecture Decision`.
    pub name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_patterns: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub activations: u32,
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub successes: u32,
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub failures: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    pub summary: String,
    /// Removed from the record when it is archived; the history keeps it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The event that still has the detail after archiving.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail_at: Option<Seq>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub participants: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lessons: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Censor {
    pub pattern: CensorPattern,
    pub side: CensorSide,
    pub action: CensorAction,
    /// Shown to the model.
    pub reason: String,
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub triggers: u32,
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub false_positives: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", content = "of", rename_all = "snake_case")]
pub enum CensorPattern {
    /// Matches if all words occur, in any order.
    Words(String),
    Regex(String),
    /// Matches similar text.
    Like(String),
}

impl CensorPattern {
    /// As people write it: words as they are, `/a regular expression/`, `like "a text"`.
    pub fn to_text(&self) -> String {
        match self {
            CensorPattern::Words(text) => text.clone(),
            CensorPattern::Regex(text) => format!("/{text}/"),
            CensorPattern::Like(text) => format!("like \"{text}\""),
        }
    }
}

/// What a censor checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CensorSide {
    /// User messages.
    Input,
    /// Model responses.
    Output,
    ToolCall,
}

/// What a censor does on a match. Ordered mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CensorAction {
    /// Adds guidance.
    Steer,
    /// Blocks the tool call or response and shows the model the reason.
    Refuse,
    Abort,
}

impl Decision {
    pub fn new(description: impl Into<String>, confidence: Confidence) -> Self {
        Self {
            description: description.into(),
            context: String::new(),
            reasons: Vec::new(),
            confidence,
            category: String::new(),
            stakes: Stakes::default(),
            alternatives: Vec::new(),
            outcome: Outcome::Pending,
            outcome_notes: String::new(),
            reviewed_by: None,
            rests_on: Vec::new(),
        }
    }
}

impl Fact {
    pub fn new(subject: impl Into<String>, content: impl Into<String>, confidence: Confidence) -> Self {
        Self {
            subject: subject.into(),
            content: content.into(),
            confidence,
            confirmations: 0,
            last_confirmed: None,
            last_confirmed_by: None,
            superseded_by: None,
        }
    }
}

impl Procedure {
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            core_patterns: Vec::new(),
            steps: Vec::new(),
            activations: 0,
            successes: 0,
            failures: 0,
        }
    }
}

impl Episode {
    pub fn new(summary: impl Into<String>) -> Self {
        Self {
            summary: summary.into(),
            detail: String::new(),
            detail_at: None,
            participants: Vec::new(),
            minutes: None,
            outcome: String::new(),
            lessons: Vec::new(),
            session: None,
            effort: None,
        }
    }
}

impl Censor {
    pub fn new(pattern: CensorPattern, side: CensorSide, action: CensorAction, reason: impl Into<String>) -> Self {
        Self { pattern, side, action, reason: reason.into(), triggers: 0, false_positives: 0 }
    }
}
