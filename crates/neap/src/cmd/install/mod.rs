//! `neap install`: adds hooks and the MCP server to an agent's own files, after showing the change and asking.

mod agents;
mod before;
mod command;
mod config_file;
mod diff;
mod everywhere;
mod json_edit;
mod json_tree;
mod plan;
mod status;
#[cfg(test)]
mod tests;
mod toml_block;
mod yaml_block;

use std::collections::BTreeSet;
use std::io::{BufRead as _, IsTerminal as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::{InstallArgs, InstallTarget};
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure};
use before::BeforeInstall;
use command::NeapCommand;
use plan::{FileChange, Plan};
pub(crate) use status::{AgentStatus, all as agent_statuses};

pub(crate) fn run(
    data: &DataDir,
    data_dir: Option<&Path>,
    agent: &str,
    args: &InstallArgs,
    json: bool,
) -> Result<ExitCode, Failure> {
    let command = NeapCommand { program: std::env::current_exe()?, options: global_options(data_dir, agent)? };
    match args.into {
        _ if args.all => everywhere::run(data, &command, args, json),
        Some(target) => run_one(data, target, &command, args, json),
        None => status::print(data, json).map(|()| ExitCode::SUCCESS),
    }
}

fn run_one(
    data: &DataDir,
    target: InstallTarget,
    command: &NeapCommand,
    args: &InstallArgs,
    json: bool,
) -> Result<ExitCode, Failure> {
    let mut known = BeforeInstall::load(data);
    let plan = Plan::new(target, command, &known, !args.uninstall, &mut BTreeSet::new())?;
    if !json {
        plan.changes.iter().for_each(show);
    }
    let applies = !args.print && !plan.changes.is_empty();
    if applies {
        if !args.yes && !matches!(ask("Make this change? [y/N] ")?.as_str(), "y" | "yes") {
            out::print_line("nothing was changed");
            return Ok(ExitCode::SUCCESS);
        }
        carry_out(data, &mut known, &[&plan], !args.uninstall).into_iter().try_for_each(|(_, result)| result)?;
    }
    print_result(args, json, &plan, applies)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes the changes of plans, and keeps what is needed to take them back. One that fails leaves the others.
fn carry_out(
    data: &DataDir,
    known: &mut BeforeInstall,
    plans: &[&Plan],
    installs: bool,
) -> Vec<(InstallTarget, Result<(), Failure>)> {
    // First what is needed to take it back.
    if installs {
        plans.iter().for_each(|plan| plan.remember(known));
        if let Err(failure) = known.save(data) {
            return plans.first().map(|plan| (plan.agent, Err(failure))).into_iter().collect();
        }
    }
    let mut results: Vec<_> = plans.iter().map(|plan| (plan.agent, plan.apply())).collect();
    if !installs {
        let done = plans.iter().zip(&results).filter(|(_, (_, result))| result.is_ok());
        done.for_each(|(plan, _)| plan.remember(known));
        if let (Err(failure), Some(first)) = (known.save(data), plans.first()) {
            results.push((first.agent, Err(failure)));
        }
    }
    results
}

/// Global options with which the agent finds the same data.
fn global_options(data_dir: Option<&Path>, agent: &str) -> Result<Vec<String>, Failure> {
    let mut options = Vec::new();
    if let Some(path) = data_dir {
        let path = std::path::absolute(path)?;
        options.extend(["--data-dir".to_owned(), path.to_string_lossy().into_owned()]);
    }
    if agent != "default" {
        options.extend(["--agent".to_owned(), agent.to_owned()]);
    }
    Ok(options)
}

/// The answer in small letters. Fails if nobody is there to answer.
fn ask(question: &str) -> Result<String, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::new("cannot ask for confirmation: standard input is not a terminal")
            .hint("--yes makes the change, --print only shows it"));
    }
    out::print_text(question);
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().to_lowercase())
}

fn show(change: &FileChange) {
    out::print_text(diff::render(&change.path, change.before.as_deref(), change.after.as_deref()));
}

fn changes_json(plan: &Plan) -> Value {
    plan.changes.iter().map(|change| json!({"path": change.path, "text": change.after})).collect()
}

fn print_result(args: &InstallArgs, json: bool, plan: &Plan, applied: bool) -> Result<(), Failure> {
    if json {
        return out::print_json(&json!({"applied": applied, "changes": changes_json(plan)}));
    }
    let verb = if args.uninstall { "removed" } else { "installed" };
    match (plan.changes.is_empty(), applied) {
        (true, _) if args.uninstall => out::print_line("nothing to remove"),
        (true, _) => out::print_line("already installed"),
        (false, false) => out::print_line(format!("{DIM}nothing was changed{DIM:#}")),
        (false, true) => {
            out::print_line(format!(
                "{BOLD}{verb}{BOLD:#}; to apply it: {}",
                agents::described(plan.agent).reload
            ));
        }
    }
    Ok(())
}
