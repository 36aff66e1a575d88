//! Tables that fit the terminal: long cells are broken between words, and where even that is not enough, each row
//! becomes a list.

use crate::out::{DIM, table_width};

/// Between columns.
const GAP: usize = 2;
/// A column of texts is not narrower than this.
const TEXT_WIDTH_MIN: usize = 12;

/// Aligns columns; those of numbers to the right.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    fitted(head, rows, table_width())
}

fn fitted(head: &[&str], rows: &[Vec<String>], width_max: Option<usize>) -> String {
    let columns: Vec<Column> = (0..head.len()).map(|at| Column::of(head[at], rows, at)).collect();
    match fitting_widths(&columns, width_max) {
        Some(widths) => {
            let titles: Vec<String> = head.iter().map(|title| (*title).to_owned()).collect();
            let all = std::iter::once(&titles).chain(rows).enumerate();
            all.map(|(at, row)| row_lines(&columns, &widths, row, at == 0)).collect()
        }
        None => rows.iter().map(|row| listed(head, row, width_max.unwrap_or(usize::MAX))).collect(),
    }
}

struct Column {
    width: usize,
    is_numeric: bool,
    /// Whether its cells may be broken: coloured ones may not.
    is_text: bool,
}

impl Column {
    fn of(title: &str, rows: &[Vec<String>], at: usize) -> Self {
        let cells = || rows.iter().filter_map(|row| row.get(at));
        let width = cells().map(|cell| visible_width(cell)).chain([visible_width(title)]).max().unwrap_or(0);
        let is_number = |cell: &String| cell.chars().all(|c| c.is_ascii_digit() || "+-,.".contains(c));
        Self { width, is_numeric: cells().all(is_number), is_text: !cells().any(|cell| cell.contains('\u{1b}')) }
    }
}

/// The widths of columns, the widest texts narrowed first; `None` if they do not fit.
fn fitting_widths(columns: &[Column], width_max: Option<usize>) -> Option<Vec<usize>> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.width).collect();
    let Some(width_max) = width_max else { return Some(widths) };
    loop {
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        if total <= width_max {
            return Some(widths);
        }
        let may_shrink =
            |at: &usize| columns[*at].is_text && !columns[*at].is_numeric && widths[*at] > TEXT_WIDTH_MIN;
        let widest = (0..widths.len()).filter(may_shrink).max_by_key(|at| widths[*at])?;
        let excess = total - width_max;
        widths[widest] =
            widths[widest].saturating_sub(excess.min((widths[widest] / 8).max(1))).max(TEXT_WIDTH_MIN);
    }
}

