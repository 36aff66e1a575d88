//! The two lines: what sending everything costs climbs, and what Neap sends stays flat.

use crate::out::{BAD, DIM, GOOD, short};

use super::figures::Point;

pub(super) const ROWS: usize = 10;
/// For the figures at the left.
const AXIS: usize = 7;
const WIDTH_MAX: usize = 100;

/// `turns` is the number of turns that the width stands for.
pub(super) fn draw(points: &[Point], turns: usize, width: usize) -> Vec<String> {
    let columns = width.saturating_sub(AXIS).clamp(10, WIDTH_MAX);
    let top = points.iter().map(|point| point.everything.max(point.sent)).max().unwrap_or(1).max(1);
    let row_of = |tokens: u64| (tokens * (ROWS as u64 - 1) / top) as usize;
    // The last turn that falls into a column stands for it.
    let at = |column: usize| -> Option<&Point> {
        let turn = ((column + 1) * turns).div_ceil(columns);
        (turn <= points.len()).then(|| points.get(turn.saturating_sub(1))).flatten()
    };
    let shown: Vec<Option<&Point>> = (0..columns).map(at).collect();
    let line = |row: usize| -> String {
        let label = match row {
            0 => "0".to_owned(),
            row if row == ROWS - 1 => short(top),
            _ => String::new(),
        };
        let mut text = format!("{DIM}{label:>6}{DIM:#} ");
        for point in &shown {
            match point {
                Some(point) if row_of(point.sent) == row => text.push_str(&format!("{GOOD}━{GOOD:#}")),
                Some(point) if row_of(point.everything) == row => text.push_str(&format!("{BAD}•{BAD:#}")),
                Some(_) | None => text.push(' '),
            }
        }
        text.trim_end().to_owned()
    };
    (0..ROWS).rev().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_climbs_and_the_other_stays() {
        let points: Vec<Point> = (1..=40).map(|turn| Point { sent: 500, everything: turn * 250 }).collect();
        let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
        let lines: Vec<String> = draw(&points, 40, 47).iter().map(plain).collect();
        assert_eq!(lines.len(), ROWS);
        assert!(lines.iter().all(|line| line.chars().count() <= 47), "{lines:#?}");
        assert!(lines[0].starts_with("   10k") && lines[0].ends_with('•'), "{lines:#?}");
        assert_eq!(lines[ROWS - 1].matches('━').count(), 40, "{lines:#?}");
        let half: Vec<String> = draw(&points[..20], 40, 47).iter().map(plain).collect();
        assert_eq!(half[ROWS - 1].matches('━').count(), 20, "{half:#?}");
    }
}
