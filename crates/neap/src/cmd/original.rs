//! `neap original`: what was said, word for word, by its handle.

use std::io::IsTerminal;
use std::process::ExitCode;

use neap_core::handle::Handle;
use neap_core::message::Message;
use neap_core::tools::words;

use crate::app;
use crate::cli::OriginalArgs;
use crate::env::DataDir;
use crate::out::{self, Failure};

/// Where handles come from.
const HINT: &str =
    "`neap explain`, `neap receipts` and `neap search` show handles, such as t12, t12.3 or t3-41@auth-bug";

pub(crate) async fn run(data: &DataDir, args: &OriginalArgs, json: bool) -> Result<ExitCode, Failure> {
    let id = app::session_id(&args.session)?;
    let handle: Handle = args
        .handle
        .parse()
        .map_err(|error: neap_core::handle::HandleError| Failure::new(error.to_string()).hint(HINT))?;
    let messages = app::reader(data)?.original(&id, &handle).await?;
    if messages.is_empty() {
        return Err(Failure::new(format!("nothing is stored under '{handle}' in session '{id}'")).hint(HINT));
    }
    let text = words(&handle, &messages.iter().collect::<Vec<&Message>>());
    out::tell_masked(&text);
    if json {
        out::json_line(&messages)?;
        return Ok(ExitCode::SUCCESS);
    }
    if std::io::stdout().is_terminal() {
        out::line(out::clean(&text).trim_end_matches('\n'));
    } else {
        out::bytes(text.as_bytes());
    }
    Ok(ExitCode::SUCCESS)
}
