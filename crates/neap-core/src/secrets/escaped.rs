//! Texts inside texts: a line break, a tab or a slash that is written as an escape hides where a word begins, and a colour of
//! a terminal does as well. They are read as what they mean, at whatever depth, and found places are told in the text as it is.

/// A text with its escapes read.
pub(super) struct Plain {
    pub(super) text: String,
    /// Where a stretch begins here, and where there.
    places: Vec<(usize, usize)>,
}

impl Plain {
    /// Where a place is in the text as it was: before an escape or behind it, never inside.
    pub(super) fn place(&self, at: usize) -> usize {
        let after = self.places.partition_point(|(here, _)| *here <= at);
        self.places[..after].last().map_or(at, |(here, there)| there + (at - here))
    }
}

/// The text with its escapes read; none if it has none. Quotes stay as they are: how often they are escaped tells which of
/// them belong together.
pub(super) fn plain(text: &str) -> Option<Plain> {
    let bytes = text.as_bytes();
    let mut plain = Plain { text: String::new(), places: Vec::new() };
    let (mut copied, mut at) = (0, 0);
    while let Some(next) = bytes[at..].iter().position(|byte| matches!(*byte, b'\\' | ESCAPE)) {
        at += next;
        let slashes = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
        match read(&bytes[at + slashes..], slashes > 0) {
            Some((length, byte)) => {
                plain.text.push_str(&text[copied..at]);
                plain.places.push((plain.text.len(), at));
                plain.text.push(char::from(byte));
                at += slashes + length;
                plain.places.push((plain.text.len(), at));
                copied = at;
            }
            None => at += slashes.max(1),
        }
    }
    if plain.places.is_empty() {
        return None;
    }
    plain.text.push_str(&text[copied..]);
    Some(plain)
}

const ESCAPE: u8 = 0x1b;

/// What an escape means, and how long it is behind its backslashes.
fn read(rest: &[u8], is_escaped: bool) -> Option<(usize, u8)> {
    let (length, byte) = match rest {
        [ESCAPE, ..] => (1, ESCAPE),
        _ if !is_escaped => return None,
        [b'n', ..] => (1, b'\n'),
        [b'r', ..] => (1, b'\r'),
        [b't', ..] => (1, b'\t'),
        [b'/', ..] => (1, b'/'),
        [b'e', ..] => (1, ESCAPE),
        [b'0', b'3', b'3', ..] => (3, ESCAPE),
        [b'u', b'0', b'0', high, low, ..] => (5, hexadecimal(*high, *low)?),
        [b'x', high, low, ..] => (3, hexadecimal(*high, *low)?),
        _ => return None,
    };
    if byte != ESCAPE {
        return Some((length, byte));
    }
    // A colour parts words, and is none itself.
    let numbers =
        rest.get(length + 1..)?.iter().take(16).take_while(|b| b.is_ascii_digit() || **b == b';').count();
    let end = length + 1 + numbers;
    (rest[length] == b'[' && rest.get(end) == Some(&b'm')).then_some((end + 1, b' '))
}

fn hexadecimal(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? * 16 + digit(low)?).filter(u8::is_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_at_any_depth_and_places_found_again() {
        let text = "a\\nb\\\\tc \\u001b[31;1md\\u0026e:\\/\\/f \\\"g\\\" \u{1b}[0mh\\\\";
        let plain = plain(text).expect("it has some");
        assert_eq!(plain.text, "a\nb\tc  d&e://f \\\"g\\\"  h\\\\");
        for word in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            let at = plain.text.find(word).expect("it is there");
            assert_eq!(&text[plain.place(at)..plain.place(at + 1)], word);
        }
        let slash = plain.text.find('/').expect("it is there");
        assert_eq!(&text[plain.place(slash)..plain.place(slash + 2)], "\\/\\/");
        assert_eq!(plain.place(plain.text.len()), text.len());
    }

    #[test]
    fn what_has_none_is_not_copied() {
        for text in ["", "plain", "a\\\"b\\\\", "\\d+\\s", "\u{1b}]0;title", "\\u00e9\\u4e00", "\\"] {
            assert!(plain(text).is_none(), "{text}");
        }
    }
}
