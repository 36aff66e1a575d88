//! An over-long message, shown head and tail with a line that says what is missing (DESIGN, decision 19).

use crate::handle::Handle;
use crate::message::{Counted, Message, message_tokens};
use crate::prompt;
use crate::tokens::{TokenCounter, Tokens};

/// Room below which an excerpt would say nothing.
pub const EXCERPT_TOKENS_MIN: Tokens = Tokens(64);

/// Cuts a message to at most `max` tokens by cutting what it says; calls and ids stay as they are.
pub fn cut_message(counter: &dyn TokenCounter, said: &Counted, handle: &Handle, max: Tokens) -> Counted {
    cut_message_as(counter, said, handle, max, prompt::EXCERPT)
}

/// The same with other words in place of what is missing.
pub(crate) fn cut_message_as(
    counter: &dyn TokenCounter,
    said: &Counted,
    handle: &Handle,
    max: Tokens,
    marker: &str,
) -> Counted {
    if said.tokens <= max {
        return said.clone();
    }
    let bare = Message { content: "".into(), ..said.message.clone() };
    let around = message_tokens(counter, &bare);
    let whole = said.tokens - around;
    let (text, tokens) =
        excerpt_as(counter, &said.message.content, whole, handle, max.saturating_sub(around), marker);
    Counted { message: Message { content: text.into(), ..bare }, tokens: around + tokens }
}

/// Cuts a text to at most `max` tokens: two thirds head, one third tail, a marker between.
///
/// `whole` is the text's own count, which is never made again. At most a few times `max` tokens of text
/// are looked at, however long it is. Returns the excerpt and its count.
pub fn excerpt(
    counter: &dyn TokenCounter,
    text: &str,
    whole: Tokens,
    handle: &Handle,
    max: Tokens,
) -> (String, Tokens) {
    excerpt_as(counter, text, whole, handle, max, prompt::EXCERPT)
}

fn excerpt_as(
    counter: &dyn TokenCounter,
    text: &str,
    whole: Tokens,
    handle: &Handle,
    max: Tokens,
    marker: &str,
) -> (String, Tokens) {
    let handle = handle.to_string();
    let mut room = max;
    loop {
        let head = prefix_within(counter, text, Tokens(room.0 * 2 / 3));
        let tail = suffix_within(counter, &text[head.len()..], Tokens(room.0 / 3));
        let shown = counter.count(head) + counter.count(tail);
        let left_out = whole.saturating_sub(shown).to_string();
        let marker = prompt::fill(marker, &[("count", &left_out), ("handle", &handle)]);
        let excerpt = format!("{head}{marker}{tail}");
        let tokens = counter.count(&excerpt);
        if tokens <= max {
            return (excerpt, tokens);
        }
        if room == Tokens::ZERO {
            return (String::new(), Tokens::ZERO);
        }
        room = room.saturating_sub(Tokens((tokens.0 - max.0).max(1)));
    }
}

/// The longest beginning that costs at most `max` and ends with a sentence; where not even one sentence fits, with a word.
pub(crate) fn whole_sentences<'a>(counter: &dyn TokenCounter, text: &'a str, max: Tokens) -> &'a str {
    let part = prefix_within(counter, text, max);
    if part.len() == text.len() {
        return part;
    }
    let ends = |(at, c): (usize, char)| {
        let next = text[at + c.len_utf8()..].chars().next();
        let is_end = match c {
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            '\n' | '。' | '！' | '？' => true,
            _ => false,
        };
        is_end.then_some(at + c.len_utf8())
    };
    let sentence = part.char_indices().rev().find_map(ends);
    let word = || part.rfind(char::is_whitespace);
    &part[..sentence.or_else(word).unwrap_or(part.len())]
}

/// The longest beginning, near enough, that costs at most `max`.
pub(crate) fn prefix_within<'a>(counter: &dyn TokenCounter, text: &'a str, max: Tokens) -> &'a str {
    within(counter, max, text.len(), |bytes| &text[..text.floor_char_boundary(bytes)])
}

/// The longest end, near enough, that costs at most `max`.
fn suffix_within<'a>(counter: &dyn TokenCounter, text: &'a str, max: Tokens) -> &'a str {
    within(counter, max, text.len(), |bytes| &text[text.ceil_char_boundary(text.len() - bytes)..])
}

fn within<'a>(counter: &dyn TokenCounter, max: Tokens, len: usize, cut: impl Fn(usize) -> &'a str) -> &'a str {
    let mut bytes = len.min(usize::try_from(max.0).unwrap_or(usize::MAX).saturating_mul(4));
    loop {
        let part = cut(bytes);
        let tokens = counter.count(part);
        if tokens <= max {
            return part;
        }
        // Shrinks by the overshoot, and always by something.
        let scaled = (part.len() as u128 * u128::from(max.0) / u128::from(tokens.0)) as usize;
        bytes = scaled.min(part.len().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TurnNo;
    use crate::testing::WordCounter;

    #[track_caller]
    fn check(text: &str, max: u64) -> String {
        let whole = WordCounter.count(text);
        let (out, tokens) = excerpt(&WordCounter, text, whole, &Handle::Turn(TurnNo(7)), Tokens(max));
        assert_eq!(tokens, WordCounter.count(&out));
        assert!(tokens <= Tokens(max), "{tokens} > {max}");
        out
    }

    #[test]
    fn head_and_tail_stay_and_the_marker_says_what_is_missing() {
        let text: Vec<String> = (0..1000).map(|n| format!("w{n}")).collect();
        let out = check(&text.join(" "), 120);
        assert!(out.starts_with("w0 w1 w2"), "{out}");
        assert!(out.ends_with("w998 w999"), "{out}");
        assert!(out.contains("fetch_original t7 has the whole"), "{out}");
    }

    #[test]
    fn any_room_is_respected_on_any_text() {
        for max in [0, 1, 5, 30, 64, 200] {
            check(&"x".repeat(5_000), max);
            check(&"日本語 ".repeat(2_000), max);
            check(&"\n".repeat(3_000), max);
        }
    }
}
