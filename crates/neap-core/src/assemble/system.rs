//! The system text: who the assistant is, the rules, and how to reach what is not shown. All of it is ours or the host's:
//! nothing that was ever said stands in it (DESIGN, decision 21).
//!
//! Each section ends in a newline and begins with a letter or `#`, so that their counts add up.

use crate::prompt;
use crate::tokens::Tokens;
use crate::tools::ToolSet;

/// What a provider adds around the system message.
pub(super) const MESSAGE_TOKENS: Tokens = Tokens(4);

/// What the note costs at most, here and where it goes on among the records (I8).
pub(super) const NOTE_TOKENS_MAX: Tokens = Tokens(320);

/// Identity, and the rules where the tools are offered (DESIGN, decision 10).
pub(super) fn protocol(tools: &ToolSet) -> String {
    let efforts = if tools.has_effort_tools() { prompt::EFFORTS } else { "" };
    let memories = if tools.has_memory_tools() { prompt::MEMORIES } else { "" };
    format!("{}{efforts}{memories}", prompt::IDENTITY)
}

/// How to reach what is not shown, where the tools for it are offered. Which efforts are in play stands among the records:
/// their names are a model's.
pub(super) fn note(tools: &ToolSet) -> &'static str {
    if tools.has_effort_tools() { prompt::NOTE } else { "" }
}
