//! What may reach a terminal. Stored text, names and errors come from elsewhere: a control character could drive the
//! terminal, and a mark of the direction of text could show it in another order. They are shown by their numbers. All
//! output goes through [`guard`], which lets only our own colours pass.

use std::borrow::Cow;
use std::fmt::Write as _;

use neap_core::text::sanitize::is_invisible;

/// Soft hyphens, joiners and the selectors of emoji draw nothing and move nothing: they may pass.
pub(crate) fn is_risky(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || (is_invisible(c) && c != '\u{ad}' && c != '\u{34f}')
}

/// Escapes what could drive a terminal, in text that is not ours.
pub(crate) fn escape_control(text: &str) -> Cow<'_, str> {
    if !text.contains(is_risky) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        push(&mut escaped, c);
    }
    Cow::Owned(escaped)
}

/// The same for whole lines of output, in which our colours stay.
pub(crate) fn guard(text: &str) -> Cow<'_, str> {
    if !text.contains(is_risky) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = colour_length(rest);
        match colour {
            0 => push(&mut safe, c),
            length => safe.push_str(&rest[..length]),
        }
        rest = &rest[colour.max(c.len_utf8())..];
    }
    Cow::Owned(safe)
}

/// Length of a sequence at the start that only sets a colour or a weight, as our styles do; else 0.
fn colour_length(text: &str) -> usize {
    let Some(codes) = text.strip_prefix("\u{1b}[") else { return 0 };
    let length = codes.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if length <= CODES_MAX && codes[length..].starts_with('m') { length + 3 } else { 0 }
}

const CODES_MAX: usize = 8;

fn push(safe: &mut String, c: char) {
    if is_risky(c) {
        // Writing to a string cannot fail.
        let _ = write!(safe, "{}", c.escape_unicode());
    } else {
        safe.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::out::BANNER;

    #[test]
    fn escape_sequences_are_shown_not_sent() {
        assert_eq!(escape_control("a\u{1b}[2Jb\0c\n"), "a\\u{1b}[2Jb\\u{0}c\n");
        assert_eq!(escape_control("plain ✓ 👩‍💻"), "plain ✓ 👩‍💻");
        assert_eq!(escape_control("ab\u{202e}cd"), "ab\\u{202e}cd");
    }

    #[test]
    fn our_colours_pass_and_nothing_else() {
        let line = format!("{BANNER}done{BANNER:#} \u{1b}]0;title\u{7} \u{1b}[2J");
        assert_eq!(guard(&line), format!("{BANNER}done{BANNER:#} \\u{{1b}}]0;title\\u{{7}} \\u{{1b}}[2J"));
    }

    /// Every character, alone and between others: what is printed has no control character but our own colours.
    #[test]
    fn no_character_drives_a_terminal() {
        // All of the ranges with marks, and a part of the rest.
        let codes =
            (0..0x3000).chain((0x3000..=0x10_ffff).step_by(61)).chain(0xe_0000..0xe_1000).chain(0xfe00..=0xffff);
        for c in codes.filter_map(char::from_u32) {
            let text = format!("x{c}[31;1Hy{c}\u{1b}[");
            let shown = escape_control(&text);
            assert!(!shown.contains(is_risky), "{c:?}: {shown:?}");
            let printed = guard(&text);
            let left = printed.replace("\u{1b}[31m", "");
            assert!(!left.contains(is_risky), "{c:?}: {printed:?}");
        }
    }
}
