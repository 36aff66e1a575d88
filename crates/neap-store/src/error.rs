//! Store errors, grouped by what a caller can do about them.

use std::path::PathBuf;

use neap_core::base::ids::{Seq, TurnNo};

use crate::DatabaseFault;

#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Someone else committed first. Reload and decide again.
    #[error("another commit came first (the stream is at {actual}, not at {expected})")]
    Conflict { expected: Seq, actual: Seq },
    /// The caller's turn id was used before. Answer with that turn.
    #[error("this turn was accepted before, as turn {turn}")]
    DuplicateTurn { turn: TurnNo },
    /// The disk is full. Nothing was written; free space and try again.
    #[error("no space left for the store at {}", path.display())]
    Full { path: PathBuf },
    #[error("the store at {} is read-only", path.display())]
    ReadOnly { path: PathBuf },
    /// Another process held the lock for too long.
    #[error("the store at {} was busy for too long", path.display())]
    Busy { path: PathBuf },
    /// Not a store of ours, or a damaged one. Nothing was changed.
    #[error("{} cannot be read as a store: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    /// The files do not belong together, or one beside the database has more than it. Nothing was changed.
    #[error("{why}")]
    Lost {
        path: PathBuf,
        /// What was found, with paths, counts and times.
        why: String,
    },
    /// A newer version of Neap wrote it. Nothing was changed.
    #[error("{} has format {found}; this version reads up to {supported}", path.display())]
    Newer { path: PathBuf, found: i64, supported: i64 },
    /// The store is in a database that cannot be used.
    #[error("{server}: {fault}")]
    Database {
        /// Without the password.
        server: String,
        fault: DatabaseFault,
    },
    /// A write's outcome is unknown: the disk failed under it. Reopen the store.
    #[error("the store failed: {0}")]
    Failed(String),
}

impl StoreError {
    /// Whether the store as a whole is unavailable, not just this commit refused.
    pub fn is_outage(&self) -> bool {
        !matches!(self, StoreError::Conflict { .. } | StoreError::DuplicateTurn { .. })
    }

    /// A few words without paths, fit for a header or a remote observer.
    pub fn short_text(&self) -> &'static str {
        match self {
            StoreError::Conflict { .. } => "another commit came first",
            StoreError::DuplicateTurn { .. } => "the turn id was used before",
            StoreError::Full { .. } => "no space left for the store",
            StoreError::ReadOnly { .. } => "the store is read-only",
            StoreError::Busy { .. } => "the store is locked by another process",
            StoreError::Unreadable { .. } => "the store cannot be read",
            StoreError::Newer { .. } => "a newer version of neap wrote the store",
            StoreError::Lost { .. } => "the store lacks what its log or folders show",
            StoreError::Database { fault, .. } => fault.short_text(),
            StoreError::Failed(_) => "the store failed",
        }
    }

    pub fn hint(&self) -> &'static str {
        match self {
            StoreError::Conflict { .. } => "another process uses this session; try again",
            StoreError::DuplicateTurn { .. } => "use a new turn id for a new message",
            StoreError::Full { .. } => "free some disk space and send the message again; nothing stored was lost",
            StoreError::ReadOnly { .. } => "make the data directory writable, or choose another with --data-dir",
            StoreError::Busy { .. } => "another process is writing; try again, or check for one that hangs",
            StoreError::Unreadable { .. } => {
                "nothing was changed: restore a backup of it, or choose another directory with --data-dir"
            }
            StoreError::Lost { .. } => {
                "nothing was changed: restore the files that belong together, or run `neap store rebuild \
                 --set-aside`, which renames the files that do not fit and continues with the rest; `neap store \
                 doctor` shows more"
            }
            StoreError::Newer { .. } => "use the newer version of neap that wrote it",
            StoreError::Database { fault, .. } => fault.hint(),
            StoreError::Failed(_) => "check the disk, then run `neap store doctor`",
        }
    }
}
