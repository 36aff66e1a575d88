//! Listings: files, matches of a search, one-line logs. Few of their lines matter by themselves, but where they are does.

use std::collections::BTreeMap;

use super::lines::clip;
use crate::base::prompt;
use crate::text::render::escape_marks;

/// Fewer lines are no listing.
const LINES_MIN: usize = 20;
const LISTED_PERCENT: usize = 80;
const LINE_BYTES_MAX: usize = 240;
/// Colons and dashes in the name of a file.
const DASHES_MAX: usize = 12;
const PLACES_MAX: usize = 8;
const PLACE_CHARS_MAX: usize = 60;
/// Directories are named by at most this many components.
const DEPTH_MAX: usize = 4;

pub(super) fn is_listing(text: &str) -> bool {
    let (mut lines, mut listed) = (0, 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        lines += 1;
        listed += usize::from(is_entry(line));
    }
    lines >= LINES_MIN && listed * 100 >= lines * LISTED_PERCENT
}

/// Whether a line names something: a path, a match of a search, a commit, an entry of `ls -l` or `tree`.
pub(super) fn is_entry(line: &str) -> bool {
    let line = line.trim_end();
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_mode = |word: &str| {
        word.len() >= 10
            && word.starts_with(['-', 'd', 'l'])
            && word[1..].bytes().take(9).all(|b| b"rwxsStT-".contains(&b))
    };
    let is_commit = first.len() >= 7 && first.len() <= 40 && first.bytes().all(|b| b.is_ascii_hexdigit());
    let is_one_word = line.trim_start() == first && first.contains(|c: char| c.is_alphanumeric());
    let is_tree = line.starts_with(['├', '└', '│']);
    let is_path = first.starts_with("./") || (first.starts_with('/') && first.len() > 1);
    line.len() <= LINE_BYTES_MAX
        && (is_one_word || is_path || is_tree || is_commit || is_mode(first) || match_of_search(line).is_some())
}

/// The file in `path:12:text` or, around a match, `path-12-text`.
fn match_of_search(line: &str) -> Option<&str> {
    let is_numbered = |at: usize| {
        let rest = &line[at + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && rest[digits..].starts_with([':', '-'])
    };
    let is_file = |at: usize| {
        let path = &line[..at];
        let has_letters = path.contains(|c: char| c.is_alphabetic());
        // Dates have dashes, too.
        has_letters
            && !path.contains(char::is_whitespace)
            && (line[at..].starts_with(':') || path.contains(['.', '/']))
    };
    let ends = line.match_indices([':', '-']).map(|(at, _)| at);
    ends.take(DASHES_MAX).find(|at| is_numbered(*at)).filter(|at| is_file(*at)).map(|at| &line[..at])
}

/// A line that says how many entries are where; `None` if all are in one place.
pub(super) fn places_line(text: &str) -> Option<String> {
    let places = entry_places(text);
    let mut counts: Vec<(String, usize)> = Vec::new();
    for depth in (1..=DEPTH_MAX).rev() {
        let mut by_place: BTreeMap<String, usize> = BTreeMap::new();
        for place in &places {
            *by_place.entry(shallow(place, depth)).or_default() += 1;
        }
        counts = by_place.into_iter().collect();
        if counts.len() <= PLACES_MAX {
            break;
        }
    }
    if counts.len() < 2 {
        return None;
    }
    counts.sort_by_key(|(place, count)| (std::cmp::Reverse(*count), place.clone()));
    let named = counts.iter().take(PLACES_MAX);
    let mut parts: Vec<String> =
        named.map(|(place, count)| format!("{} {count}", clip(place, PLACE_CHARS_MAX))).collect();
    if counts.len() > PLACES_MAX {
        let rest: usize = counts[PLACES_MAX..].iter().map(|(_, count)| count).sum();
        parts.push(format!("{} others {rest}", counts.len() - PLACES_MAX));
    }
    let parts = escape_marks(&parts.join(", ")).into_owned();
    Some(prompt::fill(prompt::TRIMMED_PLACES, &[("places", &parts)]))
}

/// The place of each entry: the directory of a path, the file of a match, the heading in `ls -R`.
fn entry_places(text: &str) -> Vec<&str> {
    let mut heading = "";
    let mut places = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(path) = line.strip_suffix(':').filter(|path| !path.contains(char::is_whitespace)) {
            heading = path;
        } else if let Some(file) = match_of_search(line) {
            places.push(file);
        } else if let Some(path) = line.split_whitespace().next_back().filter(|path| path.contains('/')) {
            places.push(path.trim_end_matches('/').rsplit_once('/').map_or("", |(directory, _)| directory));
        } else if !heading.is_empty() {
            places.push(heading);
        }
    }
    places
}

/// The first components of a path.
fn shallow(path: &str, depth: usize) -> String {
    let path = path.trim_start_matches("./").trim_start_matches('/');
    let parts: Vec<&str> = path.split('/').take(depth).collect();
    let short = parts.join("/");
    if short.is_empty() { ".".to_owned() } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_by_place() {
        let mut text = String::new();
        for n in 0..30 {
            text.push_str(&format!("./src/client/f{n}.rs\n./tests/t{n}.rs\n"));
        }
        assert!(is_listing(&text));
        assert_eq!(places_line(&text).as_deref(), Some("§[by place: src/client 30, tests 30]"));
        let matches: String = (0..40).map(|n| format!("src/f{}.rs:{n}:  let x = {n};\n", n % 20)).collect();
        assert!(is_listing(&matches));
        assert_eq!(places_line(&matches).as_deref(), None, "all are in src");
        let recursive: String = (0..30).map(|n| format!("./d{}:\nf{n}.rs\ng{n}.rs\n\n", n % 3)).collect();
        assert!(is_listing(&recursive));
        assert_eq!(places_line(&recursive).as_deref(), Some("§[by place: d0 20, d1 20, d2 20]"));
    }

    #[test]
    fn output_is_no_listing() {
        let log: String = (0..50).map(|n| format!("2026-01-01 10:00:{n:02} INFO started job {n}\n")).collect();
        assert!(!is_listing(&log));
        assert!(!is_listing("a\nb\nc\n"));
        assert!(!is_entry("ERROR: the disk is full"));
        assert!(!is_entry("find: '/x': Permission denied"));
    }
}
