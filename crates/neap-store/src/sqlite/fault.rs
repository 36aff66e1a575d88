//! From what SQLite says to what a caller can do about it.

use std::path::Path;

use rusqlite::{Error, ErrorCode};

use crate::StoreError;

/// Why a piece of work on a connection ended early.
pub(super) enum Stop {
    /// It was refused; the connection is well.
    Refused(StoreError),
    /// SQLite failed.
    Sql(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Sql(error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Stop::Refused(error)
    }
}

impl Stop {
    /// As the caller gets it.
    pub(super) fn at(self, path: &Path) -> StoreError {
        match self {
            Stop::Refused(error) => error,
            Stop::Sql(error) => named(path, &error),
        }
    }
}

/// The error by what a caller can do.
pub(super) fn named(path: &Path, error: &Error) -> StoreError {
    let path = path.to_owned();
    let code = error.sqlite_error_code();
    let is = |codes: &[ErrorCode]| code.is_some_and(|code| codes.contains(&code));
    if is(&[ErrorCode::DiskFull]) {
        StoreError::Full { path }
    } else if is(&[ErrorCode::ReadOnly, ErrorCode::PermissionDenied]) {
        StoreError::ReadOnly { path }
    } else if is(&[ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked]) {
        StoreError::Busy { path }
    } else if is(&[ErrorCode::NotADatabase, ErrorCode::DatabaseCorrupt, ErrorCode::CannotOpen]) {
        StoreError::Unreadable { path, why: error.to_string() }
    } else {
        StoreError::Failed(error.to_string())
    }
}
