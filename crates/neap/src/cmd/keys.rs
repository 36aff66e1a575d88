//! `neap keys`: which keys sign and verify. Ids only; a key is never shown.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::{KeysArgs, KeysCommand};
use crate::env::DataDir;
use crate::keys::{self, Source};
use crate::out::{self, BOLD, DIM, Failure};

pub(crate) fn run(data: &DataDir, args: &KeysArgs, json: bool) -> Result<ExitCode, Failure> {
    match args.what {
        KeysCommand::List => list(data, json)?,
        KeysCommand::Rotate => {
            let id = keys::rotate(data)?;
            if json {
                out::json_line(&json!({"status": "rotated", "current": id}))?;
            } else {
                out::line(format!("{BOLD}{id}{BOLD:#} signs from now on; the keys before it still verify."));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(data: &DataDir, json: bool) -> Result<(), Failure> {
    let (source, keyring) = (Source::of(data).describe(), keys::existing(data)?);
    let ids: Vec<&str> = keyring.iter().flat_map(|ring| ring.keys()).map(|key| key.id()).collect();
    if json {
        let keys: Vec<_> = ids.iter().enumerate().map(|(at, id)| json!({"id": id, "current": at == 0})).collect();
        return out::json_line(&json!({"source": source, "keys": keys}));
    }
    if ids.is_empty() {
        out::line("There is no key yet; one is made when it is first needed.");
    } else {
        let what = |at| if at == 0 { "signs and verifies" } else { "verifies" };
        let rows: Vec<Vec<String>> =
            ids.iter().enumerate().map(|(at, id)| vec![(*id).to_owned(), what(at).to_owned()]).collect();
        out::piece(out::table(&["key", "what it does"], &rows));
    }
    out::line(format!("{DIM}from {}{DIM:#}", out::clean(&source)));
    Ok(())
}
