//! `neap tenant`: adds, lists and removes tenants.

use std::process::ExitCode;

use neap_core::base::access::{TenantName, TenantRecord};
use neap_engine::{Clock, SystemClock};
use neap_store::access::AccessStore;
use neap_store::files;
use serde_json::json;

use super::{note, open, open_existing};
use crate::app;
use crate::cli::{AddTenantArgs, RemoveTenantArgs};
use crate::database;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, count};

pub(super) async fn add(data: &DataDir, args: &AddTenantArgs, json: bool) -> Result<ExitCode, Failure> {
    let name = &args.name;
    if name.is_local() {
        return Err(Failure::new("the tenant 'local' is always there: the data directory itself")
            .hint("`neap key add local` makes a key for it"));
    }
    let folder = data.of_tenant(name, None).root().to_owned();
    let access = open(data)?;
    let tenant = TenantRecord { name: name.clone(), created: SystemClock.now() };
    let exists = access.tenants().await?.iter().any(|known| known.name == *name);
    // Left by a removal that was interrupted, or by a server that still had it open.
    if !exists && !args.adopt && files::is_dir(&folder) {
        return Err(Failure::new(format!("there are data in {} already", folder.display()))
            .hint("remove that folder, or take its data over with --adopt"));
    }
    if exists || !access.add_tenant(&tenant).await? {
        return Err(
            Failure::new(format!("there is a tenant '{name}' already")).hint("`neap tenant list` lists them")
        );
    }
    files::create_dir(&folder)?;
    note(&access, "tenant add", name, None).await?;
    out::print_answer(json, &json!({"tenant": name, "folder": folder}), || {
        format!("added {BOLD}{name}{BOLD:#}\n{DIM}a key for it:{DIM:#} neap key add {name}\n")
    })
}

pub(super) async fn list(data: &DataDir, json: bool) -> Result<ExitCode, Failure> {
    let (mut tenants, mut keys) = (Vec::new(), Vec::new());
    if let Some(access) = open_existing(data)? {
        (tenants, keys) = (access.tenants().await?, access.keys(None).await?);
    }
    let keys_of = |name: &TenantName| keys.iter().filter(|key| key.tenant.name == *name).count();
    let entries: Vec<_> = std::iter::once(TenantRecord::local())
        .chain(tenants)
        .map(|TenantRecord { name, created }| json!({"tenant": name, "created": created, "keys": keys_of(&name)}))
        .collect();
    out::print_answer(json, &entries, || {
        let text = |entry: &serde_json::Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let rows: Vec<Vec<String>> =
            entries.iter().map(|entry| vec![text(entry, "tenant"), entry["keys"].to_string()]).collect();
        out::table(&["tenant", "keys"], &rows)
    })
}

pub(super) async fn remove(data: &DataDir, args: &RemoveTenantArgs, json: bool) -> Result<ExitCode, Failure> {
    let name = &args.name;
    if data.store_url().is_some() {
        return Err(database::not_here("removing a tenant")
            .hint("revoke its keys: `neap key list`, `neap key revoke`; its rows stay in the database"));
    }
    let none = || {
        Failure::new(format!("there is no tenant '{name}' that can be removed"))
            .hint("`neap tenant list` lists them; 'local' is the data directory itself")
    };
    let access = open_existing(data)?.ok_or_else(none)?;
    if !access.tenants().await?.iter().any(|known| known.name == *name) {
        return Err(none());
    }
    let own = data.of_tenant(name, None);
    let Some(confirm) = &args.confirm else {
        let keys = access.keys(Some(name)).await?.len() as u64;
        let (mut sessions, mut bytes) = (0, 0);
        if own.database_file().exists() {
            let store = app::open_store_briefly(&own)?;
            sessions = store.sessions().await?.len() as u64;
            bytes = store.footprint(None).await?.file;
        }
        let value =
            json!({"tenant": name, "keys": keys, "sessions": sessions, "bytes": bytes, "folder": own.root()});
        return out::print_answer(json, &value, || {
            format!(
                "{BOLD}{name}{BOLD:#} has {}, {} and {} of data. Removing it removes its folder {} and its keys, which \
                 open nothing from then on. This cannot be undone; what was asked stays in the audit log.\n\
                 {DIM}to keep a copy:{DIM:#} copy that folder\n\
                 {DIM}to remove it:{DIM:#}   neap tenant remove {name} --confirm {name}\n",
                count(keys, "key"),
                count(sessions, "session"),
                count(bytes, "byte"),
                out::escape_control(&own.root().display().to_string()),
            )
        });
    };
    if confirm != name.as_str() {
        return Err(
            Failure::new(format!("--confirm names another tenant than {name}")).hint("nothing was removed")
        );
    }
    // First its keys: nobody writes into what is removed.
    access.remove_tenant(name).await?;
    note(&access, "tenant remove", name, None).await?;
    files::remove_dir(own.root()).map_err(|error| {
        Failure::new(format!("removed {name} with its keys, but not its folder: {error}"))
            .hint(format!("remove {} by hand", own.root().display()))
    })?;
    out::print_answer(json, &json!({"tenant": name, "removed": true}), || format!("removed {name}\n"))
}
