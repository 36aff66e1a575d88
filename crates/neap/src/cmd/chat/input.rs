//! Reads input: with history and completion on a terminal, line by line from a pipe.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use neap_core::session::state::SessionState;
use neap_core::text::secrets::mask;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use super::completion::Completions;
use crate::files;
use crate::out::Failure;

const HISTORY_LINES_MAX: usize = 2_000;
const PROMPT: &str = "› ";

pub(super) enum InputLine {
    Text(String),
    Empty,
    Eof,
}

type LineEditor = Editor<Completions, FileHistory>;

pub(super) enum Input {
    /// The editor is taken while a line is read.
    Terminal {
        editor: Option<Box<LineEditor>>,
        history: PathBuf,
    },
    Pipe,
}

impl Input {
    pub(super) fn open(history: &Path) -> Result<Self, Failure> {
        if !std::io::stdin().is_terminal() {
            return Ok(Input::Pipe);
        }
        let config = Config::builder().auto_add_history(false).history_ignore_dups(true);
        let config =
            config.and_then(|config| config.max_history_size(HISTORY_LINES_MAX)).map_err(terminal_error)?;
        let mut editor: LineEditor = Editor::with_config(config.build()).map_err(terminal_error)?;
        editor.set_helper(Some(Completions::default()));
        // The first chat has no history.
        let _ = editor.load_history(history);
        Ok(Input::Terminal { editor: Some(Box::new(editor)), history: history.to_owned() })
    }

    /// Whether a person types, rather than a program.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Input::Terminal { .. })
    }

    pub(super) fn set_completions(&mut self, state: &SessionState) {
        if let Input::Terminal { editor: Some(editor), .. } = self
            && let Some(helper) = editor.helper_mut()
        {
            helper.set_efforts(state);
        }
    }

    /// Reads a line on a thread of its own. Ctrl-C clears the line, Ctrl-D ends the chat.
    pub(super) async fn read(&mut self) -> Result<InputLine, Failure> {
        let line = match self {
            Input::Terminal { editor, .. } => {
                let Some(mut lines) = editor.take() else { return Ok(InputLine::Eof) };
                let reading = tokio::task::spawn_blocking(move || {
                    let line = lines.readline(PROMPT);
                    (lines, line)
                });
                let (lines, line) = reading.await.map_err(|error| Failure::new(error.to_string()))?;
                *editor = Some(lines);
                match line {
                    Ok(text) => {
                        add_to_history(editor.as_deref_mut(), &text);
                        text
                    }
                    Err(ReadlineError::Interrupted) => return Ok(InputLine::Empty),
                    Err(ReadlineError::Eof) => return Ok(InputLine::Eof),
                    Err(error) => return Err(terminal_error(error)),
                }
            }
            Input::Pipe => {
                let mut bytes = Vec::new();
                if std::io::stdin().lock().read_until(b'\n', &mut bytes)? == 0 {
                    return Ok(InputLine::Eof);
                }
                String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned()
            }
        };
        Ok(if line.trim().is_empty() { InputLine::Empty } else { InputLine::Text(line) })
    }

    pub(super) fn save(&mut self) {
        if let Input::Terminal { editor: Some(editor), history } = self {
            // Failing to save the history must not fail the chat.
            let _ = history.parent().map_or(Ok(()), files::create_dir);
            let _ = editor.save_history(history);
        }
    }
}

/// Adds a line to the history with its secrets masked. Leaves out commands that write memories, so that erasing
/// the memory erases every copy.
fn add_to_history(editor: Option<&mut LineEditor>, line: &str) {
    let writes_memory = ["/remember", "/decide"].iter().any(|command| line.trim_start().starts_with(command));
    if let Some(editor) = editor.filter(|_| !writes_memory && !line.trim().is_empty()) {
        // A line rejected by the history is still sent.
        let _ = editor.add_history_entry(mask(line).0);
    }
}

fn terminal_error(error: ReadlineError) -> Failure {
    Failure::new(format!("cannot read from the terminal: {error}"))
}
