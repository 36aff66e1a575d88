//! Hook events of agents that run their own model: agents run a command of ours with the event as JSON, and put its
//! output into their context.

mod event;
#[cfg(test)]
mod tests;

pub use event::{HookEvent, HookKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookActions {
    pub imports: bool,
    /// Also import what was deferred before.
    pub imports_backlog: bool,
    /// Only note that there is something to import: there is no time for more.
    pub is_deferred: bool,
    pub updates_folder: bool,
    pub reply: HookReply,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookReply {
    Nothing,
    /// Open efforts, and what always applies.
    Recap,
    /// What is relevant to the prompt.
    Recall,
}

impl HookKind {
    pub fn actions(self) -> HookActions {
        let import_only = HookActions {
            imports: true,
            imports_backlog: false,
            is_deferred: false,
            updates_folder: false,
            reply: HookReply::Nothing,
        };
        match self {
            HookKind::SessionStart => {
                HookActions { imports_backlog: true, reply: HookReply::Recap, ..import_only }
            }
            HookKind::UserPromptSubmit => HookActions { reply: HookReply::Recall, ..import_only },
            HookKind::PostToolUse | HookKind::PreCompact | HookKind::PostCompact => import_only,
            HookKind::Stop | HookKind::SubagentStop => HookActions { updates_folder: true, ..import_only },
            HookKind::SessionEnd => HookActions { imports: false, is_deferred: true, ..import_only },
        }
    }
}
