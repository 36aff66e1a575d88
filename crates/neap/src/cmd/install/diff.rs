//! A change to a file, as it is shown: what goes and what comes, with a few lines around.

use std::path::Path;

use crate::out::{self, BAD, BOLD, DIM, GOOD};

/// Lines that are shown around a change.
const AROUND: usize = 2;

/// The change of one file. Everything between the first and the last line that differ is shown.
pub(super) fn shown(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let what = match (before, after) {
        (None, _) => " (new)",
        (_, None) => " (removed)",
        (Some(_), Some(_)) => "",
    };
    let mut out = format!("{BOLD}{}{BOLD:#}{DIM}{what}{DIM:#}\n", out::clean(&path.to_string_lossy()));
    let lines = |text: Option<&str>| text.unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(before), lines(after));
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same;
    let same_end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let context =
        |lines: &[String]| lines.iter().map(|line| format!("  {}\n", out::clean(line))).collect::<String>();
    out.push_str(&context(&old[same.saturating_sub(AROUND)..same]));
    for line in &old[same..old.len() - same_end] {
        out.push_str(&format!("{BAD}- {}{BAD:#}\n", out::clean(line)));
    }
    for line in &new[same..new.len() - same_end] {
        out.push_str(&format!("{GOOD}+ {}{GOOD:#}\n", out::clean(line)));
    }
    let end = old.len() - same_end;
    out.push_str(&context(&old[end..(end + AROUND).min(old.len())]));
    out
}
