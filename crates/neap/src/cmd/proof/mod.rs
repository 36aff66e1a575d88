//! `neap lab proof`: runs the design's scripted proofs through the real engine and compares expected with
//! measured.

mod memory;
pub(crate) mod model;
mod session;
mod slice1;
mod slice2;
mod slice3;
mod slice4;
mod window;

use std::process::ExitCode;

use serde::Serialize;

use crate::cli::{ProofArgs, ProofSuite};
use crate::out::{self, BAD, BOLD, DIM, Failure, GOOD};
use session::ProofSession;

#[derive(Debug, Serialize)]
struct ProofRow {
    step: String,
    action: String,
    expected: String,
    measured: String,
    ok: bool,
}

#[derive(Debug, Serialize)]
struct Proof {
    slice: &'static str,
    shows: &'static str,
    rows: Vec<ProofRow>,
    ok: bool,
}

impl Proof {
    fn new(slice: &'static str, shows: &'static str) -> Self {
        Self { slice, shows, rows: Vec::new(), ok: true }
    }

    fn add_row(
        &mut self,
        step: impl Into<String>,
        action: impl Into<String>,
        expected: impl Into<String>,
        measured: impl Into<String>,
        ok: bool,
    ) {
        self.ok &= ok;
        let (step, action) = (step.into(), action.into());
        self.rows.push(ProofRow { step, action, expected: expected.into(), measured: measured.into(), ok });
    }

    fn print(&self) {
        out::print_line(format!("{BOLD}{}{BOLD:#}  {}", self.slice, self.shows));
        let rows: Vec<Vec<String>> = self
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
}

pub(crate) async fn run(args: &ProofArgs, json: bool) -> Result<ExitCode, Failure> {
    if args.slice == ProofSuite::Window {
        let proofs = match args.transcripts.as_slice() {
            [] => window::prove(args.turns).await?,
            files => window::prove_over(files).await?,
        };
        return print_proofs(&proofs, json);
    }
    if args.slice == ProofSuite::Memory {
        return match &args.once {
            Some(store) => memory::build_once(store).await.map(|()| ExitCode::SUCCESS),
            None => print_proofs(&memory::prove(args.percent).await?, json),
        };
    }
    if !args.transcripts.is_empty() {
        return Err(
            Failure::new("--transcripts is for the window proof").hint("neap lab proof window --transcripts FILE")
        );
    }
    let is_selected = |slice: ProofSuite| args.slice == slice || args.slice == ProofSuite::All;
    let mut proofs = Vec::new();
    if is_selected(ProofSuite::Slice1) {
        proofs.push(slice1::prove(&mut ProofSession::new().await?).await?);
    }
    if is_selected(ProofSuite::Slice2) {
        proofs.push(slice2::prove(&mut ProofSession::new().await?).await?);
    }
    if is_selected(ProofSuite::Slice3) {
        proofs.push(slice3::prove(&mut ProofSession::new().await?).await?);
    }
    if is_selected(ProofSuite::Slice4) {
        proofs.push(slice4::prove(&mut ProofSession::new().await?).await?);
    }
    print_proofs(&proofs, json)
}

/// Prints proofs; the exit code says whether all hold.
fn print_proofs(proofs: &[Proof], json: bool) -> Result<ExitCode, Failure> {
    let ok = proofs.iter().all(|proof| proof.ok);
    if json {
        out::print_json(&proofs)?;
    } else {
        for proof in proofs {
            proof.print();
        }
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
