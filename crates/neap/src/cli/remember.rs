//! Arguments for storing, deciding and editing memories.

use clap::Args;
use neap_core::base::ids::Stamp;
use neap_core::memory::{Confidence, MemoryId};

use super::value_enums::{ActionName, NewMemoryKind, OutcomeName, SideName, StakesName};
use crate::dates;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  neap remember \"Tim prefers Celsius\" --always
  neap remember \"the staging database is called heron\" --subject staging --tag infrastructure
  neap remember \"Deploy\" --kind procedure --pattern \"never on a Friday\" --step \"open a pull request\" --step \"wait for CI\"
  neap remember \"Moved billing to the new host\" --kind episode --participant Tim --minutes 90 --lesson \"freeze writes first\"
  neap remember --from-effort auth-bug --session default
  neap remember \"Ann is away\" --valid-from 2026-12-21 --valid-until 2027-01-03
  neap remember - --kind episode < notes.txt")]
pub(crate) struct RememberArgs {
    /// Text of the memory: a fact, a procedure's name, what happened, what a rule matches; - for standard input
    #[arg(value_name = "TEXT", required_unless_present = "from_effort")]
    pub(crate) text: Option<String>,
    /// Kind of memory; for decisions use `neap memory decide` [default: fact]
    #[arg(long, value_enum)]
    pub(crate) kind: Option<NewMemoryKind>,
    /// Project that it is about; `none` makes it yours, wherever you work [default: NEAP_PROJECT, else the working
    /// directory's repository; preferences, rules and what is always loaded are yours]
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) fields: MemoryFields,
    /// Create an episode from a concluded effort, by its id
    #[arg(long, value_name = "ID")]
    pub(crate) from_effort: Option<String>,
    /// Session of that effort
    #[arg(long, short, default_value = "default", value_name = "NAME", requires = "from_effort")]
    pub(crate) session: String,
    /// Store a rule even if it matches most recent texts
    #[arg(long)]
    pub(crate) force: bool,
}

/// Fields of all kinds; those that do not apply to the kind are refused.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct MemoryFields {
    /// Always load it: a preference or a standing rule
    #[arg(long)]
    pub(crate) always: bool,
    /// Tag; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Domain, e.g. infrastructure
    #[arg(long, value_name = "FIELD")]
    pub(crate) domain: Option<String>,
    /// Confidence from 0 to 1 (facts and decisions)
    #[arg(long, value_name = "0..1", value_parser = parse_confidence)]
    pub(crate) confidence: Option<Confidence>,
    /// First day on which it is valid, as YYYY-MM-DD in UTC, or a timestamp
    #[arg(long, value_name = "DATE", value_parser = dates::parse_start)]
    pub(crate) valid_from: Option<Stamp>,
    /// Last day on which it is valid, as YYYY-MM-DD in UTC, or a timestamp
    #[arg(long, value_name = "DATE", value_parser = dates::parse_end)]
    pub(crate) valid_until: Option<Stamp>,
    /// Subject of a fact, e.g. Tim
    #[arg(long, value_name = "NAME", help_heading = "Facts")]
    pub(crate) subject: Option<String>,
    /// Key point of a procedure; may be given several times
    #[arg(long = "pattern", value_name = "TEXT", help_heading = "Procedures")]
    pub(crate) patterns: Vec<String>,
    /// Step of a procedure; may be given several times
    #[arg(long = "step", value_name = "TEXT", help_heading = "Procedures")]
    pub(crate) steps: Vec<String>,
    /// Full text of an episode; - for standard input
    #[arg(long, value_name = "TEXT", help_heading = "Episodes")]
    pub(crate) detail: Option<String>,
    /// Participant of an episode; may be given several times
    #[arg(long = "participant", value_name = "NAME", help_heading = "Episodes")]
    pub(crate) participants: Vec<String>,
    /// Duration of an episode, in minutes
    #[arg(long, value_name = "N", help_heading = "Episodes")]
    pub(crate) minutes: Option<u32>,
    /// Outcome of an episode
    #[arg(long, value_name = "TEXT", help_heading = "Episodes")]
    pub(crate) outcome: Option<String>,
    /// Lesson of an episode; may be given several times
    #[arg(long = "lesson", value_name = "TEXT", help_heading = "Episodes")]
    pub(crate) lessons: Vec<String>,
    /// Reason for a rule, or for a decision as `evidence: it was measured`; a decision may have several
    #[arg(long = "reason", value_name = "TEXT", help_heading = "Rules and decisions")]
    pub(crate) reasons: Vec<String>,
    #[command(flatten)]
    pub(crate) rule: RuleFields,
}

