//! `neap proof`: the scripted proofs of the design, through the real engine, expected beside measured.

mod memory;
pub(crate) mod model;
mod slice1;
mod slice2;
mod slice3;
mod slice4;
mod stage;
mod window;

use std::process::ExitCode;

use serde::Serialize;

use crate::cli::{ProofArgs, Slice};
use crate::out::{self, BAD, BOLD, DIM, Failure, GOOD};
use stage::Stage;

/// One step of a proof.
#[derive(Debug, Serialize)]
struct Row {
    step: String,
    action: String,
    expected: String,
    measured: String,
    ok: bool,
}

/// A proof: what it shows, step by step.
#[derive(Debug, Serialize)]
struct Proof {
    slice: &'static str,
    shows: &'static str,
    rows: Vec<Row>,
    ok: bool,
}

impl Proof {
    fn new(slice: &'static str, shows: &'static str) -> Self {
        Self { slice, shows, rows: Vec::new(), ok: true }
    }

    fn row(
        &mut self,
        step: impl Into<String>,
        action: impl Into<String>,
        expected: impl Into<String>,
        measured: impl Into<String>,
        ok: bool,
    ) {
        self.ok &= ok;
        let (step, action) = (step.into(), action.into());
        self.rows.push(Row { step, action, expected: expected.into(), measured: measured.into(), ok });
    }

    fn print(&self) {
        out::line(format!("{BOLD}{}{BOLD:#}  {}", self.slice, self.shows));
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                let verdict = if row.ok { format!("{GOOD}ok{GOOD:#}") } else { format!("{BAD}FAILED{BAD:#}") };
                let cells = [&row.step, &row.action, &row.expected, &row.measured];
                cells.into_iter().cloned().chain([verdict]).collect()
            })
            .collect();
        out::line(out::table(&["step", "action", "expected", "measured", ""], &rows));
    }
}

pub(crate) async fn run(args: &ProofArgs, json: bool) -> Result<ExitCode, Failure> {
    if args.slice == Slice::Window {
        let proofs = match args.transcripts.as_slice() {
            [] => window::prove(args.turns).await?,
            files => window::prove_over(files).await?,
        };
        return tell(&proofs, json);
    }
    if args.slice == Slice::Memory {
        return match &args.once {
            Some(store) => memory::once(store).await.map(|()| ExitCode::SUCCESS),
            None => tell(&memory::prove(args.percent).await?, json),
        };
    }
    if !args.transcripts.is_empty() {
        return Err(
            Failure::new("--transcripts is for the window proof").hint("neap proof window --transcripts FILE")
        );
    }
    let wanted = |slice: Slice| args.slice == slice || args.slice == Slice::All;
    let mut proofs = Vec::new();
    if wanted(Slice::Slice1) {
        proofs.push(slice1::prove(&mut Stage::new().await?).await?);
    }
    if wanted(Slice::Slice2) {
        proofs.push(slice2::prove(&mut Stage::new().await?).await?);
    }
    if wanted(Slice::Slice3) {
        proofs.push(slice3::prove(&mut Stage::new().await?).await?);
    }
    if wanted(Slice::Slice4) {
        proofs.push(slice4::prove(&mut Stage::new().await?).await?);
    }
    tell(&proofs, json)
}

/// Prints proofs; the exit code says whether they hold.
fn tell(proofs: &[Proof], json: bool) -> Result<ExitCode, Failure> {
    let ok = proofs.iter().all(|proof| proof.ok);
    if json {
        out::json_line(&proofs)?;
    } else {
        for proof in proofs {
            proof.print();
        }
        let failed: usize = proofs.iter().flat_map(|proof| &proof.rows).filter(|row| !row.ok).count();
        let rows: usize = proofs.iter().map(|proof| proof.rows.len()).sum();
        out::line(match failed {
            0 => format!("{GOOD}all {rows} expectations hold{GOOD:#}"),
            n => format!("{BAD}{n} of {rows} expectations fail{BAD:#}"),
        });
        out::line(format!(
            "{DIM}Tokens are o200k; \"about\" figures are the design's own, whose texts were other than these.{DIM:#}"
        ));
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
