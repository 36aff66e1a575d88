//! Cuts over-long messages and says what was left out.

use crate::base::handle::Handle;
use crate::base::message::{CountedMessage, Message, Role, message_tokens};
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};

/// An excerpt in less room than this would be useless.
pub const EXCERPT_TOKENS_MIN: Tokens = Tokens(64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutMessage {
    pub counted: CountedMessage,
    /// For an assistant's message, what was left out: the text does not say so, `left_out_note` does.
    pub left_out: Option<(Handle, Tokens)>,
}

/// Cuts a message's text to at most `max` tokens; tool calls and ids stay. User and tool messages keep head and
/// tail, with `marker` between. An assistant's message keeps whole sentences from its beginning and gets no
/// marker.
pub fn cut_message(
    counter: &dyn TokenCounter,
    counted: &CountedMessage,
    handle: &Handle,
    max: Tokens,
    marker: &str,
) -> CutMessage {
    if counted.tokens <= max {
        return CutMessage { counted: counted.clone(), left_out: None };
    }
    let bare = Message { content: "".into(), ..counted.message.clone() };
    let around = message_tokens(counter, &bare);
    let (whole, room) = (counted.tokens - around, max.saturating_sub(around));
    let (text, tokens, left_out) = match counted.message.role {
        Role::Assistant => {
            let PlainExcerpt { text, tokens, left_out } =
                excerpt_plain(counter, &counted.message.content, whole, room);
            (text, tokens, Some((handle.clone(), left_out)).filter(|(_, left_out)| *left_out > Tokens::ZERO))
        }
        Role::User | Role::System | Role::Tool => {
            let (text, tokens) =
                excerpt_with_marker(counter, &counted.message.content, whole, handle, room, marker);
            (text, tokens, None)
        }
    };
    let counted = CountedMessage { message: Message { content: text.into(), ..bare }, tokens: around + tokens };
    CutMessage { counted, left_out }
}

/// Most messages that one note names.
const PARTS_MAX: usize = 4;

/// The note, after the replies, that says what was left out of them; `None` if nothing was.
pub(crate) fn left_out_note(
    counter: &dyn TokenCounter,
    template: &str,
    left_out: &[(Handle, Tokens)],
) -> Option<CountedMessage> {
    let named = left_out.iter().take(PARTS_MAX);
    let mut parts: Vec<String> =
        named.map(|(handle, tokens)| format!("{handle} (about {tokens} tokens left out)")).collect();
    if left_out.len() > PARTS_MAX {
        parts.push(format!("{} more", left_out.len() - PARTS_MAX));
    }
    let line = || prompt::fill(template, &[("parts", &parts.join(", "))]);
    (!parts.is_empty()).then(|| CountedMessage::new(counter, Message::user(line())))
}

/// Room to reserve for that note, as an approximate upper bound.
pub(crate) fn left_out_note_tokens(
    counter: &dyn TokenCounter,
    template: &str,
    handle: &Handle,
    count: usize,
) -> Tokens {
    let longest = vec![(handle.clone(), Tokens(9_999_999)); count];
    left_out_note(counter, template, &longest).map_or(Tokens::ZERO, |line| line.tokens)
}

/// Cuts a text to at most `max` tokens: two thirds head, one third tail, a marker between. `whole` is the text's
/// own count, so it is not counted again; at most a few times `max` tokens of text are read, however long it is.
/// Returns the excerpt and its count.
pub fn excerpt(
    counter: &dyn TokenCounter,
    text: &str,
    whole: Tokens,
    handle: &Handle,
    max: Tokens,
) -> (String, Tokens) {
    excerpt_with_marker(counter, text, whole, handle, max, prompt::EXCERPT)
}

fn excerpt_with_marker(
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

/// An excerpt without a marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainExcerpt {
    /// Ends at a sentence where there is one.
    pub text: String,
    pub tokens: Tokens,
    /// Approximate cost of the rest; reported outside the text.
    pub left_out: Tokens,
}

/// Cuts a text to at most `max` tokens of whole sentences from its beginning. Adds no marker: a model that reads
/// Neap's remarks in its own messages repeats them. If no sentence fits, cuts at a line or word. `whole` is the
/// text's own count.
pub fn excerpt_plain(counter: &dyn TokenCounter, text: &str, whole: Tokens, max: Tokens) -> PlainExcerpt {
    if whole <= max {
        return PlainExcerpt { text: text.to_owned(), tokens: whole, left_out: Tokens::ZERO };
    }
    let mut room = max;
    loop {
        let part = prefix_within(counter, text, room);
        let part = text[..last_boundary(text, part.len())].trim_end();
        let tokens = counter.count(part);
        if tokens <= max {
            return PlainExcerpt { text: part.to_owned(), tokens, left_out: whole.saturating_sub(tokens) };
        }
        // A shorter part may cost more: in some encodings counts do not grow with length.
        room = Tokens(room.0 - 1);
    }
}

/// Where the last whole sentence, line or word within the first `bytes` ends.
fn last_boundary(text: &str, bytes: usize) -> usize {
    if bytes == text.len() {
        return bytes;
    }
    let mut sentence = None;
    let mut word = None;
    let mut ends = false;
    for (at, c) in text[..bytes].char_indices() {
        let after = at + c.len_utf8();
        match c {
            '\n' => sentence = Some(after),
            '。' | '！' | '？' | '।' | '۔' | '؟' => sentence = Some(after),
            '.' | '!' | '?' | '…' => ends = true,
            // A closing quote or bracket belongs to the sentence before it.
            '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '*' | '`' => {}
            _ => ends = false,
        }
        let next = text[after..].chars().next();
        if ends && next.is_none_or(char::is_whitespace) {
            sentence = Some(after);
        }
        if next.is_some_and(char::is_whitespace) {
            word = Some(after);
        }
    }
    sentence.or(word).unwrap_or(bytes)
}

/// Approximately the longest prefix that costs at most `max`.
pub(crate) fn prefix_within<'a>(counter: &dyn TokenCounter, text: &'a str, max: Tokens) -> &'a str {
    shrink_to_fit(counter, max, text.len(), |bytes| &text[..text.floor_char_boundary(bytes)])
}

/// Approximately the longest suffix that costs at most `max`.
fn suffix_within<'a>(counter: &dyn TokenCounter, text: &'a str, max: Tokens) -> &'a str {
    shrink_to_fit(counter, max, text.len(), |bytes| &text[text.ceil_char_boundary(text.len() - bytes)..])
}

fn shrink_to_fit<'a>(
    counter: &dyn TokenCounter,
    max: Tokens,
    len: usize,
    cut: impl Fn(usize) -> &'a str,
) -> &'a str {
    let mut bytes = len.min(usize::try_from(max.0).unwrap_or(usize::MAX).saturating_mul(4));
    loop {
        let part = cut(bytes);
        let tokens = counter.count(part);
        if tokens <= max {
            return part;
        }
        // Shrink by the overshoot, and always by something.
        let scaled = (part.len() as u128 * u128::from(max.0) / u128::from(tokens.0)) as usize;
        bytes = scaled.min(part.len().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::TurnNo;
    use crate::base::testing::WordCounter;

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
    fn a_plain_excerpt_keeps_whole_sentences_and_adds_nothing() {
        let check = |text: &str, max: u64, want: &str| {
            let whole = WordCounter.count(text);
            let cut = excerpt_plain(&WordCounter, text, whole, Tokens(max));
            assert_eq!(cut.text, want, "{text:?}");
            assert_eq!(cut.tokens, WordCounter.count(want));
            assert_eq!(cut.left_out, whole.saturating_sub(cut.tokens));
        };
        let text = "The port is 5433. It was 5432 until v1.2 came. Ask \"Ann (or Tim).\" And so on and on.";
        check(text, 100, text);
        check(text, 9, "The port is 5433.");
        check(text, 16, "The port is 5433. It was 5432 until v1.2 came.");
        check(text, 24, "The port is 5433. It was 5432 until v1.2 came. Ask \"Ann (or Tim).\"");
        check(text, 3, "The port is");
        check(text, 0, "");
        check("- one thing\n- another thing\n- a third thing", 5, "- one thing");
    }

    proptest::proptest! {
        /// The excerpt is a prefix of the text, within the limit, and splits no word where words can be
        /// recognised.
        #[test]
        fn a_plain_excerpt_is_a_beginning_of_its_text(
            text in "([a-z]{1,9}[.!?]? |[.\\n]|日本。|é…|[0-9]{3}){0,60}", max in 0_u64..60,
        ) {
            let whole = WordCounter.count(&text);
            let cut = excerpt_plain(&WordCounter, &text, whole, Tokens(max));
            proptest::prop_assert!(cut.tokens <= Tokens(max) || cut.text == text);
            proptest::prop_assert!(text.starts_with(&cut.text));
            let next = text[cut.text.len()..].chars().next();
            let last = cut.text.chars().next_back();
            let splits = |c: char| c.is_ascii_lowercase();
            let is_split = next.is_some_and(splits) && last.is_some_and(splits) && text.contains(' ');
            proptest::prop_assert!(!is_split || !cut.text.contains(' '), "{:?} of {:?}", cut.text, text);
        }
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
