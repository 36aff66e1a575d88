//! `neap recall`: searches memories, by words or by time.

use std::process::ExitCode;

use neap_core::memory::learn::{MemoryCommand, MemoryHit, MemoryResponse};

use crate::app;
use crate::cli::RecallArgs;
use crate::env::DataDir;
use crate::out::{self, DIM, Failure};
use crate::project::Asked;
use crate::{expected, memory_output};

pub(crate) async fn run(data: &DataDir, args: RecallArgs, json: bool) -> Result<ExitCode, Failure> {
    let RecallArgs { query, kinds, time, project, superseded, expect, max } = args;
    let project = Asked::of(project.project.as_deref())?.filter();
    let query = query.join(" ");
    let (engine, mut agent) = app::asked_agent(data).await?;
    let asked = match (&time, query.is_empty()) {
        (Some(time), true) => time.clone(),
        _ => query.clone(),
    };
    let command =
        MemoryCommand::Recall { query: query.clone(), kinds, time, project, superseded, lists: true, max };
    if let Some(id) = expect {
        let found = agent.expect(id, command).await?;
        return expected::print(&id.to_string(), &found, "its rank", json);
    }
    let hits = into_hits(agent.run_command(command).await?)?;
    app::note_embed_fault(&engine, json)?;
    if json {
        out::print_json(&hits)?;
    } else {
        let text = render(&hits, &asked);
        out::print_text(&text);
        out::print_masked_notice(&text);
    }
    Ok(ExitCode::SUCCESS)
}

/// The hits; a refusal becomes a failure.
pub(crate) fn into_hits(response: MemoryResponse) -> Result<Vec<MemoryHit>, Failure> {
    if let MemoryResponse::Refused(refusal) = response {
        return Err(Failure::from_refusal(&refusal));
    }
    Ok(if let MemoryResponse::Found { hits } = response { hits } else { Vec::new() })
}

pub(crate) fn render(hits: &[MemoryHit], query: &str) -> String {
    if hits.is_empty() {
        return format!(
            "No memory matches \"{}\".\n{DIM}hint:{DIM:#} try a rarer word, or a time; `neap memory list` lists \
             all memories, `neap search` searches conversations\n",
            out::escape_control(query)
        );
    }
    let line = |hit: &MemoryHit| {
        let hit_line =
            format!("{DIM}{}{DIM:#}  {}\n", out::two_decimals(hit.score), memory_output::strip_marker(&hit.text));
        let was = hit.supersedes.iter().map(|fact| {
            let line = fact.line();
            format!("      {DIM}{}{DIM:#}\n", out::escape_control(&line))
        });
        hit_line + &was.collect::<String>()
    };
    let lines: String = hits.iter().map(line).collect();
    if hits.iter().all(|hit| hit.is_nearest) {
        return format!(
            "{DIM}No memory bears clearly on \"{}\"; the nearest:{DIM:#}\n",
            out::escape_control(query)
        ) + &lines;
    }
    lines
}
