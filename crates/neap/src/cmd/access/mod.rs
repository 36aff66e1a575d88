//! `neap access`: tenants, their keys, and the audit log. Each change is itself in that log.

mod audit;
mod key;
mod tenant;

use std::process::ExitCode;

use neap_core::base::access::{KeyId, TenantName};
use neap_engine::{Clock, SystemClock};
use neap_sqlite::SqliteAccess;
use neap_store::access::{AccessStore, AuditEntry};

use crate::cli::{AccessSubcommand, KeySubcommand, TenantSubcommand};
use crate::env::DataDir;
use crate::out::Failure;

pub(crate) async fn run(data: &DataDir, what: AccessSubcommand, json: bool) -> Result<ExitCode, Failure> {
    match what {
        AccessSubcommand::Tenant(args) => match args.what {
            TenantSubcommand::Add(args) => tenant::add(data, &args, json).await,
            TenantSubcommand::List => tenant::list(data, json).await,
            TenantSubcommand::Remove(args) => tenant::remove(data, &args, json).await,
        },
        AccessSubcommand::Key(args) => match args.what {
            KeySubcommand::Add(args) => key::add(data, &args, json).await,
            KeySubcommand::List(args) => key::list(data, &args, json).await,
            KeySubcommand::Rotate(args) => key::rotate(data, &args, json).await,
            KeySubcommand::Revoke(args) => key::revoke(data, &args, json).await,
        },
        AccessSubcommand::Audit(args) => audit::run(data, &args, json).await,
    }
}

fn open(data: &DataDir) -> Result<SqliteAccess, Failure> {
    Ok(SqliteAccess::open(&data.access_file())?)
}

/// `None` where nobody has added a tenant or a key yet.
fn open_existing(data: &DataDir) -> Result<Option<SqliteAccess>, Failure> {
    Ok(SqliteAccess::open_existing(&data.access_file())?)
}

/// Notes a change that was made.
async fn note(
    access: &dyn AccessStore,
    what: &str,
    tenant: &TenantName,
    key: Option<&KeyId>,
) -> Result<(), Failure> {
    let ids = key.map_or_else(|| tenant.to_string(), ToString::to_string);
    let entry = AuditEntry {
        at: SystemClock.now(),
        tenant: Some(tenant.clone()),
        key: None,
        what: format!("neap {what}"),
        ids,
        outcome: "ok".to_owned(),
    };
    Ok(access.append_audit(&[entry]).await?)
}
