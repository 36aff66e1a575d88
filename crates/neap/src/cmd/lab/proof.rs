//! `neap lab proof`: runs the design's scripted proofs and prints expected beside measured.

use std::process::ExitCode;

use neap_lab::proof::{self, Proof, Slice};

use crate::cli::{ProofArgs, ProofSuite};
use crate::env::DataDir;
use crate::out::{self, BAD, BOLD, DIM, Failure, GOOD};
use crate::progress;

pub(crate) async fn run(
    data: impl Fn() -> Result<DataDir, Failure>,
    args: &ProofArgs,
    json: bool,
) -> Result<ExitCode, Failure> {
    let slices: &[Slice] = match args.slice {
        ProofSuite::Slice1 => &[Slice::Summaries],
        ProofSuite::Slice2 => &[Slice::Expansion],
        ProofSuite::Slice3 => &[Slice::Decay],
        ProofSuite::Slice4 => &[Slice::Eviction],
        ProofSuite::All => &Slice::ALL,
        ProofSuite::Window => {
            return print_proofs(&proof::window::prove(args.turns, &progress::show).await?, json);
        }
        ProofSuite::Memory => return print_proofs(&proof::memory::prove(args.percent).await?, json),
        ProofSuite::Model => return super::model_proof::run(&data()?, args, json).await,
    };
    let mut proofs = Vec::new();
    for slice in slices {
        proofs.push(slice.prove().await?);
    }
    print_proofs(&proofs, json)
}

/// Prints proofs; the exit code says whether all hold.
fn print_proofs(proofs: &[Proof], json: bool) -> Result<ExitCode, Failure> {
    let ok = proofs.iter().all(|proof| proof.ok);
    if json {
        out::print_json(&proofs)?;
    } else {
        proofs.iter().for_each(print_proof);
        let failed: usize = proofs.iter().flat_map(|proof| &proof.rows).filter(|row| !row.ok).count();
        let rows: usize = proofs.iter().map(|proof| proof.rows.len()).sum();
        out::print_line(match failed {
            0 => format!("{GOOD}all {rows} expectations hold{GOOD:#}"),
            n => format!("{BAD}{n} of {rows} expectations fail{BAD:#}"),
        });
        out::print_line(format!(
            "{DIM}Tokens are o200k; \"about\" figures are the design's own, whose texts were other than these.{DIM:#}"
        ));
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn print_proof(proof: &Proof) {
    out::print_line(format!("{BOLD}{}{BOLD:#}  {}", proof.slice, proof.shows));
    let rows: Vec<Vec<String>> = proof
        .rows
        .iter()
        .map(|row| {
            let verdict = if row.ok { format!("{GOOD}ok{GOOD:#}") } else { format!("{BAD}FAILED{BAD:#}") };
            let cells = [&row.step, &row.action, &row.expected, &row.measured];
            cells.into_iter().cloned().chain([verdict]).collect()
        })
        .collect();
    out::print_line(out::table(&["step", "action", "expected", "measured", ""], &rows));
}
