//! Splits a text into rows: its lines, with repeated ones folded and over-long ones in pieces.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::problems::{Severity, severity};

/// Lines longer than this are split.
const LINE_BYTES_MAX: usize = 400;
const PIECE_BYTES_MAX: usize = 240;
/// Fewer lines alike are not folded.
const FOLDED_MIN: usize = 3;

/// Colours and cursor movements of terminals.
static ESCAPES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)").expect("the pattern is constant"));

pub(super) fn without_escapes(text: &str) -> Cow<'_, str> {
    if text.contains('\x1b') { ESCAPES.replace_all(text, "") } else { Cow::Borrowed(text) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) text: &'a str,
    /// First and last line that it stands for. Blank lines have no number.
    pub(super) lines: (usize, usize),
    /// Lines like it that are not shown, wherever they are.
    pub(super) folded: usize,
    pub(super) severity: Option<Severity>,
}

/// Which lines of a text count as alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// All differ.
    Nothing,
    /// Neighbours that differ in numbers only.
    Numbers,
}

/// The rows of a text. `is_ordinary` exempts lines from being problems, whatever their words.
pub(super) fn rows<'a>(text: &'a str, fold: Fold, is_ordinary: impl Fn(&str) -> bool) -> Vec<Row<'a>> {
    let lines = text.split(['\n', '\r']).filter(|line| !line.trim().is_empty()).enumerate();
    let mut all = Vec::new();
    for (at, line) in lines {
        let row = |text| {
            let severity = if is_ordinary(line) { None } else { severity(text) };
            Row { text, lines: (at, at), folded: 0, severity }
        };
        match line.len() <= LINE_BYTES_MAX {
            true => all.push(row(line)),
            false => all.extend(pieces(line).map(row)),
        }
    }
    fold_problems(&mut all);
    match fold {
        Fold::Nothing => all,
        Fold::Numbers => fold_neighbours(all),
    }
}

/// Pieces of a long line, split at spaces where there are any.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.floor_char_boundary(PIECE_BYTES_MAX.min(rest.len()));
        let space = (end < rest.len()).then(|| rest[..end].rfind(' ')).flatten().filter(|at| *at > end / 2);
        let (piece, after) = rest.split_at(space.map_or(end, |at| at + 1));
        rest = after;
        Some(piece)
    })
}

/// Of problems with the same words, only the first stays one.
fn fold_problems(rows: &mut [Row<'_>]) {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for at in 0..rows.len() {
        if rows[at].severity.is_none() {
            continue;
        }
        let words = without_time(rows[at].text);
        match first.get(words) {
            Some(first) => {
                rows[*first].folded += 1;
                rows[at].severity = None;
            }
            None => {
                first.insert(words, at);
            }
        }
    }
}

/// A line without the time at its beginning.
fn without_time(line: &str) -> &str {
    let mut was_digit = false;
    let is_time = |c: char| {
        let is_part = c.is_ascii_digit() || " -:.,[]()/+".contains(c) || (was_digit && (c == 'T' || c == 'Z'));
        was_digit = c.is_ascii_digit();
        is_part
    };
    let rest = line.trim_start_matches(is_time).trim_end();
    if rest.is_empty() { line } else { rest }
}

fn fold_neighbours(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let mut out: Vec<Row<'_>> = Vec::with_capacity(rows.len());
    let is_foldable = |row: &Row<'_>| row.severity.is_none() && row.folded == 0;
    let mut rest = rows.as_slice();
    while let Some(row) = rest.first() {
        let like = |other: &&Row<'_>| is_foldable(other) && differ_in_numbers_only(row.text, other.text);
        let run = if is_foldable(row) { rest.iter().take_while(like).count() } else { 1 };
        let (taken, after) = rest.split_at(if run >= FOLDED_MIN { run } else { 1 });
        let last = taken.last().map_or(row.lines.1, |last| last.lines.1);
        out.push(Row { lines: (row.lines.0, last), folded: row.folded + taken.len() - 1, ..*row });
        rest = after;
    }
    out
}

fn differ_in_numbers_only(one: &str, other: &str) -> bool {
    let words = |text: &'_ str| {
        let mut was_digit = false;
        let mut chars = Vec::with_capacity(text.len());
        for byte in text.bytes() {
            if !byte.is_ascii_digit() || !was_digit {
                chars.push(if byte.is_ascii_digit() { b'0' } else { byte });
            }
            was_digit = byte.is_ascii_digit();
        }
        chars
    };
    one == other || words(one) == words(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(&str, usize)> {
        rows(text, Fold::Numbers, |_| false).iter().map(|row| (row.text, row.folded)).collect()
    }

    #[test]
    fn lines_that_differ_in_numbers_are_folded() {
        let text = "start\nstep 1 of 9\nstep 2 of 9\n\nstep 3 of 9\nend 1\nend 2";
        assert_eq!(shown(text), [("start", 0), ("step 1 of 9", 2), ("end 1", 0), ("end 2", 0)]);
        assert_eq!(shown("load 1 %\rload 50 %\rload 100 %\ndone"), [("load 1 %", 2), ("done", 0)]);
    }

    #[test]
    fn a_problem_is_folded_with_its_like_wherever_they_are() {
        let text = "10:00:01 ERROR no disk\nfine\n10:00:09 ERROR no disk\n10:00:10 ERROR no net";
        let all = rows(text, Fold::Numbers, |_| false);
        let problems: Vec<_> = all.iter().filter(|row| row.severity.is_some()).map(|row| row.text).collect();
        assert_eq!(problems, ["10:00:01 ERROR no disk", "10:00:10 ERROR no net"]);
        assert_eq!(all[0].folded, 1);
    }

    #[test]
    fn a_long_line_is_split_and_loses_nothing() {
        let long = "some words é ".repeat(200);
        let all = rows(&long, Fold::Nothing, |_| false);
        assert!(all.len() > 5 && all.iter().all(|row| row.text.len() <= PIECE_BYTES_MAX));
        assert_eq!(all.iter().map(|row| row.text).collect::<String>(), long);
        assert_eq!(without_escapes("\x1b[31mred\x1b[0m \x1b]0;title\x07x"), "red x");
    }
}
