//! Prints for people (coloured on a terminal) and for programs (JSON). Stored text never reaches a terminal with
//! its control characters.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use neap_core::base::refusal::Refusal;
use neap_core::memory::Confidence;
pub(crate) use neap_core::text::figures::{dollars, plural as count, short, thousands};
use neap_core::text::fold_whitespace;
use neap_engine::EngineError;
use neap_store::StoreError;
use serde::Serialize;
use serde_json::json;

pub(crate) use crate::table::{table, wrap};
pub(crate) use crate::terminal_text::escape_control;
use crate::terminal_text::{guard, is_risky};

pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const BANNER: Style = AnsiColor::Cyan.on_default();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Why a command failed, with a hint what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    error: String,
    hint: Option<String>,
    code: u8,
}

impl Failure {
    pub(crate) fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), hint: None, code: 2 }
    }

    /// A request that the core's rules refuse: exit code 1.
    pub(crate) fn from_refusal(refusal: &Refusal) -> Self {
        Self { error: to_message(&refusal.error), hint: refusal.hint.as_deref().map(to_message), code: 1 }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn next_step(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.error)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::new(error.to_string()).hint(error.hint())
    }
}

impl From<neap_lab::LabError> for Failure {
    fn from(error: neap_lab::LabError) -> Self {
        Self { hint: error.hint, ..Self::new(error.message) }
    }
}

impl From<neap_server::ServerError> for Failure {
    fn from(error: neap_server::ServerError) -> Self {
        Self { hint: error.hint, ..Self::new(error.message) }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string()).hint(error.hint())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}

pub(crate) fn print_failure(failure: &Failure, json: bool) -> ExitCode {
    let error = escape_control(&failure.error);
    let mut err = anstream::stderr().lock();
    let written = if json {
        writeln!(err, "{}", json!({"error": error, "hint": failure.hint}))
    } else {
        let hint = failure.hint.as_ref().map(|hint| format!("\n{DIM}hint:{DIM:#} {}", escape_control(hint)));
        writeln!(err, "{BAD}error:{BAD:#} {error}{}", hint.unwrap_or_default())
    };
    // A closed standard error cannot be reported anywhere.
    drop(written);
    ExitCode::from(failure.code)
}

/// A sentence without its capital and full stop. An id or a name at the start stays as it is.
fn to_message(sentence: &str) -> String {
    let text = sentence.strip_suffix('.').unwrap_or(sentence);
    let first_word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    if !first_word.chars().skip(1).all(char::is_lowercase) {
        return text.to_owned();
    }
    let mut chars = text.chars();
    chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
}

/// Prints a line on standard output. If the reader is gone, the program exits quietly.
pub(crate) fn print_line(text: impl AsRef<str>) {
    print(text.as_ref(), "\n");
}

pub(crate) fn print_text(text: impl AsRef<str>) {
    print(text.as_ref(), "");
}

fn print(text: &str, end: &str) {
    let mut stdout = anstream::stdout().lock();
    if write!(stdout, "{}{end}", guard(text)).and_then(|()| stdout.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Assumed where there is no terminal.
const WIDTH: usize = 100;
/// Narrower or wider, a page is cut or not wider than this.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=200;

/// Columns of the terminal, within what a page can be fitted to.
pub(crate) fn width() -> usize {
    let typed = crate::env::var(crate::env::COLUMNS).and_then(|text| text.parse().ok());
    let on_terminal =
        || rustyline::DefaultEditor::new().ok()?.dimensions().map(|(columns, _)| usize::from(columns));
    let width = typed.or_else(on_terminal).unwrap_or(WIDTH);
    width.clamp(*WIDTHS.start(), *WIDTHS.end())
}

/// Columns that a table must fit; none in a pipe, where programs read it.
pub(crate) fn table_width() -> Option<usize> {
    let is_told = crate::env::var(crate::env::COLUMNS).is_some();
    (is_told || std::io::IsTerminal::is_terminal(&std::io::stdout())).then(width)
}

/// Whether standard output is a terminal that can be drawn on.
pub(crate) fn is_live() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stdout())
        && crate::env::var(crate::env::TERM).as_deref() != Some("dumb")
}

