//! Renders recalled texts as a model reads them: oldest first, each conversation under a heading with its date,
//! each text behind its speaker.
//!
//! Texts are shown verbatim. A text's first line follows its speaker and its other lines are quoted
//! ([`quote_lines`]), so no stored text can end the page, begin another conversation, or speak under another name.

use super::{Candidate, TextKind};
use crate::base::ids::{Stamp, StreamId};
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::text::fold_whitespace;
use crate::text::render::quote_lines;

#[derive(Debug, Clone, PartialEq)]
pub struct ShownText {
    pub candidate: Candidate,
    pub text: String,
    pub is_whole: bool,
    /// Whether a newer text on the page restates it differently.
    pub is_stale: bool,
}

pub(super) fn render_page(shown: &[ShownText]) -> String {
    if shown.is_empty() {
        return String::new();
    }
    let mut out = page_header();
    let mut last: Option<&ShownText> = None;
    for item in shown {
        if last.is_none_or(|last| needs_heading(&last.candidate, &item.candidate)) {
            out.push_str(&heading(&item.candidate));
        }
        out.push_str(&render_line(&item.candidate, &item.text, item.is_stale));
        last = Some(item);
    }
    out.push_str(prompt::PAST_MESSAGES_END.trim_end());
    out
}

pub(super) fn empty_page_tokens(counter: &dyn TokenCounter) -> Tokens {
    counter.count(&page_header()) + counter.count(prompt::PAST_MESSAGES_END.trim_end())
}

fn page_header() -> String {
    format!("{}\n", prompt::PAST_MESSAGES.trim_end())
}

pub(super) fn needs_heading(a: &Candidate, b: &Candidate) -> bool {
    heading_key(a) != heading_key(b)
}

fn heading_key(candidate: &Candidate) -> (&StreamId, String) {
    (&candidate.id.stream, candidate.at.date())
}

pub(super) fn heading(candidate: &Candidate) -> String {
    let date = if candidate.at == Stamp(0) { String::new() } else { format!("{}, ", candidate.at.date()) };
    let project =
        candidate.project.as_ref().map_or_else(String::new, |project| format!(", from project {project}"));
    format!("[{date}{}{project}]\n", candidate.id.stream)
}

pub(super) fn render_line(candidate: &Candidate, text: &str, is_stale: bool) -> String {
    let since = if is_stale { ", since changed" } else { "" };
    format!("[{}{since}] {}\n", speaker(candidate), quote_lines(text.trim()))
}

/// The speaker's name, or the role; a name that is also a role's is shown behind the role.
fn speaker(candidate: &Candidate) -> String {
    let role = if candidate.kind == TextKind::Span { "summary" } else { candidate.kind.as_str() };
    match candidate.speaker.as_deref().map(sanitize_name).filter(|name| !name.is_empty()) {
        Some(name) if ROLES.contains(&name.to_lowercase().as_str()) => format!("{role} {name}"),
        Some(name) => name,
        None => role.to_owned(),
    }
}

const ROLES: [&str; 7] = ["user", "assistant", "system", "tool", "summary", "effort", "memory"];

/// A name without characters that could end its bracket.
fn sanitize_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '\'') { c } else { ' ' };
    let name: String = name.chars().map(plain).take(40).collect();
    fold_whitespace(&name)
}
