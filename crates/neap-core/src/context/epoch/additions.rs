//! What a growing prompt lacks: appended at its end, where it stays.

use super::Epoch;
use crate::base::message::{CountedMessage, Message, Scope};
use crate::base::prompt;
use crate::context::{Assembler, Selection, efforts_line};
use crate::session::effort::Effort;
use crate::session::log::Log;
use crate::text::render;

/// A message about the efforts in play, if they differ from what the prompt says.
pub(super) fn efforts_notice(
    view: &Assembler<'_>,
    epoch: &mut Epoch,
    selection: &Selection<'_>,
) -> Option<CountedMessage> {
    let line = efforts_line(view.counter, selection, view.tools);
    if line == epoch.efforts_line {
        return None;
    }
    let text = prompt::fill(prompt::EFFORTS_CHANGED, &[("line", &line)]);
    epoch.efforts_line = line;
    Some(CountedMessage::new(view.counter, Message::user(text)))
}

/// Evicted summaries that are needed again, in one message.
pub(super) fn recalled_summaries(
    view: &Assembler<'_>,
    epoch: &mut Epoch,
    selection: &Selection<'_>,
) -> Option<CountedMessage> {
    let mut lines = String::new();
    for effort in &selection.summaries {
        // The prompt already contains whatever was concluded during this epoch.
        let is_seen = effort.last_active >= epoch.since || !epoch.summaries.insert(effort.id.clone());
        if let Some(summary) = effort.summary.as_ref().filter(|_| !is_seen) {
            lines.push_str(&summary.line(&effort.id));
        }
    }
    let text = format!("{}{lines}", prompt::RECALLED_SUMMARIES);
    (!lines.is_empty()).then(|| CountedMessage::new(view.counter, Message::user(text)))
}

/// Logs that are to be shown but are not in the prompt, one message each; `None` if one of them is not fully
/// loaded.
pub(super) fn recalled_logs(
    view: &Assembler<'_>,
    epoch: &mut Epoch,
    selection: &Selection<'_>,
) -> Option<Vec<CountedMessage>> {
    let mut out = Vec::new();
    let active = selection.active.iter().map(|effort| (effort, prompt::LOG_ACTIVE));
    let expanded = selection.expanded.iter().map(|effort| (effort, prompt::LOG_EXPANDED));
    for (effort, template) in expanded.chain(active) {
        let scope = Scope::Effort(effort.id.clone());
        let Some(log) = view.logs.get(&scope) else { continue };
        let is_older = log.exchanges().next().is_some_and(|exchange| exchange.turn < epoch.since);
        if !is_older || !epoch.logs.insert(scope) {
            continue;
        }
        if (log.exchanges().len() as u64) < effort.log.exchanges {
            return None;
        }
        let text = render_transcript(effort, template, log);
        out.push(CountedMessage::new(view.counter, Message::user(text)));
    }
    Some(out)
}

/// Renders a log as one text, oldest message first. Only a speaker's name begins a line, so no message can pass
/// for the end or for another speaker.
fn render_transcript(effort: &Effort, template: &str, log: &Log) -> String {
    let mut text = prompt::fill(template, &[("id", effort.id.as_str()), ("older", "")]);
    for counted in log.exchanges().flat_map(|exchange| &exchange.messages) {
        let Message { role, tool_calls, .. } = &counted.message;
        let content = counted.message.display_text();
        if !content.is_empty() {
            text.push_str(&format!("\n{}: {}", role.as_str(), render::quote_lines(&content)));
        }
        for call in tool_calls {
            let called = render::quote_lines(&format!("{}({})", call.name, call.arguments));
            text.push_str(&format!("\n{} calls {called}", role.as_str()));
        }
    }
    text.push_str(prompt::LOG_END.trim_end());
    text
}

/// Memories relevant to the message that are not in the prompt yet.
pub(super) fn added_memories(view: &Assembler<'_>, next: &mut Epoch) -> Option<CountedMessage> {
    let knowledge = view.knowledge?;
    let added = knowledge.delta_message(view.counter, &next.memory_lines);
    next.memory_lines.extend(knowledge.lines().map(str::to_owned));
    added
}
