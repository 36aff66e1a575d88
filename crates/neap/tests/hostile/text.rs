//! Texts of many writing systems and kinds, of a given length.

use super::Rng;

const ENGLISH: &[&str] = &[
    "the", "server", "answers", "slowly", "when", "a", "cache", "is", "cold", "and", "we", "measured", "it",
    "twice", "before", "lunch.", "Then,", "nobody", "knew", "why", "(perhaps", "DNS).", "Retry", "limits",
    "apply",
];
const RANGES: &[(u32, u32)] = &[
    (0x4e00, 0x9fa5),   // Chinese
    (0x3041, 0x3096),   // Hiragana
    (0xac00, 0xd7a3),   // Hangul
    (0x0620, 0x064a),   // Arabic
    (0x0905, 0x0939),   // Devanagari
    (0x0e01, 0x0e30),   // Thai
    (0x0430, 0x044f),   // Cyrillic
    (0x1f300, 0x1f5ff), // pictures
    (0x1f900, 0x1f9ff), // more pictures
    (0x12000, 0x12300), // cuneiform
    (0x0300, 0x036f),   // combining marks
    (0x2500, 0x257f),   // lines of boxes
    (0xe000, 0xe100),   // private use
    (0x10ffd0, 0x10fffd),
];
const KINDS: usize = 9;

/// A text of about so many characters.
pub(crate) fn text(rng: &mut Rng, chars: usize) -> String {
    let mut out = String::new();
    let mut left = chars;
    // Mostly of one kind, sometimes several after one another.
    while left > 0 {
        let length = if rng.chance(75) { left } else { rng.between(1, left) };
        one_kind(rng, length, &mut out);
        left -= length;
    }
    out
}

fn one_kind(rng: &mut Rng, chars: usize, out: &mut String) {
    let mut left = chars;
    let mut push = |part: &str| {
        out.push_str(part);
        left = left.saturating_sub(part.chars().count().max(1));
        left > 0
    };
    match rng.between(0, KINDS) {
        0 | 1 => while push(rng.pick::<&str>(ENGLISH)) && push(" ") {},
        2 => {
            let (low, high) = *rng.pick(RANGES);
            let mut buffer = [0; 4];
            while push(draw(rng, low, high).encode_utf8(&mut buffer)) {}
        }
        3 => {
            let mut buffer = [0; 4];
            loop {
                let (low, high) = *rng.pick(RANGES);
                if !push(draw(rng, low, high).encode_utf8(&mut buffer)) {
                    break;
                }
            }
        }
        4 => {
            let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            let mut buffer = [0; 4];
            while push(char::from(*rng.pick(alphabet)).encode_utf8(&mut buffer)) {}
        }
        5 => {
            while push(rng.pick::<&str>(&["\"", "\\", "\n", "\t", "{", "}", "[", "],", "\r\n", "\u{1}", "a:"])) {}
        }
        6 => {
            while push(rng.pick::<&str>(&[" ", "  ", "\n", "\u{a0}", "\u{2028}", "\u{200b}", "\u{feff}", "."])) {}
        }
        7 => while push(&rng.draw().to_string()) && push(rng.pick::<&str>(&[",", " ", "-", "."])) {},
        8 => {
            while push(
                rng.pick::<&str>(&["error: at src/main.rs:42\n", "  | let x = y;\n", "[INFO] ok 200 3ms\n", "\n"]),
            ) {}
        }
        _ => while push("e") {},
    }
}

fn draw(rng: &mut Rng, low: u32, high: u32) -> char {
    char::from_u32(rng.between(low as usize, high as usize) as u32).unwrap_or('?')
}
