//! Finds names of files, identifiers and ticket numbers. ASCII text is searched by hand: a process that handles one
//! message and ends would spend more time on compiling the regex than on searching.

use std::sync::LazyLock;

use regex::Regex;

use super::phrases::{is_word_byte, starts_word};

/// Extensions that make a word the name of a file even without a folder.
const EXTENSIONS: &str = "rs py ts js tsx jsx mjs json jsonl md toml yaml yml txt go java c h cc cpp hpp cs rb php \
    sh sql html css scss log lock csv tsv xml exe dll so pdf png jpg svg gz zip tar ini cfg conf env vue swift kt";

pub(super) fn has_file_extension(path: &str) -> bool {
    let is_known = |end: &str| EXTENSIONS.split_whitespace().any(|known| known.eq_ignore_ascii_case(end));
    path.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && is_known(end))
}

/// Files that their extension alone does not tell.
const FILE_NAMES: [&str; 2] = ["go.mod", "go.sum"];

/// The first name of a file, with the folder that it is in.
pub(crate) fn first_file(text: &str) -> Option<&str> {
    let is_file = |name: &&str| {
        let last = name.rsplit('/').next().unwrap_or_default();
        has_file_extension(last) || FILE_NAMES.contains(&last)
    };
    let path = find_names(text).into_iter().find(is_file)?;
    Some(&path[path.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1)..])
}

/// File names, identifiers and ticket numbers, in order.
pub(crate) fn find_names(text: &str) -> Vec<&str> {
    if text.is_ascii() {
        find_ascii_names(text)
    } else {
        NAME.find_iter(text).map(|found| found.as_str()).collect()
    }
}

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\w./-]*[./_][\w./-]*\w|\b[a-z]+[A-Z]\w*|\b[A-Z]{2,}-\d+|#\d+").expect("the pattern is valid")
});

/// What [`NAME`] finds, for ASCII text.
fn find_ascii_names(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    // No path begins before `pathless`: a run that has none at its beginning has none further on.
    let (mut found, mut at, mut pathless) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let mut end = None;
        if at >= pathless {
            let run = run_end(bytes, at, |byte| is_word_byte(byte) || matches!(byte, b'.' | b'/' | b'-'));
            end = path_len(&bytes[at..run]).map(|length| at + length);
            pathless = run;
        }
        end = end.or_else(|| identifier_end(bytes, at)).or_else(|| ticket_end(bytes, at));
        match end {
            Some(end) => {
                found.push(&text[at..end]);
                (at, pathless) = (end, end);
            }
            None => at += 1,
        }
    }
    found
}

/// Length of a path: up to its last word byte, with a separator before that.
fn path_len(run: &[u8]) -> Option<usize> {
    let last = run.iter().rposition(|byte| is_word_byte(*byte))?;
    run[..last].iter().any(|byte| matches!(byte, b'.' | b'/' | b'_')).then_some(last + 1)
}

fn identifier_end(bytes: &[u8], at: usize) -> Option<usize> {
    if !starts_word(bytes, at) {
        return None;
    }
    let small = run_end(bytes, at, |byte| byte.is_ascii_lowercase());
    let is_one = small > at && bytes.get(small).is_some_and(u8::is_ascii_uppercase);
    is_one.then(|| run_end(bytes, small, is_word_byte))
}

/// End of a ticket number: `ABC-12` or `#12`.
fn ticket_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mark = match bytes.get(at) {
        Some(b'#') => at,
        _ if starts_word(bytes, at) => {
            let capitals = run_end(bytes, at, |byte| byte.is_ascii_uppercase());
            Some(capitals).filter(|end| *end >= at + 2 && bytes.get(*end) == Some(&b'-'))?
        }
        _ => return None,
    };
    let end = run_end(bytes, mark + 1, |byte| byte.is_ascii_digit());
    (end > mark + 1).then_some(end)
}

fn run_end(bytes: &[u8], at: usize, is_in: impl Fn(u8) -> bool) -> usize {
    at + bytes[at..].iter().take_while(|byte| is_in(**byte)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_those_of_files_identifiers_and_tickets() {
        let text = "In src/cart.rs, apply_coupon and lineItem fail: see AB-12, #7, e.g. A-1 or a - b.";
        assert_eq!(find_names(text), ["src/cart.rs", "apply_coupon", "lineItem", "AB-12", "#7", "e.g"]);
        assert_eq!(find_names("größe.txt und füllHöhe"), ["größe.txt"]);
    }

    #[test]
    fn the_first_file_is_named_with_its_folder() {
        for (text, file) in [
            ("Read file: pkg/cloud/sync.go, then sync_test.go", Some("cloud/sync.go")),
            ("see /src/lib.rs", Some("src/lib.rs")),
            ("go.mod, then np.sum", Some("go.mod")),
            ("np.sum of all", None),
            ("e.g. apply_coupon in Cart.RS fails", Some("Cart.RS")),
            ("version 1.2 of example.com", None),
            (".rs", None),
        ] {
            assert_eq!(first_file(text), file, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_looked_for_by_hand_is_what_the_pattern_says(text in "[aBz19._/# -]{0,24}") {
            let by_pattern: Vec<&str> = NAME.find_iter(&text).map(|found| found.as_str()).collect();
            prop_assert_eq!(find_ascii_names(&text), by_pattern);
        }
    }
}
