//! Tools for hosts that run the model themselves: record a turn, and get the context.

use super::arguments::Arguments;
use crate::base::ids::Stamp;
use crate::base::project_id::ProjectId;
use crate::base::refusal::Refusal;
use crate::base::tokens::Tokens;
use crate::context::brief::{TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostCall {
    /// `record_turn(user, assistant?, turn_id?, time?)`.
    Record {
        user: String,
        /// Empty if there was no reply.
        assistant: String,
        turn_id: Option<String>,
        /// When it was said, if not just now.
        at: Option<Stamp>,
    },
    /// `get_context(query?, project?, budget?)`.
    Context {
        /// What the context should be relevant to.
        query: Option<String>,
        /// Where it is asked, if not in the session's project.
        project: Option<ProjectId>,
        budget: Tokens,
    },
}

impl HostCall {
    pub const RECORD: &str = "record_turn";
    pub const CONTEXT: &str = "get_context";
    /// Longest turn id, in bytes.
    const TURN_ID_BYTES_MAX: usize = 256;

    /// Parses a call; `None` if it is another tool's.
    pub fn parse(name: &str, arguments: &str) -> Option<Result<Self, Refusal>> {
        match name {
            Self::RECORD => Some(Self::record(arguments)),
            Self::CONTEXT => Some(Self::context(arguments)),
            _ => None,
        }
    }

    fn record(arguments: &str) -> Result<Self, Refusal> {
        let args = Arguments::parse(Self::RECORD, arguments)?;
        let turn_id = args.optional("turn_id")?;
        if turn_id.as_ref().is_some_and(|id| id.len() > Self::TURN_ID_BYTES_MAX) {
            return Err(Refusal::new(format!("'turn_id' is longer than {} bytes.", Self::TURN_ID_BYTES_MAX)));
        }
        Ok(Self::Record {
            user: args.required("user")?,
            assistant: args.optional("assistant")?.unwrap_or_default(),
            turn_id,
            at: args.time("time")?,
        })
    }

    fn context(arguments: &str) -> Result<Self, Refusal> {
        let args = Arguments::parse(Self::CONTEXT, arguments)?;
        let budget = args.positive_number("budget")?.map_or(TOKENS_DEFAULT, Tokens);
        let (query, project) = (args.optional("query")?, args.project()?);
        Ok(Self::Context { query, project, budget: budget.max(TOKENS_MIN).min(TOKENS_MAX) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(name: &str, arguments: &str, want: &str) {
        let refusal = HostCall::parse(name, arguments).expect("ours").expect_err("refused");
        assert!(refusal.error.contains(want), "{refusal:?}");
    }

    #[test]
    fn calls_are_read() {
        let read = |name: &str, arguments: &str| HostCall::parse(name, arguments).expect("ours");
        assert_eq!(
            read("record_turn", r#"{"user": "hi", "turn_id": "7"}"#),
            Ok(HostCall::Record {
                user: "hi".into(),
                assistant: String::new(),
                turn_id: Some("7".into()),
                at: None
            })
        );
        let HostCall::Record { at, .. } =
            read("record_turn", r#"{"user": "hi", "time": "2024-01-21"}"#).expect("a call")
        else {
            panic!("another call")
        };
        assert_eq!(at.map(Stamp::date).as_deref(), Some("2024-01-21"));
        assert_eq!(
            read("get_context", ""),
            Ok(HostCall::Context { query: None, project: None, budget: TOKENS_DEFAULT })
        );
        assert_eq!(
            read("get_context", r#"{"query": "x", "budget": 1}"#),
            Ok(HostCall::Context { query: Some("x".into()), project: None, budget: TOKENS_MIN })
        );
        assert_eq!(
            read("get_context", r#"{"budget": 1e300}"#),
            Ok(HostCall::Context { query: None, project: None, budget: TOKENS_MAX })
        );
        assert_eq!(HostCall::parse("open_effort", "{}"), None);
    }

    #[test]
    fn senseless_calls_are_refused_in_words() {
        refused("record_turn", "{}", "needs the argument 'user'");
        refused("record_turn", r#"{"user": 7}"#, "must be text");
        refused("record_turn", "[]", "must be a JSON object");
        refused("record_turn", r#"{"user": "x", "time": "last week"}"#, "is no time");
        refused(
            "record_turn",
            &format!(r#"{{"user": "x", "turn_id": "{}"}}"#, "y".repeat(300)),
            "longer than 256",
        );
        refused("get_context", r#"{"budget": -3}"#, "above 0");
    }
}
