//! Finds secrets stated in prose: `the password is …`, `my api key 9e10… works`.

use std::ops::Range;

use super::name_class::NameClass;
use super::scan_cost::looked_at;
use super::value::{is_hash_context, is_non_secret, is_participle, is_random, is_secret_like, is_uuid};

/// How far after its name a secret may begin.
const NEARBY_BYTES_MAX: usize = 24;
/// A word's first bytes decide whether it is secret; a secret one is masked to its end.
const JUDGED_BYTES: usize = 256;
const QUOTED_BYTES_MAX: usize = 200;
const VERBS: &[&str] = &["is", "was", "ist", "lautet", "war"];

pub(super) fn secret_after(text: &str, name: &Range<usize>, class: NameClass) -> Option<Range<usize>> {
    stated_secret(text, name, class).or_else(|| nearby_secret(text, name, class))
}

/// `the password is …`: a quoted or secret-like value; a plain word only if it ends the sentence.
fn stated_secret(text: &str, name: &Range<usize>, class: NameClass) -> Option<Range<usize>> {
    if class == NameClass::Weak {
        return None;
    }
    let rest = &text[name.end..];
    let rest = rest.strip_prefix(' ')?.trim_start_matches(' ');
    let verb =
        VERBS.iter().find(|verb| rest.strip_prefix(**verb).is_some_and(|rest| rest.starts_with([' ', ':'])))?;
    let rest = rest[verb.len()..].trim_start_matches([' ', ':', '\n']);
    let start = text.len() - rest.len();
    let (value, is_quoted) = quoted_or_word(rest);
    let start = start + usize::from(is_quoted);
    let range = start..start + value.len();
    let ends_sentence =
        value.ends_with(['.', '!', '?']) || text[range.end..].chars().next().is_none_or(|c| "\n.!?".contains(c));
    let looks_secret = is_quoted || is_secret_like(value) || (class == NameClass::Password && ends_sentence);
    let is_prose = !is_quoted && is_participle(value);
    let range = if is_quoted || value.len() + 4 < JUDGED_BYTES { range } else { start..start + word_len(rest) };
    (!value.is_empty() && !is_non_secret(value) && !is_prose && looks_secret).then_some(range)
}

/// A quoted text (`true`) or a word.
fn quoted_or_word(text: &str) -> (&str, bool) {
    if let Some(quote) = text.chars().next().filter(|c| "\"'`".contains(*c))
        && let Some(end) = text[1..text.floor_char_boundary(QUOTED_BYTES_MAX + 2)].find([quote, '\n'])
    {
        looked_at(end);
        return (&text[1..=end], true);
    }
    let end = word_len(&text[..text.floor_char_boundary(JUDGED_BYTES)]);
    (&text[..end], false)
}

fn word_len(text: &str) -> usize {
    let end = text.find(|c: char| c.is_whitespace() || ",;)\"'`".contains(c)).unwrap_or(text.len());
    looked_at(end);
    end
}

fn nearby_secret(text: &str, name: &Range<usize>, class: NameClass) -> Option<Range<usize>> {
    if class == NameClass::Weak {
        return None;
    }
    let bytes = text.as_bytes();
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_-".contains(&byte);
    let mut at = name.end;
    let limit = bytes.len().min(name.end + NEARBY_BYTES_MAX);
    while at < limit {
        if bytes[at] == b'\n' || b"=:<>{}()[]".contains(&bytes[at]) {
            return None;
        }
        if !is_token(bytes[at]) {
            at += 1;
            continue;
        }
        let length = bytes[at..].iter().take(JUDGED_BYTES).take_while(|byte| is_token(**byte)).count();
        looked_at(length);
        let pad = bytes[at + length..].iter().take(2).take_while(|byte| **byte == b'=').count();
        let value = &text[at..at + length + pad];
        if length >= 20 {
            let is_secret = is_random(value) && !is_uuid(value) && !is_hash_context(&text[name.start..at]);
            let end = at + length;
            let rest = || bytes[end..].iter().take_while(|byte| is_token(**byte) || **byte == b'=').count();
            return is_secret.then(|| at..end + if length < JUDGED_BYTES { pad } else { rest() });
        }
        at += length;
    }
    None
}
