//! The `neap` program. Only this crate reads arguments and the environment, and prints; each command has a module
//! under `cmd/`.

mod agent_folders;
mod agent_profile;
mod api_token;
mod app;
mod background;
mod cli;
mod cmd;
mod database;
mod dates;
mod embedder;
mod env;
mod expected;
mod files;
mod heard;
mod keys;
mod local_models;
mod log;
mod mcp_token;
mod memory_input;
mod memory_output;
mod model;
mod out;
mod progress;
mod project;
mod settings;
mod table;
mod tenant_parts;
mod terminal_text;

use std::process::ExitCode;

use clap::FromArgMatches;

use cli::{Cli, Command, HiddenCommand, HookArgs, StoreSubcommand, TopLevel};
use out::Failure;

/// Threads for disk access and name resolution; the store reads with four at a time.
const BLOCKING_THREADS_MAX: usize = 64;
/// Two, so that a long call does not block the others.
const MCP_THREADS: usize = 2;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().collect();
    let renamed = cli::replace_former_name(&mut arguments);
    let cli =
        match cli::command().try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches)) {
            Ok(cli) => cli,
            // A hook with unknown arguments must not stop its agent.
            Err(error) if cmd::hook::is_hook_invocation() => return cmd::hook::run_unparsable(&error),
            Err(error) => error.exit(),
        };
    let logs = log::init();
    if let TopLevel::Hidden(HiddenCommand::Hook(HookArgs { log: false, .. })) = &cli.command {
        return cmd::hook::run(cli);
    }
    if let Err(failure) = logs {
        return out::print_failure(&failure, cli.json);
    }
    if let Some((former, now)) = renamed {
        out::print_notice(format!("`neap {former}` is now `neap {now}`"));
    }
    // Only servers need several threads.
    let (serves, is_mcp) = (
        matches!(cli.command, TopLevel::Shown(Command::Serve(_) | Command::Ui(_) | Command::Run(_))),
        matches!(cli.command, TopLevel::Shown(Command::Mcp(_))),
    );
    let mut runtime = match serves || is_mcp {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    if is_mcp {
        // There may be many such processes, one per agent.
        runtime.worker_threads(MCP_THREADS);
    }
    let runtime = match runtime.enable_all().max_blocking_threads(BLOCKING_THREADS_MAX).build() {
        Ok(runtime) => runtime,
        Err(error) => return out::print_failure(&Failure::new(format!("cannot start: {error}")), false),
    };
    let json = cli.json;
    match runtime.block_on(run(cli)) {
        Ok(code) => code,
        Err(failure) => out::print_failure(&failure, json),
    }
}

async fn run(cli: Cli) -> Result<ExitCode, Failure> {
    let Cli { data_dir, store, key_file, agent, json, command } = cli;
    // Resolved only by commands that need it: the others work without a data directory.
    let folder = || env::DataDir::resolve(data_dir.clone(), key_file.clone(), &agent)?.with_store(store.clone());
    let data = async || folder()?.connected().await;
    let command = match command {
        TopLevel::Shown(command) => command,
        TopLevel::Hidden(HiddenCommand::Hook(_)) => return cmd::hook::print_errors(&folder()?, json),
        TopLevel::Hidden(HiddenCommand::EmbedWaiting) => return cmd::import::embed_waiting(&data().await?).await,
        TopLevel::Hidden(HiddenCommand::Completions(args)) => return cmd::completions::run(&args),
        TopLevel::Hidden(HiddenCommand::Man) => return cmd::man::run(),
    };
    match command {
        Command::Chat(args) => cmd::chat::run(&data().await?, args, json).await,
        Command::Demo(args) => cmd::demo::run(&args, json).await,
        Command::Run(args) => cmd::run::run(&data().await?, args, json).await,
        Command::Serve(args) => cmd::serve::run(&data().await?, args).await,
        Command::Ui(args) => cmd::ui::run(&data().await?, args, json).await,
        Command::Mcp(args) => cmd::mcp::run(&data().await?, args).await,
        Command::Install(args) => cmd::install::run(&folder()?, data_dir.as_deref(), &agent, &args, json),
        Command::Import(args) => cmd::import::run(&data().await?, &args, json).await,
        Command::Search(args) => cmd::search::run(&data().await?, &args, json).await,
        Command::Context(args) => cmd::context::run(&data().await?, &args, json).await,
        Command::Explain(args) => cmd::explain::run(&data().await?, &args, json).await,
        Command::Report(args) if args.live => cmd::watch::run(&folder()?, args.watch, json).await,
        Command::Report(args) => cmd::report::run(&data().await?, &args, json).await,
        Command::Remember(args) => cmd::remember::run(&data().await?, args, json).await,
        Command::Recall(args) => cmd::recall::run(&data().await?, args, json).await,
        Command::Session(args) => cmd::session::run(&data().await?, args, json).await,
        Command::Memory(args) => cmd::memory::run(&data().await?, args, json).await,
        Command::Store(args) => match args.what {
            StoreSubcommand::Doctor(args) => cmd::doctor::run(&data().await?, &args, json).await,
            StoreSubcommand::Rebuild(args) => cmd::rebuild::run(&data().await?, &args, json).await,
            StoreSubcommand::Keys(args) => cmd::keys::run(&folder()?, &args, json),
            StoreSubcommand::Access(args) => cmd::access::run(&data().await?, args.what, json).await,
            StoreSubcommand::Settings(args) => cmd::settings::run(&folder()?, &args, json),
        },
        Command::Lab(args) => cmd::lab::run(folder, args.what, json).await,
    }
}
