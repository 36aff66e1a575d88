//! `neap access audit`: who asked for what, newest first.

use std::process::ExitCode;

use neap_store::access::{AccessStore, AuditEntry, AuditQuery};
use serde_json::{Value, json};

use super::open_existing;
use crate::cli::AuditArgs;
use crate::env::DataDir;
use crate::out::{self, DIM, Failure};

pub(super) async fn run(data: &DataDir, args: &AuditArgs, json: bool) -> Result<ExitCode, Failure> {
    let AuditArgs { tenant, key, before, limit } = args;
    let max = usize::try_from(*limit).unwrap_or(usize::MAX);
    let query = AuditQuery { tenant: tenant.clone(), key: key.clone(), before: *before, max };
    let entries = match open_existing(data)? {
        Some(access) => access.audit(&query).await?,
        None => Vec::new(),
    };
    let next = entries.last().filter(|_| entries.len() == max).map(|(number, _)| *number);
    let items: Vec<Value> = entries
        .iter()
        .map(|(number, entry)| {
            let mut item = json!(entry);
            item["number"] = json!(number);
            item
        })
        .collect();
    out::print_answer(json, &json!({"items": items, "next": next}), || {
        let row = |(number, entry): &(u64, AuditEntry)| {
            let AuditEntry { at, tenant, key, what, ids, outcome } = entry;
            let name = |name: Option<String>| name.unwrap_or_else(|| "-".to_owned());
            let (tenant, key) = (tenant.as_ref().map(ToString::to_string), key.as_ref().map(ToString::to_string));
            let texts = [what, ids, outcome].map(|text| out::one_line(text));
            [vec![number.to_string(), out::time(*at), name(tenant), name(key)], texts.to_vec()].concat()
        };
        let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
        let more = next.map(|next| format!("{DIM}more: --before {next}{DIM:#}\n")).unwrap_or_default();
        match rows.is_empty() {
            true => "Nothing was noted.\n".to_owned(),
            false => out::table(&["number", "at", "tenant", "key", "what", "of", "outcome"], &rows) + &more,
        }
    })
}
