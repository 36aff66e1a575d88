//! Decides what to do at each hook event of an agent that runs its own model, and what to reply. Agents run a
//! command of ours with the event as JSON; its output goes into their context. So a reply is short, states facts
//! and no commands, and is marked as data. Where there is nothing to say, it is empty.

mod event;
mod reply;
#[cfg(test)]
mod tests;

pub use event::{HookEvent, HookKind, HookTranscript};
pub use reply::{
    HOOK_LAYERS, HookBudgets, OpenEffort, is_relevant, join_parts, render_efforts, render_open_efforts,
};

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
