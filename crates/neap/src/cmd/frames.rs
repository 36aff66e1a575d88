//! `neap frames`: the stances an agent can take, and which one a message calls for.

use std::process::ExitCode;

use neap_core::frame::{Frame, Frames, select};
use serde_json::json;

use crate::cli::FramesArgs;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};
use crate::outlook;

pub(crate) fn run(data: &DataDir, args: &FramesArgs, json: bool) -> Result<ExitCode, Failure> {
    let frames = outlook::read(data)?.frames;
    match (&args.message, &args.name) {
        (Some(message), _) => chosen(&frames, message, json)?,
        (None, Some(name)) => one(&frames, name, json)?,
        (None, None) if json => out::json_line(&frames.iter().collect::<Vec<_>>())?,
        (None, None) => {
            out::piece(render(&frames));
            out::line(format!(
                "\n{DIM}budgets: decisions / facts / procedures / episodes. More frames: {}{DIM:#}",
                data.agent_folder().join("frames.toml").display()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn chosen(frames: &Frames, message: &str, json: bool) -> Result<(), Failure> {
    let chosen = select(frames, message);
    if json {
        out::json_line(&json!({
            "frame": chosen.frame.name, "confidence": chosen.confidence, "hits": chosen.hits,
            "because": chosen.explain(),
        }))?;
    } else {
        out::line(out::clean(&chosen.explain()));
    }
    Ok(())
}

fn one(frames: &Frames, name: &str, json: bool) -> Result<(), Failure> {
    let known = || frames.iter().map(|frame| frame.name.as_str()).collect::<Vec<_>>().join(", ");
    let frame = frames.get(&name.to_lowercase()).ok_or_else(|| {
        Failure::new(format!("there is no frame '{}'", out::clean(name))).hint(format!("there are: {}", known()))
    })?;
    if json {
        return out::json_line(frame);
    }
    let p = &frame.priorities;
    out::line(format!("{BOLD}{}{BOLD:#}  {}", frame.name, frame.description));
    out::line(format!("  {DIM}words{DIM:#}      {}", frame.words.join(", ")));
    out::line(format!("  {DIM}tokens{DIM:#}     {} in all; {}", thousands(frame.total.0), budgets(frame)));
    out::line(format!(
        "  {DIM}priorities{DIM:#} decisions {}, facts {}, procedures {}, episodes {}",
        p.decisions, p.facts, p.procedures, p.episodes
    ));
    for question in &frame.questions {
        out::line(format!("  {DIM}asks{DIM:#}       {question}"));
    }
    Ok(())
}

fn render(frames: &Frames) -> String {
    let row = |frame: &Frame| {
        vec![
            format!("{BOLD}{}{BOLD:#}", frame.name),
            out::shorten(&frame.words.join(" "), 44),
            thousands(frame.total.0),
            budgets(frame),
            out::shorten(&frame.questions.join(" "), 60),
        ]
    };
    out::table(&["frame", "words", "tokens", "budgets", "questions"], &frames.iter().map(row).collect::<Vec<_>>())
}

fn budgets(frame: &Frame) -> String {
    let of = &frame.budgets;
    [of.decisions, of.facts, of.procedures, of.episodes].map(|tokens| tokens.0.to_string()).join(" / ")
}
