//! What was said, as a prompt shows it: as it was said, but for what only the program may write there.
//!
//! Two rules make our lines ours. [`MARK`] begins each of them, and no text that is not ours keeps it: [`neutral`] parts its two
//! characters. And where a stored text stands inside something of ours, only its first line follows a header of ours, all
//! others stand behind `> ` ([`quoted`]): no line of it can begin, whichever character breaks the line.
//!
//! A model repeats what it reads in its own words. So no remark of ours stands in an assistant's message: what is to be said
//! about one ([`Incomplete`], or that it is shown in part) is said in a message of ours after the exchange.

use std::borrow::Cow;
use std::sync::Arc;

use crate::memory::tame::is_break;
use crate::message::{Counted, Exchange, Incomplete, Message, Role, ToolRound};
use crate::prompt::{self, MARK};
use crate::tokens::{TokenCounter, Tokens};

/// What stands before each line of a stored text but its first.
pub const QUOTE: &str = "> ";

/// Marks that replies ended in before they stood beside them, and that a model that once read them repeats.
const OLD_ENDS: [&str; 3] = ["[interrupted]", "[broken off]", "[cut off at the reply's limit]"];
/// How such a mark begins that says why, and replies that were nothing but one.
const OLD_BEGINNINGS: [&str; 5] = [
    "[broken off: ",
    "[the model gave no answer",
    "[stopped: the limit of tool calls",
    "[The answer is withheld by rule c",
    "[Withheld by rule c",
];
/// What a line says that stood for what is left out.
const OLD_EXCERPT: &str = " tokens left out here";

/// A text in which nothing looks like a mark of ours.
pub fn neutral(text: &str) -> Cow<'_, str> {
    match text.contains(MARK) {
        true => Cow::Owned(text.replace(MARK, "§ [")),
        false => Cow::Borrowed(text),
    }
}

/// A stored text inside something of ours: its first line is to follow a header of ours, the others are quoted.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (at, line) in lines(text).enumerate() {
        if at > 0 {
            out.push('\n');
            out.push_str(QUOTE);
        }
        out.push_str(&neutral(line));
    }
    out
}

/// A stored text on one line.
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || is_break(c)).filter(|word| !word.is_empty());
    neutral(&words.collect::<Vec<_>>().join(" ")).into_owned()
}

/// The lines of a text, whichever character breaks them.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(at) = text.find(is_break) else { return rest.take() };
        let (line, after) = text.split_at(at);
        let width = if after.starts_with("\r\n") { 2 } else { after.chars().next().map_or(1, char::len_utf8) };
        rest = Some(&after[width..]);
        Some(line)
    })
}

/// What a model said, without lines and endings of ours that it repeats or that once stood in it.
pub fn unmarked(text: &str) -> Cow<'_, str> {
    if !text.contains('[') {
        return Cow::Borrowed(text);
    }
    let kept = match text.lines().any(imitates) {
        true => Cow::Owned(text.lines().filter(|line| !imitates(line)).collect::<Vec<_>>().join("\n")),
        false => Cow::Borrowed(text),
    };
    let whole = kept.trim_end();
    let mut end = whole;
    while let Some(shorter) = without_last_mark(end) {
        end = shorter.trim_end();
    }
    if end.len() < whole.len() { Cow::Owned(end.to_owned()) } else { kept }
}

/// Whether a line is one of ours, or was.
fn imitates(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(MARK) || (line.starts_with('[') && line.contains(OLD_EXCERPT))
}

/// A text without a mark at its end; none if there is none.
fn without_last_mark(text: &str) -> Option<&str> {
    if let Some(rest) = OLD_ENDS.iter().find_map(|mark| text.strip_suffix(mark)) {
        return Some(rest);
    }
    let open = text.strip_suffix(']')?.rfind('[')?;
    OLD_BEGINNINGS.iter().any(|beginning| text[open..].starts_with(beginning)).then_some(&text[..open])
}

/// A message as a prompt shows it, and what is to be said about it after its exchange.
struct Shown {
    /// None if there is nothing of it to show.
    said: Option<Counted>,
    note: Option<&'static str>,
}

/// Whether a message is shown as it is.
fn is_plain(said: &Counted) -> bool {
    let Message { role, content, tool_calls, incomplete, .. } = &said.message;
    let is_plain = match role {
        Role::Assistant => {
            matches!(unmarked(content), Cow::Borrowed(_)) && !(content.is_empty() && tool_calls.is_empty())
        }
        Role::User | Role::Tool => true,
        Role::System => false,
    };
    is_plain && incomplete.is_none() && !content.contains(MARK)
}

