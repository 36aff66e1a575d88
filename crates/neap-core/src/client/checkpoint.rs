//! Renders what replaces the omitted part of a history: concluded efforts and span summaries, each with a handle
//! to the original text.

use super::cut::CutPlan;
use crate::base::handle::Handle;
use crate::base::ids::TurnNo;
use crate::base::message::Scope;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::context::host_log::render_past;
use crate::session::coverage::SummaryCoverage;
use crate::session::effort::Effort;
use crate::session::state::SessionState;

/// Renders the turns before `before`, oldest first. What does not fit is dropped from the oldest end and counted.
/// Empty if not even the frame fits.
pub fn render_checkpoint(
    state: &SessionState,
    before: TurnNo,
    budget: Tokens,
    counter: &dyn TokenCounter,
) -> String {
    let lines = checkpoint_lines(state, before);
    (0..=lines.len())
        .map(|first| {
            let missing = lines[..first].iter().map(|line| line.exchanges).sum();
            render_past(missing, lines[first..].iter().map(|line| line.text.clone()))
        })
        .find(|text| CutPlan::text_tokens(counter, text) <= budget)
        .unwrap_or_default()
}

struct CheckpointLine {
    turn: TurnNo,
    exchanges: u64,
    text: String,
}

/// Oldest first.
fn checkpoint_lines(state: &SessionState, before: TurnNo) -> Vec<CheckpointLine> {
    let mut lines: Vec<CheckpointLine> =
        state.shown_efforts().filter(|effort| effort.last_active < before).filter_map(effort_line).collect();
    for (scope, _) in SummaryCoverage::coverable_logs(state) {
        for span in state.window(&scope).spans().iter().filter(|span| span.first < before) {
            let text = format!("[{}] {}", span.handle(&scope), span.text);
            lines.push(CheckpointLine { turn: span.first, exchanges: span.size.exchanges, text });
        }
    }
    lines.sort_by(|a, b| (a.turn, &a.text).cmp(&(b.turn, &b.text)));
    lines
}

fn effort_line(effort: &Effort) -> Option<CheckpointLine> {
    let summary = effort.summary.as_ref()?;
    let scope = Scope::Effort(effort.id.clone());
    let handle = Handle::Span { first: TurnNo(1), last: effort.last_active.max(TurnNo(1)), scope };
    let text = format!("[{handle}] {}, concluded: {}", effort.id, summary.text);
    Some(CheckpointLine { turn: effort.last_active, exchanges: effort.log.exchanges, text })
}