fn row_lines(columns: &[Column], widths: &[usize], row: &[String], is_head: bool) -> String {
    let cells: Vec<Vec<String>> = row.iter().zip(widths).map(|(cell, width)| cell_lines(cell, *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut lines = String::new();
    for at in 0..height {
        let mut text = String::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let part = cell.get(at).map_or("", String::as_str);
            let gap = " ".repeat(width.saturating_sub(visible_width(part)));
            text.push_str(&if columns[column].is_numeric {
                format!("{gap}{part}")
            } else {
                format!("{part}{gap}")
            });
            text.push_str(&" ".repeat(GAP));
        }
        let text = text.trim_end();
        lines.push_str(&if is_head { format!("{DIM}{text}{DIM:#}") } else { text.to_owned() });
        lines.push('\n');
    }
    lines
}

fn cell_lines(cell: &str, width: usize) -> Vec<String> {
    if visible_width(cell) <= width {
        return vec![cell.to_owned()];
    }
    wrap(cell, width).iter().flat_map(|line| hard_broken(line, width)).collect()
}

/// A row where columns do not fit: a line for each cell that has something.
fn listed(head: &[&str], row: &[String], width: usize) -> String {
    let title_width = head.iter().map(|title| visible_width(title)).max().unwrap_or(0) + GAP;
    let rest = width.saturating_sub(title_width).max(TEXT_WIDTH_MIN);
    let mut out = String::new();
    for (title, cell) in head.iter().zip(row).filter(|(_, cell)| visible_width(cell) > 0) {
        for (at, line) in cell_lines(cell, rest).iter().enumerate() {
            let title = if at == 0 { title } else { "" };
            let gap = " ".repeat(title_width - visible_width(title));
            out.push_str(&format!("{DIM}{title}{DIM:#}{gap}{line}\n"));
        }
    }
    out + "\n"
}

/// A line without a place to break it, in pieces.
fn hard_broken(line: &str, width: usize) -> Vec<String> {
    if visible_width(line) <= width || line.contains('\u{1b}') {
        return vec![line.to_owned()];
    }
    let chars: Vec<char> = line.chars().collect();
    chars.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect()
}

/// A line as lines of at most so many columns, broken between words; what follows an indented one is indented as far.
pub(crate) fn wrap(line: &str, width: usize) -> Vec<String> {
    let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
    let mut lines: Vec<String> = vec![indent.to_owned()];
    for word in line[indent.len()..].split(' ') {
        let last = lines.last_mut().expect("there is one");
        let (is_first, used) = (last.trim_start().is_empty(), visible_width(last));
        if is_first || used + 1 + visible_width(word) <= width {
            last.push_str(if is_first { "" } else { " " });
            last.push_str(word);
        } else {
            lines.push(format!("{indent}{word}"));
        }
    }
    lines
}

/// Printed width, without escape sequences.
fn visible_width(cell: &str) -> usize {
    let mut count = 0;
    let mut in_escape = false;
    for c in cell.chars() {
        match (in_escape, c) {
            (false, '\u{1b}') => in_escape = true,
            (true, 'm') => in_escape = false,
            (true, _) => {}
            (false, _) => count += 1,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::out::BOLD;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("  one two three", 9), ["  one two", "  three"]);
        assert_eq!(wrap(&format!("{BOLD}one{BOLD:#} two"), 7).len(), 1, "colours take no room");
        assert_eq!((wrap("", 5), wrap("longer", 3)), (vec![String::new()], vec!["longer".to_owned()]));
    }

    fn words_of(text: &str) -> Vec<String> {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    }

    /// Whatever the width, no line is longer and no word is lost.
    #[test]
    fn a_table_fits_every_width_and_keeps_its_words() {
        let head = ["effort", "where", "tokens", "summary"];
        let row = |id: &str, tokens: &str, summary: &str| {
            vec![format!("{BOLD}{id}{BOLD:#}"), "shown".to_owned(), tokens.to_owned(), summary.to_owned()]
        };
        let long = "The tokens were refreshed twice at once in two tabs of the same browser and a lock fixed it in release four";
        let rows = [row("login-401", "1,204", long), row("dashboard", "93", "")];
        let plain = |text: &str| {
            text.split('\u{1b}').fold(String::new(), |all, part| {
                all + part.split_once('m').filter(|(code, _)| code.starts_with('[')).map_or(part, |(_, rest)| rest)
            })
        };
        let want = words_of(long);
        for width in 40..=200 {
            let text = plain(&fitted(&head, &rows, Some(width)));
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(longest <= width, "{width}: {longest}\n{text}");
            let found = words_of(&text);
            assert!(want.iter().all(|word| found.contains(word)), "{width}:\n{text}");
        }
        assert_eq!(fitted(&head, &rows, None).lines().count(), 3, "a pipe gets a line a row");
    }

    #[test]
    fn columns_that_do_not_fit_become_a_list() {
        let row = vec!["a-very-long-identifier".to_owned(), "9".to_owned(), "text".to_owned()];
        let text = fitted(&["id", "n", "what"], &[row], Some(20));
        assert_eq!(text.lines().count(), 5, "{text}");
    }
}
