//! Recognises what an agent reads in order to edit it: files with line numbers, diffs, source code. It needs these
//! verbatim.

/// Shares, in per cent of all lines.
const NUMBERED_PERCENT: usize = 70;
const CONSECUTIVE_PERCENT: usize = 80;
const CODE_PERCENT: usize = 50;
/// Fewer lines tell nothing.
const LINES_MIN: usize = 8;

const CODE_ENDS: [&str; 8] = ["{", "}", ";", "(", "):", "*/", "=>", "->"];
const CODE_STARTS: [&str; 43] = [
    "import ", "from ", "use ", "fn ", "pub ", "def ", "class ", "func ", "function ", "package ", "#include",
    "#define", "//", "/*", "* ", "#!", "#[", "@", "let ", "const ", "var ", "return", "export ", "if ", "if(",
    "for ", "while ", "switch ", "else", "elif ", "case ", "try:", "except", "private ", "public ", "protected ",
    "static ", "struct ", "enum ", "impl ", "type ", "self.", "this.",
];

/// Whether a text is part of a file with its line numbers, or a diff.
pub(super) fn is_file_or_diff(text: &str) -> bool {
    let lines = lines(text);
    lines.len() >= LINES_MIN && (is_numbered(&lines) || is_diff(&lines))
}

/// Whether most lines are code. Matches of a search in code are, too, and must be excluded before.
pub(super) fn is_source(text: &str) -> bool {
    let lines = lines(text);
    let code = lines.iter().filter(|line| is_code_line(line)).count();
    lines.len() >= LINES_MIN && code * 100 >= lines.len() * CODE_PERCENT
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim().is_empty()).collect()
}

/// Whether most lines have a number that is one more than the line's before.
fn is_numbered(lines: &[&str]) -> bool {
    let numbers: Vec<u64> = lines.iter().filter_map(|line| line_number(line)).collect();
    let consecutive = numbers.windows(2).filter(|pair| pair[1] == pair[0].wrapping_add(1)).count();
    numbers.len() * 100 >= lines.len() * NUMBERED_PERCENT
        && consecutive * 100 >= numbers.len().saturating_sub(1) * CONSECUTIVE_PERCENT
}

/// `  12→code`, `12: code`, `12 | code`, `12<tab>code`.
fn line_number(line: &str) -> Option<u64> {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let after = line[digits..].trim_start_matches(' ').chars().next();
    let is_separated =
        after.is_none_or(|c| matches!(c, '→' | ':' | '|' | '\t' | '│')) || line[digits..].starts_with("  ");
    line[..digits].parse().ok().filter(|_| is_separated)
}

fn is_diff(lines: &[&str]) -> bool {
    let has_files = lines.windows(2).any(|pair| pair[0].starts_with("--- ") && pair[1].starts_with("+++ "));
    (has_files || lines.iter().any(|line| line.starts_with("diff --git ")))
        && lines.iter().any(|line| line.starts_with("@@ "))
}

fn is_code_line(line: &str) -> bool {
    let trimmed = line.trim();
    // A line of a JSON document, or of a stack trace.
    if trimmed.starts_with(['"', '{', '[']) || trimmed.starts_with("at ") {
        return false;
    }
    let is_indented = line.starts_with("  ") || line.starts_with('\t');
    let is_statement =
        is_indented && (trimmed.contains(" = ") || trimmed.ends_with([')', ',']) && trimmed.contains('('));
    is_statement
        || CODE_ENDS.iter().any(|end| trimmed.ends_with(end))
        || CODE_STARTS.iter().any(|start| trimmed.starts_with(start))
}
