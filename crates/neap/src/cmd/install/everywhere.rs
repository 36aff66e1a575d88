//! `neap install --all`: every agent that is found, shown first and asked about once, or one by one.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::ValueEnum as _;
use serde_json::json;

use super::agents::{described, id, is_found};
use super::before::BeforeInstall;
use super::command::NeapCommand;
use super::plan::Plan;
use super::{ask, carry_out, changes_json, show};
use crate::cli::{InstallArgs, InstallTarget};
use crate::env::DataDir;
use crate::out::{self, BAD, BOLD, DIM, Failure};

type Problems = Vec<(InstallTarget, Failure)>;

pub(super) fn run(
    data: &DataDir,
    command: &NeapCommand,
    args: &InstallArgs,
    json: bool,
) -> Result<ExitCode, Failure> {
    let installs = !args.uninstall;
    let mut known = BeforeInstall::load(data);
    let (mut taken, mut plans, mut problems) = (BTreeSet::new(), Vec::new(), Problems::new());
    // What was put into an agent's files is taken out of them, whether or not the agent is still here.
    for agent in InstallTarget::value_variants().iter().filter(|agent| !installs || is_found(**agent)) {
        match Plan::new(*agent, command, &known, installs, &mut taken) {
            Ok(plan) => plans.push(plan),
            Err(failure) => problems.push((*agent, failure)),
        }
    }
    let (waiting, done): (Vec<Plan>, Vec<Plan>) = plans.into_iter().partition(|plan| !plan.changes.is_empty());
    if !json {
        show_all(&waiting, &done, &problems, installs);
    }
    let mut chosen: Vec<&Plan> = waiting.iter().collect();
    if !args.print && !args.yes && !waiting.is_empty() {
        chosen = choose(&waiting)?;
    }
    let applies = !args.print && !chosen.is_empty();
    if applies {
        let results = carry_out(data, &mut known, &chosen, installs);
        for (agent, result) in results {
            if let Err(failure) = result {
                chosen.retain(|plan| plan.agent != agent);
                if !json {
                    say_problem(agent, &failure);
                }
                problems.push((agent, failure));
            }
        }
    }
    if json {
        print_json(&waiting, &problems, applies)?;
    } else if !waiting.is_empty() {
        say_result(&chosen, installs, applies);
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

fn show_all(waiting: &[Plan], done: &[Plan], problems: &Problems, installs: bool) {
    for plan in waiting {
        out::print_line(format!("{BOLD}{}{BOLD:#}", described(plan.agent).name));
        plan.changes.iter().for_each(show);
    }
    problems.iter().for_each(|(agent, failure)| say_problem(*agent, failure));
    if installs && !done.is_empty() {
        out::print_line(format!("already installed: {}", names(done.iter())));
    }
    if waiting.is_empty() && problems.is_empty() {
        match (installs, done.is_empty()) {
            (true, true) => out::print_line("no agent was found; `neap install` lists where each is looked for"),
            (true, false) => {}
            (false, _) => out::print_line("nothing to remove"),
        }
    }
}

/// The plans that a person agrees to.
fn choose(waiting: &[Plan]) -> Result<Vec<&Plan>, Failure> {
    match ask("Make these changes? [y]es to all, [o]ne by one, [N]o: ")?.as_str() {
        "y" | "yes" => Ok(waiting.iter().collect()),
        "o" | "one" => {
            let mut chosen = Vec::new();
            for plan in waiting {
                let answer = ask(&format!("{}? [y/N] ", described(plan.agent).name))?;
                if matches!(answer.as_str(), "y" | "yes") {
                    chosen.push(plan);
                }
            }
            Ok(chosen)
        }
        _ => Ok(Vec::new()),
    }
}

fn say_problem(agent: InstallTarget, failure: &Failure) {
    let name = described(agent).name;
    out::print_line(format!("{BAD}{name}{BAD:#}: {}", out::escape_control(&failure.to_string())));
    if let Some(hint) = failure.next_step() {
        out::print_line(format!("  {DIM}hint:{DIM:#} {hint}"));
    }
}

fn say_result(chosen: &[&Plan], installs: bool, applied: bool) {
    if !applied || chosen.is_empty() {
        return out::print_line(format!("{DIM}nothing was changed{DIM:#}"));
    }
    let verb = if installs { "installed into" } else { "removed from" };
    out::print_line(format!("{BOLD}{verb}{BOLD:#} {}; to apply it:", names(chosen.iter().copied())));
    for plan in chosen {
        let agent = described(plan.agent);
        out::print_line(format!("  {}: {}", agent.name, agent.reload));
    }
}

fn names<'a>(plans: impl Iterator<Item = &'a Plan>) -> String {
    plans.map(|plan| described(plan.agent).name).collect::<Vec<_>>().join(", ")
}

fn print_json(waiting: &[Plan], problems: &Problems, applied: bool) -> Result<(), Failure> {
    let plans: Vec<_> =
        waiting.iter().map(|plan| json!({"agent": id(plan.agent), "changes": changes_json(plan)})).collect();
    let problem = |(agent, failure): &(InstallTarget, Failure)| json!({"agent": id(*agent), "error": failure.to_string(), "hint": failure.next_step()});
    let problems: Vec<_> = problems.iter().map(problem).collect();
    out::print_json(&json!({"applied": applied, "agents": plans, "problems": problems}))
}
