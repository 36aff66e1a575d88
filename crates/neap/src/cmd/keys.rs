//! `neap store keys`: lists and rotates signing keys. Shows ids only, never a key.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::{KeysArgs, KeysSubcommand};
use crate::env::DataDir;
use crate::keys::{self, KeySource};
use crate::out::{self, BOLD, DIM, Failure};

pub(crate) fn run(data: &DataDir, args: &KeysArgs, json: bool) -> Result<ExitCode, Failure> {
    match args.what {
        KeysSubcommand::List => list(data, json)?,
        KeysSubcommand::Rotate => {
            let id = keys::rotate(data)?;
            if json {
                out::print_json(&json!({"status": "rotated", "current": id}))?;
            } else {
                out::print_line(format!("{BOLD}{id}{BOLD:#} signs from now on; older keys still verify."));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(data: &DataDir, json: bool) -> Result<(), Failure> {
    let (source, keyring) = (KeySource::of(data).describe(), keys::load_existing(data)?);
    let ids: Vec<&str> = keyring.iter().flat_map(|ring| ring.keys()).map(|key| key.id()).collect();
    if json {
        let keys: Vec<_> = ids.iter().enumerate().map(|(at, id)| json!({"id": id, "current": at == 0})).collect();
        return out::print_json(&json!({"source": source, "keys": keys}));
    }
    if ids.is_empty() {
        out::print_line("There is no key yet; Neap makes one when it first needs it.");
    } else {
        let use_of = |at| if at == 0 { "signs and verifies" } else { "verifies" };
        let rows: Vec<Vec<String>> =
            ids.iter().enumerate().map(|(at, id)| vec![(*id).to_owned(), use_of(at).to_owned()]).collect();
        out::print_text(out::table(&["key", "what it does"], &rows));
    }
    out::print_line(format!("{DIM}from {}{DIM:#}", out::escape_control(&source)));
    Ok(())
}
