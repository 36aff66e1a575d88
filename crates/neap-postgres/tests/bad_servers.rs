//! Servers that cannot be used, or fail while they are: a clear word with a hint, and nothing lost.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use neap_core::base::message::Scope;
use neap_postgres::PostgresServer;
use neap_store::contract::{TestStream, faults, turn_started};
use neap_store::{DatabaseFault, EventStore, StoreError};

use crate::scene::{admin_url, block_on, connect, connect_to, new_tenant, own_database, url};

async fn fault(url: &str) -> DatabaseFault {
    match PostgresServer::open(url).await {
        Err(StoreError::Database { fault, server }) => {
            assert!(!server.contains("neap:neap"), "no password in {server}");
            assert!(!fault.hint().is_empty());
            fault
        }
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[test]
fn nobody_listens() {
    block_on(async {
        let fault = fault("postgres://neap:neap@127.0.0.1:1/neap").await;
        assert!(matches!(fault, DatabaseFault::Unreachable(_)), "{fault:?}");
        let fault = self::fault("postgres://neap:neap@no-such-host.invalid/neap").await;
        assert!(matches!(fault, DatabaseFault::Unreachable(_)), "{fault:?}");
    });
}

#[test]
fn a_wrong_password_is_refused() {
    let Some(url) = url("wrong password") else { return };
    block_on(async {
        let fault = fault(&url.replace("neap:neap@", "neap:wrong@")).await;
        assert!(matches!(fault, DatabaseFault::LoginRefused(_)), "{fault:?}");
    });
}

#[test]
fn a_database_is_created_by_a_role_that_may() {
    let Some(url) = url("new database") else { return };
    block_on(async {
        let own = own_database(&url, "created");
        // Two at once: one of them creates it, and both can use it.
        let (one, two) = tokio::join!(PostgresServer::open(&own), PostgresServer::open(&own));
        let (one, two) = (new_tenant(&one.unwrap()), new_tenant(&two.unwrap()));
        TestStream::create(&one, "here").await;
        TestStream::create(&two, "here").await;
        assert_eq!(faults(&two).await, []);
        let admin = connect(&admin_url(&url)).await;
        admin.batch_execute("DROP ROLE IF EXISTS neap_guest").await.unwrap();
        admin.batch_execute("CREATE ROLE neap_guest LOGIN PASSWORD 'neap'").await.unwrap();
        let guest = own_database(&url, "refused").replace("neap:neap@", "neap_guest:neap@");
        assert_eq!(fault(&guest).await, DatabaseFault::NoDatabase);
        let guest = own.replace("neap:neap@", "neap_guest:neap@");
        assert!(matches!(fault(&guest).await, DatabaseFault::NotAllowed(_)));
    });
}

#[test]
fn a_newer_format_is_left_alone() {
    let Some(url) = url("newer format") else { return };
    block_on(async {
        let own = own_database(&url, "newer");
        PostgresServer::open(&own).await.unwrap();
        connect(&own).await.batch_execute("INSERT INTO neap.formats(number) VALUES (999)").await.unwrap();
        let fault = fault(&own).await;
        assert!(matches!(fault, DatabaseFault::Newer { found: 999, .. }), "{fault:?}");
    });
}

#[test]
fn tables_without_protection_are_refused() {
    let Some(url) = url("unprotected tables") else { return };
    block_on(async {
        let own = own_database(&url, "unprotected");
        PostgresServer::open(&own).await.unwrap();
        let client = connect(&own).await;
        for (break_it, mend_it) in [
            (
                "ALTER TABLE neap.events NO FORCE ROW LEVEL SECURITY",
                "ALTER TABLE neap.events FORCE ROW LEVEL SECURITY",
            ),
            (
                "ALTER TABLE neap.cards DISABLE ROW LEVEL SECURITY",
                "ALTER TABLE neap.cards ENABLE ROW LEVEL SECURITY",
            ),
            ("CREATE POLICY open ON neap.efforts USING (true)", "DROP POLICY open ON neap.efforts"),
            (
                "ALTER POLICY tenant ON neap.vectors USING (true)",
                "ALTER POLICY tenant ON neap.vectors USING (tenant = neap.tenant())",
            ),
        ] {
            client.batch_execute(break_it).await.unwrap();
            let fault = fault(&own).await;
            assert!(matches!(fault, DatabaseFault::RowsUnprotected(_)), "{break_it}: {fault:?}");
            client.batch_execute(mend_it).await.unwrap();
        }
        PostgresServer::open(&own).await.unwrap();
    });
}

#[test]
fn settings_that_lose_commits_are_refused() {
    let Some(url) = url("unsafe settings") else { return };
    block_on(async {
        let own = own_database(&url, "unsafe");
        PostgresServer::open(&own).await.unwrap();
        let name = own.rsplit('/').next().unwrap();
        let client = connect(&own).await;
        client.batch_execute(&format!("ALTER DATABASE {name} SET synchronous_commit = off")).await.unwrap();
        let fault = fault(&own).await;
        assert!(matches!(&fault, DatabaseFault::Unfit(why) if why.contains("synchronous_commit")), "{fault:?}");
    });
}

#[test]
fn a_superuser_is_warned_about() {
    let Some(url) = url("superuser") else { return };
    block_on(async {
        let server = PostgresServer::open(&own_database(&admin_url(&url), "super")).await.unwrap();
        assert!(server.warnings().iter().any(|warning| warning.contains("BYPASSRLS")), "{:?}", server.warnings());
        let plain = PostgresServer::open(&url).await.unwrap();
        assert_eq!(plain.warnings(), [] as [String; 0]);
    });
}

/// Reads go on, writes say why not, and the next write works.
#[test]
fn a_read_only_database_can_be_read() {
    let Some(url) = url("read-only") else { return };
    block_on(async {
        let own = own_database(&url, "readonly");
        let server = PostgresServer::open(&own).await.unwrap();
        let store = new_tenant(&server);
        let mut stream = TestStream::create(&store, "here").await;
        stream.add_turn(&store, "before", "yes", Scope::Ambient).await;
        let read_only = format!("{own}?options=-c%20default_transaction_read_only%3Don");
        let reading = PostgresServer::open(&read_only).await.unwrap();
        let same = reading.tenant(store.tenant().clone());
        assert_eq!(same.load(&stream.id).await.unwrap().as_ref(), Some(&stream.state));
        let refused = stream.append(&same, vec![turn_started(stream.state.turn().next(), "lost?", None)]).await;
        let Err(StoreError::Database { fault, .. }) = refused else { panic!("it was written: {refused:?}") };
        assert_eq!(fault, DatabaseFault::ReadOnly);
        stream.add_turn(&store, "after", "yes", Scope::Ambient).await;
        assert_eq!(same.load(&stream.id).await.unwrap().as_ref(), Some(&stream.state));
    });
}

/// The connection is cut under a store in use: what was only read is read again, and a commit is there once.
#[test]
fn cut_connections_lose_nothing() {
    let Some(url) = url("cut connections") else { return };
    block_on(async {
        let own = own_database(&url, "cut");
        let server = PostgresServer::open(&own).await.unwrap();
        let store = new_tenant(&server);
        let mut stream = TestStream::create(&store, "here").await;
        let admin = connect(&admin_url(&url)).await;
        let name = own.rsplit('/').next().unwrap();
        let cut = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"
        );
        for _ in 0..20 {
            admin.batch_execute(&cut).await.unwrap();
            stream.add_turn(&store, "still here", "yes", Scope::Ambient).await;
            admin.batch_execute(&cut).await.unwrap();
            assert_eq!(store.load(&stream.id).await.unwrap().as_ref(), Some(&stream.state));
        }
        assert_eq!(faults(&store).await, []);
    });
}

#[test]
fn no_connection_is_free() {
    let Some(url) = url("pool") else { return };
    block_on(async {
        let server = PostgresServer::open(&format!("{url}?pool_size=1")).await.unwrap();
        let store = new_tenant(&server);
        let mut stream = TestStream::create(&store, "here").await;
        // Somebody holds the tenant's lock: the only connection waits for it.
        let blocker = connect_to(&url, store.tenant().as_str()).await;
        blocker.batch_execute("SELECT * FROM neap.tenants FOR UPDATE").await.unwrap();
        let mut other = stream.clone();
        let (one, two) = tokio::join!(
            stream.append(&store, vec![turn_started(stream.state.turn().next(), "one", None)]),
            other.append(&store, vec![turn_started(other.state.turn().next(), "two", None)]),
        );
        for result in [one, two] {
            let Err(StoreError::Database { fault, .. }) = result else { panic!("it was written: {result:?}") };
            assert!(matches!(fault, DatabaseFault::Busy | DatabaseFault::NoConnectionFree), "{fault:?}");
        }
        blocker.batch_execute("ROLLBACK").await.unwrap();
        stream.add_turn(&store, "after", "yes", Scope::Ambient).await;
        assert_eq!(faults(&store).await, []);
    });
}
