//! The report of an import.

use std::path::Path;
use std::process::ExitCode;

use neap_engine::ImportedTranscript;
use neap_model::transcript::Skipped;
use serde::Serialize;

use super::embedding::EmbeddedBy;
use crate::out::{self, BOLD, DIM, Failure, thousands};

const SESSIONS_SHOWN: usize = 10;

#[derive(Debug, Default, Serialize)]
pub(crate) struct ImportReport {
    pub(crate) dry_run: bool,
    pub(crate) files: u64,
    pub(crate) new: u64,
    pub(crate) known: u64,
    pub(crate) turns: u64,
    pub(crate) efforts: u64,
    pub(crate) masked: u64,
    /// Sessions with new records.
    pub(crate) sessions: Vec<ImportedTranscript>,
    pub(crate) left: Skipped,
    pub(crate) unreadable: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// Who embeds the new text; `null` if nobody has to.
    pub(super) embedding: Option<EmbeddedBy>,
}

impl ImportReport {
    pub(crate) fn add(&mut self, imported: ImportedTranscript) {
        self.new += imported.new;
        self.known += imported.known;
        self.turns += imported.turns;
        self.efforts += imported.efforts;
        self.masked += imported.masked;
        if imported.new == 0 {
            return;
        }
        match self.sessions.iter_mut().find(|existing| existing.session == imported.session) {
            Some(existing) => {
                existing.new += imported.new;
                existing.turns += imported.turns;
                existing.efforts += imported.efforts;
            }
            None => self.sessions.push(imported),
        }
    }

    /// Whether something could not be read, or nothing in what was read is a conversation.
    pub(crate) fn has_failed(&self) -> bool {
        !self.unreadable.is_empty() || (self.left.damaged > 0 && self.new + self.known == 0)
    }

    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            return out::print_json(self);
        }
        let (verb, sessions) =
            (if self.dry_run { "would import" } else { "imported" }, self.sessions.len() as u64);
        let turns = if self.dry_run {
            String::new()
        } else {
            format!(", {}, {}", out::count(self.turns, "turn"), out::count(self.efforts, "effort"))
        };
        out::print_line(format!(
            "{verb} {BOLD}{}{BOLD:#} of {}: {}{turns}; {} already known",
            out::count(self.new, "record"),
            out::count(self.files, "file"),
            out::count(sessions, "session"),
            thousands(self.known),
        ));
        for imported in self.sessions.iter().take(SESSIONS_SHOWN) {
            out::print_line(format!("  {}  {DIM}{}{DIM:#}", imported.session, out::count(imported.new, "record")));
        }
        if self.sessions.len() > SESSIONS_SHOWN {
            out::print_line(format!(
                "  {DIM}and {} more{DIM:#}",
                thousands((self.sessions.len() - SESSIONS_SHOWN) as u64)
            ));
        }
        if self.masked > 0 {
            out::print_line(format!("{} masked before anything was stored", out::count(self.masked, "secret")));
        }
        for note in self.skipped_notes() {
            out::print_line(format!("{DIM}note:{DIM:#} {}", out::escape_control(&note)));
        }
        if !self.dry_run && self.new > 0 {
            out::print_line(format!(
                "{DIM}search it with{DIM:#} neap search, {DIM}see it with{DIM:#} neap session list"
            ));
            self.print_embedding();
        }
        Ok(())
    }

    fn print_embedding(&self) {
        let when = match self.embedding {
            None => return,
            Some(EmbeddedBy::Background) => "are being made in the background",
            Some(EmbeddedBy::LaterCommand) => "will be made by `neap chat`, `neap serve` or `neap mcp`",
        };
        out::print_line(format!(
            "{DIM}it is found by its words now; embeddings, to find it by meaning, {when}{DIM:#}"
        ));
    }

    fn skipped_notes(&self) -> Vec<String> {
        let kinds = self.left.unknown.iter();
        let mut notes: Vec<String> = kinds
            .map(|(kind, count)| format!("{} of unknown kind '{kind}' skipped", out::count(*count, "record")))
            .collect();
        if self.left.damaged > 0 {
            notes.push(format!("{} could not be read", out::count(self.left.damaged, "line")));
        }
        notes.extend(self.unreadable.iter().map(|problem| format!("not read: {problem}")));
        notes.extend(self.notes.iter().cloned());
        notes
    }
}

/// Reports that the program has no conversations here.
pub(crate) fn print_nothing(path: &Path, json: bool) -> Result<ExitCode, Failure> {
    if json {
        out::print_json(&ImportReport::default())?;
    } else {
        out::print_line(format!("nothing to import: {} does not exist", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}
