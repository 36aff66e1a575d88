//! Tenants, keys and the audit log in SQLite.

use neap_sqlite::SqliteAccess;
use neap_store::access::AccessStore;
use neap_store::{StoreError, contract};

fn open() -> (tempfile::TempDir, SqliteAccess) {
    let place = tempfile::tempdir().expect("a directory");
    let access = SqliteAccess::open(&place.path().join("access.db")).expect("a new file");
    (place, access)
}

macro_rules! keeps {
    ($($name:ident),* $(,)?) => { $(
        #[tokio::test]
        async fn $name() {
            let (_place, access) = open();
            contract::$name(&access).await;
        }
    )* };
}

keeps!(
    tenants_are_added_once_and_removed_with_their_keys,
    keys_read_back_and_belong_to_a_tenant_that_exists,
    a_key_is_rotated_used_and_revoked,
    the_audit_log_is_read_newest_first_page_by_page,
);

#[tokio::test]
async fn another_process_sees_a_change_at_once() {
    let (place, access) = open();
    let path = place.path().join("access.db");
    let other = SqliteAccess::open_existing(&path).expect("it opens").expect("it is there");
    let tenant = neap_core::base::access::TenantRecord {
        name: "acme".parse().expect("a name"),
        created: neap_core::base::ids::Stamp(1),
    };
    assert!(access.add_tenant(&tenant).await.expect("added"));
    assert_eq!(other.tenants().await.expect("a list"), [tenant]);
}

#[test]
fn only_a_file_of_ours_is_opened_and_none_is_made_by_a_look() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("access.db");
    assert!(SqliteAccess::open_existing(&path).expect("nothing").is_none());
    assert!(!path.exists());
    let other = rusqlite::Connection::open(&path).expect("a database");
    other.execute_batch("CREATE TABLE theirs(x)").expect("a table");
    let refused = SqliteAccess::open(&path).err().expect("not ours");
    assert!(matches!(refused, StoreError::Unreadable { .. }), "{refused}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let (place, _access) = open();
        let mode = std::fs::metadata(place.path().join("access.db")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
