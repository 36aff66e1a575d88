//! What an import tells of itself.

use std::path::Path;
use std::process::ExitCode;

use neap_engine::Taken;
use neap_model::transcript::Left;
use serde::Serialize;

use crate::out::{self, BOLD, DIM, Failure, thousands};

/// Sessions that are listed for people, at most.
const SESSIONS_SHOWN: usize = 10;

/// What was taken in, all together.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Told {
    pub(crate) dry_run: bool,
    pub(crate) files: u64,
    /// Records that are new.
    pub(crate) new: u64,
    /// Records that were there.
    pub(crate) known: u64,
    pub(crate) turns: u64,
    pub(crate) efforts: u64,
    pub(crate) masked: u64,
    /// Sessions with something new.
    pub(crate) sessions: Vec<Taken>,
    /// What was not used.
    pub(crate) left: Left,
    pub(crate) unreadable: Vec<String>,
    pub(crate) notes: Vec<String>,
}

impl Told {
    pub(crate) fn add(&mut self, taken: Taken) {
        self.new += taken.new;
        self.known += taken.known;
        self.turns += taken.turns;
        self.efforts += taken.efforts;
        self.masked += taken.masked;
        if taken.new == 0 {
            return;
        }
        match self.sessions.iter_mut().find(|known| known.session == taken.session) {
            Some(known) => {
                known.new += taken.new;
                known.turns += taken.turns;
                known.efforts += taken.efforts;
            }
            None => self.sessions.push(taken),
        }
    }

    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            return out::json_line(self);
        }
        let (verb, sessions) =
            (if self.dry_run { "would import" } else { "imported" }, self.sessions.len() as u64);
        let turns = if self.dry_run {
            String::new()
        } else {
            format!(", {}, {}", out::count(self.turns, "turn"), out::count(self.efforts, "effort"))
        };
        out::line(format!(
            "{verb} {BOLD}{}{BOLD:#} of {}: {}{turns}; {} known already",
            out::count(self.new, "record"),
            out::count(self.files, "file"),
            out::count(sessions, "session"),
            thousands(self.known),
        ));
        for taken in self.sessions.iter().take(SESSIONS_SHOWN) {
            out::line(format!("  {}  {DIM}{}{DIM:#}", taken.session, out::count(taken.new, "record")));
        }
        if self.sessions.len() > SESSIONS_SHOWN {
            out::line(format!(
                "  {DIM}and {} more{DIM:#}",
                thousands((self.sessions.len() - SESSIONS_SHOWN) as u64)
            ));
        }
        if self.masked > 0 {
            out::line(format!("{} masked before anything was stored", out::count(self.masked, "secret")));
        }
        for note in self.unused() {
            out::line(format!("{DIM}note:{DIM:#} {}", out::clean(&note)));
        }
        if !self.dry_run && self.new > 0 {
            out::line(format!(
                "{DIM}search it with{DIM:#} neap search, {DIM}see it with{DIM:#} neap session list"
            ));
        }
        Ok(())
    }

    /// What was not taken in, and why.
    fn unused(&self) -> Vec<String> {
        let kinds = self.left.unknown.iter();
        let mut notes: Vec<String> = kinds
            .map(|(kind, count)| format!("{} of unknown kind '{kind}' passed over", out::count(*count, "record")))
            .collect();
        if self.left.damaged > 0 {
            notes.push(format!("{} could not be read", out::count(self.left.damaged, "line")));
        }
        notes.extend(self.unreadable.iter().map(|what| format!("not read: {what}")));
        notes.extend(self.notes.iter().cloned());
        notes
    }
}

/// There is no such program here.
pub(crate) fn nothing(usual: &Path, json: bool) -> Result<ExitCode, Failure> {
    if json {
        out::json_line(&Told::default())?;
    } else {
        out::line(format!("nothing to import: there is no {}", usual.display()));
    }
    Ok(ExitCode::SUCCESS)
}
