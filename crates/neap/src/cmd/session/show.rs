//! `neap session show`: a session at a glance, or one of its turns, whole.

use std::process::ExitCode;

use neap_core::ids::TurnNo;
use serde_json::json;

use crate::app;
use crate::cli::ShowArgs;
use crate::cmd::{efforts, report};
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure};

pub(super) async fn run(data: &DataDir, args: &ShowArgs, json: bool) -> Result<ExitCode, Failure> {
    let engine = app::reader(data)?;
    let id = app::session_id(&args.session)?;
    if let Some(turn) = args.turn {
        let turn = engine.explain(&id, Some(TurnNo(turn))).await?;
        if json {
            out::json_line(&turn)?;
        } else {
            let said = [("user", turn.message.clone()), ("assistant", turn.reply_for_people())];
            for (who, text) in said.into_iter().filter_map(|(who, text)| text.map(|text| (who, text))) {
                out::line(format!("{DIM}{who}:{DIM:#} {}", out::clean(&text)));
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let session = engine.attach(&id).await?;
    let (state, head) = (session.state(), session.state().head());
    if json {
        out::json_line(&json!({
            "session": id, "created": head.created, "updated": head.updated, "encoding": head.encoding,
            "turns": state.turn(), "active": head.active, "ambient": head.ambient, "all_logs": head.all_logs,
            "policy": head.policy, "report": session.report(),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    out::line(format!("{BOLD}{id}{BOLD:#}  {DIM}begun{DIM:#} {}", out::time(head.created)));
    let folder = data.sessions().join(id.as_str());
    if folder.exists() {
        out::line(format!("{DIM}as files:{DIM:#} {}", folder.display()));
    }
    out::line("");
    out::piece(efforts::render(state));
    out::line("");
    out::piece(report::render(&session.report()));
    Ok(ExitCode::SUCCESS)
}
