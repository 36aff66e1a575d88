//! Programs whose conversations can be imported.

use neap_core::base::digest::Digest;
use neap_core::base::ids::SessionId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    ClaudeCode,
    Codex,
    /// An export of ChatGPT.
    ChatGpt,
    /// An export of Claude.ai.
    ClaudeAi,
}

impl Program {
    /// As in session ids.
    pub fn as_str(self) -> &'static str {
        match self {
            Program::ClaudeCode => "claude-code",
            Program::Codex => "codex",
            Program::ChatGpt => "chatgpt",
            Program::ClaudeAi => "claude-ai",
        }
    }

    pub fn session_id(self, name: &str) -> SessionId {
        let text = format!("{} {name}", self.as_str());
        // The program's name has letters.
        SessionId::from_name(&text).unwrap_or_else(|_| unreachable!("'{text}' has letters"))
    }

    pub fn record_key(self, parts: &[&str]) -> Digest {
        let parts: Vec<&[u8]> =
            std::iter::once(self.as_str()).chain(parts.iter().copied()).map(str::as_bytes).collect();
        Digest::of("transcript", &parts)
    }

    /// For a prompt with an id: known before the record is written. One id may cover several prompts.
    pub fn prompt_key(self, id: &str, prompt: &str) -> Digest {
        self.record_key(&["prompt", id, prompt.trim()])
    }
}
