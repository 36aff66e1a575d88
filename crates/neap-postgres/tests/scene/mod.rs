//! The server that tests use.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]
#![allow(clippy::disallowed_methods, reason = "tests set the scene by hand")]

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use neap_postgres::{PostgresServer, PostgresStore};
use tokio_postgres::{Client, NoTls};

/// A role without special rights, except that it may create databases.
pub(crate) const SERVER: &str = "NEAP_TEST_POSTGRES";

/// The same through pgbouncer.
const BOUNCER: &str = "NEAP_TEST_PGBOUNCER";

static TENANTS: AtomicU64 = AtomicU64::new(0);

/// The server's URL; without one the test is skipped, and counted.
pub(crate) fn url(test: &str) -> Option<String> {
    let url = std::env::var(SERVER).ok();
    if url.is_none() {
        assert!(std::env::var_os("NEAP_TEST_STRICT").is_none(), "no server: {SERVER} is not set");
        skip(test, &format!("no server: {SERVER} is not set"));
    }
    url
}

/// Not every machine can install it, so also a strict run goes on without.
pub(crate) fn bouncer_url() -> Option<String> {
    let url = std::env::var(BOUNCER).ok();
    if url.is_none() {
        skip("pgbouncer", &format!("{BOUNCER} is not set"));
    }
    url
}

/// Says aloud that something could not be tested here, and has `cargo xtask test` count it.
#[allow(clippy::print_stderr, reason = "a skip is declared")]
fn skip(what: &str, why: &str) {
    eprintln!("SKIPPED {what}: {why}");
    if let Some(folder) = std::env::var_os("NEAP_TEST_SKIPS") {
        let name = format!("postgres-{}", what.replace(|c: char| !c.is_alphanumeric(), "-"));
        std::fs::write(Path::new(&folder).join(name), format!("on Postgres, {what}: {why}")).unwrap();
    }
}

/// Runs a test on a store of its own: a tenant that nobody else uses.
pub(crate) fn with_store<F: Future<Output = ()>>(name: &str, test: impl FnOnce(PostgresStore) -> F) {
    if let Some(url) = url(name) {
        block_on(async {
            let server = PostgresServer::open(&url).await.unwrap();
            test(new_tenant(&server)).await;
        });
    }
}

pub(crate) fn new_tenant(server: &Arc<PostgresServer>) -> PostgresStore {
    let nth = TENANTS.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    server.tenant(format!("t{}-{now}-{nth}", std::process::id()).parse().unwrap())
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// The same server for a superuser.
pub(crate) fn admin_url(url: &str) -> String {
    let (start, end) = (url.find("//").unwrap() + 2, url.find('@').unwrap());
    let password = url[start..end].split_once(':').unwrap().1;
    let (host, _) = url[end + 1..].split_once('/').unwrap();
    format!("postgres://postgres:{password}@{host}/postgres")
}

/// The URL of a database that no other test uses; nobody created it yet.
pub(crate) fn own_database(url: &str, name: &str) -> String {
    let nth = TENANTS.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/neap_{name}_{now}_{nth}")
}

/// A connection of the test's own; the database must exist.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The same, in a transaction of a tenant.
pub(crate) async fn connect_to(url: &str, tenant: &str) -> Client {
    let client = connect(url).await;
    let set = format!("BEGIN; SELECT set_config('neap.tenant', '{tenant}', true)");
    client.batch_execute(&set).await.unwrap();
    client
}
