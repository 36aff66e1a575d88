//! One binary: for whom?
//!
//! It alone reads arguments and the environment, and prints. Each command is a file under `cmd/`.

mod app;
mod cli;
mod cmd;
mod embedder;
mod env;
mod files;
mod keys;
mod log;
mod mcp;
mod model;
mod out;
mod outlook;
mod progress;
mod proxy;
mod settings;
mod token;
mod told;
mod typed;
mod when;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command, HookArgs};
use out::Failure;

/// Threads for what waits for the disk, and for names of hosts; the store has four at a time read.
const BLOCKING_THREADS_MAX: usize = 64;
/// A call that takes long leaves one for the others.
const MCP_THREADS: usize = 2;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // An agent's hook that is called in a way this version does not know must not stop the agent.
        Err(error) if cmd::hook::is_asked_for() => return cmd::hook::run_unknown(&error),
        Err(error) => error.exit(),
    };
    let logs = log::start();
    if let Command::Hook(HookArgs { log: false, .. }) = &cli.command {
        return cmd::hook::run(cli);
    }
    if let Err(failure) = logs {
        return out::fail(&failure, cli.json);
    }
    // Servers answer several at once; all else does one thing after the other.
    let (serves, is_mcp) =
        (matches!(cli.command, Command::Serve(_) | Command::Run(_)), matches!(cli.command, Command::Mcp(_)));
    let mut runtime = match serves || is_mcp {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    if is_mcp {
        // There may be many of these, one for each agent.
        runtime.worker_threads(MCP_THREADS);
    }
    let runtime = match runtime.enable_all().max_blocking_threads(BLOCKING_THREADS_MAX).build() {
        Ok(runtime) => runtime,
        Err(error) => return out::fail(&Failure::new(format!("cannot start: {error}")), false),
    };
    let json = cli.json;
    match runtime.block_on(run(cli)) {
        Ok(code) => code,
        Err(failure) => out::fail(&failure, json),
    }
}

async fn run(cli: Cli) -> Result<ExitCode, Failure> {
    let Cli { data_dir, key_file, agent, json, command } = cli;
    // Asked for only by commands that need it: the others work where there is no place for data.
    let data = || env::DataDir::resolve(data_dir.clone(), key_file.clone(), &agent);
    match command {
        Command::Chat(args) => cmd::chat::run(&data()?, args).await,
        Command::Serve(args) => cmd::serve::run(&data()?, args).await,
        Command::Mcp(args) => cmd::mcp::run(&data()?, args).await,
        Command::Run(args) => cmd::run::run(&data()?, args).await,
        Command::Watch(args) => cmd::watch::run(args, json).await,
        Command::Replay(args) => cmd::replay::run(&data()?, args, json).await,
        Command::Proof(args) if args.slice == cli::Slice::Model => {
            cmd::proof::model::run(&data()?, &args, json).await
        }
        Command::Proof(args) => cmd::proof::run(&args, json).await,
        Command::Session(args) => cmd::session::run(&data()?, args, json).await,
        Command::Import(args) => cmd::import::run(&data()?, &args, json).await,
        Command::Hook(_) => cmd::hook::log(&data()?, json),
        Command::Install(args) => cmd::install::run(data_dir.as_deref(), &agent, &args, json),
        Command::Efforts(args) => cmd::efforts::run(&data()?, &args, json).await,
        Command::Search(args) => cmd::search::run(&data()?, &args, json).await,
        Command::Explain(args) => cmd::explain::run(&data()?, &args, json).await,
        Command::Original(args) => cmd::original::run(&data()?, &args, json).await,
        Command::Receipts(args) => cmd::receipts::run(&data()?, &args, json).await,
        Command::Remember(args) => cmd::remember::run(&data()?, args, json).await,
        Command::Recall(args) => cmd::recall::run(&data()?, args, json).await,
        Command::Memory(args) => cmd::memory::run(&data()?, args, json).await,
        Command::Decide(args) => cmd::decide::run(&data()?, args, json).await,
        Command::Review(args) => cmd::decide::review(&data()?, args, json).await,
        Command::Censor(args) => cmd::censor::run(&data()?, args, json).await,
        Command::Frames(args) => cmd::frames::run(&data()?, &args, json),
        Command::Context(args) => cmd::context::run(&data()?, &args, json).await,
        Command::Eval(args) => cmd::eval::run(&args, json).await,
        Command::Bench(args) => cmd::bench::run(&args, json).await,
        Command::Report(args) => cmd::report::run(&data()?, &args, json).await,
        Command::Settings(args) => cmd::settings::run(&data()?, &args, json),
        Command::Doctor(args) => cmd::doctor::run(&data()?, &args, json).await,
        Command::Rebuild(args) => cmd::rebuild::run(&data()?, &args, json).await,
        Command::Keys(args) => cmd::keys::run(&data()?, &args, json),
        Command::Completions(args) => cmd::completions::run(&args),
    }
}
