//! The system text: identity, rules, and how to reach what is not shown. All of it is Neap's or the host's; no
//! stored message appears in it (docs/decisions/0006-trust.md). Each section ends in a newline and begins with a letter or
//! `#`, so that their counts add up.

use super::tools::ToolSet;
use crate::base::prompt;
use crate::base::tokens::Tokens;

/// A provider's overhead for the system message.
pub(super) const MESSAGE_OVERHEAD: Tokens = Tokens(4);

/// Most that the note costs, here and among the records (I8).
pub(super) const NOTE_TOKENS_MAX: Tokens = Tokens(320);

/// Identity, and the rules of the tools that are offered; a prompt does not mention other tools.
pub(super) fn protocol(tools: &ToolSet) -> String {
    let (efforts, memories) = match tools.is_small() {
        true => (prompt::SMALL_EFFORTS, prompt::SMALL_MEMORIES),
        false => (prompt::EFFORTS, prompt::MEMORIES),
    };
    let efforts = if tools.has_effort_tools() { efforts } else { "" };
    let memories = if tools.has_memory_tools() { memories } else { "" };
    format!("{}{efforts}{memories}", prompt::IDENTITY)
}

/// How to reach what is not shown, if the tools for it are offered. The efforts in play are among the records,
/// because a model chose their names.
pub(super) fn note(tools: &ToolSet) -> &'static str {
    match (tools.has_effort_tools(), tools.is_small()) {
        (true, true) => prompt::SMALL_NOTE,
        (true, false) => prompt::NOTE,
        (false, _) => "",
    }
}
