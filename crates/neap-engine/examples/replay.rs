//! Replays recorded requests of clients and says of each whose it is, of which kind, and what it is to those before it.
//!
//! `cargo run -p neap-engine --example replay -- FOLDER`: every `*.json` in it and in its folders, by name, each a request
//! (`path`, `headers`, `body`) or a list of them.
#![allow(clippy::print_stdout, reason = "it prints")]

#[path = "../tests/replay/mod.rs"]
mod replay;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use neap_engine::Engine;
use neap_store::MemStore;

fn files(folder: &Path, out: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    all.sort();
    for path in all {
        if path.is_dir() {
            files(&path, out)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            out.push(path);
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let engine = Engine::builder(Arc::new(MemStore::new())).build();
    let mut all = Vec::new();
    files(Path::new(&folder), &mut all)?;
    for path in all {
        let place = path.strip_prefix(&folder)?.display().to_string();
        match replay::requests(&path) {
            Ok(requests) => {
                for request in requests {
                    let plan = runtime.block_on(replay::send(&engine, &request));
                    println!("{place:<60} {:<40} {}", request.name, replay::line(&plan));
                }
            }
            Err(why) => println!("{place:<60} is no request: {why}"),
        }
    }
    Ok(())
}
