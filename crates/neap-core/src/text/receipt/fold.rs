//! Normalizes text for lookups: case, white space, thousands separators, dashes and quotes.

use crate::text::reference::is_unspaced;

pub(super) fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => {
                if before != ' ' {
                    out.push(' ');
                }
                before = ' ';
                continue;
            }
            '–' | '—' | '−' => out.push('-'),
            '’' | '‘' => out.push('\''),
            ',' if before.is_ascii_digit() && is_thousand(chars.clone()) => {}
            c => out.extend(c.to_lowercase()),
        }
        before = c;
    }
    out
}

fn is_thousand(mut next: impl Iterator<Item = char>) -> bool {
    next.by_ref().take(3).filter(char::is_ascii_digit).count() == 3
        && next.next().is_none_or(|c| !c.is_ascii_digit())
}

/// Whether a folded text contains a folded value that is not part of a longer one: `8080` is not in `18080`, nor
/// `1.2` in `1.2.3`.
pub(super) fn contains_value(text: &str, value: &str) -> bool {
    !value.is_empty() && text.match_indices(value).any(|(at, _)| stands_alone(text, value, at))
}

fn stands_alone(text: &str, value: &str, at: usize) -> bool {
    let is_word = |c: char| (c.is_alphanumeric() && !is_unspaced(c)) || c == '_';
    let joins = |c: char| matches!(c, '.' | ',' | ':' | '/');
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let starts_in_digit = digit(value.chars().next());
    let ends_in_digit = digit(value.chars().next_back());

    let mut before = text[..at].chars().rev();
    let (near, far) = (before.next(), before.next());
    let begins = match near {
        None => true,
        Some(c) if is_word(c) => !value.starts_with(is_word),
        Some(c) if starts_in_digit && joins(c) => !digit(far),
        // A sign belongs to its number.
        Some('-') if starts_in_digit => far.is_some_and(|c| !c.is_whitespace() && c != '('),
        Some(_) => true,
    };
    let mut after = text[at + value.len()..].chars();
    let (near, far) = (after.next(), after.next());
    let ends = match near {
        None => true,
        Some(c) if is_word(c) => !value.ends_with(is_word),
        Some(c) if ends_in_digit && joins(c) => !digit(far),
        Some('.') => !far.is_some_and(|c| c.is_alphanumeric()),
        Some(_) => true,
    };
    begins && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding() {
        assert_eq!(fold("A \n B: 1,200 or 1,20 — It’s"), "a b: 1200 or 1,20 - it's");
        assert_eq!(fold("12,345,678"), "12345678");
    }

    #[test]
    fn a_value_stands_alone() {
        let check = |text: &str, value: &str, want: bool| {
            assert_eq!(contains_value(text, value), want, "{value} in {text}")
        };
        check("port 8080.", "8080", true);
        check("port 18080", "8080", false);
        check("port 80801", "8080", false);
        check("v 1.2.3", "1.2", false);
        check("at 1.5", "5", false);
        check("at 10:30", "10", false);
        check("x=90;", "90", true);
        check("localhost:8080", "8080", true);
        check("30秒", "30", true);
        check("at -5 degrees", "5", false);
        check("3-5 days", "5", true);
        check("src/net.rs", "net.rs", true);
        check("config.toml.bak", "config.toml", false);
        check("a_b", "a", false);
        check("18080 and 8080", "8080", true);
    }
}
