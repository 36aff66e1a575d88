//! Parses tool calls that a model wrote.

use super::arguments::Arguments;
use super::memory::MemoryCall;
use crate::base::message::ToolCall;
use crate::base::refusal::Refusal;
use crate::context::tools::{EFFORT_TOOLS, MEMORY_TOOLS, is_own_tool};

/// A well-formed call of one of Neap's tools. Names and ids are as given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnToolCall {
    /// `open_effort(name)`.
    Open {
        name: String,
    },
    /// `close_effort(id?)`.
    Close {
        /// `None` for the active effort.
        id: Option<String>,
    },
    /// `effort_status(id?)`.
    Status {
        /// One effort, or all that fit.
        id: Option<String>,
    },
    /// `expand_effort(id)`.
    Expand {
        id: String,
    },
    /// `collapse_effort(id)`.
    Collapse {
        id: String,
    },
    /// `switch_effort(id)`.
    Switch {
        id: String,
    },
    /// `search_efforts(query, logs?)`.
    Search {
        query: String,
        /// Whether to search messages as well.
        logs: bool,
    },
    /// `reopen_effort(id)`.
    Reopen {
        id: String,
    },
    /// `fetch_original(handle, offset?)`.
    Fetch {
        handle: String,
        /// Where to continue, in bytes.
        offset: usize,
    },
    /// `summarize_text(text, max_tokens?)`.
    SummarizeText(TextToSummarize),
    Memory(MemoryCall),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextToSummarize {
    pub text: String,
    /// The summary's longest length.
    pub max_tokens: u64,
}

/// The default length of a text's summary.
const SUMMARY_TOKENS_DEFAULT: u64 = 128;

impl OwnToolCall {
    /// For hosts. Accepted, but not offered in chat, where its schema would cost tokens.
    pub const SUMMARIZE_TEXT: &str = "summarize_text";
    pub const RECALL: &str = "recall";

    /// Parses a call. Drops undeclared arguments, refuses missing or ill-typed ones.
    pub fn parse(call: &ToolCall) -> Result<Self, Refusal> {
        let name = call.name.as_str();
        if MEMORY_TOOLS.contains(&name) {
            return MemoryCall::parse(call).map(OwnToolCall::Memory);
        }
        if !is_own_tool(name) && name != Self::SUMMARIZE_TEXT {
            return Err(unknown_tool(name));
        }
        let args = Arguments::parse(name, &call.arguments)?;
        Ok(match name {
            "open_effort" => OwnToolCall::Open { name: args.required("name")? },
            "close_effort" => OwnToolCall::Close { id: args.id()? },
            "effort_status" => OwnToolCall::Status { id: args.id()? },
            "expand_effort" => OwnToolCall::Expand { id: args.required_id()? },
            "collapse_effort" => OwnToolCall::Collapse { id: args.required_id()? },
            "switch_effort" => OwnToolCall::Switch { id: args.required_id()? },
            "search_efforts" => OwnToolCall::Search { query: args.required("query")?, logs: args.flag("logs")? },
            "fetch_original" => {
                OwnToolCall::Fetch { handle: args.required("handle")?, offset: args.number_or_zero("offset")? }
            }
            Self::SUMMARIZE_TEXT => OwnToolCall::SummarizeText(TextToSummarize {
                text: args.required("text")?,
                max_tokens: args.positive_number("max_tokens")?.unwrap_or(SUMMARY_TOKENS_DEFAULT),
            }),
            "reopen_effort" => OwnToolCall::Reopen { id: args.required_id()? },
            _ => return Err(unknown_tool(name)),
        })
    }
}

fn unknown_tool(name: &str) -> Refusal {
    let hint = format!("available tools: {}", EFFORT_TOOLS.join(", "));
    Refusal::new(format!("Unknown tool: {name}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, arguments: &str) -> Result<OwnToolCall, Refusal> {
        OwnToolCall::parse(&ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() })
    }

    #[test]
    fn calls_are_read_leniently() {
        assert_eq!(parse("close_effort", ""), Ok(OwnToolCall::Close { id: None }));
        assert_eq!(parse("close_effort", "null"), Ok(OwnToolCall::Close { id: None }));
        assert_eq!(
            parse("expand_effort", r#"{"effort_id": "a", "why": 3}"#),
            Ok(OwnToolCall::Expand { id: "a".into() })
        );
        assert_eq!(
            parse("search_efforts", r#"{"query": "auth fix"}"#),
            Ok(OwnToolCall::Search { query: "auth fix".into(), logs: false })
        );
    }

    /// A malformed call gets a clear message, and nothing is lost.
    #[test]
    fn senseless_calls_are_refused_in_words() {
        let refused = |name: &str, arguments: &str, want: &str| {
            let refusal = parse(name, arguments).expect_err("refused");
            assert!(refusal.error.starts_with(want), "{refusal:?}");
        };
        refused("expand_effort", "{oops", "Arguments of expand_effort are not valid JSON");
        refused("expand_effort", "[1]", "Arguments of expand_effort must be a JSON object.");
        refused("expand_effort", "{}", "expand_effort needs the argument 'id'.");
        refused("expand_effort", r#"{"id": 3}"#, "Argument 'id' of expand_effort must be text.");
        refused("open_effort", r#"{"name": "  "}"#, "open_effort needs the argument 'name'.");
        refused("search_efforts", r#"{"query": "x", "logs": "yes"}"#, "Argument 'logs' of search_efforts");
        refused("rm_rf", "{}", "Unknown tool: rm_rf");
    }

    #[test]
    fn a_text_to_summarize() {
        let text = |arguments: &str| match parse("summarize_text", arguments) {
            Ok(OwnToolCall::SummarizeText(asked)) => Ok((asked.text, asked.max_tokens)),
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => Err(refusal.error),
        };
        assert_eq!(
            text(r#"{"text": "a", "style": "terse"}"#),
            Ok(("a".into(), 128)),
            "undeclared arguments are dropped"
        );
        assert_eq!(text(r#"{"text": "a", "max_tokens": 7}"#), Ok(("a".into(), 7)));
        assert_eq!(text(r#"{"text": "a", "max_tokens": 1e30}"#), Ok(("a".into(), u64::MAX)));
        for bad in ["0", "-1", "1.5", "\"9\"", "[]"] {
            let refused = text(&format!(r#"{{"text": "a", "max_tokens": {bad}}}"#));
            assert_eq!(
                refused,
                Err("Argument 'max_tokens' of summarize_text must be a whole number above 0.".into())
            );
        }
        assert_eq!(text(r#"{"text": "  "}"#), Err("summarize_text needs the argument 'text'.".into()));
    }

    #[test]
    fn an_unknown_tool_is_told_the_known_ones() {
        let refusal = parse("rm_rf", "{}").expect_err("refused");
        assert!(refusal.to_json().contains("open_effort"));
    }
}
