//! `neap memory frames`: lists frames, and shows which one a message selects.

use std::process::ExitCode;

use neap_core::memory::frame::{Frame, FrameSet, select};
use serde_json::json;

use crate::agent_profile;
use crate::cli::FramesArgs;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};

pub(crate) fn run(data: &DataDir, args: &FramesArgs, json: bool) -> Result<ExitCode, Failure> {
    let frames = agent_profile::load(data)?.frames;
    match (&args.message, &args.name) {
        (Some(message), _) => print_selected(&frames, message, json)?,
        (None, Some(name)) => print_frame(&frames, name, json)?,
        (None, None) if json => out::print_json(&frames.iter().collect::<Vec<_>>())?,
        (None, None) => {
            out::print_text(render(&frames));
            out::print_line(format!(
                "\n{DIM}budgets: decisions / facts / procedures / episodes. More frames: {}{DIM:#}",
                data.agent_folder().join("frames.toml").display()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_selected(frames: &FrameSet, message: &str, json: bool) -> Result<(), Failure> {
    let chosen = select(frames, message);
    if json {
        out::print_json(&json!({
            "frame": chosen.frame.name, "confidence": chosen.confidence, "hits": chosen.hits,
            "because": chosen.explain(),
        }))?;
    } else {
        out::print_line(out::escape_control(&chosen.explain()));
    }
    Ok(())
}

fn print_frame(frames: &FrameSet, name: &str, json: bool) -> Result<(), Failure> {
    let names = || frames.iter().map(|frame| frame.name.as_str()).collect::<Vec<_>>().join(", ");
    let frame = frames.get(&name.to_lowercase()).ok_or_else(|| {
        Failure::new(format!("there is no frame '{}'", out::escape_control(name)))
            .hint(format!("the frames are: {}", names()))
    })?;
    if json {
        return out::print_json(frame);
    }
    let p = &frame.priorities;
    out::print_line(format!("{BOLD}{}{BOLD:#}  {}", frame.name, frame.description));
    out::print_line(format!("  {DIM}words{DIM:#}      {}", frame.words.join(", ")));
    out::print_line(format!(
        "  {DIM}tokens{DIM:#}     {} in all; {}",
        thousands(frame.total.0),
        budgets_text(frame)
    ));
    out::print_line(format!(
        "  {DIM}priorities{DIM:#} decisions {}, facts {}, procedures {}, episodes {}",
        p.decisions, p.facts, p.procedures, p.episodes
    ));
    for question in &frame.questions {
        out::print_line(format!("  {DIM}asks{DIM:#}       {question}"));
    }
    Ok(())
}

fn render(frames: &FrameSet) -> String {
    let row = |frame: &Frame| {
        vec![
            format!("{BOLD}{}{BOLD:#}", frame.name),
            out::shorten(&frame.words.join(" "), 44),
            thousands(frame.total.0),
            budgets_text(frame),
            out::shorten(&frame.questions.join(" "), 60),
        ]
    };
    out::table(&["frame", "words", "tokens", "budgets", "questions"], &frames.iter().map(row).collect::<Vec<_>>())
}

fn budgets_text(frame: &Frame) -> String {
    let budgets = &frame.budgets;
    [budgets.decisions, budgets.facts, budgets.procedures, budgets.episodes]
        .map(|tokens| tokens.0.to_string())
        .join(" / ")
}
