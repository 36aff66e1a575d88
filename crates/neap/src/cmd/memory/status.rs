//! `neap memory status`: counts of memories and their calibration.

use std::collections::BTreeMap;
use std::process::ExitCode;

use neap_core::memory::{Memory, MemoryKind};
use neap_engine::forms::MemoryStatus;

use crate::app;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};

const PENDING_SHOWN: usize = 10;

type Counts = BTreeMap<MemoryKind, BTreeMap<&'static str, u64>>;

pub(super) async fn run(data: &DataDir, json: bool) -> Result<ExitCode, Failure> {
    let agent = app::existing_agent(data).await?;
    let records = super::all_records(&agent).await?;
    let counts = count_records(&records);
    let (head, report) = (agent.head(), agent.report());
    if json {
        out::print_json(&MemoryStatus::new(&agent, &counts))?;
        return Ok(ExitCode::SUCCESS);
    }
    out::print_line(format!("{BOLD}{}{BOLD:#} knows {}", agent.id(), out::count(records.len() as u64, "record")));
    let rows: Vec<Vec<String>> = counts
        .iter()
        .map(|(kind, by_status)| {
            let each: Vec<String> = by_status.iter().map(|(status, n)| format!("{n} {status}")).collect();
            vec![format!("  {}s", kind.as_str()), thousands(by_status.values().sum()), each.join(", ")]
        })
        .collect();
    if !rows.is_empty() {
        out::print_text(out::table(&["  kind", "records", "status"], &rows));
    }
    let growth = report.growth_per_day.map_or_else(|| "–".to_owned(), |n| format!("{n:.1} records a day"));
    out::print_line(format!("{DIM}growth{DIM:#}            {growth}"));
    let rate = report.confirmation_rate.map_or_else(|| "–".to_owned(), |rate| format!("{:.1} %", rate * 100.0));
    out::print_line(format!("{DIM}facts met again{DIM:#}   {rate} {DIM}(target: more than 20 %){DIM:#}"));
    let calibration = head.reviews.calibration().map_or_else(
        || format!("{} of the 5 reviews it needs", head.reviews.count),
        |calibration| calibration.note(),
    );
    out::print_line(format!("{DIM}calibration{DIM:#}       {calibration}"));
    if !head.pending.is_empty() {
        out::print_line(format!("{DIM}without an outcome:{DIM:#}"));
        for pending in head.pending.iter().rev().take(PENDING_SHOWN) {
            let (id, stakes) = (pending.id, pending.stakes.as_str());
            out::print_line(format!(
                "  {BOLD}{id}{BOLD:#} {} {DIM}({stakes} stakes){DIM:#}",
                out::shorten(&pending.text, 90)
            ));
        }
        out::print_line(format!("{DIM}hint:{DIM:#} neap memory review ID success|partial|failure"));
    }
    Ok(ExitCode::SUCCESS)
}

fn count_records(records: &[Memory]) -> Counts {
    let mut counts = Counts::new();
    for memory in records {
        *counts.entry(memory.kind()).or_default().entry(memory.status.as_str()).or_default() += 1;
    }
    counts
}
