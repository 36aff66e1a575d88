//! `neap session original`: prints the original text behind a handle.

use std::io::IsTerminal;
use std::process::ExitCode;

use neap_core::base::handle::Handle;
use neap_core::base::message::Message;
use neap_core::turn::tools::original_text;
use neap_engine::forms::Original;

use crate::app;
use crate::cli::OriginalArgs;
use crate::env::DataDir;
use crate::out::{self, Failure};

const HINT: &str = "t12 is turn 12, t12.3 its fourth message; `neap session receipts` shows those of summaries, such as t3-41@auth-bug";

pub(crate) async fn run(data: &DataDir, args: &OriginalArgs, json: bool) -> Result<ExitCode, Failure> {
    let handle: Handle = args
        .handle
        .parse()
        .map_err(|error: neap_core::base::handle::HandleError| Failure::new(error.to_string()).hint(HINT))?;
    let engine = app::read_engine(data)?;
    let id = app::named_or_latest(&engine, args.session.as_deref()).await?;
    let messages = engine.original(&id, &handle).await?;
    if messages.is_empty() {
        return Err(Failure::new(format!("nothing is stored under '{handle}' in session '{id}'")).hint(HINT));
    }
    let text = original_text(&handle, &messages.iter().collect::<Vec<&Message>>());
    out::print_masked_notice(&text);
    if json {
        out::print_json(&Original::new(&handle, &messages, 0, usize::MAX))?;
        return Ok(ExitCode::SUCCESS);
    }
    if std::io::stdout().is_terminal() {
        out::print_line(out::escape_control(&text).trim_end_matches('\n'));
    } else {
        out::print_bytes(text.as_bytes());
    }
    Ok(ExitCode::SUCCESS)
}
