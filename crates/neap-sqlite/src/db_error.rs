//! Maps SQLite errors to what a caller can do about them.

use std::path::Path;

use rusqlite::{Error, ErrorCode};

use neap_store::StoreError;

/// Why work on a connection ended early.
pub(super) enum DbError {
    /// The request was refused; the connection is fine.
    Refused(StoreError),
    Sql(Error),
}

impl From<Error> for DbError {
    fn from(error: Error) -> Self {
        DbError::Sql(error)
    }
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> Self {
        DbError::Refused(error)
    }
}

impl DbError {
    pub(super) fn into_store_error(self, path: &Path) -> StoreError {
        match self {
            DbError::Refused(error) => error,
            DbError::Sql(error) => store_error(path, &error),
        }
    }
}

pub(super) fn store_error(path: &Path, error: &Error) -> StoreError {
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