/// Draws lines in place of as many that were drawn before. Moving the cursor is no colour, so this is not stripped.
pub(crate) fn redraw(drawn: usize, lines: &[String]) {
    if drawn > 0 {
        print_bytes(format!("\u{1b}[{drawn}A\u{1b}[J").as_bytes());
    }
    for line in lines {
        print_line(line);
    }
}

/// Writes bytes unchanged to standard output: data for a program, or our own control sequences.
pub(crate) fn print_bytes(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(bytes).and_then(|()| stdout.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Where an export goes: a new file, which never replaces another, or standard output.
pub(crate) fn export_sink(path: Option<&Path>) -> Result<Box<dyn std::io::Write>, Failure> {
    let Some(path) = path else { return Ok(Box::new(std::io::stdout().lock())) };
    let shown = path.display();
    match crate::files::create_new(path) {
        Ok(file) => Ok(Box::new(std::io::BufWriter::new(file))),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Failure::new(format!("{shown} already exists")).hint("choose a name that is not in use"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::new(format!("cannot write {shown}: its folder does not exist"))
                .hint("create the folder, or choose another"))
        }
        Err(error) => Err(Failure::new(format!("cannot write {shown}: {error}"))),
    }
}

/// Prints a dimmed line on standard error.
pub(crate) fn print_notice(text: impl AsRef<str>) {
    // A closed standard error cannot be reported anywhere.
    let _ = writeln!(anstream::stderr().lock(), "{DIM}{}{DIM:#}", guard(text.as_ref()));
}

/// A remark on standard error, as text or JSON.
pub(crate) fn print_note(text: &str, json: bool) -> Result<(), Failure> {
    let text = escape_control(text);
    print_notice(if json { json_text(&serde_json::json!({ "note": text }))? } else { format!("note: {text}") });
    Ok(())
}

pub(crate) fn print_masked_notice(text: &str) {
    let places = neap_core::text::secrets::count_masks(text) as u64;
    if places > 0 && std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        print_notice(format!("{} masked when this was stored", count(places, "secret")));
    }
}

/// Answers a program in JSON, or a person in text.
pub(crate) fn print_answer(
    json: bool,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<ExitCode, Failure> {
    if json {
        print_json(value)?;
    } else {
        print_text(text());
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print_line(json_text(value)?);
    Ok(())
}

/// JSON without characters that a terminal would obey; JSON allows those from U+007F on unescaped.
pub(crate) fn json_text(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::new(error.to_string()))?;
    if !text.contains(is_risky) {
        return Ok(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_risky(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    Ok(escaped)
}

pub(crate) fn one_line(text: &str) -> String {
    fold_whitespace(&escape_control(text))
}

/// On one line, truncated with an ellipsis.
pub(crate) fn shorten(text: &str, chars_max: usize) -> String {
    let flat = one_line(text);
    match flat.char_indices().nth(chars_max.saturating_sub(1)) {
        Some((cut, last)) if cut + last.len_utf8() < flat.len() => format!("{}…", &flat[..cut]),
        Some(_) | None => flat,
    }
}

pub(crate) fn two_decimals(confidence: Confidence) -> String {
    format!("{:.2}", confidence.value())
}

pub(crate) fn time(at: neap_core::base::ids::Stamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| "?".to_owned(), |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_no_control_characters_and_loses_none() {
        let said = "a\u{1b}[2J\u{7f}\u{9b}31m\0\n✓\u{202e}\u{e0041}";
        let text = json_text(&said).expect("text is JSON");
        assert_eq!(text, r#""a\u001b[2J\u007f\u009b31m\u0000\n✓\u202e\udb40\udc41""#);
        assert_eq!(serde_json::from_str::<String>(&text).expect("it reads back"), said);
    }

    #[test]
    fn refusals_are_spoken_as_errors_are() {
        let said =
            ["A fact needs content.", "f7 is a fact.", "UTF-8 it is not.", "Say what it is"].map(to_message);
        assert_eq!(said, ["a fact needs content", "f7 is a fact", "UTF-8 it is not", "say what it is"]);
    }

    #[test]
    fn lines_are_shortened_at_their_end_only() {
        assert_eq!((shorten("a  b\nc", 5).as_str(), shorten("abcdef", 5).as_str()), ("a b c", "abcd…"));
        assert_eq!((shorten("äöüß", 4).as_str(), shorten("", 4).as_str()), ("äöüß", ""));
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1000, 1234567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
