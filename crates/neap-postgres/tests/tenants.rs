//! I11: no tenant reads or writes another's rows, not even where a statement forgets its filter.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use neap_core::base::ids::Seq;
use neap_core::base::message::Scope;
use neap_core::recall::Query;
use neap_core::text::terms::query_terms;
use neap_postgres::PostgresServer;
use neap_store::contract::{TestStream, faults, memory};
use neap_store::{EventStore, Maintenance, SearchStore};

use crate::scene::{block_on, connect, new_tenant, url};

/// Every table that has a tenant's rows.
const TABLES: &str = "SELECT table_name::text FROM information_schema.columns
    WHERE table_schema = 'neap' AND column_name = 'tenant' ORDER BY 1";

#[test]
fn two_tenants_share_a_database_and_nothing_else() {
    let Some(url) = url("tenants") else { return };
    block_on(async {
        let server = PostgresServer::open(&url).await.unwrap();
        let (ann, bob) = (new_tenant(&server), new_tenant(&server));
        // The same names on both sides.
        let mut of_ann = TestStream::create(&ann, "work").await;
        let mut of_bob = TestStream::create(&bob, "work").await;
        of_ann.add_turn(&ann, "the zqxann password", "noted", Scope::Ambient).await;
        of_bob.add_turn(&bob, "the zqxbob password", "noted", Scope::Ambient).await;
        let mut memories = TestStream::create_agent(&ann, "newton").await;
        memories.add_memory(&ann, &memory("f1", "zqxann memory", 1)).await;
        for (store, own, foreign) in [(&ann, "zqxann", "zqxbob"), (&bob, "zqxbob", "zqxann")] {
            let found = store.find_candidates(&Query::new(query_terms("password"))).await.unwrap();
            assert_eq!((found.items.len(), found.text_count), (1, 2));
            let ids: Vec<_> = found.items.iter().map(|item| item.id.clone()).collect();
            let texts = format!("{:?}", store.texts(&ids).await.unwrap());
            assert!(texts.contains(own) && !texts.contains(foreign), "{texts}");
            let query = Query::new(query_terms(foreign));
            assert_eq!(store.find_candidates(&query).await.unwrap().document_frequencies, [0]);
            let all = format!("{:?}", store.events(&of_ann.id, Seq(0), 100).await.unwrap());
            assert!(all.contains(own) && !all.contains(foreign), "{all}");
            assert_eq!(store.sessions().await.unwrap().len(), 1);
            assert_eq!(faults(store).await, []);
        }
        assert_eq!((ann.agents().await.unwrap().len(), bob.agents().await.unwrap().len()), (1, 0));
        assert_eq!(bob.scrub(&memories.id, neap_core::base::ids::Stamp(9)).await.unwrap(), 0);
        assert_eq!(faults(&ann).await, []);
    });
}

/// The planted bug: statements with no filter at all, by the role that owns the tables. Row-level security alone holds.
#[test]
fn a_statement_that_forgets_its_filter_reads_nothing_foreign() {
    let Some(url) = url("row-level security") else { return };
    block_on(async {
        let server = PostgresServer::open(&url).await.unwrap();
        let (ann, bob) = (new_tenant(&server), new_tenant(&server));
        for store in [&ann, &bob] {
            let mut stream = TestStream::create(store, "work").await;
            stream.add_turn(store, "something said", "and answered", Scope::Ambient).await;
        }
        let client = connect(&url).await;
        let tables = client.query_typed(TABLES, &[]).await.unwrap();
        let tables: Vec<String> = tables.iter().map(|row| row.get(0)).collect();
        assert!(tables.len() >= 18, "{tables:?}");
        let mut filled = 0;
        for table in &tables {
            // As in a transaction of Ann's.
            let set = format!("BEGIN; SELECT set_config('neap.tenant', '{}', true)", ann.tenant());
            client.batch_execute(&set).await.unwrap();
            let foreign = format!("SELECT count(*) FROM neap.{table} WHERE tenant <> '{}'", ann.tenant());
            let row = client.query_typed_one(&foreign, &[]).await.unwrap();
            assert_eq!(row.get::<_, i64>(0), 0, "{table}");
            let all = client.query_typed_one(&format!("SELECT count(*) FROM neap.{table}"), &[]).await.unwrap();
            filled += i64::from(all.get::<_, i64>(0) > 0);
            let delete = format!("DELETE FROM neap.{table} WHERE tenant = '{}'", bob.tenant());
            assert_eq!(client.execute_typed(&delete, &[]).await.unwrap(), 0, "{table}");
            let moved = format!("UPDATE neap.{table} SET tenant = '{}'", bob.tenant());
            let moved = client.execute_typed(&moved, &[]).await;
            assert!(moved.is_err() || moved.is_ok_and(|rows| rows == 0), "{table}");
            client.batch_execute("ROLLBACK").await.unwrap();
            // Without a tenant it is an error, not an empty answer; also on a connection that had one.
            let unset = client.query_typed_one(&format!("SELECT count(*) FROM neap.{table}"), &[]).await;
            let message = unset.unwrap_err().as_db_error().map(|error| error.message().to_owned());
            assert_eq!(message.as_deref(), Some("no tenant is set for this transaction"), "{table}");
        }
        assert!(filled >= 8, "the scene is set: {filled} tables have rows");
        assert_eq!(bob.sessions().await.unwrap().len(), 1);
        assert_eq!(faults(&bob).await, []);
    });
}
