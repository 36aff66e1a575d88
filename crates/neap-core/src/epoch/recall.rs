//! What a growing prompt does not have yet and should: put at its end, where it stays.

use super::Epoch;
use crate::assemble::{Selection, View, standing};
use crate::effort::Effort;
use crate::log::Log;
use crate::message::{Counted, Message, Scope};
use crate::prompt;
use crate::render;

/// Which efforts are in play, if that is no longer what the prompt says.
pub(super) fn now(view: &View<'_>, epoch: &mut Epoch, selection: &Selection<'_>) -> Option<Counted> {
    let line = standing(view.counter, selection, view.tools);
    if line == epoch.standing {
        return None;
    }
    let text = prompt::fill(prompt::NOW, &[("line", &line)]);
    epoch.standing = line;
    Some(Counted::new(view.counter, Message::user(text)))
}

/// Summaries that were out of the context and are called for again, in one message.
pub(super) fn summaries(view: &View<'_>, epoch: &mut Epoch, selection: &Selection<'_>) -> Option<Counted> {
    let mut lines = String::new();
    for effort in &selection.summaries {
        // What was concluded since then was seen as it happened.
        let is_seen = effort.last_active >= epoch.since || !epoch.summaries.insert(effort.id.clone());
        if let Some(summary) = effort.summary.as_ref().filter(|_| !is_seen) {
            lines.push_str(&summary.line(&effort.id));
        }
    }
    let text = format!("{}{lines}", prompt::RECALLED);
    (!lines.is_empty()).then(|| Counted::new(view.counter, Message::user(text)))
}

/// Logs that are to be seen and are not, each as one message; none if one of them is not at hand whole.
pub(super) fn logs(view: &View<'_>, epoch: &mut Epoch, selection: &Selection<'_>) -> Option<Vec<Counted>> {
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
        let text = transcript(effort, template, log);
        out.push(Counted::new(view.counter, Message::user(text)));
    }
    Some(out)
}

/// A log as one text: who said what, oldest first. Only who speaks begins a line: nothing that was said can pass for the end, or
/// for another speaker.
fn transcript(effort: &Effort, template: &str, log: &Log) -> String {
    let mut text = prompt::fill(template, &[("id", effort.id.as_str()), ("older", "")]);
    for said in log.exchanges().flat_map(|exchange| &exchange.messages) {
        let Message { role, tool_calls, .. } = &said.message;
        let content = said.message.for_people();
        if !content.is_empty() {
            text.push_str(&format!("\n{}: {}", role.as_str(), render::quoted(&content)));
        }
        for call in tool_calls {
            let called = render::quoted(&format!("{}({})", call.name, call.arguments));
            text.push_str(&format!("\n{} calls {called}", role.as_str()));
        }
    }
    text.push_str(prompt::LOG_END.trim_end());
    text
}

/// What the agent knows that bears on the message and is not in the prompt yet.
pub(super) fn memories(view: &View<'_>, next: &mut Epoch) -> Option<Counted> {
    let known = view.known?;
    let added = known.addition(view.counter, &next.known);
    next.known.extend(known.lines().map(str::to_owned));
    added
}
