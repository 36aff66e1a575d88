//! Maps errors of the driver to what a caller can do about them.

use std::error::Error as _;

use deadpool_postgres::{PoolError, TimeoutType};
use neap_store::{DatabaseFault, StoreError};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Why work on a connection ended early.
pub(crate) enum DbError {
    /// The request was refused; the connection is fine.
    Refused(StoreError),
    Sql(Error),
    Fault(DatabaseFault),
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

impl From<DatabaseFault> for DbError {
    fn from(fault: DatabaseFault) -> Self {
        DbError::Fault(fault)
    }
}

impl From<PoolError> for DbError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => DbError::Sql(error),
            PoolError::Timeout(TimeoutType::Wait) => DatabaseFault::NoConnectionFree.into(),
            PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => {
                DatabaseFault::Unreachable("it did not answer in time".to_owned()).into()
            }
            other @ (PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_)) => {
                DatabaseFault::Failed(other.to_string()).into()
            }
        }
    }
}

impl From<serde_json::Error> for DbError {
    fn from(error: serde_json::Error) -> Self {
        DbError::Refused(StoreError::Failed(format!("an event cannot be encoded: {error}")))
    }
}

impl DbError {
    pub(crate) fn into_store_error(self, server: &str) -> StoreError {
        let fault = match self {
            DbError::Refused(error) => return error,
            DbError::Sql(error) => fault(&error),
            DbError::Fault(fault) => fault,
        };
        StoreError::Database { server: server.to_owned(), fault }
    }

    /// The connection broke, and another one may work: what was only read can be read again.
    pub(crate) fn is_lost_connection(&self) -> bool {
        matches!(self, DbError::Sql(error) if is_lost_connection(error))
    }

    /// Postgres gave up this transaction for the sake of another; it left nothing behind.
    pub(crate) fn is_retryable(&self) -> bool {
        let DbError::Sql(error) = self else { return false };
        let codes = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
        error.code().is_some_and(|code| codes.contains(code))
    }
}

fn is_lost_connection(error: &Error) -> bool {
    let Some(code) = error.code() else { return error.is_closed() || is_io(error) };
    let shutting_down = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    shutting_down.contains(code) || code.code().starts_with("08")
}

fn is_io(error: &Error) -> bool {
    error.source().is_some_and(|source| source.is::<std::io::Error>())
}

pub(crate) fn fault(error: &Error) -> DatabaseFault {
    let Some(db) = error.as_db_error() else {
        let why = error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        return if error.is_closed() || is_io(error) || is_about_connecting(&why) {
            DatabaseFault::Unreachable(why)
        } else {
            DatabaseFault::Failed(why)
        };
    };
    let (code, why) = (db.code(), db.message().to_owned());
    let is = |codes: &[SqlState]| codes.contains(code);
    if is(&[SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION]) {
        DatabaseFault::LoginRefused(why)
    } else if is(&[SqlState::INVALID_CATALOG_NAME]) {
        DatabaseFault::NoDatabase
    } else if is(&[SqlState::INSUFFICIENT_PRIVILEGE]) {
        DatabaseFault::NotAllowed(why)
    } else if is(&[SqlState::READ_ONLY_SQL_TRANSACTION]) {
        DatabaseFault::ReadOnly
    } else if is(&[SqlState::DISK_FULL]) {
        DatabaseFault::Full
    } else if is(&[SqlState::TOO_MANY_CONNECTIONS]) {
        DatabaseFault::NoConnectionFree
    } else if is(&[
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::QUERY_CANCELED,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ]) {
        DatabaseFault::Busy
    } else if is_lost_connection(error) {
        DatabaseFault::Unreachable(why)
    } else {
        DatabaseFault::Failed(why)
    }
}

/// The driver's own errors have no kind that says so.
fn is_about_connecting(why: &str) -> bool {
    why.starts_with("error connecting to server") || why.starts_with("timeout waiting for server")
}
