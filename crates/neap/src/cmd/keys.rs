//! `neap store keys`: lists and rotates signing keys. Shows ids only, never a key.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::{KeysArgs, KeysSubcommand};
use crate::env::DataDir;
use crate::keys::{self, KeySource};
use crate::out::{self, BOLD, DIM, Failure};

pub(crate) fn run(data: &DataDir, args: &KeysArgs, json: bool) -> Result<ExitCode, Failure> {
    match args.what {
        KeysSubcommand::List => list(data, json),
        KeysSubcommand::Rotate => {
            let id = keys::rotate(data)?;
            out::print_answer(json, &json!({"status": "rotated", "current": id}), || {
                format!("{BOLD}{id}{BOLD:#} signs from now on; older keys still verify.\n")
            })
        }
    }
}

fn list(data: &DataDir, json: bool) -> Result<ExitCode, Failure> {
    let (source, keyring) = (KeySource::of(data).describe(), keys::load_existing(data)?);
    let ids: Vec<&str> = keyring.iter().flat_map(|ring| ring.keys()).map(|key| key.id()).collect();
    let keys: Vec<_> = ids.iter().enumerate().map(|(at, id)| json!({"id": id, "current": at == 0})).collect();
    out::print_answer(json, &json!({"source": source, "keys": keys}), || {
        let use_of = |at| if at == 0 { "signs and verifies" } else { "verifies" };
        let rows: Vec<Vec<String>> =
            ids.iter().enumerate().map(|(at, id)| vec![(*id).to_owned(), use_of(at).to_owned()]).collect();
        let known = match ids.is_empty() {
            true => "There is no key yet; Neap makes one when it first needs it.\n".to_owned(),
            false => out::table(&["key", "what it does"], &rows),
        };
        format!("{known}{DIM}from {}{DIM:#}\n", out::escape_control(&source))
    })
}
