//! Renders replies to hooks: parts, each within its budget. A reply goes into an agent's context, so it is short,
//! states facts and no commands, and is marked as data. Where there is nothing to say, it is empty.

use crate::base::handle::Handle;
use crate::base::ids::{EffortId, SessionId, Stamp, TurnNo};
use crate::base::ledger::Layer;
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::recall::{Filter, TextKind};
use crate::session::effort::Effort;
use crate::session::state::SessionState;
use crate::text::render::one_line;

/// Agents cut longer output.
const CHARS_MAX: usize = 9_500;
const OPEN_EFFORTS_MAX: usize = 8;
/// Latest sessions of which open efforts are listed.
const OPEN_SESSIONS_MAX: usize = 5;
/// Bytes of a prompt that are searched for.
const QUERY_BYTES_MAX: usize = 4_096;
const RELATED_EFFORTS_MAX: usize = 3;

/// Memory layers that other agents receive: what is recorded, not the stance.
pub const HOOK_LAYERS: [Layer; 6] =
    [Layer::Profile, Layer::Censors, Layer::Decisions, Layer::Facts, Layer::Procedures, Layer::Episodes];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookBudgets {
    /// What the agent's own summary lost.
    pub lost: Tokens,
    pub knowledge: Tokens,
    pub efforts: Tokens,
    pub recalled: Tokens,
}

impl Default for HookBudgets {
    fn default() -> Self {
        Self { lost: Tokens(400), knowledge: Tokens(500), efforts: Tokens(250), recalled: Tokens(850) }
    }
}

impl HookBudgets {
    /// The whole reply's budget, less what parts of it use.
    pub fn left(&self, used: Tokens) -> Tokens {
        let Self { lost, knowledge, efforts, recalled } = *self;
        (lost + knowledge + efforts + recalled).saturating_sub(used)
    }
}

/// What is searched for: the end of a prompt, behind what was pasted.
pub fn question_of(prompt: &str) -> &str {
    &prompt[prompt.ceil_char_boundary(prompt.len().saturating_sub(QUERY_BYTES_MAX))..]
}

/// Whether this is the first prompt since the agent replaced its history with a summary.
pub fn follows_compaction(state: &SessionState) -> bool {
    state.head().compacted.is_some_and(|turn| turn.next() >= state.turn())
}

/// The turns that the agent has in its context beside its own summary; `None`: all of them.
pub fn turns_in_sight(state: &SessionState) -> Option<Handle> {
    let turn = state.head().compacted?;
    Some(Handle::Turns { first: turn.next(), last: TurnNo(state.turn().0.max(turn.0 + 1)) })
}

/// Whether an effort of this session may be shown to the agent of `own`: not what it still has in its context.
pub fn may_show_effort(session: &SessionId, own: &SessionId, own_state: &SessionState) -> bool {
    session != own || own_state.head().compacted.is_some()
}

pub fn effort_filter() -> Filter {
    Filter { kinds: Some([TextKind::Effort].into()), ..Filter::default() }
}

pub fn message_filter() -> Filter {
    Filter { kinds: Some([TextKind::User, TextKind::Assistant, TextKind::Tool].into()), ..Filter::default() }
}

/// The sessions whose open efforts are listed: those that changed last. Of each, its id and when it changed.
pub fn sessions_to_list(mut sessions: Vec<(SessionId, Stamp)>) -> Vec<SessionId> {
    sessions.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sessions.into_iter().take(OPEN_SESSIONS_MAX).map(|(session, _)| session).collect()
}

/// Joins the parts that fit and skips the others.
pub fn join_parts(parts: &[String]) -> String {
    let mut out = String::new();
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        let gap = if out.is_empty() { "" } else { "\n\n" };
        if out.chars().count() + gap.len() + part.chars().count() <= CHARS_MAX {
            out.push_str(gap);
            out.push_str(part);
        }
    }
    out
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenEffort {
    pub session: SessionId,
    pub id: EffortId,
    pub updated: Stamp,
}

impl OpenEffort {
    pub fn of<'a>(session: &'a SessionId, state: &'a SessionState) -> impl Iterator<Item = Self> + 'a {
        state.open_efforts().map(|effort| Self {
            session: session.clone(),
            id: effort.id.clone(),
            updated: effort.updated,
        })
    }
}

/// Lists open efforts, latest first; empty if there are none.
pub fn render_open_efforts(mut efforts: Vec<OpenEffort>, counter: &dyn TokenCounter, budget: Tokens) -> String {
    efforts.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| (&a.session, &a.id).cmp(&(&b.session, &b.id))));
    let line =
        |effort: &OpenEffort| format!("- {} ({}, last {})\n", effort.id, effort.session, effort.updated.date());
    let lines: Vec<String> = efforts.iter().take(OPEN_EFFORTS_MAX).map(line).collect();
    render_list(prompt::OPEN_WORK, &lines, counter, budget)
}

/// Lists earlier efforts with their summaries; an open one has none.
pub fn render_efforts<'a>(
    efforts: impl IntoIterator<Item = (&'a SessionId, &'a Effort)>,
    counter: &dyn TokenCounter,
    budget: Tokens,
) -> String {
    let line = |(session, effort): (&SessionId, &Effort)| {
        let text = effort.summary.as_ref().map_or("(open)", |summary| summary.text.as_str());
        // One line that begins with our text: a summary can neither end the list nor pass for another entry.
        format!("- {} ({session}): {}\n", effort.id, one_line(text))
    };
    let lines: Vec<String> = efforts.into_iter().take(RELATED_EFFORTS_MAX).map(line).collect();
    render_list(prompt::EARLIER_WORK, &lines, counter, budget)
}

fn render_list(head: &str, lines: &[String], counter: &dyn TokenCounter, budget: Tokens) -> String {
    let text =
        |count: usize| format!("{}\n{}{}", head.trim_end(), lines[..count].concat(), prompt::WORK_END.trim_end());
    (1..=lines.len()).rev().map(text).find(|text| counter.count(text) <= budget).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::WordCounter;

    #[test]
    fn an_answer_stays_within_what_agents_take() {
        let part = |c: char, n: usize| c.to_string().repeat(n);
        assert_eq!(join_parts(&[]), "");
        assert_eq!(join_parts(&[" ".into(), "a\n".into(), String::new(), "b".into()]), "a\n\nb");
        // A part that does not fit is skipped; a shorter one may fit.
        let text = join_parts(&[part('a', 9_000), part('b', 2_000), part('ü', 498)]);
        assert_eq!(text.chars().count(), 9_500);
        assert!(!text.contains('b'));
    }

    #[test]
    fn open_work_is_listed_the_latest_first_within_its_room() {
        let effort = |session: &str, id: &str, updated: i64| OpenEffort {
            session: SessionId::from_name(session).expect("a name"),
            id: EffortId::from_name(id).expect("a name"),
            updated: Stamp(updated),
        };
        let efforts = vec![effort("a", "old work", 1), effort("b", "new work", 86_400_000)];
        let text = render_open_efforts(efforts.clone(), &WordCounter, Tokens(100));
        assert!(text.find("new-work (b, last 1970-01-02)") < text.find("old-work"), "{text}");
        assert!(text.starts_with(prompt::MARK) && text.ends_with(']'), "{text}");
        assert_eq!(render_open_efforts(Vec::new(), &WordCounter, Tokens(100)), "");
        for room in 0..40 {
            assert!(
                WordCounter.count(&render_open_efforts(efforts.clone(), &WordCounter, Tokens(room)))
                    <= Tokens(room)
            );
        }
    }
}
