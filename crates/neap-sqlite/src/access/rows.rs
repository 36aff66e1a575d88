//! The statements, and the rows as records.

use std::fmt::Display;

use neap_core::base::access::{KeyId, KeyRecord, SecretDigest, TenantName, TenantRecord};
use neap_core::base::ids::{AgentId, Stamp};
use neap_store::access::{AuditEntry, AuditQuery, KeyChange};
use rusqlite::{Connection, OptionalExtension, Row, params};

const KEY_COLUMNS: &str = "id, tenant, tenant_created, label, scope, agent, limits, secret, former, former_until, \
                           created, expires, revoked, last_used";

pub(super) fn tenants(db: &Connection) -> rusqlite::Result<Vec<TenantRecord>> {
    let mut statement = db.prepare_cached("SELECT name, created FROM tenants ORDER BY name")?;
    statement.query_map([], |row| tenant(row, 0))?.collect()
}

pub(super) fn add_tenant(db: &Connection, tenant: &TenantRecord) -> rusqlite::Result<bool> {
    let added = db.execute(
        "INSERT INTO tenants(name, created) VALUES(?1, ?2) ON CONFLICT DO NOTHING",
        params![tenant.name.as_str(), tenant.created.0],
    )?;
    Ok(added == 1)
}

pub(super) fn remove_tenant(db: &Connection, name: &TenantName) -> rusqlite::Result<bool> {
    db.execute("DELETE FROM keys WHERE tenant = ?1", [name.as_str()])?;
    Ok(db.execute("DELETE FROM tenants WHERE name = ?1", [name.as_str()])? == 1)
}

pub(super) fn keys(db: &Connection, tenant: Option<&TenantName>) -> rusqlite::Result<Vec<KeyRecord>> {
    let sql = format!("SELECT {KEY_COLUMNS} FROM keys WHERE ?1 IS NULL OR tenant = ?1 ORDER BY created, id");
    let mut statement = db.prepare_cached(&sql)?;
    statement.query_map([tenant.map(TenantName::as_str)], key_of)?.collect()
}

pub(super) fn key(db: &Connection, id: &KeyId) -> rusqlite::Result<Option<KeyRecord>> {
    let mut statement = db.prepare_cached(&format!("SELECT {KEY_COLUMNS} FROM keys WHERE id = ?1"))?;
    statement.query_row([id.as_str()], key_of).optional()
}

pub(super) fn add_key(db: &Connection, key: &KeyRecord) -> rusqlite::Result<bool> {
    let TenantRecord { name, created } = &key.tenant;
    if !name.is_local() {
        let sql = "SELECT 1 FROM tenants WHERE name = ?1 AND created = ?2";
        let found = db.query_row(sql, params![name.as_str(), created.0], |_| Ok(())).optional()?;
        if found.is_none() {
            return Ok(false);
        }
    }
    let limits = serde_json::to_string(&key.limits).map_err(|error| invalid(0, error))?;
    db.execute(
        &format!("INSERT INTO keys({KEY_COLUMNS}) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)"),
        params![
            key.id.as_str(),
            name.as_str(),
            created.0,
            key.label,
            key.scope.to_string(),
            key.agent.as_ref().map(AgentId::as_str),
            limits,
            key.secret.bytes(),
            key.former.as_ref().map(|(secret, _)| *secret.bytes()),
            key.former.as_ref().map(|(_, until)| until.0),
            key.created.0,
            key.expires.map(|at| at.0),
            key.revoked.map(|at| at.0),
            key.last_used.map(|at| at.0),
        ],
    )?;
    Ok(true)
}

pub(super) fn change_key(db: &Connection, id: &KeyId, change: KeyChange) -> rusqlite::Result<bool> {
    let id = id.as_str();
    let changed = match change {
        KeyChange::Rotated { secret, former_until } => db.execute(
            "UPDATE keys SET former = secret, former_until = ?2, secret = ?3 WHERE id = ?1",
            params![id, former_until.0, secret.bytes()],
        ),
        KeyChange::Revoked(at) => {
            db.execute("UPDATE keys SET revoked = coalesce(revoked, ?2) WHERE id = ?1", params![id, at.0])
        }
        KeyChange::Used(at) => db.execute("UPDATE keys SET last_used = ?2 WHERE id = ?1", params![id, at.0]),
    };
    Ok(changed? == 1)
}

