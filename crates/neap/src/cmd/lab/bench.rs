//! `neap lab bench`: costs at several sizes in one run.
//!
//! Each size is built in this process and searched in its own, so that memory and opening time are measured
//! separately.

use std::path::Path;
use std::process::{Command, ExitCode};

use neap_lab::bench::{self, BuildFigures, SearchFigures};
use serde_json::json;

use crate::cli::BenchArgs;
use crate::out::{self, DIM, Failure};
use crate::progress;

pub(crate) async fn run(args: &BenchArgs, json: bool) -> Result<ExitCode, Failure> {
    if let Some(folder) = &args.once {
        let turns = args.records.first().copied().unwrap_or_default();
        out::print_json(&bench::search(folder, turns).await?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = Vec::new();
    for turns in &args.records {
        let folder = tempfile::tempdir()?;
        let built = bench::build(folder.path(), *turns, &progress::show).await?;
        rows.push((*turns, built, search_in_process(folder.path(), *turns)?));
    }
    let row = |(turns, built, searched): &(u64, BuildFigures, SearchFigures)| json!({"turns": turns, "built": built, "searched": searched});
    out::print_answer(json, &rows.iter().map(row).collect::<Vec<_>>(), || table(&rows))
}

fn search_in_process(folder: &Path, turns: u64) -> Result<SearchFigures, Failure> {
    let program = std::env::current_exe()?;
    let output = Command::new(program)
        .args(["lab", "bench", "--records", &turns.to_string(), "--once"])
        .arg(folder)
        .output()?;
    if !output.status.success() {
        return Err(Failure::new(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Failure::new(error.to_string()))
}

fn table(rows: &[(u64, BuildFigures, SearchFigures)]) -> String {
    let ms = |value: f64| format!("{value:.2}");
    let cells = |(turns, built, searched): &(u64, BuildFigures, SearchFigures)| {
        vec![
            out::thousands(*turns),
            out::thousands(built.append_per_s as u64),
            out::thousands(built.embed_per_s as u64),
            format!("{:.1}", searched.open_ms),
            ms(searched.first_ms),
            ms(searched.p50_ms),
            ms(searched.p99_ms),
            format!("{:.0}", searched.rss_mib),
            format!("{:.0}", built.file_mib),
        ]
    };
    let head = [
        "turns", "append/s", "vectors/s", "open ms", "first ms", "search p50 ms", "p99 ms", "RSS MiB", "file MiB",
    ];
    let mut text = out::table(&head, &rows.iter().map(cells).collect::<Vec<_>>());
    for pair in rows.windows(2) {
        let [(small, _, before), (large, _, after)] = pair else { continue };
        let times = after.p50_ms / before.p50_ms.max(0.001);
        let sizes = (out::thousands(*large), out::thousands(*small));
        text.push_str(&format!(
            "{DIM}searching {} takes {times:.2} times as long as searching {}{DIM:#}\n",
            sizes.0, sizes.1
        ));
    }
    text
}
