//! Masking reads each byte a bounded number of times, whatever the text: every detector's keywords, repeated in
//! all the ways that make it read far and find nothing.

use super::super::finder::keywords;
use super::super::{mask, scan_cost};
use super::generate::Random;

/// Long enough that quadratic work would read each byte a thousand times.
const BYTES: usize = 96 * 1_024;
/// How often a byte may be read, by all rules and rescans together.
const TIMES: u64 = 480;

/// Follow a keyword so that a pattern begins but finds no secret: no digit, a stop word, a sequence.
const FILLS: &[&str] = &[
    "",
    "-",
    "=",
    ":",
    ": ",
    " is ",
    "=\"",
    "=\\\"",
    "\\\"",
    "abcdefghijklmnop-",
    "abcdefghijklmnopqrstuvwxyz-",
    "=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz.",
    "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789_",
    "-----",
    " PRIVATE KEY-----abcdefghijklmnopqrstuvwxyz\n",
    "/v1/spaces/",
    "00000000000000000000000000000000/",
    "\\n",
    "\\/",
];
const LEADS: &[&str] = &["", "\\\"", "'", "<", " ", "?", "-", "\\n"];

#[track_caller]
fn is_linear(text: &str, what: &str) {
    let bytes = text.len() as u64;
    let looked_at = scan_cost::of(|| drop(mask(text)));
    assert!(looked_at <= bytes * TIMES, "{what}: each byte {} times", looked_at / bytes);
}

fn repeated(unit: &str) -> String {
    unit.repeat(BYTES / unit.len() + 1)
}

/// Cases that were once quadratic.
#[test]
fn what_once_took_the_square_of_its_length() {
    for unit in [
        "sk-abcdefghijklmnop-",
        "tvly-abcdefghijklmnopqrstuvwxyz-",
        "password=",
        "token-",
        "\\\"password=a ",
        "-----BEGIN PRIVATE KEY-----abcdefghijklmnopqrstuvwxyz",
        "password is ",
        "token is \"",
    ] {
        is_linear(&repeated(unit), unit);
    }
    // Patterns that read on to the end and find no secret there.
    let chat = format!("{}x?{}", repeated("chat.googleapis.com/v1/spaces/"), "a".repeat(20));
    is_linear(&chat, "a row at the end");
    // One word that repeats its keyword, further apart than a pattern's window.
    is_linear(&repeated(&format!("sk-{}-", "a-".repeat(1_000))), "far apart");
}

#[test]
fn every_keyword_again_and_again() {
    let mut random = Random::new(20);
    for keyword in keywords() {
        for fill in FILLS.iter().filter(|_| random.below(3) == 0).collect::<Vec<_>>() {
            let lead = LEADS[random.below(LEADS.len())];
            let shown = if random.below(2) == 0 { keyword.to_owned() } else { keyword.to_uppercase() };
            let unit = format!("{lead}{shown}{fill}");
            is_linear(&repeated(&unit), &unit);
        }
    }
}

/// Keywords, their surroundings and letters in any order, with and without line breaks.
#[test]
fn all_keywords_among_each_other() {
    let words = keywords();
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let some: Vec<&str> = (0..=random.below(6)).map(|_| words[random.below(words.len())]).collect();
        let mut text = String::new();
        while text.len() < BYTES {
            text.push_str(LEADS[random.below(LEADS.len())]);
            text.push_str(some[random.below(some.len())]);
            text.push_str(FILLS[random.below(FILLS.len())]);
        }
        is_linear(&text, &format!("seed {seed}: {some:?}"));
        is_linear(&text.replace(['\n', ' '], "-"), &format!("seed {seed} in one word: {some:?}"));
    }
}