fn shown(counter: &dyn TokenCounter, said: &Counted) -> Shown {
    if is_plain(said) {
        return Shown { said: Some(said.clone()), note: None };
    }
    let Message { role, content, tool_calls, incomplete, .. } = &said.message;
    let again = |text: String| {
        let message = Message { content: text.into(), incomplete: None, ..said.message.clone() };
        Some(Counted::new(counter, message))
    };
    match role {
        Role::Assistant => {
            let text = neutral(&unmarked(content)).into_owned();
            let is_nothing = text.trim().is_empty() && tool_calls.is_empty();
            let note = incomplete.as_ref().map(about).or(is_nothing.then_some(prompt::REPLY_NONE));
            Shown { said: if is_nothing { None } else { again(text) }, note }
        }
        Role::User | Role::Tool => {
            let text = match incomplete {
                Some(Incomplete::Withheld { rule, .. }) => {
                    prompt::fill(prompt::CENSORED, &[("id", &rule.to_string())])
                }
                Some(Incomplete::Damaged) => prompt::DAMAGED.trim_end().to_owned(),
                Some(
                    Incomplete::Interrupted
                    | Incomplete::BrokenOff { .. }
                    | Incomplete::AtLimit
                    | Incomplete::NoAnswer
                    | Incomplete::CallsExhausted,
                )
                | None => neutral(content).into_owned(),
            };
            Shown { said: again(text), note: None }
        }
        // A client's program said it, in a conversation that it held: the system text of a prompt of ours is ours.
        Role::System => {
            let text = format!("{}{QUOTE}{}", prompt::LOG_SYSTEM, quoted(content));
            Shown { said: Some(Counted::new(counter, Message::user(text))), note: None }
        }
    }
}

/// What is said about a reply.
fn about(incomplete: &Incomplete) -> &'static str {
    match incomplete {
        Incomplete::Interrupted => prompt::REPLY_INTERRUPTED,
        Incomplete::BrokenOff { .. } => prompt::REPLY_BROKEN_OFF,
        Incomplete::AtLimit => prompt::REPLY_AT_LIMIT,
        Incomplete::NoAnswer | Incomplete::CallsExhausted | Incomplete::Withheld { .. } => prompt::REPLY_NONE,
        Incomplete::Damaged => prompt::DAMAGED,
    }
}

/// Messages as a prompt shows them, in order; what is to be said about them is in a message of ours at their end.
pub fn messages<'a>(counter: &dyn TokenCounter, said: impl IntoIterator<Item = &'a Counted>) -> Vec<Counted> {
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    for said in said {
        let Shown { said, note } = shown(counter, said);
        out.extend(said);
        notes.extend(note);
    }
    if !notes.is_empty() {
        let text: String = notes.concat();
        out.push(Counted::new(counter, Message::user(text.trim_end())));
    }
    out
}

/// An exchange as a prompt shows it.
pub(crate) fn exchange(counter: &dyn TokenCounter, of: &Arc<Exchange>) -> Arc<Exchange> {
    if of.messages.iter().all(is_plain) {
        return of.clone();
    }
    Arc::new(Exchange { turn: of.turn, at: of.at, messages: messages(counter, &of.messages) })
}

/// What an exchange costs more as a prompt shows it than as it was said.
pub(crate) fn added(counter: &dyn TokenCounter, of: &Exchange) -> Tokens {
    match of.messages.iter().all(is_plain) {
        true => Tokens::ZERO,
        false => {
            let shown: Tokens = messages(counter, &of.messages).iter().map(|said| said.tokens).sum();
            shown.saturating_sub(of.tokens())
        }
    }
}

/// A message of this turn as a prompt shows it.
pub(crate) fn message<'a>(counter: &dyn TokenCounter, said: &'a Counted) -> Cow<'a, Counted> {
    if is_plain(said) {
        return Cow::Borrowed(said);
    }
    let shown = shown(counter, said).said;
    Cow::Owned(
        shown.unwrap_or_else(|| Counted::new(counter, Message { content: "".into(), ..said.message.clone() })),
    )
}

/// Rounds of this turn as a prompt shows them; notes are ours.
pub(crate) fn rounds<'a>(counter: &dyn TokenCounter, rounds: &'a [ToolRound]) -> Cow<'a, [ToolRound]> {
    if rounds.iter().flat_map(ToolRound::messages).all(is_plain) {
        return Cow::Borrowed(rounds);
    }
    let round = |of: &ToolRound| ToolRound {
        assistant: message(counter, &of.assistant).into_owned(),
        results: of.results.iter().map(|said| message(counter, said).into_owned()).collect(),
        seals: of.seals.clone(),
        notes: of.notes.clone(),
    };
    Cow::Owned(rounds.iter().map(round).collect())
}

#[cfg(test)]
mod tests;
