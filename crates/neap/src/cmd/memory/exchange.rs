//! `neap memory export` and `import`: records as JSON, one a line.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use neap_core::learn::{Answer, Wish};
use neap_core::memory::{Author, Body, Memory, MemoryDraft, MemoryId, MemoryKind, Provenance};
use neap_engine::Agent;
use neap_store::reading::{self, Line, Lines};
use serde::Serialize;
use serde_json::json;

use crate::app;
use crate::cli::{MemoryExportArgs, MemoryImportArgs};
use crate::env::DataDir;
use crate::files;
use crate::out::{self, DIM, Failure};

/// Longest line of an import, in bytes; a record is far shorter.
const LINE_BYTES_MAX: usize = 1_024 * 1_024;
/// Records in an import, at most.
const RECORDS_MAX: usize = 200_000;
/// On a terminal, progress is told this often.
const PROGRESS_EVERY: usize = 500;
/// Refusals that are told in full.
const REFUSALS_SHOWN: usize = 10;

pub(super) async fn export(data: &DataDir, args: &MemoryExportArgs, json: bool) -> Result<ExitCode, Failure> {
    let agent = app::known_agent(data).await?;
    let records = super::all(&agent).await?;
    let mut sink: Box<dyn Write> = match &args.output {
        // New only: an export never replaces a file.
        Some(path) => Box::new(std::io::BufWriter::new(files::create_new(path).map_err(|error| {
            Failure::new(format!("cannot write {}: {error}", path.display())).hint("choose a name that is free")
        })?)),
        None => Box::new(std::io::stdout().lock()),
    };
    // Oldest first, as they were learnt.
    for memory in records.iter().rev() {
        writeln!(sink, "{}", out::json_text(memory)?)?;
    }
    sink.flush()?;
    match &args.output {
        Some(path) if json => out::json_line(&json!({"records": records.len(), "output": path}))?,
        Some(path) => {
            out::line(format!("wrote {} to {}", out::count(records.len() as u64, "record"), path.display()));
        }
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// What became of the records of an import.
#[derive(Debug, Default, Serialize)]
struct Imported {
    new: u64,
    confirmed: u64,
    superseded: u64,
    contested: u64,
    known: u64,
    refused: Vec<String>,
    /// Records that were out of use where they come from.
    out_of_use: u64,
    /// Records that were always loaded where they come from, and are not here.
    always_elsewhere: u64,
}

pub(super) async fn import(data: &DataDir, args: &MemoryImportArgs, json: bool) -> Result<ExitCode, Failure> {
    let mut records = read(&args.file)?;
    // Facts first: decisions rest on them, by ids that are new here.
    records.sort_by_key(|memory| memory.kind() != MemoryKind::Fact);
    let name = args.file.file_name().map_or_else(|| "-".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut agent = app::agent(data).await?;
    let mut imported = Imported::default();
    let mut ids: BTreeMap<MemoryId, MemoryId> = BTreeMap::new();
    let (all, shows_progress) = (records.len(), std::io::stderr().is_terminal());
    for (at, memory) in records.into_iter().enumerate() {
        if shows_progress && at > 0 && at.is_multiple_of(PROGRESS_EVERY) {
            out::aside(format!("{at} of {all} records"));
        }
        take_in(&mut agent, memory, &name, &mut ids, &mut imported).await?;
    }
    if json {
        out::json_line(&imported)?;
    } else {
        out::piece(render(&imported));
    }
    let all_refused = all > 0 && imported.refused.len() == all;
    Ok(if all_refused { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// One record, by the same rules as anything else that is remembered.
async fn take_in(
    agent: &mut Agent,
    memory: Memory,
    file: &str,
    ids: &mut BTreeMap<MemoryId, MemoryId>,
    imported: &mut Imported,
) -> Result<(), Failure> {
    let was = memory.id;
    if !memory.status.is_current() {
        imported.out_of_use += 1;
        return Ok(());
    }
    imported.always_elsewhere += u64::from(memory.pinned);
    let mut body = memory.body;
    if let Body::Decision(decision) = &mut body {
        decision.rests_on = decision.rests_on.iter().filter_map(|fact| ids.get(fact).copied()).collect();
    }
    let source = Some(format!("{file} {was}"));
    let mut draft = MemoryDraft::new(body, Provenance { source, ..Provenance::of(Author::Import) });
    (draft.tags, draft.domain) = (memory.tags, memory.domain);
    (draft.valid_from, draft.valid_until) = (memory.valid_from, memory.valid_until);
    match agent.ask(Wish::Remember(Box::new(draft))).await? {
        Answer::Learnt { id, what, .. } => {
            ids.insert(was, id);
            *imported.count(what) += 1;
        }
        Answer::Refused(refusal) => imported.refused.push(format!("{was}: {}", refusal.error)),
        Answer::Changed { .. }
        | Answer::Counted
        | Answer::Found { .. }
        | Answer::Full { .. }
        | Answer::Status(_)
        | Answer::Swept { .. } => {}
    }
    Ok(())
}

impl Imported {
    fn count(&mut self, what: neap_core::memory::WhatLearnt) -> &mut u64 {
        use neap_core::memory::WhatLearnt;
        match what {
            WhatLearnt::New => &mut self.new,
            WhatLearnt::Confirmed => &mut self.confirmed,
            WhatLearnt::Superseded => &mut self.superseded,
            WhatLearnt::Contested => &mut self.contested,
            WhatLearnt::Known => &mut self.known,
        }
    }
}

fn render(imported: &Imported) -> String {
    let Imported { new, confirmed, superseded, contested, known, refused, out_of_use, always_elsewhere } =
        imported;
    let mut text = format!(
        "imported: {new} new, {confirmed} confirmed, {superseded} in the place of others, {contested} contested, \
         {known} known already, {} refused\n",
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
    note(*out_of_use, "that were out of use were left out");
    note(*always_elsewhere, "always loaded elsewhere are not here; `neap memory edit ID --always` makes one so");
    text
}

fn read(path: &Path) -> Result<Vec<Memory>, Failure> {
    let source: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::new(format!("cannot read {}: {error}", path.display()))
                .hint("name a file written by `neap memory export`, or - for standard input")
        };
        let file = reading::open(path).map_err(|error| failed(&error))?;
        Box::new(BufReader::new(file.ok_or_else(|| failed(&"there is no such file"))?))
    };
    let mut records = Vec::new();
    for (at, line) in Lines::new(source, LINE_BYTES_MAX).enumerate() {
        let wrong = |error: String| {
            Failure::new(format!("line {} of {}: {error}", at + 1, path.display()))
                .hint("nothing was imported; only files written by `neap memory export` can be")
        };
        let line = match line.map_err(|error| wrong(error.to_string()))? {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => line,
            Line::TooLong { bytes } => {
                return Err(wrong(format!("it has {bytes} bytes; {LINE_BYTES_MAX} is the most")));
            }
        };
        let memory: Memory =
            serde_json::from_slice(line.trim_ascii_end()).map_err(|error| wrong(error.to_string()))?;
        if memory.kind() != memory.body.kind() {
            return Err(wrong(format!("{} says that it is a {}", memory.id, memory.body.kind())));
        }
        records.push(memory);
        if records.len() > RECORDS_MAX {
            return Err(wrong(format!("there are more than {RECORDS_MAX} records")));
        }
    }
    Ok(records)
}
