//! Reading what is typed: with history and completion on a terminal, line by line from a pipe.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use neap_core::secrets::mask;
use neap_core::state::SessionState;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use super::complete::Completions;
use crate::files;
use crate::out::Failure;

/// Lines of history that are kept.
const HISTORY_LINES_MAX: usize = 2_000;
/// What stands before what is typed.
const PROMPT: &str = "› ";

/// What came.
pub(super) enum Typed {
    Text(String),
    Nothing,
    End,
}

type Lines = Editor<Completions, FileHistory>;

/// Where it comes from.
pub(super) enum Input {
    /// The editor is away while a line is typed.
    Terminal {
        editor: Option<Box<Lines>>,
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
        let config = config.and_then(|config| config.max_history_size(HISTORY_LINES_MAX)).map_err(failed)?;
        let mut editor: Lines = Editor::with_config(config.build()).map_err(failed)?;
        editor.set_helper(Some(Completions::default()));
        // The first chat has no history yet.
        let _ = editor.load_history(history);
        Ok(Input::Terminal { editor: Some(Box::new(editor)), history: history.to_owned() })
    }

    /// Whether someone types, rather than a program.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Input::Terminal { .. })
    }

    /// Completes ids of this state.
    pub(super) fn complete_with(&mut self, state: &SessionState) {
        if let Input::Terminal { editor: Some(editor), .. } = self
            && let Some(helper) = editor.helper_mut()
        {
            helper.learn(state);
        }
    }

    /// Waits for a line, on a thread of its own. Ctrl-C clears it, Ctrl-D ends the chat.
    pub(super) async fn read(&mut self) -> Result<Typed, Failure> {
        let line = match self {
            Input::Terminal { editor, .. } => {
                let Some(mut lines) = editor.take() else { return Ok(Typed::End) };
                let reading = tokio::task::spawn_blocking(move || {
                    let line = lines.readline(PROMPT);
                    (lines, line)
                });
                let (lines, line) = reading.await.map_err(|error| Failure::new(error.to_string()))?;
                *editor = Some(lines);
                match line {
                    Ok(text) => {
                        keep(editor.as_deref_mut(), &text);
                        text
                    }
                    Err(ReadlineError::Interrupted) => return Ok(Typed::Nothing),
                    Err(ReadlineError::Eof) => return Ok(Typed::End),
                    Err(error) => return Err(failed(error)),
                }
            }
            Input::Pipe => {
                let mut bytes = Vec::new();
                if std::io::stdin().lock().read_until(b'\n', &mut bytes)? == 0 {
                    return Ok(Typed::End);
                }
                String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned()
            }
        };
        Ok(if line.trim().is_empty() { Typed::Nothing } else { Typed::Text(line) })
    }

    pub(super) fn save(&mut self) {
        if let Input::Terminal { editor: Some(editor), history } = self {
            // A history that cannot be kept is no reason to fail at the end of a chat.
            let _ = history.parent().map_or(Ok(()), files::create_dir);
            let _ = editor.save_history(history);
        }
    }
}

/// Puts a line into the history, without its secrets. What is told to the agent is not: it is kept once, where it can be
/// erased.
fn keep(editor: Option<&mut Lines>, line: &str) {
    let is_taught = ["/remember", "/decide"].iter().any(|command| line.trim_start().starts_with(command));
    if let Some(editor) = editor.filter(|_| !is_taught && !line.trim().is_empty()) {
        // A line that the history does not take is no reason not to say it.
        let _ = editor.add_history_entry(mask(line).0);
    }
}

fn failed(error: ReadlineError) -> Failure {
    Failure::new(format!("cannot read from the terminal: {error}"))
}
