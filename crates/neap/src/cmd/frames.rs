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
        (Some(message), _) => {
            let chosen = select(&frames, message);
            let value = json!({
                "frame": chosen.frame.name, "confidence": chosen.confidence, "hits": chosen.hits,
                "because": chosen.explain(),
            });
            out::print_answer(json, &value, || format!("{}\n", out::escape_control(&chosen.explain())))
        }
        (None, Some(name)) => {
            let names = || frames.iter().map(|frame| frame.name.as_str()).collect::<Vec<_>>().join(", ");
            let frame = frames.get(&name.to_lowercase()).ok_or_else(|| {
                Failure::new(format!("there is no frame '{}'", out::escape_control(name)))
                    .hint(format!("the frames are: {}", names()))
            })?;
            out::print_answer(json, frame, || render_one(frame))
        }
        (None, None) => out::print_answer(json, &frames.iter().collect::<Vec<_>>(), || {
            format!(
                "{}\n{DIM}budgets: decisions / facts / procedures / episodes. More frames: {}{DIM:#}\n",
                render(&frames),
                data.agent_folder().join("frames.toml").display()
            )
        }),
    }
}

fn render_one(frame: &Frame) -> String {
    let (p, tokens, budgets) = (&frame.priorities, thousands(frame.total.0), budgets_text(frame));
    let mut text = format!("{BOLD}{}{BOLD:#}  {}\n", frame.name, frame.description);
    text.push_str(&format!("  {DIM}words{DIM:#}      {}\n", frame.words.join(", ")));
    text.push_str(&format!("  {DIM}tokens{DIM:#}     {tokens} in all; {budgets}\n"));
    text.push_str(&format!(
        "  {DIM}priorities{DIM:#} decisions {}, facts {}, procedures {}, episodes {}\n",
        p.decisions, p.facts, p.procedures, p.episodes
    ));
    for question in &frame.questions {
        text.push_str(&format!("  {DIM}asks{DIM:#}       {question}\n"));
    }
    text
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
