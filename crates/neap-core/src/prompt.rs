//! The texts that models read, one file each under `prompts/`, and the one place that names them.

/// Begins every line of ours around what is recalled or shown of a conversation. Nothing else in a prompt contains it (see
/// [`crate::render`]), so what is stored can neither open nor close anything.
pub const MARK: &str = "§[";

/// Who the assistant is.
pub const IDENTITY: &str = include_str!("prompts/identity.md");
/// The rules of efforts.
pub const EFFORTS: &str = include_str!("prompts/efforts.md");
/// The heading over shown summaries.
pub const SUMMARIES: &str = include_str!("prompts/summaries.md");
/// How to reach what is not shown.
pub const NOTE: &str = include_str!("prompts/note.md");
/// Before an expanded log: `{id}`, `{older}`.
pub const LOG_EXPANDED: &str = include_str!("prompts/log_expanded.md");
/// Before the log of an open effort in the background: `{id}`, `{older}`.
pub const LOG_OPEN: &str = include_str!("prompts/log_open.md");
/// Before the log of an open effort that is only shown in short: `{id}`, `{older}`.
pub const LOG_IDLE: &str = include_str!("prompts/log_idle.md");
/// Before the log of the active effort: `{id}`, `{older}`.
pub const LOG_ACTIVE: &str = include_str!("prompts/log_active.md");
/// Before ambient chat of which a part did not fit: `{older}`.
pub const LOG_AMBIENT: &str = include_str!("prompts/log_ambient.md");
/// Says that a log goes on, on disk: `{count}`.
pub const LOG_OLDER: &str = include_str!("prompts/log_older.md");
/// After a log that is shown as one text.
pub const LOG_END: &str = include_str!("prompts/log_end.md");
/// Before a message of a log that neither a person nor a model said: what a client's program put in.
pub const LOG_SYSTEM: &str = include_str!("prompts/log_system.md");
/// After a reply that the user stopped.
pub const REPLY_INTERRUPTED: &str = include_str!("prompts/reply_interrupted.md");
/// After a reply whose end did not come.
pub const REPLY_BROKEN_OFF: &str = include_str!("prompts/reply_broken_off.md");
/// After a reply that was as long as it may be.
pub const REPLY_AT_LIMIT: &str = include_str!("prompts/reply_at_limit.md");
/// In place of a reply that there is none of.
pub const REPLY_NONE: &str = include_str!("prompts/reply_none.md");
/// After replies that are shown in part: `{parts}`.
pub const REPLY_IN_PART: &str = include_str!("prompts/reply_in_part.md");
/// In place of what can no longer be read.
pub const DAMAGED: &str = include_str!("prompts/damaged.md");
/// Before summaries that come back while a prompt grows.
pub const RECALLED: &str = include_str!("prompts/recalled.md");
/// Which efforts are in play, where that changed while a prompt grows: `{line}`.
pub const NOW: &str = include_str!("prompts/now.md");
/// A span of a log in short: `{handle}`, `{text}`.
pub const SPAN: &str = include_str!("prompts/span.md");
/// Stands for a span of which no summary could be made: `{count}`.
pub const UNSUMMARISED: &str = include_str!("prompts/unsummarised.md");
/// Stands in an over-long message for its middle: `{count}`, `{handle}`.
pub const EXCERPT: &str = include_str!("prompts/excerpt.md");
/// Tells a model that its own messages are shown in part, where that cannot be seen in them.
pub const SHOWN_IN_PART: &str = include_str!("prompts/shown_in_part.md");
/// Before the summaries of a conversation that is told message by message: `{older}`.
pub const TOLD_BEFORE: &str = include_str!("prompts/told_before.md");
/// Says that some of it is neither shown nor summarised: `{count}`.
pub const TOLD_OLDER: &str = include_str!("prompts/told_older.md");
/// After what is a record of it.
pub const TOLD_END: &str = include_str!("prompts/told_end.md");
/// Stands for messages that are left out while the store fails: `{count}`.
pub const TOLD_UNRECORDED: &str = include_str!("prompts/told_unrecorded.md");
/// Stands for messages of an exchange that is too long: `{count}`, `{handle}`.
pub const TOLD_GAP: &str = include_str!("prompts/told_gap.md");
/// Stands in an over-long message of it for its middle: `{count}`, `{handle}`.
pub const TOLD_EXCERPT: &str = include_str!("prompts/told_excerpt.md");
/// After replies of it that are shown in part: `{parts}`.
pub const TOLD_IN_PART: &str = include_str!("prompts/told_in_part.md");
/// Before the newest part of it, where that stands word for word.
pub const TOLD_LATEST: &str = include_str!("prompts/told_latest.md");
/// Before what a search in it found.
pub const TOLD_RECALLED: &str = include_str!("prompts/told_recalled.md");
/// Before what was said in any conversation, where it is recalled.
pub const PAST: &str = include_str!("prompts/past.md");
/// After it.
pub const PAST_END: &str = include_str!("prompts/past_end.md");
/// Before where a conversation stands, as a host is told it.
pub const BRIEF: &str = include_str!("prompts/brief.md");
/// After it.
pub const BRIEF_END: &str = include_str!("prompts/brief_end.md");
/// Before what a client's own summary left out: `{left}`, `{found}`, `{handle}`, `{session}`.
pub const LOST: &str = include_str!("prompts/lost.md");
/// After it.
pub const LOST_END: &str = include_str!("prompts/lost_end.md");
/// Before a list of work that is not concluded.
pub const OPEN_WORK: &str = include_str!("prompts/open_work.md");
/// Before a list of earlier work.
pub const WORKS: &str = include_str!("prompts/works.md");
/// After such a list.
pub const WORKS_END: &str = include_str!("prompts/works_end.md");
/// The heading over who the agent is.
pub const KNOW_IDENTITY: &str = include_str!("prompts/know_identity.md");
/// The heading over preferences and standing rules.
pub const KNOW_PROFILE: &str = include_str!("prompts/know_profile.md");
/// The heading over censors.
pub const KNOW_CENSORS: &str = include_str!("prompts/know_censors.md");
/// The heading over the stance: `{name}`.
pub const KNOW_FRAME: &str = include_str!("prompts/know_frame.md");
/// Before what to ask oneself.
pub const KNOW_CONSIDER: &str = include_str!("prompts/know_consider.md");
/// The heading over the current task.
pub const KNOW_FOCUS: &str = include_str!("prompts/know_focus.md");
/// Before open threads.
pub const KNOW_THREADS: &str = include_str!("prompts/know_threads.md");
/// The heading over decisions.
pub const KNOW_DECISIONS: &str = include_str!("prompts/know_decisions.md");
/// The heading over facts.
pub const KNOW_FACTS: &str = include_str!("prompts/know_facts.md");
/// The heading over procedures that stand in one line; others bring their own.
pub const KNOW_PROCEDURES: &str = include_str!("prompts/know_procedures.md");
/// The heading over episodes.
pub const KNOW_EPISODES: &str = include_str!("prompts/know_episodes.md");
/// The heading over how good the agent's judgement was.
pub const KNOW_CALIBRATION: &str = include_str!("prompts/know_calibration.md");
/// Before summaries and memories, in the message of their own in which they stand.
pub const RECORDS: &str = include_str!("prompts/records.md");
/// After them.
pub const RECORDS_END: &str = include_str!("prompts/records_end.md");
/// Before all that is known, where it stands at the end of a prompt.
pub const KNOW_TAIL_OPEN: &str = include_str!("prompts/know_tail_open.md");
/// After it.
pub const KNOW_TAIL_CLOSE: &str = include_str!("prompts/know_tail_close.md");
/// What a model is told of an agent's memory.
pub const MEMORIES: &str = include_str!("prompts/memories.md");
/// An answer that a rule refuses: `{id}`, `{reason}`.
pub const REFUSED: &str = include_str!("prompts/refused.md");
/// Stands for a message of a turn that a rule ended: `{id}`.
pub const CENSORED: &str = include_str!("prompts/censored.md");
/// A rule that gives guidance: `{id}`, `{reason}`.
pub const STEERED: &str = include_str!("prompts/steered.md");
/// A rule that forbids what was asked: `{id}`, `{reason}`.
pub const FORBIDDEN: &str = include_str!("prompts/forbidden.md");
/// The schemas of the eight memory tools.
pub const MEMORY_TOOLS: &str = include_str!("prompts/memory_tools.json");
/// The schemas of the eight effort tools.
pub const TOOLS: &str = include_str!("prompts/tools.json");
/// The schema of the tool for hosts.
pub const SUMMARIZE_TEXT: &str = include_str!("prompts/summarize_text.json");
/// The schemas of the tools for hosts that run the model themselves.
pub const HOST_TOOLS: &str = include_str!("prompts/host_tools.json");

/// Fills the `{places}` of a template and drops its final newline.
///
/// Values are put in literally and never searched again, so a value cannot forge a place.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template.strip_suffix('\n').unwrap_or(template);
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let filled = rest.find('}').and_then(|close| {
            let key = &rest[1..close];
            values.iter().find(|(k, _)| *k == key).map(|(_, value)| (close, *value))
        });
        match filled {
            Some((close, value)) => {
                out.push_str(value);
                rest = &rest[close + 1..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_once_and_values_cannot_forge_them() {
        let filled = fill("a {id} b {older} {x}\n", &[("id", "{older}"), ("older", "!")]);
        assert_eq!(filled, "a {older} b ! {x}");
    }
}
