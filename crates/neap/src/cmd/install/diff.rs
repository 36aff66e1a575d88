//! Shows the change to a file, with some context.

use std::path::Path;

use crate::out::{self, BAD, BOLD, DIM, GOOD};

const CONTEXT_LINES: usize = 2;

/// Shows everything between the first and the last differing line.
pub(super) fn render(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let label = match (before, after) {
        (None, _) => " (new)",
        (_, None) => " (removed)",
        (Some(_), Some(_)) => "",
    };
    let mut text = format!("{BOLD}{}{BOLD:#}{DIM}{label}{DIM:#}\n", out::escape_control(&path.to_string_lossy()));
    let lines = |text: Option<&str>| text.unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(before), lines(after));
    let common_start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - common_start;
    let common_end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let context = |lines: &[String]| {
        lines.iter().map(|line| format!("  {}\n", out::escape_control(line))).collect::<String>()
    };
    text.push_str(&context(&old[common_start.saturating_sub(CONTEXT_LINES)..common_start]));
    for line in &old[common_start..old.len() - common_end] {
        text.push_str(&format!("{BAD}- {}{BAD:#}\n", out::escape_control(line)));
    }
    for line in &new[common_start..new.len() - common_end] {
        text.push_str(&format!("{GOOD}+ {}{GOOD:#}\n", out::escape_control(line)));
    }
    let end = old.len() - common_end;
    text.push_str(&context(&old[end..(end + CONTEXT_LINES).min(old.len())]));
    text
}
