//! Splits what is too long for one summary.

use crate::base::message::{Message, message_tokens};
use crate::base::tokens::{TokenCounter, Tokens};

/// Splits messages into chunks of at most `tokens_max`, in order: whole messages where they fit, else cut at
/// sentences, words or characters.
pub fn chunks(counter: &dyn TokenCounter, tokens_max: Tokens, messages: &[Message]) -> Vec<Vec<Message>> {
    let mut out: Vec<Vec<Message>> = Vec::new();
    let mut room = Tokens::ZERO;
    for message in messages.iter().flat_map(|message| split_message(counter, tokens_max, message)) {
        let tokens = message_tokens(counter, &message);
        match out.last_mut() {
            Some(chunk) if tokens <= room => {
                chunk.push(message);
                room -= tokens;
            }
            Some(_) | None => {
                out.push(vec![message]);
                room = tokens_max.saturating_sub(tokens);
            }
        }
    }
    out
}

/// One message, or pieces of it that fit. A single character is not split further.
fn split_message(counter: &dyn TokenCounter, tokens_max: Tokens, message: &Message) -> Vec<Message> {
    if message_tokens(counter, message) <= tokens_max {
        return vec![message.clone()];
    }
    let mut out = Vec::new();
    let mut rest = vec![&*message.content];
    while let Some(text) = rest.pop() {
        let piece = Message { content: text.into(), tool_calls: Vec::new(), ..message.clone() };
        let middle = split_point(text);
        if middle == 0 || middle == text.len() || message_tokens(counter, &piece) <= tokens_max {
            out.push(piece);
        } else {
            let (head, tail) = text.split_at(middle);
            rest.extend([tail, head]);
        }
    }
    out
}

/// Where to split a text, near its middle.
fn split_point(text: &str) -> usize {
    let half = match text.floor_char_boundary(text.len() / 2) {
        0 => text.ceil_char_boundary(text.len().min(1)),
        at => at,
    };
    let from = text.floor_char_boundary(text.len() / 4);
    let stretch = &text[from..half];
    let sentence =
        ['\n', '。', '！', '？'].iter().filter_map(|end| stretch.rfind(*end).map(|at| at + end.len_utf8()));
    let stop = [". ", "! ", "? "].iter().filter_map(|end| stretch.rfind(end).map(|at| at + end.len()));
    let best = sentence.chain(stop).max().or_else(|| stretch.rfind(' ').map(|at| at + 1));
    best.map_or(half, |at| from + at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::testing::WordCounter;

    #[test]
    fn whole_messages_stay_together_and_long_ones_are_cut_at_sentences() {
        let messages = [
            Message::user("one two"),
            Message::user("three"),
            Message::user("Four five six. Seven eight nine ten."),
        ];
        let chunks = chunks(&WordCounter, Tokens(12), &messages);
        let texts: Vec<Vec<&str>> =
            chunks.iter().map(|chunk| chunk.iter().map(|m| &*m.content).collect()).collect();
        assert_eq!(texts, [vec!["one two", "three"], vec!["Four five six. "], vec!["Seven eight nine ten."]]);
    }

    proptest! {
        /// Nothing is lost, and nothing exceeds the limit unless it is a single character.
        #[test]
        fn chunks_hold_everything_within_their_size(texts in prop::collection::vec("\\PC{0,80}", 0..6), max in 5u64..30) {
            let messages: Vec<Message> = texts.iter().map(|text| Message::user(text.as_str())).collect();
            let chunks = chunks(&WordCounter, Tokens(max), &messages);
            let back: String = chunks.iter().flatten().map(|m| m.content.to_string()).collect();
            prop_assert_eq!(back, texts.concat());
            for chunk in chunks {
                let tokens: Tokens = chunk.iter().map(|m| message_tokens(&WordCounter, m)).sum();
                prop_assert!(tokens <= Tokens(max));
            }
        }
    }
}
