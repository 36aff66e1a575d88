//! `neap recall`: what the agent knows, by words or by time.

use std::process::ExitCode;

use neap_core::learn::{Answer, Hit, Wish};

use crate::app;
use crate::cli::RecallArgs;
use crate::env::DataDir;
use crate::out::{self, DIM, Failure};
use crate::told;

pub(crate) async fn run(data: &DataDir, args: RecallArgs, json: bool) -> Result<ExitCode, Failure> {
    let RecallArgs { query, kinds, time, superseded, max } = args;
    let query = query.join(" ");
    let mut agent = app::known_agent(data).await?;
    let wish = Wish::Recall { query: query.clone(), kinds, time, superseded, max };
    let hits = found(agent.ask(wish).await?)?;
    if json {
        out::json_line(&hits)?;
    } else {
        let text = render(&hits, &query);
        out::piece(&text);
        out::tell_masked(&text);
    }
    Ok(ExitCode::SUCCESS)
}

/// What was found; a refusal is a failure.
pub(crate) fn found(answer: Answer) -> Result<Vec<Hit>, Failure> {
    match answer {
        Answer::Found { hits } => Ok(hits),
        Answer::Refused(refusal) => Err(Failure::refused(&refusal)),
        Answer::Learnt { .. }
        | Answer::Changed { .. }
        | Answer::Counted
        | Answer::Full { .. }
        | Answer::Status(_)
        | Answer::Swept { .. } => Ok(Vec::new()),
    }
}

/// The list for people.
pub(crate) fn render(hits: &[Hit], query: &str) -> String {
    if hits.is_empty() {
        return format!(
            "Nothing is known of \"{}\".\n{DIM}hint:{DIM:#} try a rarer word, or a time; `neap memory list` lists \
             everything, `neap search` finds what was said\n",
            out::clean(query)
        );
    }
    let line = |hit: &Hit| format!("{DIM}{}{DIM:#}  {}\n", out::share(hit.score), told::plain(&hit.text));
    hits.iter().map(line).collect()
}
