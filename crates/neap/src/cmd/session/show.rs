//! `neap session show`: a session at a glance, or one of its turns in full.

use std::process::ExitCode;

use neap_core::base::ids::TurnNo;
use neap_engine::forms::SessionDetail;

use crate::app;
use crate::cli::SessionShowArgs;
use crate::cmd::{efforts, report};
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure};

pub(super) async fn run(data: &DataDir, args: &SessionShowArgs, json: bool) -> Result<ExitCode, Failure> {
    let engine = app::read_engine(data)?;
    let id = app::named_or_latest(&engine, args.session.as_deref()).await?;
    if let Some(turn) = args.turn {
        let turn = engine.explain(&id, Some(TurnNo(turn))).await?;
        if json {
            out::print_json(&turn)?;
        } else {
            let messages = [("user", turn.message.clone()), ("assistant", turn.reply_display_text())];
            for (who, text) in messages.into_iter().filter_map(|(who, text)| text.map(|text| (who, text))) {
                out::print_line(format!("{DIM}{who}:{DIM:#} {}", out::escape_control(&text)));
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let session = engine.attach(&id).await?;
    let (state, head) = (session.state(), session.state().head());
    if json {
        out::print_json(&SessionDetail::of(&session))?;
        return Ok(ExitCode::SUCCESS);
    }
    out::print_line(format!("{BOLD}{id}{BOLD:#}  {DIM}begun{DIM:#} {}", out::time(head.created)));
    let folder = data.sessions_folder().join(id.as_str());
    if folder.exists() {
        out::print_line(format!("{DIM}as files:{DIM:#} {}", folder.display()));
    }
    out::print_line("");
    out::print_text(efforts::render(state));
    out::print_line("");
    out::print_text(report::render(&session.report(), true));
    Ok(ExitCode::SUCCESS)
}
