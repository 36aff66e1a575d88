//! Replays recorded requests of clients and says of each whose it is, of which kind, and what it is to those before it.
//!
//! `cargo run -p neap-engine --example replay -- FOLDER…`: every `*.json` in them and in their folders, by name, each a request
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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let engine = Engine::builder(Arc::new(MemStore::new())).build();
    let mut all = Vec::new();
    for folder in std::env::args().skip(1) {
        files(Path::new(&folder), &mut all)?;
    }
    for path in all {
        let parts: Vec<_> = path.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
        let place = parts.into_iter().rev().collect::<Vec<_>>().join("/");
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