/// Fields of a rule besides its pattern and reason.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RuleFields {
    /// Text that a rule checks [default: output]
    #[arg(long, value_enum, help_heading = "Rules and decisions")]
    pub(crate) side: Option<SideName>,
    /// What a rule does on a match [default: steer]
    #[arg(long, value_enum, help_heading = "Rules and decisions")]
    pub(crate) action: Option<ActionName>,
    /// Treat the rule's text as a regular expression
    #[arg(long, conflicts_with = "like", help_heading = "Rules and decisions")]
    pub(crate) regex: bool,
    /// Treat the rule's text as an example, and match similar texts
    #[arg(long, help_heading = "Rules and decisions")]
    pub(crate) like: bool,
}

/// Fields of a decision besides its text.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DecisionFields {
    /// Alternative that was considered; may be given several times
    #[arg(long = "alternative", value_name = "TEXT", help_heading = "Decisions")]
    pub(crate) alternatives: Vec<String>,
    /// Stakes [default: medium]
    #[arg(long, value_enum, help_heading = "Decisions")]
    pub(crate) stakes: Option<StakesName>,
    /// Category, e.g. architecture
    #[arg(long, value_name = "NAME", help_heading = "Decisions")]
    pub(crate) category: Option<String>,
    /// Situation in which it was made
    #[arg(long, value_name = "TEXT", help_heading = "Decisions")]
    pub(crate) context: Option<String>,
    /// Id of a fact it rests on; may be given several times
    #[arg(long = "rests-on", value_name = "ID", help_heading = "Decisions")]
    pub(crate) rests_on: Vec<MemoryId>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  neap memory decide \"Use Postgres\" --confidence 0.85 --reason \"evidence: measured\" --alternative SQLite
  neap memory decide \"Ship on Monday\" --confidence 0.6 --stakes high --rests-on f7

Record the outcome later: neap memory review d1 success --notes \"no incident in a month\"")]
pub(crate) struct DecideArgs {
    /// What was decided
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// Confidence from 0 to 1
    #[arg(long, value_name = "0..1", value_parser = parse_confidence)]
    pub(crate) confidence: Confidence,
    /// Reason, after its kind and a colon (evidence, analysis, experience, authority, preference, constraint); may
    /// be given several times
    #[arg(long = "reason", value_name = "TEXT")]
    pub(crate) reasons: Vec<String>,
    /// Tag; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Domain, e.g. infrastructure
    #[arg(long, value_name = "FIELD")]
    pub(crate) domain: Option<String>,
    #[command(flatten)]
    pub(crate) fields: DecisionFields,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Example:
  neap memory review d1 partial --notes \"fast enough, but backups took a week\"

From five reviews on, the agent sees how well its confidence fits the outcomes; `neap memory status` shows it.")]
pub(crate) struct ReviewArgs {
    /// Id of the decision
    #[arg(value_name = "ID")]
    pub(crate) id: MemoryId,
    /// How it turned out
    #[arg(value_enum)]
    pub(crate) outcome: OutcomeName,
    /// Notes on the outcome
    #[arg(long, default_value = "", value_name = "TEXT", hide_default_value = true)]
    pub(crate) notes: String,
}

fn parse_confidence(text: &str) -> Result<Confidence, String> {
    let value: f64 = text.trim().parse().map_err(|_| format!("'{text}' is not a number; give one from 0 to 1"))?;
    Confidence::try_from(value)
}
