//! Renders stored messages for a prompt, so that a model can tell Neap's lines from the conversation.
//!
//! Two rules protect those lines. [`MARK`] begins each of them and [`escape_marks`] breaks it up in all other
//! text. Stored text inside a section of Neap's is quoted ([`quote_lines`]): its first line follows a header and
//! every other line begins with `> `, whichever character breaks the line.
//!
//! A model repeats what it reads in its own messages. So no remark stands in an assistant's message: notes about
//! it ([`Incomplete`], or that it is cut) go into a separate message after the exchange.

use std::borrow::Cow;
use std::sync::Arc;

use crate::base::message::{CountedMessage, Exchange, Incomplete, Message, Role, ToolRound};
use crate::base::prompt::{self, MARK};
use crate::base::tokens::{TokenCounter, Tokens};
use crate::text::sanitize::is_line_break;

/// Prefix of each line of a quoted text but the first.
pub const QUOTE: &str = "> ";

/// Marks that older versions appended to replies and that models repeat.
const LEGACY_MARKS: [&str; 3] = ["[interrupted]", "[broken off]", "[cut off at the reply's limit]"];
/// Beginnings of such marks that give a reason, and of replies that were nothing but a mark.
const LEGACY_MARK_PREFIXES: [&str; 5] = [
    "[broken off: ",
    "[the model gave no answer",
    "[stopped: the limit of tool calls",
    "[The answer is withheld by rule c",
    "[Withheld by rule c",
];
/// Part of the line that older versions inserted into excerpts.
const LEGACY_EXCERPT: &str = " tokens left out here";

/// Breaks up every [`MARK`] in a text.
pub fn escape_marks(text: &str) -> Cow<'_, str> {
    match text.contains(MARK) {
        true => Cow::Owned(text.replace(MARK, "§ [")),
        false => Cow::Borrowed(text),
    }
}

/// Quotes a stored text: its first line is to follow a header, the others get [`QUOTE`].
pub fn quote_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (at, line) in lines(text).enumerate() {
        if at > 0 {
            out.push('\n');
            out.push_str(QUOTE);
        }
        out.push_str(&escape_marks(line));
    }
    out
}

/// Folds a stored text to one line.
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || is_line_break(c)).filter(|word| !word.is_empty());
    escape_marks(&words.collect::<Vec<_>>().join(" ")).into_owned()
}

/// Lines of a text, by any line-break character.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(at) = text.find(is_line_break) else { return rest.take() };
        let (line, after) = text.split_at(at);
        let width = if after.starts_with("\r\n") { 2 } else { after.chars().next().map_or(1, char::len_utf8) };
        rest = Some(&after[width..]);
        Some(line)
    })
}

/// Removes Neap's lines and endings from a model's text, whether repeated by the model or written by an older
/// version.
pub fn strip_marks(text: &str) -> Cow<'_, str> {
    if !text.contains('[') {
        return Cow::Borrowed(text);
    }
    let unmarked = match text.lines().any(is_marked_line) {
        true => Cow::Owned(text.lines().filter(|line| !is_marked_line(line)).collect::<Vec<_>>().join("\n")),
        false => Cow::Borrowed(text),
    };
    let whole = unmarked.trim_end();
    let mut end = whole;
    while let Some(shorter) = strip_last_mark(end) {
        end = shorter.trim_end();
    }
    if end.len() < whole.len() { Cow::Owned(end.to_owned()) } else { unmarked }
}

/// Whether a line is a marker, current or legacy.
fn is_marked_line(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(MARK) || (line.starts_with('[') && line.contains(LEGACY_EXCERPT))
}

/// The text without the mark at its end; `None` if it ends in none.
fn strip_last_mark(text: &str) -> Option<&str> {
    if let Some(rest) = LEGACY_MARKS.iter().find_map(|mark| text.strip_suffix(mark)) {
        return Some(rest);
    }
    let open = text.strip_suffix(']')?.rfind('[')?;
    LEGACY_MARK_PREFIXES.iter().any(|beginning| text[open..].starts_with(beginning)).then_some(&text[..open])
}

/// A rendered message, and the note to add after its exchange.
struct RenderedMessage {
    /// `None` if nothing of it is shown.
    counted: Option<CountedMessage>,
    note: Option<&'static str>,
}

/// Whether a message is shown unchanged.
fn is_plain(counted: &CountedMessage) -> bool {
    let Message { role, content, tool_calls, incomplete, .. } = &counted.message;
    let is_plain = match role {
        Role::Assistant => {
            matches!(strip_marks(content), Cow::Borrowed(_)) && !(content.is_empty() && tool_calls.is_empty())
        }
        Role::User | Role::Tool => true,
        Role::System => false,
    };
    is_plain && incomplete.is_none() && !content.contains(MARK)
}

