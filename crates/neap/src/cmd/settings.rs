//! `neap store settings`: shows all settings and changes those of the store.

use std::process::ExitCode;

use neap_core::base::policy::Policy;
use serde_json::json;

use crate::app;
use crate::cli::SettingsArgs;
use crate::env::DataDir;
use crate::out::{self, DIM, Failure};
use crate::settings::{DOCS, StoreSettings};

pub(crate) fn run(data: &DataDir, args: &SettingsArgs, json: bool) -> Result<ExitCode, Failure> {
    let policy = Policy::default();
    let mut store = StoreSettings::read(data)?;
    if let Some(set) = &args.set {
        let (key, value) =
            app::parse_setting(set).map_err(|error| Failure::new(error).hint("e.g. mask_secrets=off"))?;
        store = store.set(data, &key, &value)?;
    }
    if json {
        let mut all = json!(policy);
        for (key, value) in store.entries() {
            all[key] = json!(value);
        }
        out::print_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let store_rows = store.entries().into_iter().zip(DOCS).map(|((key, value), (_, doc))| {
        vec![key.to_owned(), if value { "on" } else { "off" }.to_owned(), (*doc).to_owned()]
    });
    out::print_text(out::table(&["of this store", "value", "what it is"], &store_rows.collect::<Vec<_>>()));
    if args.set.is_some() {
        out::print_line(format!("{DIM}It applies to everything stored from now on.{DIM:#}"));
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = Policy::DOCS
        .iter()
        .zip(policy.entries())
        .map(|(doc, (key, value))| vec![key.to_owned(), value.to_string(), doc.trim().to_owned()])
        .collect();
    out::print_line("");
    out::print_text(out::table(&["of a session", "default", "what it is"], &rows));
    out::print_line(format!(
        "\n{DIM}Change one of the store with `neap store settings key=value`, one of a session with --set key=value, on `neap chat` or `neap lab replay`.{DIM:#}"
    ));
    Ok(ExitCode::SUCCESS)
}
