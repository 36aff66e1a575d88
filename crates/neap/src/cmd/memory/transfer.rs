//! `neap memory export` and `import`: memories as JSON, one per line.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use neap_core::memory::Memory;
use neap_engine::{MemoryImport, MemoryImportCounts};
use neap_store::bounded_lines::{self, json_lines};
use serde_json::json;

use crate::app;
use crate::cli::{MemoryExportArgs, MemoryImportArgs};
use crate::env::DataDir;
use crate::out::{self, DIM, Failure};

/// Longest line of an import, in bytes; a memory is far shorter.
const LINE_BYTES_MAX: usize = 1_024 * 1_024;
const RECORDS_MAX: usize = 200_000;
const PROGRESS_EVERY: usize = 500;
const REFUSALS_SHOWN: usize = 10;

pub(super) async fn export(data: &DataDir, args: &MemoryExportArgs, json: bool) -> Result<ExitCode, Failure> {
    let agent = app::existing_agent(data).await?;
    let records = super::all_records(&agent).await?;
    let mut sink = out::export_sink(args.output.as_deref())?;
    // Oldest first, in the order they were recorded.
    for memory in records.iter().rev() {
        writeln!(sink, "{}", out::json_text(memory)?)?;
    }
    sink.flush()?;
    match &args.output {
        Some(path) if json => out::print_json(&json!({"records": records.len(), "output": path}))?,
        Some(path) => {
            out::print_line(format!("wrote {} to {}", out::count(records.len() as u64, "record"), path.display()));
        }
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn import(data: &DataDir, args: &MemoryImportArgs, json: bool) -> Result<ExitCode, Failure> {
    let mut records = read_records(&args.file)?;
    MemoryImport::sort(&mut records);
    let name = args.file.file_name().map_or_else(|| "-".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut agent = app::agent(data).await?;
    let mut import = MemoryImport::new(name, BTreeMap::new());
    let (all, shows_progress) = (records.len(), std::io::stderr().is_terminal());
    for (at, memory) in records.into_iter().enumerate() {
        if shows_progress && at > 0 && at.is_multiple_of(PROGRESS_EVERY) {
            out::print_notice(format!("{at} of {all} records"));
        }
        import.add(&mut agent, memory).await?;
    }
    let (counts, _) = import.finish();
    if json {
        out::print_json(&counts)?;
    } else {
        out::print_text(render(&counts));
    }
    let all_refused = all > 0 && counts.refused.len() == all;
    Ok(if all_refused { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn render(counts: &MemoryImportCounts) -> String {
    let MemoryImportCounts { new, confirmed, superseded, contested, known, refused, out_of_use, always_elsewhere } =
        counts;
    let mut text = format!(
        "imported: {new} new, {confirmed} confirmed, {superseded} superseding others, {contested} contested, \
         {known} already known, {} refused\n",
        refused.len()
    );
    for line in refused.iter().take(REFUSALS_SHOWN) {
        text.push_str(&format!("  {}\n", out::shorten(line, 120)));
    }
    if refused.len() > REFUSALS_SHOWN {
        text.push_str(&format!("  and {} more\n", refused.len() - REFUSALS_SHOWN));
    }
    let mut note = |n: u64, what: &str| {
        if n > 0 {
            text.push_str(&format!("{DIM}note:{DIM:#} {} {what}\n", out::count(n, "record")));
        }
    };
    note(*out_of_use, "skipped: no longer in use in the export");
    note(*always_elsewhere, "imported without --always; `neap memory edit ID --always` sets it");
    text
}

fn read_records(path: &Path) -> Result<Vec<Memory>, Failure> {
    let source = bounded_lines::open_input(path).map_err(|error| {
        Failure::new(format!("cannot read {}: {error}", path.display()))
            .hint("name a file written by `neap memory export`, or - for standard input")
    })?;
    let mut records = Vec::new();
    for (at, memory) in json_lines::<Memory>(source, LINE_BYTES_MAX) {
        let invalid = |error: String| {
            Failure::new(format!("line {at} of {}: {error}", path.display()))
                .hint("nothing was imported; only files written by `neap memory export` can be")
        };
        let memory = memory.map_err(invalid)?;
        if memory.kind() != memory.body.kind() {
            return Err(invalid(format!("the id {} does not fit its kind, {}", memory.id, memory.body.kind())));
        }
        records.push(memory);
        if records.len() > RECORDS_MAX {
            return Err(invalid(format!("there are more than {RECORDS_MAX} records")));
        }
    }
    Ok(records)
}
