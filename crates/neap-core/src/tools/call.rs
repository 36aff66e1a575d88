//! Reading what a model wrote.

use serde_json::json;

use super::arguments::Arguments;
use super::memory::MemoryCall;
use crate::message::ToolCall;

/// Why a call was not carried out, in words the model can act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was wrong.
    pub error: String,
    /// What to do instead.
    pub hint: Option<String>,
}

impl Refusal {
    /// A refusal that explains itself.
    pub fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), hint: None }
    }

    /// With what to do instead.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The tool result the model reads.
    pub fn to_json(&self) -> String {
        match &self.hint {
            None => json!({"error": self.error}).to_string(),
            Some(hint) => json!({"error": self.error, "hint": hint}).to_string(),
        }
    }
}

/// A well-formed call of an effort tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// `open_effort(name)`.
    Open {
        /// As given.
        name: String,
    },
    /// `close_effort(id?)`.
    Close {
        /// As given; the active effort if none.
        id: Option<String>,
    },
    /// `effort_status(id?)`.
    Status {
        /// One effort, or all that fit.
        id: Option<String>,
    },
    /// `expand_effort(id)`.
    Expand {
        /// As given.
        id: String,
    },
    /// `collapse_effort(id)`.
    Collapse {
        /// As given.
        id: String,
    },
    /// `switch_effort(id)`.
    Switch {
        /// As given.
        id: String,
    },
    /// `search_efforts(query, logs?)`.
    Search {
        /// What to look for.
        query: String,
        /// Whether to search what was said, too.
        logs: bool,
    },
    /// `reopen_effort(id)`.
    Reopen {
        /// As given.
        id: String,
    },
    /// `fetch_original(handle, offset?)`.
    Fetch {
        /// As given.
        handle: String,
        /// Where to go on, in bytes.
        offset: usize,
    },
    /// `summarize_text(text, max_tokens?)`.
    SummarizeText(TextToSummarize),
    /// One of the memory tools.
    Memory(MemoryCall),
}

/// A text from outside, to be summarised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextToSummarize {
    /// As given.
    pub text: String,
    /// The summary's length at most, as given.
    pub max_tokens: u64,
}

/// How long a summary of a text is where nobody says.
const TEXT_TOKENS_MAX: u64 = 128;

impl Call {
    /// The names of our tools.
    pub const TOOLS: [&str; 9] = [
        "open_effort",
        "close_effort",
        "effort_status",
        "expand_effort",
        "collapse_effort",
        "switch_effort",
        "search_efforts",
        "reopen_effort",
        "fetch_original",
    ];

    /// The tool for hosts; it is understood, and not offered in chat, where its schema would cost tokens.
    pub const SUMMARIZE_TEXT: &str = "summarize_text";

    /// Whether a name is one of ours.
    pub fn is_ours(name: &str) -> bool {
        Self::TOOLS.contains(&name) || MemoryCall::TOOLS.contains(&name)
    }

    /// Reads a call. Undeclared arguments are dropped; missing or ill-typed ones are refused.
    pub fn parse(call: &ToolCall) -> Result<Self, Refusal> {
        let name = call.name.as_str();
        if MemoryCall::TOOLS.contains(&name) {
            return MemoryCall::parse(call).map(Call::Memory);
        }
        if !Self::is_ours(name) && name != Self::SUMMARIZE_TEXT {
            let hint = format!("available tools: {}", Self::TOOLS.join(", "));
            return Err(Refusal::new(format!("Unknown tool: {name}")).hint(hint));
        }
        let args = Arguments::parse(name, &call.arguments)?;
        Ok(match name {
            "open_effort" => Call::Open { name: args.needed("name")? },
            "close_effort" => Call::Close { id: args.id()? },
            "effort_status" => Call::Status { id: args.id()? },
            "expand_effort" => Call::Expand { id: args.needed_id()? },
            "collapse_effort" => Call::Collapse { id: args.needed_id()? },
            "switch_effort" => Call::Switch { id: args.needed_id()? },
            "search_efforts" => Call::Search { query: args.needed("query")?, logs: args.flag("logs")? },
            "fetch_original" => Call::Fetch { handle: args.needed("handle")?, offset: args.number("offset")? },
            Self::SUMMARIZE_TEXT => Call::SummarizeText(TextToSummarize {
                text: args.needed("text")?,
                max_tokens: args.count("max_tokens")?.unwrap_or(TEXT_TOKENS_MAX),
            }),
            _ => Call::Reopen { id: args.needed_id()? },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, arguments: &str) -> Result<Call, Refusal> {
        Call::parse(&ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() })
    }

    #[test]
    fn calls_are_read_leniently() {
        assert_eq!(parse("close_effort", ""), Ok(Call::Close { id: None }));
        assert_eq!(parse("close_effort", "null"), Ok(Call::Close { id: None }));
        assert_eq!(parse("expand_effort", r#"{"effort_id": "a", "why": 3}"#), Ok(Call::Expand { id: "a".into() }));
        assert_eq!(
            parse("search_efforts", r#"{"query": "auth fix"}"#),
            Ok(Call::Search { query: "auth fix".into(), logs: false })
        );
    }

    /// Issue: malformed tool JSON is a clear message, nothing lost.
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
            Ok(Call::SummarizeText(asked)) => Ok((asked.text, asked.max_tokens)),
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
