//! `neap lab`: proofs, evaluation, benchmarks and scripted conversations.

mod bench;
mod eval;
mod eval_output;
mod model_proof;
mod proof;
mod replay;

use std::process::ExitCode;

use crate::cli::LabSubcommand;
use crate::env::DataDir;
use crate::out::Failure;

pub(crate) async fn run(
    data: impl Fn() -> Result<DataDir, Failure>,
    what: LabSubcommand,
    json: bool,
) -> Result<ExitCode, Failure> {
    match what {
        LabSubcommand::Proof(args) => proof::run(data, &args, json).await,
        LabSubcommand::Eval(args) => eval::run(&args, json),
        LabSubcommand::Bench(args) => bench::run(&args, json).await,
        LabSubcommand::Replay(args) => replay::run(&data()?, args, json).await,
    }
}