fn render_message(counter: &dyn TokenCounter, counted: &CountedMessage) -> RenderedMessage {
    if is_plain(counted) {
        return RenderedMessage { counted: Some(counted.clone()), note: None };
    }
    let Message { role, content, tool_calls, incomplete, .. } = &counted.message;
    let recount = |text: String| {
        let message = Message { content: text.into(), incomplete: None, ..counted.message.clone() };
        Some(CountedMessage::new(counter, message))
    };
    match role {
        Role::Assistant => {
            let text = escape_marks(&strip_marks(content)).into_owned();
            let is_nothing = text.trim().is_empty() && tool_calls.is_empty();
            let note = incomplete.as_ref().map(incomplete_note).or(is_nothing.then_some(prompt::REPLY_NONE));
            RenderedMessage { counted: if is_nothing { None } else { recount(text) }, note }
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
                | None => escape_marks(content).into_owned(),
            };
            RenderedMessage { counted: recount(text), note: None }
        }
        // A client's program wrote it: only Neap's own text may be the system text of its prompt.
        Role::System => {
            let text = format!("{}{QUOTE}{}", prompt::LOG_SYSTEM, quote_lines(content));
            RenderedMessage { counted: Some(CountedMessage::new(counter, Message::user(text))), note: None }
        }
    }
}

fn incomplete_note(incomplete: &Incomplete) -> &'static str {
    match incomplete {
        Incomplete::Interrupted => prompt::REPLY_INTERRUPTED,
        Incomplete::BrokenOff { .. } => prompt::REPLY_BROKEN_OFF,
        Incomplete::AtLimit => prompt::REPLY_AT_LIMIT,
        Incomplete::NoAnswer | Incomplete::CallsExhausted | Incomplete::Withheld { .. } => prompt::REPLY_NONE,
        Incomplete::Damaged => prompt::DAMAGED,
    }
}

/// Renders messages in order; notes about them go into one message at the end.
pub fn messages<'a>(
    counter: &dyn TokenCounter,
    input: impl IntoIterator<Item = &'a CountedMessage>,
) -> Vec<CountedMessage> {
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    for message in input {
        let RenderedMessage { counted, note } = render_message(counter, message);
        out.extend(counted);
        notes.extend(note);
    }
    if !notes.is_empty() {
        let text: String = notes.concat();
        out.push(CountedMessage::new(counter, Message::user(text.trim_end())));
    }
    out
}

pub(crate) fn exchange(counter: &dyn TokenCounter, exchange: &Arc<Exchange>) -> Arc<Exchange> {
    if exchange.messages.iter().all(is_plain) {
        return exchange.clone();
    }
    Arc::new(Exchange { turn: exchange.turn, at: exchange.at, messages: messages(counter, &exchange.messages) })
}

/// How many more tokens an exchange costs when rendered.
pub(crate) fn added_tokens(counter: &dyn TokenCounter, exchange: &Exchange) -> Tokens {
    match exchange.messages.iter().all(is_plain) {
        true => Tokens::ZERO,
        false => {
            let shown: Tokens = messages(counter, &exchange.messages).iter().map(|counted| counted.tokens).sum();
            shown.saturating_sub(exchange.tokens())
        }
    }
}

pub(crate) fn message<'a>(counter: &dyn TokenCounter, counted: &'a CountedMessage) -> Cow<'a, CountedMessage> {
    if is_plain(counted) {
        return Cow::Borrowed(counted);
    }
    let shown = render_message(counter, counted).counted;
    Cow::Owned(shown.unwrap_or_else(|| {
        CountedMessage::new(counter, Message { content: "".into(), ..counted.message.clone() })
    }))
}

/// Renders this turn's tool rounds; their notes are Neap's own and stay.
pub(crate) fn rounds<'a>(counter: &dyn TokenCounter, rounds: &'a [ToolRound]) -> Cow<'a, [ToolRound]> {
    if rounds.iter().flat_map(ToolRound::messages).all(is_plain) {
        return Cow::Borrowed(rounds);
    }
    let render = |round: &ToolRound| ToolRound {
        assistant: message(counter, &round.assistant).into_owned(),
        results: round.results.iter().map(|result| message(counter, result).into_owned()).collect(),
        seals: round.seals.clone(),
        notes: round.notes.clone(),
    };
    Cow::Owned(rounds.iter().map(render).collect())
}

#[cfg(test)]
mod tests;
