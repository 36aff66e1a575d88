//! Texts that models read: one file each under `prompts/`, named here and nowhere else. Placeholders are listed in
//! braces.

/// Begins every line that Neap itself writes around stored text. [`crate::text::render`] escapes it everywhere else, so
/// stored text can neither open nor close a section.
pub const MARK: &str = "§[";

pub const IDENTITY: &str = include_str!("prompts/identity.md");
pub const EFFORTS: &str = include_str!("prompts/efforts.md");
pub const SUMMARIES: &str = include_str!("prompts/summaries.md");
pub const SMALL_EFFORTS: &str = include_str!("prompts/small_efforts.md");
/// How to reach what is not shown.
pub const NOTE: &str = include_str!("prompts/note.md");
pub const SMALL_NOTE: &str = include_str!("prompts/small_note.md");
/// `{id}`, `{older}`.
pub const LOG_EXPANDED: &str = include_str!("prompts/log_expanded.md");
/// An open effort in the background: `{id}`, `{older}`.
pub const LOG_OPEN: &str = include_str!("prompts/log_open.md");
/// An open effort shown only as summaries: `{id}`, `{older}`.
pub const LOG_IDLE: &str = include_str!("prompts/log_idle.md");
/// `{id}`, `{older}`.
pub const LOG_ACTIVE: &str = include_str!("prompts/log_active.md");
/// Before ambient chat that did not fit whole: `{older}`.
pub const LOG_AMBIENT: &str = include_str!("prompts/log_ambient.md");
/// How many exchanges are stored but not shown: `{count}`.
pub const LOG_OLDER: &str = include_str!("prompts/log_older.md");
/// After a log that is rendered as one text.
pub const LOG_END: &str = include_str!("prompts/log_end.md");
/// Before a log message that a client's program inserted, written by neither a person nor a model.
pub const LOG_SYSTEM: &str = include_str!("prompts/log_system.md");
pub const REPLY_INTERRUPTED: &str = include_str!("prompts/reply_interrupted.md");
pub const REPLY_BROKEN_OFF: &str = include_str!("prompts/reply_broken_off.md");
pub const REPLY_AT_LIMIT: &str = include_str!("prompts/reply_at_limit.md");
/// In place of an empty reply.
pub const REPLY_NONE: &str = include_str!("prompts/reply_none.md");
/// After replies that are shown in part: `{parts}`.
pub const REPLY_IN_PART: &str = include_str!("prompts/reply_in_part.md");
/// In place of an unreadable message.
pub const DAMAGED: &str = include_str!("prompts/damaged.md");
/// Before summaries that are added back to a growing prompt.
pub const RECALLED_SUMMARIES: &str = include_str!("prompts/recalled.md");
/// In a growing prompt, after the set of efforts in play changed: `{line}`.
pub const EFFORTS_CHANGED: &str = include_str!("prompts/now.md");
/// `{handle}`, `{text}`.
pub const SPAN: &str = include_str!("prompts/span.md");
/// In place of a span that could not be summarised: `{count}`.
pub const UNSUMMARISED: &str = include_str!("prompts/unsummarised.md");
/// In place of the middle of an over-long message: `{count}`, `{handle}`.
pub const EXCERPT: &str = include_str!("prompts/excerpt.md");
/// First line of a tool result shown in short: `{what}`, `{count}`, `{handle}`.
pub const TRIMMED: &str = include_str!("prompts/trimmed.md");
/// In place of lines of a tool result: `{count}`.
pub const TRIMMED_GAP: &str = include_str!("prompts/trimmed_gap.md");
pub const TRIMMED_GAP_IN_LINE: &str = include_str!("prompts/trimmed_gap_in_line.md");
/// After a line that stands for others: `{count}`.
pub const TRIMMED_REPEATS: &str = include_str!("prompts/trimmed_repeats.md");
/// How many lines of a listing are in each directory or file: `{places}`.
pub const TRIMMED_PLACES: &str = include_str!("prompts/trimmed_places.md");
/// Before the errors in a JSON document: `{shown}`, `{count}`.
pub const TRIMMED_PROBLEMS: &str = include_str!("prompts/trimmed_problems.md");
/// In place of a stale tool result: `{count}`, `{reason}`, `{whole}`.
pub const STALE: &str = include_str!("prompts/stale.md");
/// Of a stored result, the end of that line: `{handle}`.
pub const STALE_WHOLE: &str = include_str!("prompts/stale_whole.md");
/// In place of an old image: `{came_in}`.
pub const STALE_IMAGE: &str = include_str!("prompts/stale_image.md");
/// Tells a model that some of its own messages are shown in part, where the messages themselves do not show it.
pub const SHOWN_IN_PART: &str = include_str!("prompts/shown_in_part.md");
/// Before the summaries of a conversation that a host records message by message: `{older}`.
pub const HOST_LOG_BEFORE: &str = include_str!("prompts/told_before.md");
/// How many messages are neither shown nor summarised: `{count}`.
pub const HOST_LOG_OLDER: &str = include_str!("prompts/told_older.md");
pub const HOST_LOG_END: &str = include_str!("prompts/told_end.md");
/// In place of messages left out while the store fails: `{count}`.
pub const HOST_LOG_UNRECORDED: &str = include_str!("prompts/told_unrecorded.md");
/// In place of messages of an over-long exchange: `{count}`, `{handle}`.
pub const HOST_LOG_GAP: &str = include_str!("prompts/told_gap.md");
/// `{count}`, `{handle}`.
pub const HOST_LOG_EXCERPT: &str = include_str!("prompts/told_excerpt.md");
/// `{parts}`.
pub const HOST_LOG_IN_PART: &str = include_str!("prompts/told_in_part.md");
/// Before the newest part, which is shown verbatim.
pub const HOST_LOG_LATEST: &str = include_str!("prompts/told_latest.md");
/// Before search results from the same conversation.
pub const HOST_LOG_RECALLED: &str = include_str!("prompts/told_recalled.md");
pub const PAST_MESSAGES: &str = include_str!("prompts/past.md");
pub const PAST_MESSAGES_END: &str = include_str!("prompts/past_end.md");
/// Before the brief on a conversation that a host receives.
pub const BRIEF: &str = include_str!("prompts/brief.md");
pub const BRIEF_END: &str = include_str!("prompts/brief_end.md");
/// Before what a client's own summary left out: `{left}`, `{found}`, `{handle}`, `{session}`.
pub const SUMMARY_LOSSES: &str = include_str!("prompts/lost.md");
pub const SUMMARY_LOSSES_END: &str = include_str!("prompts/lost_end.md");
pub const OPEN_WORK: &str = include_str!("prompts/open_work.md");
pub const EARLIER_WORK: &str = include_str!("prompts/works.md");
pub const WORK_END: &str = include_str!("prompts/works_end.md");
pub const KNOWLEDGE_IDENTITY: &str = include_str!("prompts/know_identity.md");
pub const KNOWLEDGE_PROFILE: &str = include_str!("prompts/know_profile.md");
pub const KNOWLEDGE_CENSORS: &str = include_str!("prompts/know_censors.md");
/// `{name}`.
pub const KNOWLEDGE_FRAME: &str = include_str!("prompts/know_frame.md");
/// Before the questions that a frame asks the agent to consider.
pub const KNOWLEDGE_CONSIDER: &str = include_str!("prompts/know_consider.md");
pub const KNOWLEDGE_FOCUS: &str = include_str!("prompts/know_focus.md");
pub const KNOWLEDGE_THREADS: &str = include_str!("prompts/know_threads.md");
pub const KNOWLEDGE_DECISIONS: &str = include_str!("prompts/know_decisions.md");
pub const KNOWLEDGE_FACTS: &str = include_str!("prompts/know_facts.md");
/// Over one-line procedures; longer ones bring their own heading.
pub const KNOWLEDGE_PROCEDURES: &str = include_str!("prompts/know_procedures.md");
pub const KNOWLEDGE_EPISODES: &str = include_str!("prompts/know_episodes.md");
/// Over how accurate the agent's judgement has been.
pub const KNOWLEDGE_CALIBRATION: &str = include_str!("prompts/know_calibration.md");
/// Opens the message that holds summaries and memories.
pub const RECORDS: &str = include_str!("prompts/records.md");
pub const RECORDS_END: &str = include_str!("prompts/records_end.md");
/// Opens the agent's memories where they are placed at the end of a prompt.
pub const KNOWLEDGE_TAIL_OPEN: &str = include_str!("prompts/know_tail_open.md");
pub const KNOWLEDGE_TAIL_CLOSE: &str = include_str!("prompts/know_tail_close.md");
pub const MEMORIES: &str = include_str!("prompts/memories.md");
pub const SMALL_MEMORIES: &str = include_str!("prompts/small_memories.md");
/// `{id}`, `{reason}`.
pub const REFUSED: &str = include_str!("prompts/refused.md");
/// In place of a message of a turn that a censor ended: `{id}`.
pub const CENSORED: &str = include_str!("prompts/censored.md");
/// A censor's guidance: `{id}`, `{reason}`.
pub const STEERED: &str = include_str!("prompts/steered.md");
/// A censor's prohibition: `{id}`, `{reason}`.
pub const FORBIDDEN: &str = include_str!("prompts/forbidden.md");
pub const MEMORY_TOOLS: &str = include_str!("prompts/memory_tools.json");
/// The most useful tools, in few words.
pub const SMALL_TOOLS: &str = include_str!("prompts/small_tools.json");
pub const TOOLS: &str = include_str!("prompts/tools.json");
pub const SUMMARIZE_TEXT: &str = include_str!("prompts/summarize_text.json");
/// Tools for hosts that run the model themselves.
pub const HOST_TOOLS: &str = include_str!("prompts/host_tools.json");

/// Fills the `{placeholders}` of a template and drops its final newline. Values are inserted literally and not
/// scanned again, so a value cannot forge a placeholder.
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