pub(super) fn append_audit(db: &Connection, entries: &[AuditEntry]) -> rusqlite::Result<()> {
    let mut statement =
        db.prepare_cached("INSERT INTO audit(at, tenant, key, what, ids, outcome) VALUES(?1,?2,?3,?4,?5,?6)")?;
    for AuditEntry { at, tenant, key, what, ids, outcome } in entries {
        let (tenant, key) = (tenant.as_ref().map(TenantName::as_str), key.as_ref().map(KeyId::as_str));
        statement.execute(params![at.0, tenant, key, what, ids, outcome])?;
    }
    Ok(())
}

pub(super) fn audit(db: &Connection, query: &AuditQuery) -> rusqlite::Result<Vec<(u64, AuditEntry)>> {
    let mut statement = db.prepare_cached(
        "SELECT number, at, tenant, key, what, ids, outcome FROM audit
         WHERE (?1 IS NULL OR number < ?1) AND (?2 IS NULL OR tenant = ?2) AND (?3 IS NULL OR key = ?3)
         ORDER BY number DESC LIMIT ?4",
    )?;
    let AuditQuery { tenant, key, before, max } = query;
    let before = before.map(|number| i64::try_from(number).unwrap_or(i64::MAX));
    let max = i64::try_from(*max).unwrap_or(i64::MAX);
    let rows = statement.query_map(
        params![before, tenant.as_ref().map(TenantName::as_str), key.as_ref().map(KeyId::as_str), max],
        |row| {
            let parsed = AuditEntry {
                at: Stamp(row.get(1)?),
                tenant: row.get::<_, Option<String>>(2)?.map(|text| parse(2, text.parse())).transpose()?,
                key: row.get::<_, Option<String>>(3)?.map(|text| parse(3, text.parse())).transpose()?,
                what: row.get(4)?,
                ids: row.get(5)?,
                outcome: row.get(6)?,
            };
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), parsed))
        },
    )?;
    rows.collect()
}

fn tenant(row: &Row<'_>, at: usize) -> rusqlite::Result<TenantRecord> {
    let name: String = row.get(at)?;
    Ok(TenantRecord { name: parse(at, name.parse())?, created: Stamp(row.get(at + 1)?) })
}

fn key_of(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    let text = |at: usize| row.get::<_, String>(at);
    let stamp = |at: usize| row.get::<_, Option<i64>>(at).map(|at| at.map(Stamp));
    let secret = |at: usize| {
        let bytes = row.get::<_, Option<Vec<u8>>>(at)?;
        let digest = |bytes: Vec<u8>| SecretDigest::from_bytes(&bytes).ok_or_else(|| invalid(at, "no digest"));
        bytes.map(digest).transpose()
    };
    let agent = row.get::<_, Option<String>>(5)?.map(|name| parse(5, AgentId::parse(&name))).transpose()?;
    Ok(KeyRecord {
        id: parse(0, text(0)?.parse())?,
        tenant: tenant(row, 1)?,
        label: text(3)?,
        scope: parse(4, text(4)?.parse())?,
        agent,
        limits: parse(6, serde_json::from_str(&text(6)?))?,
        secret: secret(7)?.ok_or_else(|| invalid(7, "no digest"))?,
        former: secret(8)?.zip(stamp(9)?),
        created: Stamp(row.get(10)?),
        expires: stamp(11)?,
        revoked: stamp(12)?,
        last_used: stamp(13)?,
    })
}

fn parse<T, E: Display>(column: usize, parsed: Result<T, E>) -> rusqlite::Result<T> {
    parsed.map_err(|error| invalid(column, error))
}

/// A row that is not as we wrote it.
fn invalid(column: usize, error: impl Display) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.to_string().into())
}
