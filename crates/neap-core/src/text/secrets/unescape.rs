//! Decodes escapes so that words in escaped text are found: an escaped line break, tab or slash, or a terminal
//! colour, hides where a word begins. Escapes of any depth are decoded, and offsets are mapped back to the source.

pub(super) struct Unescaped {
    pub(super) text: String,
    /// Pairs of an offset in `text` and its source offset, where a run begins.
    offsets: Vec<(usize, usize)>,
}

impl Unescaped {
    /// The source offset of an offset in `text`: before or behind an escape, never inside.
    pub(super) fn source_offset(&self, at: usize) -> usize {
        let after = self.offsets.partition_point(|(here, _)| *here <= at);
        self.offsets[..after].last().map_or(at, |(here, there)| there + (at - here))
    }
}

/// Decodes a text's escapes; `None` if it has none. Quotes stay: how deep they are escaped tells which belong
/// together.
pub(super) fn unescape(text: &str) -> Option<Unescaped> {
    let bytes = text.as_bytes();
    let mut plain = Unescaped { text: String::new(), offsets: Vec::new() };
    let (mut copied, mut at) = (0, 0);
    while let Some(next) = bytes[at..].iter().position(|byte| matches!(*byte, b'\\' | ESCAPE)) {
        at += next;
        let slashes = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
        match decode_escape(&bytes[at + slashes..], slashes > 0) {
            Some((length, byte)) => {
                plain.text.push_str(&text[copied..at]);
                plain.offsets.push((plain.text.len(), at));
                plain.text.push(char::from(byte));
                at += slashes + length;
                plain.offsets.push((plain.text.len(), at));
                copied = at;
            }
            None => at += slashes.max(1),
        }
    }
    if plain.offsets.is_empty() {
        return None;
    }
    plain.text.push_str(&text[copied..]);
    Some(plain)
}

const ESCAPE: u8 = 0x1b;

/// An escape's length behind its backslashes, and the byte it means.
fn decode_escape(rest: &[u8], is_escaped: bool) -> Option<(usize, u8)> {
    let (length, byte) = match rest {
        [ESCAPE, ..] => (1, ESCAPE),
        _ if !is_escaped => return None,
        [b'n', ..] => (1, b'\n'),
        [b'r', ..] => (1, b'\r'),
        [b't', ..] => (1, b'\t'),
        [b'/', ..] => (1, b'/'),
        [b'e', ..] => (1, ESCAPE),
        [b'0', b'3', b'3', ..] => (3, ESCAPE),
        [b'u', b'0', b'0', high, low, ..] => (5, hex_byte(*high, *low)?),
        [b'x', high, low, ..] => (3, hex_byte(*high, *low)?),
        _ => return None,
    };
    if byte != ESCAPE {
        return Some((length, byte));
    }
    // A colour separates words, so it becomes a space.
    let numbers =
        rest.get(length + 1..)?.iter().take(16).take_while(|b| b.is_ascii_digit() || **b == b';').count();
    let end = length + 1 + numbers;
    (rest[length] == b'[' && rest.get(end) == Some(&b'm')).then_some((end + 1, b' '))
}

fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? * 16 + digit(low)?).filter(u8::is_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_at_any_depth_and_places_found_again() {
        let text = "a\\nb\\\\tc \\u001b[31;1md\\u0026e:\\/\\/f \\\"g\\\" \u{1b}[0mh\\\\";
        let plain = unescape(text).expect("it has some");
        assert_eq!(plain.text, "a\nb\tc  d&e://f \\\"g\\\"  h\\\\");
        for word in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            let at = plain.text.find(word).expect("it is there");
            assert_eq!(&text[plain.source_offset(at)..plain.source_offset(at + 1)], word);
        }
        let slash = plain.text.find('/').expect("it is there");
        assert_eq!(&text[plain.source_offset(slash)..plain.source_offset(slash + 2)], "\\/\\/");
        assert_eq!(plain.source_offset(plain.text.len()), text.len());
    }

    #[test]
    fn what_has_none_is_not_copied() {
        for text in ["", "plain", "a\\\"b\\\\", "\\d+\\s", "\u{1b}]0;title", "\\u00e9\\u4e00", "\\"] {
            assert!(unescape(text).is_none(), "{text}");
        }
    }
}
