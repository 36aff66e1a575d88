//! Excerpts of a text around a search match.

use crate::text::terms::terms;

/// The part of a text around its first matching word, on one line.
pub fn snippet(text: &str, query: &[String], chars_max: usize) -> String {
    let flat: Vec<&str> = text.split_whitespace().collect();
    let hit = flat.iter().position(|word| terms(word).iter().any(|t| query.contains(t))).unwrap_or(0);
    let mut start = hit;
    let mut chars = 0;
    // At most a third goes before the match.
    while start > 0 && chars + flat[start - 1].chars().count() < chars_max / 3 {
        start -= 1;
        chars += flat[start].chars().count() + 1;
    }
    let mut out = String::from(if start > 0 { "… " } else { "" });
    let mut chars = out.chars().count();
    for (at, word) in flat.iter().enumerate().skip(start) {
        let len = word.chars().count() + usize::from(at > start);
        if chars + len > chars_max {
            if at == start {
                out.extend(word.chars().take(chars_max));
            }
            out.push_str(" …");
            return out;
        }
        if at > start {
            out.push(' ');
        }
        out.push_str(word);
        chars += len;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_surrounds_its_match() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        assert_eq!(snippet(text, &["seven".into()], 30), "… five six seven eight nine …");
        assert_eq!(snippet("short text", &["none".into()], 30), "short text");
        assert_eq!(snippet(&"x".repeat(100), &[], 5), "xxxxx …");
    }
}
