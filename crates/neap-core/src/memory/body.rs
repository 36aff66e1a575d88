//! What a memory says, by kind.

use serde::{Deserialize, Serialize};

use super::{Author, Confidence, MemoryId, MemoryKind, Provenance};
use crate::ids::{EffortId, Seq, SessionId, Stamp};

/// What a memory says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// What was chosen.
    Decision(Decision),
    /// What is so.
    Fact(Fact),
    /// How something is done.
    Procedure(Procedure),
    /// What happened.
    Episode(Episode),
    /// What not to do.
    Censor(Censor),
}

impl Body {
    /// Its kind.
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

/// What was chosen, why, and how it came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What was chosen.
    pub description: String,
    /// In which situation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// How sure one was.
    pub confidence: Confidence,
    /// What it is about: `architecture`, `process`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// What hangs on it.
    pub stakes: Stakes,
    /// What else was considered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<String>,
    /// How it came out.
    pub outcome: Outcome,
    /// In words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outcome_notes: String,
    /// Who said how it came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed_by: Option<Author>,
    /// Facts it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<MemoryId>,
}

/// One reason for a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What sort of reason.
    pub kind: ReasonKind,
    /// The reason.
    pub text: String,
}

impl Reason {
    /// `evidence: it was measured` names its sort; anything else is a thought.
    pub fn read(text: String) -> Self {
        let named = text.split_once(':').and_then(|(sort, rest)| {
            let sort = serde_json::Value::String(sort.trim().to_lowercase());
            Some((serde_json::from_value::<ReasonKind>(sort).ok()?, rest.trim().to_owned()))
        });
        let (kind, text) = named.unwrap_or((ReasonKind::Analysis, text));
        Self { kind, text }
    }
}

/// Sorts of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// Something measured or seen.
    Evidence,
    /// A thought.
    Analysis,
    /// It worked, or failed, before.
    Experience,
    /// Someone who knows says so.
    Authority,
    /// It is wanted.
    Preference,
    /// Something that cannot be otherwise.
    Constraint,
}

/// What hangs on a decision. Lowest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stakes {
    /// Easily taken back.
    Low,
    /// Some work to take back.
    #[default]
    Medium,
    /// Hard to take back.
    High,
    /// Cannot be taken back.
    Critical,
}

/// How a decision came out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Not known yet.
    #[default]
    Pending,
    /// As hoped.
    Success,
    /// In part.
    Partial,
    /// Not.
    Failure,
}

/// What is so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is about: `Tim`, `billing service`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// What is so.
    pub content: String,
    /// How sure one is.
    pub confidence: Confidence,
    /// How often it was met again.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub confirmations: u32,
    /// When it was last met again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_confirmed: Option<Stamp>,
    /// By whom, and where: in one turn, or from one file, it is met again once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_confirmed_by: Option<Provenance>,
    /// The newer fact that took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<MemoryId>,
}

/// How something is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Procedure {
    /// What it is called: `Architecture Decision`.
    pub name: String,
    /// What matters most in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_patterns: Vec<String>,
    /// Step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// How often it was used.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub activations: u32,
    /// How often that went well.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub successes: u32,
    /// How often it did not.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub failures: u32,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Episode {
    /// In short.
    pub summary: String,
    /// At length; leaves the record when it is archived, and stays in its history.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The event that has the detail, once the record has it no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail_at: Option<Seq>,
    /// Who took part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub participants: Vec<String>,
    /// How long it took, in minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    /// What was learnt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lessons: Vec<String>,
    /// The session it tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The effort it tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortId>,
}

/// What not to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Censor {
    /// What it looks for.
    pub pattern: Pattern,
    /// Where.
    pub side: Side,
    /// What it does.
    pub action: Action,
    /// Why, in words that a model reads.
    pub reason: String,
    /// How often it found something.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub triggers: u32,
    /// How often that was wrong.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub false_positives: u32,
}

/// What a censor looks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", content = "of", rename_all = "snake_case")]
pub enum Pattern {
    /// All of these words, in any order.
    Words(String),
    /// A regular expression.
    Regex(String),
    /// A text like this.
    Like(String),
}

/// Where a censor looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What the user says.
    Input,
    /// What the model answers.
    Output,
    /// What the model asks a tool to do.
    ToolCall,
}

/// What a censor does. Mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Gives guidance.
    Steer,
    /// Blocks the call or the answer, with the reason for the model to read.
    Refuse,
    /// Ends the turn.
    Abort,
}

impl Decision {
    /// With nothing but what was chosen and how sure one is; how it came out is not known yet.
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
    /// As it is first told.
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
    /// Never used so far.
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
    /// With nothing but what happened, in short.
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
    /// One that has found nothing so far.
    pub fn new(pattern: Pattern, side: Side, action: Action, reason: impl Into<String>) -> Self {
        Self { pattern, side, action, reason: reason.into(), triggers: 0, false_positives: 0 }
    }
}
