//! What keeps a database server from being a store.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseFault {
    /// Nobody answers, or the connection broke.
    Unreachable(String),
    /// The server knows no such role, or the password is wrong.
    LoginRefused(String),
    /// There is no such database, and the role may not create it.
    NoDatabase,
    /// The role may not do what a store needs.
    NotAllowed(String),
    /// Its version or settings cannot hold a store.
    Unfit(String),
    /// Tables that one tenant could read another's rows from.
    RowsUnprotected(String),
    /// Every connection of this process is in use.
    NoConnectionFree,
    /// Others held locks for too long.
    Busy,
    ReadOnly,
    Full,
    /// A newer version of Neap wrote the tables.
    Newer {
        found: i64,
        supported: i64,
    },
    /// The outcome of a write is not known.
    Failed(String),
}

impl DatabaseFault {
    /// A few words without names, fit for a header or a remote observer.
    pub fn short_text(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "the database cannot be reached",
            Self::LoginRefused(_) => "the database refused the login",
            Self::NoDatabase => "the database does not exist",
            Self::NotAllowed(_) => "the database role may not do this",
            Self::Unfit(_) => "the database cannot hold a store",
            Self::RowsUnprotected(_) => "the database does not keep tenants apart",
            Self::NoConnectionFree => "no connection to the database is free",
            Self::Busy => "the database was busy for too long",
            Self::ReadOnly => "the database is read-only",
            Self::Full => "the database has no space left",
            Self::Newer { .. } => "a newer version of neap wrote the database",
            Self::Failed(_) => "the database failed",
        }
    }

    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => {
                "check that the server runs and that host and port are right; nothing that was stored is lost"
            }
            Self::LoginRefused(_) => "check user and password in the store's URL, and the server's pg_hba.conf",
            Self::NoDatabase => {
                "create the database: createdb --owner ROLE NAME, or use a role that may (CREATEDB)"
            }
            Self::NotAllowed(_) => "let the store's role own the schema neap: ALTER SCHEMA neap OWNER TO ROLE",
            Self::Unfit(_) => "change that on the server; docs/postgres.md says what a store needs",
            Self::RowsUnprotected(_) => {
                "nothing was read: have a store's tables protected again, as docs/postgres.md says"
            }
            Self::NoConnectionFree => "try again; allow more with pool_size in the store's URL",
            Self::Busy => "try again, or look in pg_stat_activity for who holds the lock",
            Self::ReadOnly => "connect to the primary: add target_session_attrs=read-write to the store's URL",
            Self::Full => "free space on the server and send the message again; nothing stored was lost",
            Self::Newer { .. } => "use the newer version of neap that wrote it",
            Self::Failed(_) => "look in the server's log, then run `neap store doctor`",
        }
    }
}

impl fmt::Display for DatabaseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short_text())?;
        match self {
            Self::Unreachable(why)
            | Self::LoginRefused(why)
            | Self::NotAllowed(why)
            | Self::Unfit(why)
            | Self::RowsUnprotected(why)
            | Self::Failed(why) => write!(f, ": {why}"),
            Self::Newer { found, supported } => {
                write!(f, ": it has format {found}; this version reads up to {supported}")
            }
            Self::NoDatabase | Self::NoConnectionFree | Self::Busy | Self::ReadOnly | Self::Full => Ok(()),
        }
    }
}
