//! `neap key`: makes, lists, rotates and revokes keys. A secret is printed once, when it is made.

use std::process::ExitCode;

use neap_core::base::access::{AccessKey, KeyId, KeyLimits, KeyRecord, Scope, Surface, TenantName, TenantRecord};
use neap_core::base::ids::{AgentId, Stamp};
use neap_engine::{Clock, SystemClock};
use neap_store::access::{AccessStore, KeyChange};
use serde_json::{Value, json};

use super::{note, open, open_existing};
use crate::cli::{AddKeyArgs, ListKeysArgs, RevokeKeyArgs, RotateKeyArgs};
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure};

pub(super) async fn add(data: &DataDir, args: &AddKeyArgs, json: bool) -> Result<ExitCode, Failure> {
    let access = open(data)?;
    let tenant = find_tenant(&access, &args.tenant).await?;
    let surfaces: Vec<Surface> = args.surface.iter().copied().map(Surface::from).collect();
    let surfaces = surfaces.try_into().map_err(|error: neap_core::base::access::AccessError| {
        Failure::new(error.to_string()).hint("such as --surface proxy,mcp")
    })?;
    let now = SystemClock.now();
    let (key, text) = AccessKey::generate(&random()?);
    let is_first = access.keys(None).await?.is_empty();
    let record = KeyRecord {
        id: key.id().clone(),
        tenant,
        label: args.label.clone(),
        scope: Scope { level: args.scope.into(), surfaces },
        agent: args.for_agent.clone(),
        limits: KeyLimits {
            requests_per_minute: args.requests,
            bytes_per_minute: args.bytes,
            streams: args.streams,
            stored_bytes: args.stored_bytes,
        },
        secret: *key.digest(),
        former: None,
        created: now,
        expires: args.expires.map(|moment| moment.from(now)),
        revoked: None,
        last_used: None,
    };
    if !access.add_key(&record).await? {
        return Err(no_tenant(&args.tenant));
    }
    note(&access, "key add", &args.tenant, Some(key.id())).await?;
    if is_first {
        out::print_notice(
            "from now on a server needs a key for every request; one that runs must be started again",
        );
    }
    print_secret(json, &record, &text)
}

pub(super) async fn list(data: &DataDir, args: &ListKeysArgs, json: bool) -> Result<ExitCode, Failure> {
    let mut keys = Vec::new();
    if let Some(access) = open_existing(data)? {
        keys = access.keys(args.tenant.as_ref()).await?;
    }
    let entries: Vec<Value> = keys.iter().map(form).collect();
    out::print_answer(json, &entries, || {
        let now = SystemClock.now();
        let time = |at: Option<Stamp>| at.map_or_else(|| "-".to_owned(), out::time);
        let row = |key: &KeyRecord| {
            let agent = key.agent.as_ref().map_or("-", AgentId::as_str).to_owned();
            let cells = [key.id.to_string(), key.tenant.name.to_string(), key.scope.to_string(), agent];
            let label = out::one_line(&key.label);
            [cells.to_vec(), vec![state(key, now).to_owned(), time(key.expires), time(key.last_used), label]]
                .concat()
        };
        let rows: Vec<Vec<String>> = keys.iter().map(row).collect();
        match rows.is_empty() {
            true => "There is no key yet; `neap key add` makes one.\n".to_owned(),
            false => {
                out::table(&["key", "tenant", "scope", "agent", "state", "expires", "last used", "label"], &rows)
            }
        }
    })
}

pub(super) async fn rotate(data: &DataDir, args: &RotateKeyArgs, json: bool) -> Result<ExitCode, Failure> {
    let (access, record) = find(data, &args.id).await?;
    if record.revoked.is_some() {
        return Err(Failure::new(format!("the key {} is revoked", args.id)).hint("make another: neap key add"));
    }
    let (key, text) = AccessKey::renew(&args.id, &random()?);
    let former_until = Stamp(SystemClock.now().0.saturating_add(args.overlap));
    access.change_key(&args.id, KeyChange::Rotated { secret: *key.digest(), former_until }).await?;
    note(&access, "key rotate", &record.tenant.name, Some(&args.id)).await?;
    let record = KeyRecord { former: Some((record.secret, former_until)), secret: *key.digest(), ..record };
    print_secret(json, &record, &text)
}

pub(super) async fn revoke(data: &DataDir, args: &RevokeKeyArgs, json: bool) -> Result<ExitCode, Failure> {
    let (access, record) = find(data, &args.id).await?;
    access.change_key(&args.id, KeyChange::Revoked(SystemClock.now())).await?;
    note(&access, "key revoke", &record.tenant.name, Some(&args.id)).await?;
    let id = &args.id;
    out::print_answer(json, &json!({"key": id, "revoked": true}), || {
        format!("revoked {id}: it opens nothing more\n")
    })
}

async fn find(data: &DataDir, id: &KeyId) -> Result<(neap_sqlite::SqliteAccess, KeyRecord), Failure> {
    let none = || Failure::new(format!("there is no key {id}")).hint("`neap key list` lists them");
    let access = open_existing(data)?.ok_or_else(none)?;
    let record = access.key(id).await?.ok_or_else(none)?;
    Ok((access, record))
}

async fn find_tenant(access: &dyn AccessStore, name: &TenantName) -> Result<TenantRecord, Failure> {
    if name.is_local() {
        return Ok(TenantRecord::local());
    }
    let known = access.tenants().await?.into_iter().find(|tenant| tenant.name == *name);
    known.ok_or_else(|| no_tenant(name))
}

fn no_tenant(name: &TenantName) -> Failure {
    Failure::new(format!("there is no tenant '{name}'")).hint(format!("add it: neap tenant add {name}"))
}

fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Failure::new(format!("cannot make a key: {error}")))?;
    Ok(bytes)
}

fn print_secret(json: bool, record: &KeyRecord, text: &str) -> Result<ExitCode, Failure> {
    let mut value = form(record);
    value["key"] = json!(text);
    out::print_answer(json, &value, || {
        let former = record
            .former
            .as_ref()
            .map(|(_, until)| format!("{DIM}the old one holds until {}{DIM:#}\n", out::time(*until)));
        format!(
            "{BOLD}{text}{BOLD:#}\n{DIM}shown this once: only a digest of it is kept. It opens {} as {}{DIM:#}\n{}",
            record.tenant.name,
            record.scope,
            former.unwrap_or_default(),
        )
    })
}

/// What is shown of a key: nothing of its secret.
fn form(key: &KeyRecord) -> Value {
    json!({
        "id": key.id, "tenant": key.tenant.name, "label": key.label, "scope": key.scope.level,
        "surfaces": key.scope.surfaces, "agent": key.agent, "limits": key.limits,
        "state": state(key, SystemClock.now()), "created": key.created, "expires": key.expires,
        "revoked": key.revoked, "last_used": key.last_used,
        "former_until": key.former.as_ref().map(|(_, until)| until),
    })
}

fn state(key: &KeyRecord, now: Stamp) -> &'static str {
    match (key.revoked, key.expires) {
        (Some(_), _) => "revoked",
        (None, Some(expires)) if expires <= now => "expired",
        (None, _) => "valid",
    }
}
