//! What can be typed of a record: to remember one, to decide, to edit.

use clap::Args;
use neap_core::ids::Stamp;
use neap_core::memory::{Confidence, MemoryId};

use super::names::{ActionName, NewKind, OutcomeName, SideName, StakesName};
use crate::when;

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
    /// What it says: a fact, a procedure's name, what happened, what a rule looks for; - for standard input
    #[arg(value_name = "TEXT", required_unless_present = "from_effort")]
    pub(crate) text: Option<String>,
    /// What sort of thing it is; decisions have `neap decide` [default: fact]
    #[arg(long, value_enum)]
    pub(crate) kind: Option<NewKind>,
    #[command(flatten)]
    pub(crate) fields: Fields,
    /// An episode that tells of a concluded effort, by its id
    #[arg(long, value_name = "ID")]
    pub(crate) from_effort: Option<String>,
    /// The session that effort is in
    #[arg(long, short, default_value = "default", value_name = "NAME", requires = "from_effort")]
    pub(crate) session: String,
    /// For a rule that finds something in most recent texts: write it all the same
    #[arg(long)]
    pub(crate) force: bool,
}

/// What a record of any kind may have; what does not belong to its kind is refused.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Fields {
    /// Always in the context: a preference or a standing rule
    #[arg(long)]
    pub(crate) always: bool,
    /// A word to sort by; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// The field it belongs to, e.g. infrastructure
    #[arg(long, value_name = "FIELD")]
    pub(crate) domain: Option<String>,
    /// How sure you are, from 0 to 1 (facts and decisions)
    #[arg(long, value_name = "0..1", value_parser = share)]
    pub(crate) confidence: Option<Confidence>,
    /// The first day on which it holds, as YYYY-MM-DD in UTC, or a moment
    #[arg(long, value_name = "DATE", value_parser = when::start_of)]
    pub(crate) valid_from: Option<Stamp>,
    /// The last day on which it holds, as YYYY-MM-DD in UTC, or a moment
    #[arg(long, value_name = "DATE", value_parser = when::end_of)]
    pub(crate) valid_until: Option<Stamp>,
    /// What a fact is about, e.g. Tim
    #[arg(long, value_name = "NAME", help_heading = "Facts")]
    pub(crate) subject: Option<String>,
    /// What matters most in a procedure; may be given several times
    #[arg(long = "pattern", value_name = "TEXT", help_heading = "Procedures")]
    pub(crate) patterns: Vec<String>,
    /// A step of a procedure; may be given several times
    #[arg(long = "step", value_name = "TEXT", help_heading = "Procedures")]
    pub(crate) steps: Vec<String>,
    /// An episode at length; - for standard input
    #[arg(long, value_name = "TEXT", help_heading = "Episodes")]
    pub(crate) detail: Option<String>,
    /// Who took part in an episode; may be given several times
    #[arg(long = "participant", value_name = "NAME", help_heading = "Episodes")]
    pub(crate) participants: Vec<String>,
    /// How long an episode took
    #[arg(long, value_name = "N", help_heading = "Episodes")]
    pub(crate) minutes: Option<u32>,
    /// What came of an episode
    #[arg(long, value_name = "TEXT", help_heading = "Episodes")]
    pub(crate) outcome: Option<String>,
    /// What an episode taught; may be given several times
    #[arg(long = "lesson", value_name = "TEXT", help_heading = "Episodes")]
    pub(crate) lessons: Vec<String>,
    /// Why: of a rule, or of a decision as `evidence: it was measured`; a decision may have several
    #[arg(long = "reason", value_name = "TEXT", help_heading = "Rules and decisions")]
    pub(crate) reasons: Vec<String>,
    #[command(flatten)]
    pub(crate) rule: RuleFields,
}

/// What a rule may have besides its pattern and its reason.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RuleFields {
    /// What a rule looks at [default: output]
    #[arg(long, value_enum, help_heading = "Rules and decisions")]
    pub(crate) side: Option<SideName>,
    /// What a rule does when it finds something [default: steer]
    #[arg(long, value_enum, help_heading = "Rules and decisions")]
    pub(crate) action: Option<ActionName>,
    /// A rule's text is a regular expression, not words
    #[arg(long, conflicts_with = "like", help_heading = "Rules and decisions")]
    pub(crate) regex: bool,
    /// A rule's text is an example: it finds texts like it
    #[arg(long, help_heading = "Rules and decisions")]
    pub(crate) like: bool,
}

/// What a decision may have besides what was chosen.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DecisionFields {
    /// What else was considered; may be given several times
    #[arg(long = "alternative", value_name = "TEXT", help_heading = "Decisions")]
    pub(crate) alternatives: Vec<String>,
    /// What hangs on it [default: medium]
    #[arg(long, value_enum, help_heading = "Decisions")]
    pub(crate) stakes: Option<StakesName>,
    /// What it is about, e.g. architecture
    #[arg(long, value_name = "NAME", help_heading = "Decisions")]
    pub(crate) category: Option<String>,
    /// In which situation
    #[arg(long, value_name = "TEXT", help_heading = "Decisions")]
    pub(crate) context: Option<String>,
    /// A fact it rests on, by its id; may be given several times
    #[arg(long = "rests-on", value_name = "ID", help_heading = "Decisions")]
    pub(crate) rests_on: Vec<MemoryId>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  neap decide \"Use Postgres\" --confidence 0.85 --reason \"evidence: measured\" --alternative SQLite
  neap decide \"Ship on Monday\" --confidence 0.6 --stakes high --rests-on f7

How it came out is told later: neap review d1 success --notes \"no incident in a month\"")]
pub(crate) struct DecideArgs {
    /// What was chosen
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// How sure you are, from 0 to 1
    #[arg(long, value_name = "0..1", value_parser = share)]
    pub(crate) confidence: Confidence,
    /// Why, with its sort before a colon (evidence, analysis, experience, authority, preference, constraint); may be
    /// given several times
    #[arg(long = "reason", value_name = "TEXT")]
    pub(crate) reasons: Vec<String>,
    /// A word to sort by; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// The field it belongs to, e.g. infrastructure
    #[arg(long, value_name = "FIELD")]
    pub(crate) domain: Option<String>,
    #[command(flatten)]
    pub(crate) fields: DecisionFields,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Example:
  neap review d1 partial --notes \"fast enough, but backups took a week\"

From five reviews on, the agent is told how well its confidence fits: neap memory status")]
pub(crate) struct ReviewArgs {
    /// Which decision
    #[arg(value_name = "ID")]
    pub(crate) id: MemoryId,
    /// How it came out
    #[arg(value_enum)]
    pub(crate) outcome: OutcomeName,
    /// In words
    #[arg(long, default_value = "", value_name = "TEXT", hide_default_value = true)]
    pub(crate) notes: String,
}

fn share(text: &str) -> Result<Confidence, String> {
    let value: f64 = text.trim().parse().map_err(|_| format!("'{text}' is no number; give one from 0 to 1"))?;
    Confidence::try_from(value)
}
