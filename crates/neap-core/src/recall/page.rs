//! What was recalled, as a model reads it: oldest first, each conversation under a line that says when it was, each text behind
//! who said it.
//!
//! What was said stands as it was said. Only our own lines begin at the margin: of a text, the first line follows who said it and
//! the others are quoted ([`quoted`]), so that no stored text can end the page, begin another conversation, or speak in another's
//! name.

use super::{Card, TextKind};
use crate::ids::{SessionId, Stamp};
use crate::prompt;
use crate::render::quoted;
use crate::tokens::{TokenCounter, Tokens};

/// A text that has a place on the page.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// What is known of it.
    pub card: Card,
    /// Its words, or the part of them that is shown.
    pub text: String,
    /// Whether these are all of them.
    pub is_whole: bool,
    /// Whether a newer text on the page says the same thing otherwise.
    pub is_stale: bool,
}

/// The page; empty if there is nothing on it.
pub(super) fn page(shown: &[Shown]) -> String {
    if shown.is_empty() {
        return String::new();
    }
    let mut out = head();
    let mut last: Option<&Shown> = None;
    for item in shown {
        if last.is_none_or(|last| is_apart(&last.card, &item.card)) {
            out.push_str(&heading(&item.card));
        }
        out.push_str(&line(&item.card, &item.text, item.is_stale));
        last = Some(item);
    }
    out.push_str(prompt::PAST_END.trim_end());
    out
}

/// What the page costs with nothing on it.
pub(super) fn frame_tokens(counter: &dyn TokenCounter) -> Tokens {
    counter.count(&head()) + counter.count(prompt::PAST_END.trim_end())
}

fn head() -> String {
    format!("{}\n", prompt::PAST.trim_end())
}

/// Whether two texts stand under different headings.
pub(super) fn is_apart(a: &Card, b: &Card) -> bool {
    place(a) != place(b)
}

fn place(card: &Card) -> (&SessionId, String) {
    (&card.id.stream, card.at.date())
}

/// The line over the texts of one conversation.
pub(super) fn heading(card: &Card) -> String {
    if card.at == Stamp(0) {
        format!("[{}]\n", card.id.stream)
    } else {
        format!("[{}, {}]\n", card.at.date(), card.id.stream)
    }
}

/// A text on the page.
pub(super) fn line(card: &Card, text: &str, is_stale: bool) -> String {
    let since = if is_stale { ", since changed" } else { "" };
    format!("[{}{since}] {}\n", speaker(card), quoted(text.trim()))
}

/// Who said it: a name, where there is one that is no role's, else the role.
fn speaker(card: &Card) -> String {
    let role = if card.kind == TextKind::Span { "summary" } else { card.kind.as_str() };
    match card.who.as_deref().map(tame_name).filter(|name| !name.is_empty()) {
        Some(name) if ROLES.contains(&name.to_lowercase().as_str()) => format!("{role} {name}"),
        Some(name) => name,
        None => role.to_owned(),
    }
}

/// Words that name a role: nobody goes by them alone.
const ROLES: [&str; 7] = ["user", "assistant", "system", "tool", "summary", "effort", "memory"];

/// A name of plain characters, which cannot end the bracket that it stands in.
fn tame_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '\'') { c } else { ' ' };
    let name: String = name.chars().map(plain).take(40).collect();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}
