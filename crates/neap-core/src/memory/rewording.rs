//! Which records a model words anew between turns, and how long its words may be.

use super::learn::{Amendment, MemoryCommand};
use super::{Author, Memory, MemoryKind, Provenance, RenderedMemory, SUMMARY_TOKENS_MAX};
use crate::base::tokens::{TokenCounter, Tokens};

/// Kinds with records that a template renders poorly.
pub const REWORDED_KINDS: [MemoryKind; 2] = [MemoryKind::Decision, MemoryKind::Episode];
/// Records per kind, newest first, that upkeep checks.
pub const REWORDED_MAX: usize = 4;
/// Token limits for a model's wording, without id, state and provenance.
pub const REWORDED_MICRO_TOKENS_MAX: Tokens = Tokens(24);
pub const REWORDED_SUMMARY_TOKENS_MAX: Tokens = Tokens(90);

impl Memory {
    /// Whether it still has its template text although its full text is longer than a summary.
    pub fn needs_rewording(&self, counter: &dyn TokenCounter) -> bool {
        self.status.is_current()
            && self.lines == RenderedMemory::render(counter, self)
            && counter.count(&self.full_text()) > SUMMARY_TOKENS_MAX
    }

    /// Puts a model's words in place of the template's.
    pub fn rewording(&self, micro: String, summary: String) -> MemoryCommand {
        let (how, by) = (Amendment::Reword { micro, summary }, Provenance::from_author(Author::Model));
        MemoryCommand::Amend { id: self.id, how, by }
    }
}
