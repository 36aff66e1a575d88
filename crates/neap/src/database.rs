//! The store in a database, for one memory on many machines.

use neap_core::base::access::TenantName;
use neap_postgres::{PostgresServer, PostgresStore};

use crate::env::NEAP_STORE;
use crate::out::{self, Failure};

/// Checks the form of a store's URL without connecting.
pub(crate) fn check_url(url: &str) -> Result<(), Failure> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(());
    }
    // It may have a password, so it is not quoted.
    Err(Failure::new(format!("--store and {NEAP_STORE} take a URL that begins with postgres://"))
        .hint("without them the store is a file in the data directory"))
}

/// Connects, and says what should be changed on the server.
pub(crate) async fn open(url: &str) -> Result<PostgresStore, Failure> {
    let server = PostgresServer::open(url).await?;
    for warning in server.warnings() {
        out::print_notice(format!("{}: {warning}", server.name()));
    }
    Ok(server.tenant(TenantName::local()))
}

/// For a command that was not given a connection.
pub(crate) fn not_here(what: &str) -> Failure {
    Failure::new(format!("{what} works on a store in a file only, and {NEAP_STORE} or --store names a database"))
        .hint("leave both out to use the file in the data directory")
}
