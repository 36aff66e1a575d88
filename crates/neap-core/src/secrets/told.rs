//! Secrets that are told in words: `the password is …`, `my api key 9e10… works`.

use std::ops::Range;

use super::name::Class;
use super::value::{is_hash_talk, is_participle, is_random, is_stand_in, is_uuid, looks_secret};
use super::work::looked_at;

/// So far after its name a secret is looked for, in bytes.
const FAR: usize = 24;
/// So much of a word tells whether it is secret, in bytes; one that is goes up to its end.
const JUDGED: usize = 256;
/// Longest text in quotes, in bytes.
const QUOTED: usize = 200;
/// What tells what something is.
const VERBS: &[&str] = &["is", "was", "ist", "lautet", "war"];

/// The secret that is told after a name.
pub(super) fn after(text: &str, name: &Range<usize>, class: Class) -> Option<Range<usize>> {
    told(text, name, class).or_else(|| nearby(text, name, class))
}

/// `the password is …`: what is quoted or looks like one; a plain word only where it ends the sentence.
fn told(text: &str, name: &Range<usize>, class: Class) -> Option<Range<usize>> {
    if class == Class::Weak {
        return None;
    }
    let rest = &text[name.end..];
    let rest = rest.strip_prefix(' ')?.trim_start_matches(' ');
    let verb =
        VERBS.iter().find(|verb| rest.strip_prefix(**verb).is_some_and(|rest| rest.starts_with([' ', ':'])))?;
    let rest = rest[verb.len()..].trim_start_matches([' ', ':', '\n']);
    let start = text.len() - rest.len();
    let (value, is_quoted) = word(rest);
    let start = start + usize::from(is_quoted);
    let range = start..start + value.len();
    let ends =
        value.ends_with(['.', '!', '?']) || text[range.end..].chars().next().is_none_or(|c| "\n.!?".contains(c));
    let is_told = is_quoted || looks_secret(value) || (class == Class::Password && ends);
    let is_word = !is_quoted && is_participle(value);
    let range = if is_quoted || value.len() + 4 < JUDGED { range } else { start..start + word_bytes(rest) };
    (!value.is_empty() && !is_stand_in(value) && !is_word && is_told).then_some(range)
}

/// A quoted text, or a word.
fn word(text: &str) -> (&str, bool) {
    if let Some(quote) = text.chars().next().filter(|c| "\"'`".contains(*c))
        && let Some(end) = text[1..text.floor_char_boundary(QUOTED + 2)].find([quote, '\n'])
    {
        looked_at(end);
        return (&text[1..=end], true);
    }
    let end = word_bytes(&text[..text.floor_char_boundary(JUDGED)]);
    (&text[..end], false)
}

fn word_bytes(text: &str) -> usize {
    let end = text.find(|c: char| c.is_whitespace() || ",;)\"'`".contains(c)).unwrap_or(text.len());
    looked_at(end);
    end
}

/// What is random, a few words after the name.
fn nearby(text: &str, name: &Range<usize>, class: Class) -> Option<Range<usize>> {
    if class == Class::Weak {
        return None;
    }
    let bytes = text.as_bytes();
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_-".contains(&byte);
    let mut at = name.end;
    let far = bytes.len().min(name.end + FAR);
    while at < far {
        if bytes[at] == b'\n' || b"=:<>{}()[]".contains(&bytes[at]) {
            return None;
        }
        if !is_token(bytes[at]) {
            at += 1;
            continue;
        }
        let length = bytes[at..].iter().take(JUDGED).take_while(|byte| is_token(**byte)).count();
        looked_at(length);
        let pad = bytes[at + length..].iter().take(2).take_while(|byte| **byte == b'=').count();
        let value = &text[at..at + length + pad];
        if length >= 20 {
            let is_told = is_random(value) && !is_uuid(value) && !is_hash_talk(&text[name.start..at]);
            let end = at + length;
            let rest = || bytes[end..].iter().take_while(|byte| is_token(**byte) || **byte == b'=').count();
            return is_told.then(|| at..end + if length < JUDGED { pad } else { rest() });
        }
        at += length;
    }
    None
}
