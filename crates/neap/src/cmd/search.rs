//! `neap search`: what was done and said, in one session or in all.

use std::process::ExitCode;

use neap_engine::Hit;

use crate::app;
use crate::cli::SearchArgs;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure};

pub(crate) async fn run(data: &DataDir, args: &SearchArgs, json: bool) -> Result<ExitCode, Failure> {
    let session = args.session.as_deref().map(app::session_id).transpose()?;
    let engine = app::reader(data)?;
    if let Some(id) = &session {
        engine.attach(id).await?;
    }
    let query = args.query.join(" ");
    let hits = engine.search(&query, session.as_ref(), args.max).await?;
    if json {
        out::json_line(&hits)?;
    } else if hits.is_empty() {
        out::line(format!("Nothing found for \"{}\".", out::clean(&query)));
        out::line(format!(
            "{DIM}hint:{DIM:#} try a rarer word, a name or a number; `neap efforts` lists all efforts"
        ));
    } else {
        for hit in &hits {
            out::piece(render(hit, session.is_none()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A hit for people: where, then what.
pub(crate) fn render(hit: &Hit, name_session: bool) -> String {
    let mut place = hit.effort.as_ref().map_or_else(|| "ambient".to_owned(), |id| id.to_string());
    if name_session {
        place = format!("{} / {place}", hit.session);
    }
    let said = match (hit.turn, hit.role) {
        (Some(turn), Some(role)) => format!(" {DIM}turn {turn}, {}{DIM:#}", role.as_str()),
        (Some(_) | None, _) => format!(" {DIM}summary{DIM:#}"),
    };
    format!("{BOLD}{place}{BOLD:#}{said}\n  {}\n", out::clean(&hit.text))
}
