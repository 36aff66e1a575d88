//! `neap settings`: every setting with its default.

use std::process::ExitCode;

use neap_core::policy::Policy;

use crate::out::{self, DIM, Failure};

pub(crate) fn run(json: bool) -> Result<ExitCode, Failure> {
    let policy = Policy::default();
    if json {
        out::json_line(&policy)?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = Policy::DOCS
        .iter()
        .zip(policy.entries())
        .map(|(doc, (key, value))| vec![key.to_owned(), value.to_string(), doc.trim().to_owned()])
        .collect();
    out::piece(out::table(&["setting", "default", "what it is"], &rows));
    out::line(format!("\n{DIM}Change one for a session with --set key=value, on `chat` or `replay`.{DIM:#}"));
    Ok(ExitCode::SUCCESS)
}
