//! Lists the page's files, so that the program contains them: a table of their paths, types and contents.

#![allow(clippy::disallowed_methods, reason = "a build script writes where cargo says")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const ASSETS: &str = "src/ui/assets";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={ASSETS}");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join(ASSETS);
    let mut files = Vec::new();
    list(&root, &root, &mut files)?;
    files.sort();
    let mut table = "&[\n".to_owned();
    for (name, path) in files {
        let Some(kind) = media_type(&name) else { continue };
        // Writing to a string cannot fail.
        let _ = writeln!(table, "    ({name:?}, {kind:?}, include_bytes!({path:?})),");
    }
    table.push_str("]\n");
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("assets.rs"), table)
}

fn list(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        println!("cargo::rerun-if-changed={}", path.display());
        if path.is_dir() {
            list(root, &path, files)?;
        } else if let Ok(below) = path.strip_prefix(root) {
            let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
            files.push((parts.join("/"), path));
        }
    }
    Ok(())
}

/// What a browser may load; other files, such as the page's tests and types, stay out.
fn media_type(name: &str) -> Option<&'static str> {
    let (stem, ending) = name.rsplit_once('.')?;
    if stem.ends_with(".test") || stem.ends_with(".d") {
        return None;
    }
    match ending {
        "html" => Some("text/html; charset=utf-8"),
        "js" | "mjs" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        "ico" => Some("image/x-icon"),
        "woff2" => Some("font/woff2"),
        _ => None,
    }
}
