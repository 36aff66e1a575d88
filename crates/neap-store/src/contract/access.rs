//! What every [`AccessStore`] does; each test takes an empty one.

use neap_core::base::access::{
    AccessKey, KeyId, KeyLimits, KeyRecord, Level, Scope, Surface, TenantName, TenantRecord,
};
use neap_core::base::ids::{AgentId, Stamp};

use crate::access::{AccessStore, AuditEntry, AuditQuery, KeyChange};

fn tenant(name: &str, created: i64) -> TenantRecord {
    TenantRecord { name: name.parse().expect("a name"), created: Stamp(created) }
}

fn key(tenant: &TenantRecord, byte: u8) -> KeyRecord {
    let (key, _) = AccessKey::generate(&[byte; 38]);
    KeyRecord {
        id: key.id().clone(),
        tenant: tenant.clone(),
        label: "a program's".to_owned(),
        scope: Scope { level: Level::Write, surfaces: vec![Surface::Proxy].try_into().expect("one") },
        agent: AgentId::from_name("helper").ok(),
        limits: KeyLimits { requests_per_minute: Some(60), ..KeyLimits::default() },
        secret: *key.digest(),
        former: None,
        created: Stamp(i64::from(byte)),
        expires: Some(Stamp(9_000)),
        revoked: None,
        last_used: None,
    }
}

pub async fn tenants_are_added_once_and_removed_with_their_keys(store: &dyn AccessStore) {
    let (acme, beta) = (tenant("acme", 1), tenant("beta", 2));
    assert!(store.add_tenant(&beta).await.expect("beta"));
    assert!(store.add_tenant(&acme).await.expect("acme"));
    assert!(!store.add_tenant(&tenant("acme", 5)).await.expect("a second acme"));
    assert_eq!(store.tenants().await.expect("a list"), [acme.clone(), beta.clone()]);
    assert!(store.add_key(&key(&acme, 1)).await.expect("a key"));
    assert!(store.add_key(&key(&beta, 2)).await.expect("a key"));
    assert!(store.remove_tenant(&acme.name).await.expect("it goes"));
    assert!(!store.remove_tenant(&acme.name).await.expect("it is gone"));
    assert_eq!(store.tenants().await.expect("a list"), vec![beta.clone()]);
    assert_eq!(store.key(&key(&acme, 1).id).await.expect("a look"), None);
    assert_eq!(store.keys(None).await.expect("a list"), [key(&beta, 2)]);
}

pub async fn keys_read_back_and_belong_to_a_tenant_that_exists(store: &dyn AccessStore) {
    let (acme, local) = (tenant("acme", 1), TenantRecord::local());
    assert!(!store.add_key(&key(&acme, 1)).await.expect("an answer"), "there is no such tenant");
    store.add_tenant(&acme).await.expect("acme");
    assert!(!store.add_key(&key(&tenant("acme", 2), 1)).await.expect("an answer"), "nor one of another time");
    let of_local = KeyRecord { agent: None, expires: None, ..key(&local, 3) };
    for one in [&key(&acme, 2), &key(&acme, 1), &of_local] {
        assert!(store.add_key(one).await.expect("a key"));
        assert_eq!(store.key(&one.id).await.expect("a look").as_ref(), Some(one));
    }
    assert_eq!(store.keys(Some(&acme.name)).await.expect("a list"), [key(&acme, 1), key(&acme, 2)]);
    assert_eq!(store.keys(Some(&TenantName::local())).await.expect("a list"), [of_local]);
    let unknown: KeyId = "0123456789ab".parse().expect("an id");
    assert_eq!(store.key(&unknown).await.expect("a look"), None);
    assert!(!store.change_key(&unknown, KeyChange::Used(Stamp(1))).await.expect("an answer"));
}

pub async fn a_key_is_rotated_used_and_revoked(store: &dyn AccessStore) {
    let acme = tenant("acme", 1);
    store.add_tenant(&acme).await.expect("acme");
    let first = key(&acme, 1);
    store.add_key(&first).await.expect("a key");
    let (renewed, _) = AccessKey::renew(&first.id, &[8; 32]);
    let rotated = KeyChange::Rotated { secret: *renewed.digest(), former_until: Stamp(70) };
    for change in
        [rotated, KeyChange::Used(Stamp(60)), KeyChange::Revoked(Stamp(80)), KeyChange::Revoked(Stamp(90))]
    {
        assert!(store.change_key(&first.id, change).await.expect("a change"));
    }
    let want = KeyRecord {
        secret: *renewed.digest(),
        former: Some((first.secret, Stamp(70))),
        last_used: Some(Stamp(60)),
        revoked: Some(Stamp(80)),
        ..first.clone()
    };
    assert_eq!(store.key(&first.id).await.expect("a look"), Some(want));
}

pub async fn the_audit_log_is_read_newest_first_page_by_page(store: &dyn AccessStore) {
    let entry = |at: i64, tenant: &str| AuditEntry {
        at: Stamp(at),
        tenant: tenant.parse().ok(),
        key: "0123456789ab".parse().ok().filter(|_| at % 2 == 0),
        what: format!("GET /sessions {at}"),
        ids: "desk".to_owned(),
        outcome: "ok".to_owned(),
    };
    let entries: Vec<AuditEntry> = (0..10).map(|at| entry(at, if at < 5 { "acme" } else { "beta" })).collect();
    store.append_audit(&entries[..4]).await.expect("entries");
    store.append_audit(&entries[4..]).await.expect("entries");
    let (mut read, mut before) = (Vec::new(), None);
    loop {
        let page = store.audit(&AuditQuery { before, max: 3, ..AuditQuery::default() }).await.expect("a page");
        let Some((last, _)) = page.last() else { break };
        before = Some(*last);
        read.extend(page.into_iter().map(|(_, entry)| entry));
    }
    assert!(read.iter().eq(entries.iter().rev()), "{read:?}");
    let of = AuditQuery { tenant: "acme".parse().ok(), max: 100, ..AuditQuery::default() };
    assert_eq!(store.audit(&of).await.expect("a page").len(), 5);
    let of = AuditQuery { key: "0123456789ab".parse().ok(), ..of };
    assert_eq!(store.audit(&of).await.expect("a page").len(), 3);
    assert_eq!(store.prune_audit(Stamp(8)).await.expect("it prunes"), 8);
    assert_eq!(store.audit(&AuditQuery { max: 100, ..AuditQuery::default() }).await.expect("a page").len(), 2);
}
