//! Shows some rows of a text: every problem with what surrounds it, then as much of the beginning and the end as fits.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::problems::Severity;
use super::rows::Row;
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::text::render::escape_marks;

/// Most errors that are shown; of more, the first and the last.
pub(super) const ERRORS_SHOWN_MAX: usize = 12;
const WARNINGS_SHOWN_MAX: usize = 4;
/// Longest beginning of a line that is shown, in characters, from mild to harsh.
const WIDTHS: [usize; 4] = [240, 120, 64, 40];
/// What a line costs that says how many are left out.
const GAP_TOKENS: Tokens = Tokens(14);
/// Rows before and after an error that explain it.
const CONTEXT: (usize, usize) = (1, 3);

/// Rows at each end that are shown whatever else is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) first: usize,
    pub(super) last: usize,
    /// How many rows of the beginning are added for each of the end.
    pub(super) head_per_tail: (usize, usize),
}

pub(super) struct RowPicker<'a> {
    rows: &'a [Row<'a>],
    counter: &'a dyn TokenCounter,
    room: Tokens,
    width: usize,
    chosen: BTreeSet<usize>,
}

impl<'a> RowPicker<'a> {
    /// The rows that fit, as text.
    pub(super) fn show(rows: &'a [Row<'a>], counter: &'a dyn TokenCounter, room: Tokens, ends: Ends) -> String {
        let errors = problems(rows, Severity::Error, ERRORS_SHOWN_MAX);
        let mut picker = Self { rows, counter, room, width: WIDTHS[0], chosen: BTreeSet::new() };
        picker.width = picker.widest_for(&errors, ends);
        for at in &errors {
            picker.add(*at);
        }
        picker.add_ends(ends);
        for at in problems(rows, Severity::Warning, WARNINGS_SHOWN_MAX) {
            picker.add(at);
        }
        for at in &errors {
            picker.add_context(*at);
        }
        picker.fill(ends.head_per_tail);
        picker.render()
    }

    /// The widest lines with which all errors and the ends fit.
    fn widest_for(&self, errors: &[usize], ends: Ends) -> usize {
        let first = 0..ends.first.min(self.rows.len());
        let last = self.rows.len().saturating_sub(ends.last)..self.rows.len();
        let needed: Vec<usize> = errors.iter().copied().chain(first).chain(last).collect();
        let cost = |width: usize| needed.iter().map(|at| self.row_tokens(*at, width) + GAP_TOKENS).sum::<Tokens>();
        let fitting = WIDTHS.iter().copied().find(|width| cost(*width) <= self.room);
        fitting.unwrap_or(WIDTHS[WIDTHS.len() - 1])
    }

    fn row_tokens(&self, at: usize, width: usize) -> Tokens {
        let folded = if self.rows[at].folded > 0 { GAP_TOKENS } else { Tokens::ZERO };
        self.counter.count(&clip(self.rows[at].text, width)) + Tokens(1) + folded
    }

    /// Adds a row if it fits; returns whether it is shown.
    fn add(&mut self, at: usize) -> bool {
        if self.chosen.contains(&at) {
            return true;
        }
        let is_beside = at.checked_sub(1).is_some_and(|before| self.chosen.contains(&before))
            || self.chosen.contains(&(at + 1));
        let cost = self.row_tokens(at, self.width) + if is_beside { Tokens::ZERO } else { GAP_TOKENS };
        if cost > self.room {
            return false;
        }
        self.room -= cost;
        self.chosen.insert(at)
    }

    fn add_ends(&mut self, ends: Ends) {
        let count = self.rows.len();
        for at in (0..ends.first.min(count)).chain((count.saturating_sub(ends.last)..count).rev()) {
            self.add(at);
        }
    }

    fn add_context(&mut self, at: usize) {
        let (before, after) = CONTEXT;
        for next in at + 1..(at + 1 + after).min(self.rows.len()) {
            self.add(next);
        }
        for previous in (at.saturating_sub(before)..at).rev() {
            self.add(previous);
        }
    }

    /// Extends the beginning and the end in turn, until neither can be.
    fn fill(&mut self, (heads, tails): (usize, usize)) {
        let (mut head, mut tail) = (0, self.rows.len());
        let (mut head_fits, mut tail_fits) = (true, true);
        while head < tail && (head_fits || tail_fits) {
            for _ in 0..heads {
                head_fits = head_fits && head < tail && self.add(head);
                head += usize::from(head_fits);
            }
            for _ in 0..tails {
                tail_fits = tail_fits && head < tail && self.add(tail - 1);
                tail -= usize::from(tail_fits);
            }
        }
    }

    fn render(&self) -> String {
        let mut out = String::new();
        let mut next_line = 0;
        let mut before: Option<usize> = None;
        for at in &self.chosen {
            let row = &self.rows[*at];
            let is_gap = before.map_or(*at > 0, |before| before + 1 < *at);
            if is_gap {
                push_gap(&mut out, row.lines.0.saturating_sub(next_line));
            }
            out.push_str(&escape_marks(&clip(row.text, self.width)));
            out.push('\n');
            if row.folded > 0 {
                let count = row.folded.to_string();
                out.push_str(&prompt::fill(prompt::TRIMMED_REPEATS, &[("count", &count)]));
                out.push('\n');
            }
            next_line = row.lines.1 + 1;
            before = Some(*at);
        }
        let lines = self.rows.last().map_or(0, |row| row.lines.1 + 1);
        if before.is_none_or(|before| before + 1 < self.rows.len()) {
            push_gap(&mut out, lines.saturating_sub(next_line));
        }
        out.truncate(out.trim_end().len());
        out
    }
}

fn push_gap(out: &mut String, lines: usize) {
    let gap = match lines {
        0 => prompt::TRIMMED_GAP_IN_LINE.trim_end().to_owned(),
        lines => prompt::fill(prompt::TRIMMED_GAP, &[("count", &lines.to_string())]),
    };
    out.push_str(&gap);
    out.push('\n');
}

/// Rows of a severity: all, or the first and the last ones.
fn problems(rows: &[Row<'_>], severity: Severity, max: usize) -> Vec<usize> {
    let all: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].severity == Some(severity)).collect();
    if all.len() <= max {
        return all;
    }
    let (first, last) = (&all[..max.div_ceil(2)], &all[all.len() - max / 2..]);
    first.iter().chain(last).copied().collect()
}

/// The beginning of a line, and how much of it is missing.
pub(super) fn clip(line: &str, width: usize) -> String {
    let line = line.trim_end();
    match line.char_indices().nth(width) {
        Some((at, _)) if line.len() > at + 16 => format!("{}…", &line[..at]),
        Some(_) | None => line.to_owned(),
    }
}

/// ` with 3 errors and 1 warning`, or nothing.
pub(super) fn count_problems(rows: &[Row<'_>]) -> String {
    let mut out = String::new();
    for (severity, name) in [(Severity::Error, "error line"), (Severity::Warning, "warning line")] {
        let of = rows.iter().filter(|row| row.severity == Some(severity)).map(|row| 1 + row.folded).sum::<usize>();
        if of > 0 {
            let (joint, plural) = (if out.is_empty() { " with" } else { " and" }, if of == 1 { "" } else { "s" });
            let _ = write!(out, "{joint} {of} {name}{plural}");
        }
    }
    out
}
