//! What can go wrong, by what a caller can do about it.

use std::path::PathBuf;

use neap_core::ids::{Seq, TurnNo};

/// A store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Someone else committed first. Reload and decide again.
    #[error("another commit came first (the stream is at {actual}, not at {expected})")]
    Conflict {
        /// What the writer knew of.
        expected: Seq,
        /// What is there.
        actual: Seq,
    },
    /// The caller's turn id was used before. Answer with that turn.
    #[error("this turn was accepted before, as turn {turn}")]
    DuplicateTurn {
        /// Its number.
        turn: TurnNo,
    },
    /// The disk is full. Nothing was written; make room and try again.
    #[error("no space left for the store at {}", path.display())]
    Full {
        /// Where.
        path: PathBuf,
    },
    /// Nothing may be written there.
    #[error("the store at {} is read-only", path.display())]
    ReadOnly {
        /// Where.
        path: PathBuf,
    },
    /// Another process held the store for too long.
    #[error("the store at {} was busy for too long", path.display())]
    Busy {
        /// Where.
        path: PathBuf,
    },
    /// It is not a store of ours, or a damaged one. Nothing was changed.
    #[error("{} cannot be read as a store: {why}", path.display())]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The files of the store do not belong together, or something beside the database knows more than it does: what is opened would
    /// have lost something. Nothing was changed.
    #[error("{why}")]
    Lost {
        /// The database.
        path: PathBuf,
        /// What is there, with paths, counts and times.
        why: String,
    },
    /// A newer version of Neap wrote it. Nothing was changed.
    #[error("{} has format {found}; this version reads up to {supported}", path.display())]
    Newer {
        /// Where.
        path: PathBuf,
        /// The format found.
        found: i64,
        /// The newest we know.
        supported: i64,
    },
    /// The outcome of a write is unknown: the disk failed under it. Reopen the store.
    #[error("the store failed: {0}")]
    Failed(String),
}

impl StoreError {
    /// Whether the store as a whole cannot do its work; else only this commit was refused.
    pub fn is_outage(&self) -> bool {
        !matches!(self, StoreError::Conflict { .. } | StoreError::DuplicateTurn { .. })
    }

    /// What it is in a few words, without paths: fit for a header or for whoever watches from elsewhere.
    pub fn brief(&self) -> &'static str {
        match self {
            StoreError::Conflict { .. } => "another commit came first",
            StoreError::DuplicateTurn { .. } => "the turn id was used before",
            StoreError::Full { .. } => "no space left for the store",
            StoreError::ReadOnly { .. } => "the store is read-only",
            StoreError::Busy { .. } => "the store is locked by another process",
            StoreError::Unreadable { .. } => "the store cannot be read",
            StoreError::Newer { .. } => "a newer version of neap wrote the store",
            StoreError::Lost { .. } => "the store lacks what its log or folders show",
            StoreError::Failed(_) => "the store failed",
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            StoreError::Conflict { .. } => "another process uses this session; try again",
            StoreError::DuplicateTurn { .. } => "use a new turn id for a new message",
            StoreError::Full { .. } => "free some disk space and send the message again; nothing stored was lost",
            StoreError::ReadOnly { .. } => "make the data directory writable, or choose another with --data-dir",
            StoreError::Busy { .. } => "another process is writing; try again, or look for one that hangs",
            StoreError::Unreadable { .. } => {
                "nothing was changed: restore a backup of it, or choose another place with --data-dir"
            }
            StoreError::Lost { .. } => {
                "nothing was changed: put back the files that belong together, or have `neap rebuild --set-aside` keep what does not fit \
                 under other names and go on with the rest; `neap doctor` tells more"
            }
            StoreError::Newer { .. } => "use the newer version of neap that wrote it",
            StoreError::Failed(_) => "check the disk, then run `neap doctor`",
        }
    }
}
